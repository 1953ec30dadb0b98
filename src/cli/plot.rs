//! `herdscope plot`: a view as a picture. (to come)
use clap::Args;

use super::{Failure, Files};

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    files: Files,
}

pub fn run(_: &Options) -> Result<(), Failure> {
    Ok(())
}
