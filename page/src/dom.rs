//! Short words for what the page does with the document all the time.
//!
//! Invariant: text from a file only ever becomes text, never markup. A missing element is a mistake
//! in `index.html` and stops the page; the browser tests would see it. What is called in a hundred
//! places is not inlined there: the page is downloaded before it is run.

use std::pin::Pin;

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{
    AddEventListenerOptions, Document, Element, Event, EventTarget, HtmlElement, HtmlInputElement,
    HtmlSelectElement, Node, Window,
};

/// The document and its window.
#[derive(Clone)]
pub struct Dom {
    pub window: Window,
    pub document: Document,
}

impl Dom {
    pub fn new(window: Window) -> Result<Dom, JsValue> {
        let document = window.document().ok_or("the window has no document")?;
        Ok(Dom { window, document })
    }

    /// The element of that id in `index.html`.
    pub fn get<T: JsCast>(&self, id: &str) -> T {
        match self.element(id).dyn_into() {
            Ok(element) => element,
            Err(_) => not_there(id),
        }
    }

    /// The element of that id.
    #[inline(never)]
    pub fn html(&self, id: &str) -> HtmlElement {
        self.get(id)
    }

    #[inline(never)]
    fn element(&self, id: &str) -> Element {
        match self.document.get_element_by_id(id) {
            Some(element) => element,
            None => not_there(id),
        }
    }

    #[inline(never)]
    pub fn input(&self, id: &str) -> HtmlInputElement {
        self.get(id)
    }

    pub fn select(&self, id: &str) -> HtmlSelectElement {
        self.get(id)
    }

    pub fn root(&self) -> Element {
        match self.document.document_element() {
            Some(root) => root,
            None => panic!("a document has a root"),
        }
    }

    #[inline(never)]
    pub fn text(&self, id: &str, text: &str) {
        let element = self.html(id);
        // A text that is set again would end a person's selection of it.
        if element.text_content().as_deref() != Some(text) {
            element.set_text_content(Some(text));
        }
    }

    #[inline(never)]
    pub fn show(&self, id: &str, shown: bool) {
        self.html(id).set_hidden(!shown);
    }

    /// A new element with a class and a text.
    #[inline(never)]
    pub fn new_element(&self, tag: &str, class: &str, text: &str) -> HtmlElement {
        let element = self
            .document
            .create_element(tag)
            .and_then(|it| Ok(it.dyn_into()?));
        let element: HtmlElement = match element {
            Ok(element) => element,
            Err(_) => panic!("no element <{tag}>"),
        };
        if !class.is_empty() {
            element.set_class_name(class);
        }
        if !text.is_empty() {
            element.set_text_content(Some(text));
        }
        element
    }

    /// A new element with a class and a text, at the end of another.
    #[inline(never)]
    pub fn add(&self, parent: &Element, tag: &str, class: &str, text: &str) -> HtmlElement {
        let element = self.new_element(tag, class, text);
        fill(parent, &[&element]);
        element
    }

    /// A button that says what it is for in an attribute.
    #[inline(never)]
    pub fn button(&self, class: &str, text: &str, attribute: &str, value: &str) -> HtmlElement {
        let button = self.new_element("button", class, text);
        set(&button, "type", "button");
        set(&button, attribute, value);
        button
    }

    /// Device pixels of a CSS pixel.
    pub fn scale(&self) -> f64 {
        let scale = self.window.device_pixel_ratio();
        if scale > 0.0 { scale } else { 1.0 }
    }

    /// Milliseconds since the page was opened.
    pub fn now(&self) -> f64 {
        self.window.performance().map_or(0.0, |it| it.now())
    }

    /// Runs something once, after that many milliseconds.
    pub fn later(&self, ms: i32, run: impl FnOnce() + 'static) {
        let run = Closure::once_into_js(run);
        let timer = self
            .window
            .set_timeout_with_callback_and_timeout_and_arguments_0(run.unchecked_ref(), ms);
        debug_assert!(timer.is_ok());
    }
}

#[cold]
fn not_there(id: &str) -> ! {
    panic!("index.html has no #{id} of that type")
}

/// Goes on with what waits for the browser now and then: whatever it is, this is compiled once.
#[inline(never)]
pub fn spawn(work: Pin<Box<dyn Future<Output = ()>>>) {
    spawn_local(work);
}

/// Listens for as long as the page lives.
pub fn on(target: &EventTarget, event: &str, run: impl FnMut(Event) + 'static) {
    let run = Closure::<dyn FnMut(Event)>::new(run);
    let options = AddEventListenerOptions::new();
    options.set_passive(false);
    let added = target.add_event_listener_with_callback_and_add_event_listener_options(
        event,
        run.as_ref().unchecked_ref(),
        &options,
    );
    debug_assert!(added.is_ok());
    run.forget();
}

/// Adds children in order.
#[inline(never)]
pub fn fill(parent: &Element, children: &[&Node]) {
    for child in children {
        // Appending fails only where the tree would become a cycle.
        let _ = parent.append_child(child);
    }
}

#[inline(never)]
pub fn set(element: &Element, attribute: &str, value: &str) {
    // Fails only on an attribute name that is no name.
    let _ = element.set_attribute(attribute, value);
}

/// An attribute that says whether something is so.
#[inline(never)]
pub fn flag(element: &Element, attribute: &str, is_so: bool) {
    set(element, attribute, if is_so { "true" } else { "false" });
}

/// A custom property or a style of an element.
#[inline(never)]
pub fn style(element: &HtmlElement, property: &str, value: &str) {
    // Fails only on a read-only declaration, which an element's own is not.
    let _ = element.style().set_property(property, value);
}

/// A number as a style has it.
#[inline(never)]
pub fn number(value: f64) -> String {
    String::from(js_sys::Object::to_string(&js_sys::Number::from(value)))
}

/// A length in CSS pixels.
pub fn px(css: f64) -> String {
    number(css) + "px"
}

/// A share of a whole.
pub fn percent(share: f64) -> String {
    number(share * 100.0) + "%"
}

#[inline(never)]
pub fn clear(element: &Element) {
    element.set_text_content(None);
}

/// The value of an attribute; empty without one.
#[inline(never)]
pub fn attribute(element: &Element, name: &str) -> String {
    element.get_attribute(name).unwrap_or_default()
}

/// The element whose listener hears the event.
#[inline(never)]
pub fn listening(event: &Event) -> Element {
    match event.current_target() {
        Some(target) => target.unchecked_into(),
        None => panic!("an event is heard by nobody"),
    }
}

/// The closest ancestor (or the target itself) that a selector matches.
#[inline(never)]
pub fn closest(event: &Event, selector: &str) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest(selector).ok()?
}

/// The attribute of the closest ancestor (or the target itself) that has it.
#[inline(never)]
pub fn pressed(event: &Event, attribute: &str) -> Option<String> {
    closest(event, &["[", attribute, "]"].concat())?.get_attribute(attribute)
}

/// What the browser says about a failure, as one line.
#[inline(never)]
pub fn reason(error: &JsValue) -> String {
    if let Some(error) = error.dyn_ref::<js_sys::Error>() {
        return String::from(error.message());
    }
    match js_sys::Reflect::get(error, &"message".into())
        .ok()
        .and_then(|it| it.as_string())
    {
        Some(message) => message,
        None => error
            .as_string()
            .unwrap_or_else(|| "the browser does not say why".to_owned()),
    }
}
