//! The address always holds the view, and Back undoes a gesture.
//!
//! Owns the browser's history. Invariant: a gesture (a burst of the wheel, one drag of a slider) is
//! one entry: its first change is pushed, the last of the others replaces it once nothing has changed for a while,
//! because that takes a browser as long as a picture. Pinned by the browser tests of links.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use crate::dom::Dom;
use herdscope::view::View;

/// What a change of the view belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gesture {
    /// Something done once.
    Step,
    /// One of a series in quick succession, by the name of the series.
    Burst(&'static str),
    /// Part of a drag, which ends with [`History::end_gesture`].
    Drag(&'static str),
    /// Nothing that the person did: the entry stays the same.
    Settle,
}

/// A pause that ends a burst, in milliseconds.
const PAUSE_MS: f64 = 800.0;
/// How long a view is unchanged before its address is written, in milliseconds.
const LAG_MS: i32 = 250;

/// The page's history.
#[derive(Clone)]
pub struct History(Rc<Inner>);

struct Inner {
    dom: Dom,
    /// The gesture under way, and when it last changed something.
    last: Cell<Option<(Gesture, f64)>>,
    /// The address that has not been written yet.
    late: RefCell<Option<String>>,
    timer: Cell<bool>,
    /// When the view changed last.
    noted_at: Cell<f64>,
    /// The address that was written last.
    written: RefCell<String>,
}

impl History {
    pub fn new(dom: &Dom) -> History {
        History(Rc::new(Inner {
            dom: dom.clone(),
            last: Cell::new(None),
            late: RefCell::default(),
            timer: Cell::new(false),
            noted_at: Cell::new(f64::NEG_INFINITY),
            written: RefCell::default(),
        }))
    }

    /// What stands after `#` in the address.
    pub fn hash(&self) -> String {
        self.0.dom.window.location().hash().unwrap_or_default()
    }

    /// Whether the address is one that the page wrote itself, and the latest.
    pub fn is_written(&self) -> bool {
        self.hash() == *self.0.written.borrow()
    }

    /// The address is taken as it is, without being written anew.
    pub fn accept(&self) {
        self.0.late.take();
        self.0.last.set(None);
        self.0.written.replace(self.hash());
    }

    /// Writes a view into the address.
    pub fn note(&self, view: &View, gesture: Gesture) -> Result<(), JsValue> {
        let inner = &self.0;
        let hash = format!("#{}", view.to_hash());
        let now = inner.dom.now();
        let continues = match (gesture, inner.last.get()) {
            (Gesture::Settle, _) => true,
            (Gesture::Burst(_), Some((last, at))) => last == gesture && now - at < PAUSE_MS,
            (Gesture::Drag(_), Some((last, _))) => last == gesture,
            _ => false,
        };
        if gesture != Gesture::Settle {
            inner.last.set(Some((gesture, now)));
        }
        if continues {
            inner.late.replace(Some(hash));
            inner.noted_at.set(now);
            self.flush_later();
            return Ok(());
        }
        self.flush()?;
        let history = inner.dom.window.history()?;
        history.push_state_with_url(&JsValue::NULL, "", Some(&hash))?;
        inner.wrote(hash);
        Ok(())
    }

    /// A drag is over: the next one is an entry of its own.
    pub fn end_gesture(&self) -> Result<(), JsValue> {
        self.0.last.set(None);
        self.flush()
    }

    /// Writes what is late.
    pub fn flush(&self) -> Result<(), JsValue> {
        let Some(hash) = self.0.late.take() else {
            return Ok(());
        };
        let history = self.0.dom.window.history()?;
        history.replace_state_with_url(&JsValue::NULL, "", Some(&hash))?;
        self.0.wrote(hash);
        Ok(())
    }

    /// The whole address.
    pub fn address(&self) -> Result<String, JsValue> {
        self.flush()?;
        self.0.dom.window.location().href()
    }

    fn flush_later(&self) {
        if self.0.timer.replace(true) {
            return;
        }
        let this = self.clone();
        self.0.dom.later(LAG_MS, move || {
            this.0.timer.set(false);
            if this.0.dom.now() - this.0.noted_at.get() < f64::from(LAG_MS) {
                return this.flush_later();
            }
            // Refused only when there were too many: the next change writes it.
            let _ = this.flush();
        });
    }
}

impl Inner {
    fn wrote(&self, hash: String) {
        self.written.replace(hash);
    }
}
