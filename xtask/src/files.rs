//! A static file server on 127.0.0.1, as plain as the dullest host: what works from it works from any.
//! `serve` uses it, and the browser tests do (on a free port, also under a sub-path).

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tiny_http::{Header, Method, Request, Response};

use crate::Result;

/// Folders served until the value is dropped.
pub struct Server {
    http: Arc<tiny_http::Server>,
    port: u16,
    threads: Vec<JoinHandle<()>>,
}

/// A path that starts and ends with `/`, and the folder that appears there.
type Mount = (String, PathBuf);

impl Server {
    /// Serves folders at paths such as `/` or `/tools/herdscope/`, on any free port.
    pub fn start(mounts: &[(&str, PathBuf)]) -> Result<Server> {
        Server::bind(0, mounts).map_err(|error| format!("cannot listen on 127.0.0.1: {error}"))
    }

    /// The same on the first port, from `port` on, that nobody else listens on.
    pub fn on_free_port_from(port: u16, mounts: &[(&str, PathBuf)]) -> Result<Server> {
        let mut error = String::new();
        for candidate in port..=port.saturating_add(49) {
            match Server::bind(candidate, mounts) {
                Ok(server) => return Ok(server),
                Err(it) => error = it,
            }
        }
        Err(format!(
            "cannot listen on 127.0.0.1, port {port} or the 49 after it: {error}"
        ))
    }

    fn bind(port: u16, mounts: &[(&str, PathBuf)]) -> Result<Server> {
        let http = Arc::new(
            tiny_http::Server::http((Ipv4Addr::LOCALHOST, port)).map_err(|it| it.to_string())?,
        );
        let port = http
            .server_addr()
            .to_ip()
            .map_or(port, |address| address.port());
        let mut mounts: Vec<Mount> = mounts
            .iter()
            .map(|(at, folder)| ((*at).to_owned(), folder.clone()))
            .collect();
        // The longest path that fits is the one that is meant.
        mounts.sort_by_key(|(at, _)| std::cmp::Reverse(at.len()));
        let mounts = Arc::new(mounts);
        let threads = (0..4)
            .map(|_| {
                let (http, mounts) = (Arc::clone(&http), Arc::clone(&mounts));
                thread::spawn(move || {
                    while let Ok(request) = http.recv() {
                        // A browser that went away in mid-answer is no fault of the server.
                        let _ = answer(request, &mounts);
                    }
                })
            })
            .collect();
        Ok(Server {
            http,
            port,
            threads,
        })
    }

    /// The address of a path, which starts with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Serves for good.
    pub fn wait(mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for _ in &self.threads {
            self.http.unblock();
        }
    }
}

fn answer(request: Request, mounts: &[Mount]) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(Response::from_string("only GET and HEAD\n").with_status_code(405));
    }
    let Some(path) = located(request.url(), mounts) else {
        return request.respond(Response::from_string("not found\n").with_status_code(404));
    };
    let Ok(file) = File::open(&path) else {
        return request.respond(Response::from_string("not found\n").with_status_code(404));
    };
    let mut response = Response::from_file(file);
    // `no-cache` means: ask whether it changed, so that a rebuilt page is the one that is seen.
    for (name, value) in [
        ("Content-Type", media_type(&path)),
        ("Cache-Control", "no-cache"),
    ] {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    request.respond(response)
}

/// The file that a request path means, if it is one inside a mounted folder.
fn located(url: &str, mounts: &[Mount]) -> Option<PathBuf> {
    let path = decoded(url.split(['?', '#']).next()?)?;
    let (at, folder) = mounts
        .iter()
        .find(|(at, _)| path.starts_with(at.as_str()))?;
    let inside = Path::new(path.strip_prefix(at.as_str())?);
    if !inside
        .components()
        .all(|it| matches!(it, Component::Normal(_)))
    {
        return None;
    }
    let file = folder.join(inside);
    let file = if file.is_dir() {
        file.join("index.html")
    } else {
        file
    };
    file.is_file().then_some(file)
}

/// `%41` as `A`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|it| char::from(it).to_digit(16));
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn media_type(path: &Path) -> &'static str {
    match path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default()
    {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "csv" => "text/csv; charset=utf-8",
        "txt" | "md" => "text/plain; charset=utf-8",
        "woff2" => "font/woff2",
        // As hosts serve a .csv.gz: the bytes as they are, not a Content-Encoding.
        "gz" => "application/gzip",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Vec<Mount> {
        let root = crate::workspace();
        vec![
            ("/a/b/".to_owned(), root.join("xtask/src")),
            ("/".to_owned(), root.join("xtask")),
        ]
    }

    #[test]
    fn paths_are_found_under_the_longest_mount() {
        let root = crate::workspace();
        assert_eq!(
            located("/a/b/files.rs?v=1", &mounts()),
            Some(root.join("xtask/src/files.rs"))
        );
        assert_eq!(
            located("/Cargo%2Etoml", &mounts()),
            Some(root.join("xtask/Cargo.toml"))
        );
        assert_eq!(located("/a/files.rs", &mounts()), None);
    }

    #[test]
    fn nothing_outside_a_mount_is_served() {
        for url in [
            "/../Cargo.toml",
            "/%2e%2e/Cargo.toml",
            "/a/b/../../../Cargo.toml",
            "//etc/passwd",
            "/%zz",
            "/%",
        ] {
            assert_eq!(located(url, &mounts()), None, "{url}");
        }
    }
}
