//! The browser does what a test asks, and is gone afterwards.

use serde_json::{Value, json};
use webdriver::{Browser, key};

const PAGE: &str = "data:text/html,<title>t</title><input id=a><button id=b onclick=\"document.title='clicked'\">go</button>\
<p id=p onpointerenter=\"this.textContent='entered'\">wait</p>";

/// The browser, or a note that there is none.
fn browser() -> Option<Browser> {
    match Browser::find() {
        Ok(programs) => Some(Browser::start(&programs, 800, 600).unwrap()),
        Err(absent) => {
            eprintln!("skipped: {absent}");
            None
        }
    }
}

fn title(browser: &Browser) -> Value {
    browser.run("return document.title", &[]).unwrap()
}

#[test]
fn pointer_and_keys_reach_the_page() {
    let Some(browser) = browser() else { return };
    browser.open(PAGE).unwrap();
    browser.hover("#p").unwrap();
    assert_eq!(browser.text("#p").unwrap(), "entered");
    browser.type_into("#a", "xy").unwrap();
    browser.press(&[key::BACKSPACE, "z", key::TAB, key::ENTER].concat()).unwrap();
    assert_eq!(
        browser.run("return document.querySelector(arguments[0]).value", &[json!("#a")]).unwrap(),
        "xz"
    );
    assert_eq!(title(&browser), "clicked", "Tab went to the button and Enter pressed it");
    assert_eq!(browser.console().unwrap(), Vec::<String>::new());
}

#[test]
fn mistakes_of_a_page_are_on_the_console_and_those_of_a_test_are_errors() {
    let Some(browser) = browser() else { return };
    browser.open("data:text/html,<script>nothing.there()</script>").unwrap();
    let console = browser.console().unwrap();
    assert!(console.iter().any(|line| line.starts_with("SEVERE") && line.contains("nothing is not defined")));
    let missing = browser.click("#missing").unwrap_err().to_string();
    assert!(missing.contains("no such element"), "{missing}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_is_gone_after_a_failing_test() {
    let Some(browser) = browser() else { return };
    let process = browser.process().expect("the driver tells the process");
    // Ended or about to be reaped: it runs no more.
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z")
    };
    assert!(runs());
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = browser;
        panic!("a failing test, on purpose");
    }));
    assert!(failed.is_err());
    // The goodbye is answered when the browser is told, which is a moment before it is gone.
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while runs() {
        assert!(std::time::Instant::now() < patience, "process {process} still runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
