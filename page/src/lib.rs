//! The browser: the only place that knows of it. One program, started on two threads.
//!
//! On the page's thread `start` builds the `page::App`, which owns the document. In the worker
//! `www/worker.js` calls `start_engine`, which owns the data. Between them go the messages of
//! `herdscope::messages`, packed by `wire`. Invariant: nothing here computes what could be computed,
//! and tested, without a browser; that is in `herdscope::engine`, `herdscope::viewport` and
//! `herdscope::format`. Pinned by the browser tests.

#![cfg(target_arch = "wasm32")]

mod ask;
mod assume;
mod breaker;
mod canvas;
mod clickhouse;
mod client;
mod columns;
mod commands;
mod dom;
mod embedding;
mod export;
mod filter;
mod header;
mod herds;
mod history;
mod leave;
mod notices;
mod open;
mod overview;
mod page;
mod paint;
mod panes;
mod plot;
mod reading;
mod row;
mod seek;
mod settings;
mod stopped;
mod stream;
mod supposed;
mod theme;
mod tools;
mod trace;
mod wire;
mod worker;

use wasm_bindgen::prelude::*;

/// Runs on both threads as soon as the program is there; only the page has a window.
#[wasm_bindgen(start)]
pub fn start() -> Result<(), JsValue> {
    match web_sys::window() {
        Some(window) => page::start(window),
        None => Ok(()),
    }
}

/// Starts the engine's thread; called by `www/worker.js`.
#[wasm_bindgen]
pub fn start_engine() -> Result<(), JsValue> {
    worker::start()
}
