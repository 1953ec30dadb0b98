//! What is taken away, written piece by piece beside everything else that the thread does.
//!
//! Invariants: the newest one that is asked for is written, and gives way to messages; a piece leaves the engine's
//! memory when it is full, so that what is written does not grow there. Pinned by `tests/browser/tests/export.rs`.

use std::rc::Rc;

use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::Blob;

use super::{TURN_MS, Thread, or_throw};
use crate::{dom, wire};
use herdscope::messages::{Export, Reply};
use herdscope::view::View;

/// The browser takes pieces of so many bytes, nearly.
const PIECE: usize = 1 << 20;

impl Thread {
    /// Writes it, and gives the page a file of it.
    pub(super) fn export(self: &Rc<Self>, id: u32, view: &str, what: &Export) {
        self.exporting.set(id);
        let view = View::parse(view).0;
        let mut exporting = self.engine().export(view, what, dom::number);
        let thread = self.clone();
        dom::spawn(Box::pin(async move {
            let (pieces, mut text) = (Array::new(), String::new());
            let mut turn = thread.now();
            loop {
                let step = thread.engine().step_export(&mut exporting, &mut text);
                let Some(more) = step else {
                    return;
                };
                if text.len() >= PIECE || !more {
                    let piece = or_throw(piece(&text));
                    pieces.push(&piece);
                    text.clear();
                }
                if !more {
                    break;
                }
                if thread.now() - turn >= TURN_MS {
                    thread.export_turns.give_way().await;
                    turn = thread.now();
                }
                if thread.exporting.get() != id {
                    return;
                }
            }
            let file = or_throw(Blob::new_with_blob_sequence(&pieces));
            let message = or_throw(wire::pack(id, &Reply::Exported, &[("file", &file)]));
            or_throw(thread.scope.post_message(&message));
        }));
    }
}

fn piece(text: &str) -> Result<Blob, JsValue> {
    Blob::new_with_str_sequence(&Array::of1(&text.into()))
}
