//! Drives a real headless Chromium from a test: opens a page, moves the pointer, presses keys, asks what happened.
//!
//! It speaks the WebDriver protocol with `chromedriver` over plain HTTP on the loopback address. Only what tests of
//! our pages need is here. It is a development dependency: nothing that is shipped uses it.
//!
//! - [`Browser::find`] says why there is none on this machine, so that a test can be skipped with a visible note.
//! - The driver picks a free port itself and says which, so that two tests never race for one.
//! - A [`Browser`] that goes out of scope, also by a failing test, ends the session, the driver and the browser.
//! - Every wait has a limit; a page that hangs gives an error and not a test that never ends.
//!
//! ```no_run
//! use webdriver::Browser;
//!
//! let programs = Browser::find()?;
//! let browser = Browser::start(&programs, 1200, 800)?;
//! browser.open("data:text/html,<button>go</button>")?;
//! browser.click("button")?;
//! assert!(browser.console()?.is_empty());
//! # Ok::<(), webdriver::Error>(())
//! ```
//!
//! *Invariant: knows none of our other crates, and talks to the loopback address alone.*

#![forbid(unsafe_code)]

mod browser;

mod page;

mod driver;
mod http;

mod error;

pub use browser::{Browser, Programs};
pub use error::Error;
pub use page::key;
