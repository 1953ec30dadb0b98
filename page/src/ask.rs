//! A question to a ClickHouse from the browser, by the page (how many spans) and by the engine's thread
//! (the spans).
//!
//! Invariants: the password goes out as a header and nowhere else, after no redirect and with no probe;
//! a refusal is a sentence. Pinned by `tests/browser/tests/clickhouse.rs`.

use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortSignal, Response};

use herdscope::clickhouse::{Asked, PARAMETERS, PARAMETERS_OF_PAGES, Unanswered, refused};

/// Why there is no answer.
pub struct Refusal {
    /// A sentence without its beginning and its full stop.
    pub text: String,
    /// The server lets no page ask.
    pub cors: bool,
}

/// Sends a query; the answer is one that the server gives for queries.
pub async fn ask(
    asked: &Asked,
    password: &str,
    sql: &str,
    signal: &AbortSignal,
) -> Result<Response, Refusal> {
    let address = asked.address(&[PARAMETERS, PARAMETERS_OF_PAGES]);
    let sent = fetch(
        &address,
        "POST",
        Some([asked.user.as_str(), password]),
        sql,
        signal,
    )
    .await;
    let Ok(response) = sent else {
        let why = unanswered(&address, signal).await;
        return Err(Refusal {
            text: why.as_str().to_owned(),
            cors: why == Unanswered::Cors,
        });
    };
    if response.ok() {
        return Ok(response);
    }
    let said = text(&response).await;
    Err(Refusal {
        text: refused(response.status(), &said),
        cors: false,
    })
}

/// All of an answer that is short; empty where it breaks off.
pub async fn text(response: &Response) -> String {
    match response.text() {
        Ok(text) => {
            let text = JsFuture::from(text).await.ok();
            text.and_then(|it| it.as_string()).unwrap_or_default()
        }
        Err(_) => String::new(),
    }
}

/// The browser does not say why it shows no answer: others are asked for that tell.
async fn unanswered(address: &str, signal: &AbortSignal) -> Unanswered {
    // This is answered before a user is looked at, to whom the server lets ask.
    let nobody = Some(["", ""]);
    if fetch(address, "OPTIONS", nobody, "", signal).await.is_ok() {
        return Unanswered::Unknown;
    }
    // And this to everybody, unseen.
    match fetch(address, "GET", None, "", signal).await {
        Ok(_) => Unanswered::Cors,
        Err(_) => Unanswered::Unreached,
    }
}

/// `who`: user and password; `None` asks without, and the answer stays hidden from the page.
async fn fetch(
    address: &str,
    method: &str,
    who: Option<[&str; 2]>,
    body: &str,
    signal: &AbortSignal,
) -> Result<Response, JsValue> {
    let (init, headers) = (Object::new(), Object::new());
    let set = |to: &Object, key: &str, value: &JsValue| Reflect::set(to, &key.into(), value);
    let (mode, redirect) = match who {
        // A redirect would take the password along.
        Some(_) => ("cors", "error"),
        None => ("no-cors", "follow"),
    };
    let words = [
        ("method", method),
        ("mode", mode),
        ("redirect", redirect),
        ("credentials", "omit"),
        ("cache", "no-store"),
    ];
    for (key, value) in words {
        set(&init, key, &value.into())?;
    }
    for (name, value) in ["X-ClickHouse-User", "X-ClickHouse-Key"]
        .into_iter()
        .zip(who.into_iter().flatten())
    {
        // A header is bytes, which the browser takes as characters.
        let bytes: String = value.bytes().map(char::from).collect();
        if !value.is_empty() || method == "OPTIONS" {
            set(&headers, name, &bytes.into())?;
        }
    }
    set(&init, "headers", &headers)?;
    if method == "POST" {
        set(&init, "body", &body.into())?;
    }
    set(&init, "signal", signal)?;
    let global = js_sys::global();
    let fetch: Function = Reflect::get(&global, &"fetch".into())?.dyn_into()?;
    let sent: Promise = fetch.call2(&global, &address.into(), &init)?.dyn_into()?;
    JsFuture::from(sent).await?.dyn_into()
}
