//! What a test does with a page.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::error::Error;

/// Keys that are no character, for [`Browser::press`] and [`Browser::type_into`].
pub mod key {
    /// Tab.
    pub const TAB: &str = "\u{e004}";
    /// Enter.
    pub const ENTER: &str = "\u{e007}";
    /// Shift, held until the end of the call.
    pub const SHIFT: &str = "\u{e008}";
    /// Control, held until the end of the call.
    pub const CONTROL: &str = "\u{e009}";
    /// Escape.
    pub const ESCAPE: &str = "\u{e00c}";
    /// Backspace.
    pub const BACKSPACE: &str = "\u{e003}";
    /// End.
    pub const END: &str = "\u{e010}";
    /// Home.
    pub const HOME: &str = "\u{e011}";
    /// Arrow to the left.
    pub const LEFT: &str = "\u{e012}";
    /// Arrow up.
    pub const UP: &str = "\u{e013}";
    /// Arrow to the right.
    pub const RIGHT: &str = "\u{e014}";
    /// Arrow down.
    pub const DOWN: &str = "\u{e015}";
}

/// The protocol's key for the name of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Opens an address and waits until the page is loaded.
    ///
    /// # Errors
    /// [`Error`] when it cannot be loaded.
    pub fn open(&self, url: &str) -> Result<(), Error> {
        self.command("POST", "/url", &json!({"url": url})).map(drop)
    }

    /// Runs the body of a function in the page and gives what it returns. `args` are its `arguments`.
    ///
    /// # Errors
    /// [`Error`] when it throws.
    pub fn run(&self, script: &str, args: &[Value]) -> Result<Value, Error> {
        self.command("POST", "/execute/sync", &json!({"script": script, "args": args}))
    }

    /// The text that is seen in the first element that a CSS selector finds.
    ///
    /// # Errors
    /// [`Error`] when there is no such element.
    pub fn text(&self, selector: &str) -> Result<String, Error> {
        let element = self.element(selector)?;
        let text = self.command("GET", &format!("/element/{element}/text"), &Value::Null)?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Clicks in the middle of the element, as a person would: not if something covers it.
    ///
    /// # Errors
    /// [`Error`] when there is no such element or it cannot be clicked.
    pub fn click(&self, selector: &str) -> Result<(), Error> {
        let element = self.element(selector)?;
        self.command("POST", &format!("/element/{element}/click"), &json!({})).map(drop)
    }

    /// Types into the element, which gets the focus.
    ///
    /// # Errors
    /// [`Error`] when there is no such element or it takes no text.
    pub fn type_into(&self, selector: &str, text: &str) -> Result<(), Error> {
        let element = self.element(selector)?;
        self.command("POST", &format!("/element/{element}/value"), &json!({"text": text})).map(drop)
    }

    /// Presses keys one after another, wherever the focus is; those of [`key`] that are held, are held to the end.
    ///
    /// # Errors
    /// [`Error`] when the driver refuses.
    pub fn press(&self, keys: &str) -> Result<(), Error> {
        let held = |key: &char| [key::SHIFT, key::CONTROL].iter().any(|k| k.starts_with(*key));
        let mut actions: Vec<Value> = Vec::new();
        for key in keys.chars() {
            actions.push(json!({"type": "keyDown", "value": key}));
            if !held(&key) {
                actions.push(json!({"type": "keyUp", "value": key}));
            }
        }
        actions.extend(keys.chars().filter(held).map(|key| json!({"type": "keyUp", "value": key})));
        self.act(json!({"type": "key", "id": "keyboard", "actions": actions}))
    }

    /// Moves the pointer to the middle of an element.
    ///
    /// # Errors
    /// [`Error`] when there is no such element or it is out of sight.
    pub fn hover(&self, selector: &str) -> Result<(), Error> {
        let element = self.element(selector)?;
        let origin = json!({ELEMENT: element});
        let moves = json!([{"type": "pointerMove", "x": 0, "y": 0, "duration": 0, "origin": origin}]);
        self.act(json!({"type": "pointer", "id": "mouse", "actions": moves}))
    }

    /// Presses the pointer at one point, in pixels of the window, and lets go at another.
    ///
    /// # Errors
    /// [`Error`] when a point is outside the window.
    pub fn drag(&self, from: (i32, i32), to: (i32, i32)) -> Result<(), Error> {
        let move_to = |(x, y): (i32, i32)| json!({"type": "pointerMove", "x": x, "y": y, "duration": 50});
        let (down, up) =
            (json!({"type": "pointerDown", "button": 0}), json!({"type": "pointerUp", "button": 0}));
        let actions = json!([move_to(from), down, move_to(to), up]);
        self.act(json!({"type": "pointer", "id": "mouse", "actions": actions}))
    }

    /// Turns the wheel over a point, in pixels of the window; down is positive.
    ///
    /// # Errors
    /// [`Error`] when the point is outside the window.
    pub fn wheel(&self, at: (i32, i32), down: i32) -> Result<(), Error> {
        let scroll = json!([{"type": "scroll", "x": at.0, "y": at.1, "deltaX": 0, "deltaY": down}]);
        self.act(json!({"type": "wheel", "id": "wheel", "actions": scroll}))
    }

    /// What the page and the browser wrote to the console since this was last asked, as `LEVEL: text`. A mistake in a
    /// script and a refused resource are there as `SEVERE`.
    ///
    /// # Errors
    /// [`Error`] when the driver refuses.
    pub fn console(&self) -> Result<Vec<String>, Error> {
        let entries = self.command("POST", "/se/log", &json!({"type": "browser"}))?;
        let line = |entry: &Value| {
            let part = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}", part("level"), part("message"))
        };
        Ok(entries.as_array().map(|all| all.iter().map(line).collect()).unwrap_or_default())
    }

    /// Calls a method of the browser's own protocol, such as `Emulation.setEmulatedMedia`: what WebDriver has no word for.
    ///
    /// # Errors
    /// [`Error`] when the browser refuses.
    pub fn devtools(&self, method: &str, params: Value) -> Result<Value, Error> {
        self.command("POST", "/goog/cdp/execute", &json!({"cmd": method, "params": params}))
    }

    /// The protocol's name of the first element that a CSS selector finds.
    fn element(&self, selector: &str) -> Result<String, Error> {
        let found = self.command("POST", "/element", &json!({"using": "css selector", "value": selector}))?;
        let missing = || Error::Answer { request: format!("find {selector}"), expected: "element" };
        found[ELEMENT].as_str().map(str::to_owned).ok_or_else(missing)
    }

    fn act(&self, source: Value) -> Result<(), Error> {
        self.command("POST", "/actions", &json!({"actions": [source]})).map(drop)
    }
}
