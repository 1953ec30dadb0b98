//! The bytes of what is opened, in pieces, as the engine's thread reads them.
//!
//! Invariant: never the whole of a file in memory. Every error is a sentence for the person.

use js_sys::{ArrayBuffer, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortSignal, Blob, DedicatedWorkerGlobalScope, File, ReadableStream,
    ReadableStreamDefaultReader, ReferrerPolicy, RequestCredentials, RequestInit, Response,
};

use crate::ask;
use crate::dom::{self, reason};
use herdscope::clickhouse::{Asked, Ending, Query};
use herdscope::view::{FileMark, MARK_BYTES, fingerprint};

/// Where bytes come from.
pub enum Bytes {
    /// A stream of them.
    Stream(ReadableStreamDefaultReader),
    /// A ClickHouse's answer, which tells at its end whether it is whole.
    Answer(ReadableStreamDefaultReader, Box<Answer>),
}

/// What is known of a ClickHouse's answer.
pub struct Answer {
    name: String,
    query: Query,
    ending: Ending,
}

impl Bytes {
    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        match self {
            Bytes::Stream(reader) => read(reader).await.map_err(|error| broken_off(&error)),
            Bytes::Answer(reader, answer) => match read(reader).await {
                Ok(Some(piece)) => {
                    answer.ending.push(&piece);
                    Ok(Some(piece))
                }
                // What came before a break may say why, or be all.
                Ok(None) | Err(_) => {
                    let whole = answer.ending.check(&answer.query);
                    whole.map(|()| None).map_err(|why| said(&answer.name, &why))
                }
            },
        }
    }

    /// What the other end has said that explains why its bytes cannot be read.
    pub fn objection(&self) -> Option<String> {
        match self {
            Bytes::Answer(_, answer) => {
                let why = answer.ending.refusal()?;
                Some(said(&answer.name, &why))
            }
            _ => None,
        }
    }

    /// Nothing more is wanted.
    pub fn close(self) {
        let (Bytes::Stream(reader) | Bytes::Answer(reader, _)) = self;
        // Whether the browser could stop the source does not matter to anybody, but a refusal that
        // nobody hears would end the thread: an answer that was aborted refuses.
        let stopped = reader.cancel();
        dom::spawn(Box::pin(async move {
            let _ = JsFuture::from(stopped).await;
        }));
    }
}

async fn read(reader: &ReadableStreamDefaultReader) -> Result<Option<Vec<u8>>, JsValue> {
    let piece = JsFuture::from(reader.read()).await?;
    if Reflect::get(&piece, &"done".into())?.is_truthy() {
        return Ok(None);
    }
    let bytes: Uint8Array = Reflect::get(&piece, &"value".into())?.dyn_into()?;
    Ok(Some(bytes.to_vec()))
}

fn broken_off(error: &JsValue) -> String {
    format!(
        "Reading broke off: {}. If the file has changed or is on a drive that went away, open it again; \
         a folder cannot be read, drop the file in it.",
        reason(error).trim_end_matches('.')
    )
}

/// A file's bytes, from one of them on.
pub fn of_file(file: &File, from: u64) -> Result<Bytes, String> {
    let rest = file.slice_with_f64(from as f64);
    of_stream(rest.map_err(|error| broken_off(&error))?.stream())
}

/// The bytes at an address, and how many there are if the host says so.
pub async fn of_address(
    scope: &DedicatedWorkerGlobalScope,
    url: &str,
) -> Result<(Bytes, Option<u64>), String> {
    // Nobody is logged in there by following a link, and nobody is told where it stood.
    let anonymous = RequestInit::new();
    anonymous.set_credentials(RequestCredentials::Omit);
    anonymous.set_referrer_policy(ReferrerPolicy::NoReferrer);
    let response = JsFuture::from(scope.fetch_with_str_and_init(url, &anonymous)).await;
    let response: Response = response.and_then(|it| it.dyn_into()).map_err(|_| {
        format!(
            "{url} cannot be fetched: there is no connection, or its host does not let other pages read it. \
             Download the file and drop it here."
        )
    })?;
    if !response.ok() {
        return Err(format!(
            "{url} cannot be fetched: its host answers {}. Check the address, or download the file and drop it here.",
            response.status()
        ));
    }
    let header = |name: &str| response.headers().get(name).ok().flatten();
    // The length is that of what travels, which is not what arrives here when it was packed.
    let length = match header("content-encoding") {
        None => header("content-length").and_then(|it| it.parse().ok()),
        Some(_) => None,
    };
    let body = response.body().ok_or_else(|| format!("{url} is empty."))?;
    Ok((of_stream(body)?, length))
}

/// The answer of a ClickHouse, as a CSV.
pub async fn of_clickhouse(
    asked: &Asked,
    query: Query,
    password: &str,
    signal: &AbortSignal,
) -> Result<Bytes, String> {
    let name = asked.name();
    let response = ask::ask(asked, password, &query.spans(), signal)
        .await
        .map_err(|refusal| said(&name, &refusal.text))?;
    let body = response.body().ok_or_else(|| format!("{name} is empty."))?;
    let answer = Answer {
        name,
        query,
        ending: Ending::default(),
    };
    Ok(Bytes::Answer(reader_of(body)?, Box::new(answer)))
}

fn said(name: &str, why: &str) -> String {
    [name, ": ", why, "."].concat()
}

fn of_stream(stream: ReadableStream) -> Result<Bytes, String> {
    reader_of(stream).map(Bytes::Stream)
}

fn reader_of(stream: ReadableStream) -> Result<ReadableStreamDefaultReader, String> {
    let reader = stream.get_reader().dyn_into();
    reader.map_err(|_| "The browser gives no bytes of this file.".to_owned())
}

/// What tells this file again.
pub async fn mark(file: &File) -> Result<FileMark, String> {
    let size = file.size();
    let edge = size.min(MARK_BYTES as f64);
    let head = slice(file, 0.0, edge)
        .await
        .map_err(|error| broken_off(&error))?;
    let tail = slice(file, size - edge, size)
        .await
        .map_err(|error| broken_off(&error))?;
    let size = size as u64;
    Ok(FileMark {
        name: file.name(),
        size,
        hash: fingerprint(size, &head, &tail),
    })
}

async fn slice(file: &File, from: f64, to: f64) -> Result<Vec<u8>, JsValue> {
    let blob: Blob = file.slice_with_f64_and_f64(from, to)?;
    let buffer: ArrayBuffer = JsFuture::from(blob.array_buffer()).await?.dyn_into()?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
