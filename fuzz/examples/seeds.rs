//! Writes the seeds of every property below a folder: `seeds FOLDER`.

use std::path::Path;
use std::process::ExitCode;

use herdscope_fuzz::TARGETS;
use herdscope_fuzz::draw::Random;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: seeds FOLDER");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write seeds to {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> std::io::Result<()> {
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for seed in (target.seeds)() {
            // Named by what is in it, so that a seed that changed is another file.
            let name = format!("seed-{:016x}", Random::of(&seed).0);
            std::fs::write(folder.join(name), seed)?;
        }
    }
    Ok(())
}
