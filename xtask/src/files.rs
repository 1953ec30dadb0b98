//! A static file server on 127.0.0.1, as plain as the dullest host: what works from it works from any.
//! `serve` uses it, and the browser tests do (on a free port, also under a sub-path).
//!
//! One thread has all connections, however many a browser opens at once. Files are read piece by piece. Dropping the value
//! ends the connections, too.

use std::convert::Infallible;
use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use crate::Result;

/// Folders served until the value is dropped.
pub struct Server {
    port: u16,
    /// Gone with the value, which the thread takes for its end.
    end: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
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
                Err(it) => error = it.to_string(),
            }
        }
        Err(format!(
            "cannot listen on 127.0.0.1, port {port} or the 49 after it: {error}"
        ))
    }

    fn bind(port: u16, mounts: &[(&str, PathBuf)]) -> std::io::Result<Server> {
        let mut mounts: Vec<Mount> = mounts
            .iter()
            .map(|(at, folder)| ((*at).to_owned(), folder.clone()))
            .collect();
        // The longest path that fits is the one that is meant.
        mounts.sort_by_key(|(at, _)| std::cmp::Reverse(at.len()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            // Whatever is still connected goes with the runtime.
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, Arc::new(mounts)) => {}
                    _ = ended => {}
                }
            });
        });
        Ok(Server {
            port,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// The address of a path, which starts with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Serves for good.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, mounts: Arc<Vec<Mount>>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        // A browser that went away before it was heard, or in mid-answer, is no fault of the server.
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let mounts = Arc::clone(&mounts);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let response = answer(&request, &mounts);
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
        });
    }
}

fn answer(request: &Request<Incoming>, mounts: &[Mount]) -> Response<Content> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    let path = located(request.uri().path(), mounts);
    let open = |path: PathBuf| {
        let file = File::open(&path).ok()?;
        let left = file.metadata().ok()?.len();
        Some((Content::File(file, left), media_type(&path)))
    };
    let Some((content, kind)) = path.and_then(open) else {
        return refusal(StatusCode::NOT_FOUND, "not found\n");
    };
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // It means: ask whether it changed, so that a rebuilt page is the one that is seen.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn refusal(status: StatusCode, words: &'static str) -> Response<Content> {
    let mut response = Response::new(Content::Words(words));
    *response.status_mut() = status;
    response
}

/// What is answered with.
enum Content {
    Words(&'static str),
    /// A file, and how many bytes of it are left.
    File(File, u64),
}

/// Bytes of a file that are sent at a time.
const A_PIECE: u64 = 1 << 16;

impl Body for Content {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        Poll::Ready(match self.get_mut() {
            Content::Words("") | Content::File(_, 0) => None,
            Content::Words(words) => {
                let words = std::mem::take(words);
                Some(Ok(Frame::data(Bytes::from_static(words.as_bytes()))))
            }
            Content::File(file, left) => {
                let mut piece = vec![0; A_PIECE.min(*left) as usize];
                *left -= piece.len() as u64;
                let read = file.read_exact(&mut piece);
                Some(read.map(|()| Frame::data(piece.into())))
            }
        })
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Content::Words(words) => words.len() as u64,
            Content::File(_, left) => *left,
        })
    }
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

    /// Asks on connections that are all open at once and stay so, as those of a browser.
    #[test]
    fn no_connection_waits_for_another() {
        use std::io::{BufRead as _, BufReader, Write as _};
        let server = Server::start(&[("/", crate::workspace().join("xtask"))]).expect("a port");
        let mut open: Vec<std::net::TcpStream> = (0..40)
            .map(|_| std::net::TcpStream::connect(("127.0.0.1", server.port)).expect("connected"))
            .collect();
        for (stream, (path, status)) in open.iter_mut().rev().zip(
            [("/Cargo.toml", "200 OK"), ("/none", "404 Not Found")]
                .into_iter()
                .cycle(),
        ) {
            let asked = format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n");
            stream.write_all(asked.as_bytes()).expect("written");
            // So that it fails instead of waiting.
            let patience = std::time::Duration::from_secs(30);
            stream.set_read_timeout(Some(patience)).expect("a time");
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).expect("a line");
            assert_eq!(line.trim_end(), format!("HTTP/1.1 {status}"));
        }
        let port = server.port;
        drop(server);
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
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
