//! The page's end of the line to the engine.
//!
//! Owns the worker and what is under way to it. Invariants: nothing is sent before the engine said
//! that it is ready; at most one frame and one hover are under way, and of those that wait only the
//! latest; pixel buffers go back with the next request. Cost: a message each.

use std::cell::{Cell, RefCell};
use std::rc::Weak;

use js_sys::{Array, ArrayBuffer, Object, Reflect};
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, BlobPropertyBag, ErrorEvent, File, HtmlLinkElement, MessageEvent, Url, Worker,
    WorkerOptions, WorkerType,
};

use crate::dom::Dom;
use crate::page::App;
use crate::wire;
use herdscope::messages::{FrameRequest, PointRequest, Request};

/// The engine as the page sees it.
#[derive(Default)]
pub struct Client {
    worker: RefCell<Option<Worker>>,
    ready: Cell<bool>,
    /// Messages for an engine that is not ready, with what they hand over.
    waiting: RefCell<Vec<JsValue>>,
    last_id: Cell<u32>,
    /// The frame that is under way.
    frame: Cell<Option<u32>>,
    hover: Cell<Option<u32>>,
    next_hover: RefCell<Option<PointRequest>>,
    buffers: RefCell<Vec<ArrayBuffer>>,
}

impl Client {
    /// Starts a worker; its messages go to [`App::receive`], its end to [`App::crashed`]. One that
    /// was there is ended, which gives its memory back.
    pub fn start(&self, dom: &Dom, app: &Weak<App>) -> Result<(), JsValue> {
        self.end();
        self.worker.replace(Some(spawn(dom, app)?));
        Ok(())
    }

    /// Ends the worker, if there is one: what it says after that is not heard.
    pub fn end(&self) {
        if let Some(worker) = self.worker.take() {
            worker.set_onmessage(None);
            worker.set_onerror(None);
            worker.terminate();
        }
        self.ready.set(false);
        self.frame.set(None);
        self.hover.set(None);
        self.waiting.borrow_mut().clear();
    }

    /// Whether the engine has said that it is there.
    pub fn is_ready(&self) -> bool {
        self.ready.get()
    }

    /// The engine is there: what has waited for it goes out.
    pub fn ready(&self) -> Result<(), JsValue> {
        self.ready.set(true);
        let waiting = self.waiting.take();
        waiting
            .into_iter()
            .try_for_each(|message| self.post(message))
    }

    /// Whether a frame may be asked for.
    pub fn is_free(&self) -> bool {
        self.ready.get() && self.frame.get().is_none()
    }

    /// Whether a frame is under way.
    pub fn is_drawing(&self) -> bool {
        self.frame.get().is_some()
    }

    /// Sends a request; the answer has the id that is returned.
    pub fn send(&self, request: &Request) -> Result<u32, JsValue> {
        let id = self.new_id();
        self.post(wire::pack(id, request, &[])?)?;
        Ok(id)
    }

    /// Sends a request to read something, beside it the files among that.
    pub fn open(&self, request: &Request, files: &[File]) -> Result<u32, JsValue> {
        let id = self.new_id();
        let files: Array = files.iter().collect();
        self.post(wire::pack(id, request, &[("files", &files)])?)?;
        Ok(id)
    }

    /// Asks for a frame; [`Client::is_free`] must hold.
    pub fn frame(&self, request: FrameRequest) -> Result<(), JsValue> {
        let id = self.new_id();
        let buffers: Array = self.buffers.take().into_iter().collect();
        let message = wire::pack(id, &Request::Frame(request), &[("buffers", &buffers)])?;
        self.frame.set(Some(id));
        match &*self.worker.borrow() {
            Some(worker) => worker.post_message_with_transfer(&message, &buffers),
            None => Ok(()),
        }
    }

    /// Whether this is the frame that is under way; then none is any more.
    pub fn frame_arrived(&self, id: u32) -> bool {
        let expected = self.frame.get() == Some(id);
        if expected {
            self.frame.set(None);
        }
        expected
    }

    /// Takes back the buffers of a picture that has been painted.
    pub fn recycle(&self, buffers: Vec<ArrayBuffer>) {
        self.buffers.replace(buffers);
    }

    /// Asks what is at a place, now or as soon as the question before is answered.
    pub fn hover(&self, request: PointRequest) -> Result<(), JsValue> {
        if self.hover.get().is_some() {
            self.next_hover.replace(Some(request));
            return Ok(());
        }
        let id = self.send(&Request::Hover(request))?;
        self.hover.set(Some(id));
        Ok(())
    }

    /// Whether this answers the latest question; a question that waited goes out.
    pub fn hover_arrived(&self, id: u32) -> Result<bool, JsValue> {
        if self.hover.get() != Some(id) {
            return Ok(false);
        }
        self.hover.set(None);
        match self.next_hover.take() {
            Some(next) => self.hover(next).map(|()| false),
            None => Ok(true),
        }
    }

    fn new_id(&self) -> u32 {
        let id = self.last_id.get().wrapping_add(1);
        self.last_id.set(id);
        id
    }

    fn post(&self, message: JsValue) -> Result<(), JsValue> {
        match &*self.worker.borrow() {
            Some(worker) if self.ready.get() => worker.post_message(&message),
            _ => {
                self.waiting.borrow_mut().push(message);
                Ok(())
            }
        }
    }
}

fn spawn(dom: &Dom, app: &Weak<App>) -> Result<Worker, JsValue> {
    let options = WorkerOptions::new();
    options.set_type(WorkerType::Module);
    let worker = Worker::new_with_options(&shim()?, &options)?;
    let to = app.clone();
    let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        if let Some(app) = to.upgrade() {
            app.receive(&event.data());
        }
    });
    worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
    on_message.forget();
    let to = app.clone();
    let on_error = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
        event.prevent_default();
        if let Some(app) = to.upgrade() {
            app.crashed(&event.message());
        }
    });
    worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
    on_error.forget();
    let hello = Object::new();
    Reflect::set(&hello, &"glue".into(), &glue_address(dom)?.into())?;
    Reflect::set(&hello, &"module".into(), &wasm_bindgen::module())?;
    worker.post_message(&hello)?;
    Ok(worker)
}

/// The address of the worker's few lines. Of a `blob:`, a worker is under the page's own policy; of a file's address it
/// would be under that of the file's headers, which most hosts cannot set. A failure that only rejects a promise is made
/// an error event there, which the page hears.
fn shim() -> Result<String, JsValue> {
    let kind = BlobPropertyBag::new();
    // A module is of no other type.
    kind.set_type("text/javascript");
    let lines = Array::of1(&include_str!("../../www/worker.js").into());
    Url::create_object_url_with_blob(&Blob::new_with_str_sequence_and_options(&lines, &kind)?)
}

/// Where the page's own script is, absolute: a worker resolves relative addresses against itself.
fn glue_address(dom: &Dom) -> Result<String, JsValue> {
    let link = dom.document.query_selector("link[rel=modulepreload]")?;
    let link: HtmlLinkElement = link
        .ok_or("the page names no script to preload")?
        .dyn_into()?;
    Ok(link.href())
}
