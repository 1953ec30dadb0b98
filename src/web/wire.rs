//! Messages as they cross between the threads: `{ id, body }`, and beside the body what cannot be
//! data: `file` with a request to open one, `pixels` with a picture, `buffers` on their way back.
//!
//! A body is bytes in the form of postcard, which only this very program reads: as JavaScript values a
//! column of numbers would take milliseconds, and the code for it 25 kB. Cost: proportional to the body;
//! pixels are handed over, not copied.

use js_sys::{Array, Object, Reflect, Uint8Array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

/// Packs a message. What is in `beside` goes as it is.
pub fn pack<T: Serialize>(
    id: u32,
    body: &T,
    beside: &[(&str, &JsValue)],
) -> Result<JsValue, JsValue> {
    let bytes = postcard::to_allocvec(body).map_err(failed)?;
    let message = Object::new();
    Reflect::set(&message, &"id".into(), &id.into())?;
    Reflect::set(&message, &"body".into(), &Uint8Array::from(&bytes[..]))?;
    for (name, value) in beside {
        Reflect::set(&message, &(*name).into(), value)?;
    }
    Ok(message.into())
}

/// Unpacks a message.
pub fn unpack<T: DeserializeOwned>(message: &JsValue) -> Result<(u32, T), JsValue> {
    let id = Reflect::get(message, &"id".into())?
        .as_f64()
        .unwrap_or_default() as u32;
    let body: Uint8Array = Reflect::get(message, &"body".into())?.dyn_into()?;
    let body = postcard::from_bytes(&body.to_vec()).map_err(failed)?;
    Ok((id, body))
}

/// Both ends are one program: only a mistake in it gets here.
fn failed(error: postcard::Error) -> JsValue {
    format!("a message between the page and its engine cannot be read: {error}").into()
}

/// What travels beside the body under that name.
pub fn beside<T: JsCast>(message: &JsValue, name: &str) -> Option<T> {
    Reflect::get(message, &name.into()).ok()?.dyn_into().ok()
}

/// The array buffers in a list, of which there may be none.
pub fn buffers(message: &JsValue, name: &str) -> Vec<js_sys::ArrayBuffer> {
    let list: Option<Array> = beside(message, name);
    let buffers = list.map(|it| it.to_vec()).unwrap_or_default();
    buffers
        .into_iter()
        .filter_map(|it| it.dyn_into().ok())
        .collect()
}
