//! Messages as they cross between the threads: `{ id, body }`, and beside the body what cannot be
//! data: `files` with a request to open some, `pixels` with a picture, `buffers` on their way back.
//!
//! A body is bytes, as `herdscope::packed` makes them: as JavaScript values a column of numbers would take
//! milliseconds, and the code for it 25 kB. Cost: proportional to the body; pixels are handed over, not copied.

use herdscope::packed;
use js_sys::{Array, Reflect, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

/// What crosses.
#[derive(Serialize)]
struct Message {
    id: u32,
    #[serde(with = "serde_bytes")]
    body: Vec<u8>,
}

/// Packs a message. What is in `beside` goes as it is.
pub fn pack<T: Serialize>(
    id: u32,
    body: &T,
    beside: &[(&str, &JsValue)],
) -> Result<JsValue, JsValue> {
    let body = packed::pack(body);
    let message = serde_wasm_bindgen::to_value(&Message { id, body })?;
    for (name, value) in beside {
        Reflect::set(&message, &(*name).into(), value)?;
    }
    Ok(message)
}

/// Unpacks a message. Its two fields are taken by name: serde's way to them brings the printing of
/// floating-point numbers along, 6 kB for errors that nobody sees.
pub fn unpack<T: DeserializeOwned>(message: &JsValue) -> Result<(u32, T), JsValue> {
    let id = Reflect::get(message, &"id".into())?.as_f64();
    let body: Option<Uint8Array> = beside(message, "body");
    let (Some(id), Some(body)) = (id, body) else {
        // Both ends are one program: only a mistake in it gets here.
        return Err("a message between the page and its engine has no body".into());
    };
    Ok((id as u32, packed::unpack(&body.to_vec())))
}

/// What travels beside the body under that name.
pub fn beside<T: JsCast>(message: &JsValue, name: &str) -> Option<T> {
    Reflect::get(message, &name.into()).ok()?.dyn_into().ok()
}

/// The things in a list, of which there may be none.
pub fn listed<T: JsCast>(message: &JsValue, name: &str) -> Vec<T> {
    let list: Option<Array> = beside(message, name);
    let things = list.map(|it| it.to_vec()).unwrap_or_default();
    things
        .into_iter()
        .filter_map(|it| it.dyn_into().ok())
        .collect()
}
