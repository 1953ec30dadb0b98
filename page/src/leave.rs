//! Leave that the person gave, by origin and for good: to fetch what links name there, or to open what pages of it send.
//!
//! Owns what is kept of that on this device, until the person clears the site's data. Invariants: a question is put once
//! for each origin and purpose; the page's own origin needs none; a browser that keeps nothing asks again with the next
//! page. Pinned by `tests/browser/tests/address.rs` and `tests/browser/tests/embedding.rs`. Cost: a text is read.

use crate::page::App;
use crate::theme;

/// To fetch from there what a link names.
pub const FETCH: &str = "herdscope-fetch ";
/// To open what is sent from there.
pub const SENT: &str = "herdscope-sent ";

/// What the person has said; `None` where nobody has asked.
#[inline(never)]
pub fn has(app: &App, purpose: &str, origin: &str) -> Option<bool> {
    let own = app.dom.window.location().origin();
    if own.is_ok_and(|own| own == origin) {
        return Some(true);
    }
    let kept = theme::storage(&app.dom)?.get_item(&key(purpose, origin));
    Some(kept.ok()?? == "yes")
}

/// The person has said so.
#[inline(never)]
pub fn keep(app: &App, purpose: &str, origin: &str, gives: bool) {
    if let Some(storage) = theme::storage(&app.dom) {
        let said = if gives { "yes" } else { "no" };
        // A browser that keeps nothing asks again.
        let _ = storage.set_item(&key(purpose, origin), said);
    }
}

fn key(purpose: &str, origin: &str) -> String {
    [purpose, origin].concat()
}
