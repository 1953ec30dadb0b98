//! The built page, served.

use std::env;
use std::path::{Path, PathBuf};

use xtask::files::Server;

use crate::Result;

/// The built page on a static server that lives as long as the value.
pub struct Site {
    server: Server,
}

impl Site {
    /// Serves the page that `HERDSCOPE_PKG` names, or the workspace's `pkg/`.
    pub fn start() -> Result<Site> {
        Site::of(&Site::built())
    }

    /// The folder of that page.
    pub fn built() -> PathBuf {
        match env::var_os("HERDSCOPE_PKG").filter(|it| !it.is_empty()) {
            Some(folder) => PathBuf::from(folder),
            None => xtask::page::folder(),
        }
    }

    /// Serves the page in this folder.
    pub fn of(folder: &Path) -> Result<Site> {
        Site::with(folder, &[])
    }

    /// The same with other folders, at paths that start and end with `/`.
    pub fn with(folder: &Path, beside: &[(&str, PathBuf)]) -> Result<Site> {
        if !folder.join("index.html").is_file() {
            return Err(format!(
                "there is no built page in {}: `cargo xtask dist` builds it (or HERDSCOPE_PKG names another folder)",
                folder.display()
            )
            .into());
        }
        let mut mounts = vec![
            ("/", folder.to_owned()),
            ("/any/sub/path/", folder.to_owned()),
            ("/fixtures/", xtask::workspace().join("tests/fixtures")),
        ];
        mounts.extend_from_slice(beside);
        if let Some(traces) = env::var_os("HERDSCOPE_TRACES").filter(|it| !it.is_empty()) {
            mounts.push(("/traces/", PathBuf::from(traces)));
        }
        Ok(Site {
            server: Server::start(&mounts)?,
        })
    }

    /// The address of a path such as `/` or `/#v=1`.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }
}
