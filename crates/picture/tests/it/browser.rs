//! The page as people meet it: in a browser, with pointer and keys. Skipped where there is no Chromium.

use std::time::{Duration, Instant};

use picture::{Picture, html, rects};
use serde_json::{Value, json};
use webdriver::{Browser, key};

use crate::layout::astray;
use crate::{hostile, on_two_devices, small};

/// A page in a browser.
struct Page {
    browser: Browser,
    picture: Picture,
    folder: tempfile::TempDir,
}

/// Opens the page of a picture, or says why it is not.
fn open(picture: Picture) -> Option<Page> {
    let programs = match Browser::find() {
        Ok(programs) => programs,
        Err(absent) => {
            eprintln!("skipped: {absent}");
            return None;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.html");
    std::fs::write(&file, html(&picture)).unwrap();
    let browser = Browser::start(&programs, 1400, 1100).unwrap();
    browser.open(&format!("file://{}", file.display())).unwrap();
    Some(Page { browser, picture, folder })
}

impl Page {
    fn value(&self, name: &str) -> usize {
        self.picture.values.iter().position(|value| value.name == name).unwrap()
    }

    fn rect(&self, name: &str) -> String {
        format!("rect[data-v=\"{}\"]", self.value(name))
    }

    fn run(&self, script: &str) -> Value {
        self.browser.run(script, &[]).unwrap()
    }

    fn count(&self, selector: &str) -> u64 {
        self.browser
            .run("return document.querySelectorAll(arguments[0]).length", &[json!(selector)])
            .unwrap()
            .as_u64()
            .unwrap()
    }

    /// Left, top, width and height of a value's rectangle in the window.
    fn place(&self, name: &str) -> [f64; 4] {
        let script = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]";
        let place = self.browser.run(script, &[json!(self.rect(name))]).unwrap();
        [0, 1, 2, 3].map(|i| place[i].as_f64().unwrap())
    }

    /// The page draws with the next frame and moves for a moment: waits until a text or number is as expected.
    fn until<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        see: impl Fn(&Self) -> T,
        expected: impl Fn(&T) -> bool,
    ) {
        let patience = Instant::now() + Duration::from_secs(15);
        loop {
            let seen = see(self);
            if expected(&seen) {
                return;
            }
            assert!(Instant::now() < patience, "{what}: {seen:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn text(&self, selector: &str) -> String {
        self.browser.text(selector).unwrap()
    }

    /// What a screen reader is told.
    fn said(&self) -> String {
        self.run("return document.getElementById('say').textContent").as_str().unwrap().to_owned()
    }

    fn focused(&self) -> String {
        self.run("return document.activeElement.id").as_str().unwrap_or_default().to_owned()
    }

    fn assert_no_mistake(&self) {
        assert_eq!(self.browser.console().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn pointer_search_zoom_and_peak() {
    let Some(page) = open(small()) else { return };
    let all = rects(&page.picture, page.picture.shown, 0).len() as u64;
    page.until("rectangles", |p| p.count("rect.v"), |&n| n == all);

    page.browser.hover(&page.rect("l1.ffn_add")).unwrap();
    page.until("tooltip", |p| p.text("#tip"), |tip| tip.contains("l1.ffn_add"));
    let tip = page.text("#tip");
    for fact in ["Add", "896 x 64 f32", "224 KiB", "l1.ffn_add to ", "in place of"] {
        assert!(tip.contains(fact), "{fact}: {tip}");
    }

    page.browser.type_into("#search", "glu f32").unwrap();
    assert_eq!(page.text("#count"), format!("4 of {all}"));
    assert_eq!(page.count("rect.v.hit"), 4);
    page.browser.press(key::ENTER).unwrap();
    page.until("first match", |p| p.text("#facts"), |facts| facts.contains("l0.glu"));
    page.browser.press(key::ESCAPE).unwrap();
    assert_eq!(page.text("#count"), format!("{all} values"));
    assert_eq!(page.count("rect.v.hit"), 0);

    let before = page.place("l1.ffn_add");
    let at = ((before[0] + before[2] / 2.0) as i32, (before[1] + before[3] / 2.0) as i32);
    page.browser.wheel(at, -300).unwrap();
    page.until("zoomed in", |p| p.place("l1.ffn_add")[2], |&wide| wide > before[2] * 1.3);
    let near = page.place("l1.ffn_add");
    page.browser.drag(at, (at.0 + 60, at.1)).unwrap();
    page.until("dragged", |p| p.place("l1.ffn_add")[0], |&x| x > near[0] + 30.0);
    page.browser.click("#reset").unwrap();
    page.until("all of it", |p| p.place("l1.ffn_add"), |place| *place == before);

    let held = page.picture.strategies[page.picture.shown].spaces[0].bound_values.len() as u64;
    page.browser.click("#flag").unwrap();
    page.until("values at the peak", |p| p.count("rect.v.hit"), |&n| n == held);
    assert_eq!(page.count("#held tbody tr"), held);
    page.browser.click("#showpeak").unwrap();
    page.until("no filter", |p| p.count("rect.v.hit"), |&n| n == 0);
    page.assert_no_mistake();
}

#[test]
fn keys_alone_are_enough() {
    let Some(page) = open(small()) else { return };
    page.browser.press("/").unwrap();
    assert_eq!(page.focused(), "search");
    for stop in ["scale", "out", "in", "reset", "chart"] {
        page.browser.press(key::TAB).unwrap();
        assert_eq!(page.focused(), stop);
    }
    let ring = page.run("return getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(ring, "solid", "the focus is seen");

    page.browser.press(key::HOME).unwrap();
    let first = page.said();
    page.browser.press(key::RIGHT).unwrap();
    let second = page.said();
    page.browser.press(key::LEFT).unwrap();
    assert_eq!(page.said(), first);
    assert_ne!(first, second);
    assert!(page.text("#tip").contains(first.split(',').next().unwrap()), "the facts are shown to eyes too");

    // Up leads to a higher address at the same time, as said by the page's own words.
    let select = |name: &str| {
        page.browser.press("/").unwrap();
        page.browser.press(&format!("{name}{}", key::ENTER)).unwrap();
        page.run("document.getElementById('chart').focus()");
    };
    select("l1.q.rope");
    let low = page.place("l1.q.rope")[1];
    page.browser.press(key::UP).unwrap();
    let above = page.said();
    let above = above.split(',').next().unwrap();
    assert_ne!(above, "l1.q.rope");
    assert!(page.place(above)[1] < low, "{above}");

    let before = page.place("l1.q.rope")[2];
    page.browser.press("+").unwrap();
    page.until("zoomed in", |p| p.place("l1.q.rope")[2], |&wide| wide > before * 1.2);
    page.browser.press("0").unwrap();
    page.until("all of it", |p| p.place("l1.q.rope")[2], |&wide| wide == before);
    page.browser.press("p").unwrap();
    assert!(page.said().starts_with("Peak at step"), "{}", page.said());
    page.browser.press(key::ESCAPE).unwrap();
    assert_eq!(page.count("rect.v.hit"), 0);
    page.assert_no_mistake();
}

#[test]
fn strategies_and_devices_are_switched_by_keys() {
    let Some(page) = open(on_two_devices()) else { return };
    let summary = page.text("#summary");
    assert!(summary.contains("on gpu0") && summary.contains("no plan needs less"), "{summary}");
    let packed = page.place("l1.glu");

    page.run("document.querySelector('#strategies input:checked').focus()");
    page.browser.press(&[key::LEFT, key::LEFT, key::LEFT].concat()).unwrap();
    page.until("naive", Page::said, |said| said.starts_with("naive: "));
    assert_ne!(page.text("#summary"), summary);
    page.until("another place", |p| p.place("l1.glu")[3], |&high| high < packed[3] / 2.0);
    page.browser.press(&[key::RIGHT, key::RIGHT, key::RIGHT].concat()).unwrap();
    page.until("the same place again", |p| p.place("l1.glu"), |place| *place == packed);

    page.run("document.querySelector('#spaces input:checked').focus()");
    page.browser.press(key::RIGHT).unwrap();
    page.until("the other device", |p| p.text("#summary"), |text| text.contains("on cpu"));
    let there = rects(&page.picture, page.picture.shown, 1).len() as u64;
    page.until("its values", |p| p.count("rect.v"), |&n| n == there);
    page.assert_no_mistake();
}

#[test]
fn narrow_dark_and_still_as_asked() {
    let Some(page) = open(small()) else { return };
    let paper = || page.run("return getComputedStyle(document.getElementById('left')).backgroundColor");
    let media = |features: Value| {
        page.browser.devtools("Emulation.setEmulatedMedia", json!({"features": features})).unwrap()
    };
    media(json!([{"name": "prefers-color-scheme", "value": "light"}]));
    assert_eq!(paper(), "rgb(255, 255, 255)");
    media(
        json!([{"name": "prefers-color-scheme", "value": "dark"}, {"name": "prefers-reduced-motion", "value": "reduce"}]),
    );
    assert_eq!(paper(), "rgb(22, 26, 34)");

    let size = json!({"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    page.browser.devtools("Emulation.setDeviceMetricsOverride", size).unwrap();
    page.until(
        "as wide as the window",
        |p| p.run("return document.documentElement.scrollWidth"),
        |wide| wide.as_u64() <= Some(380),
    );
    page.until(
        "the chart within it",
        |p| p.run("return document.getElementById('map').getBoundingClientRect().right"),
        |right| right.as_f64() <= Some(380.0),
    );

    // Without motion the first frame after a choice is the last.
    let script = "const input = document.querySelector('#strategies input'); input.click();
        const done = arguments[arguments.length - 1];
        const height = () => document.querySelector('rect.v[data-v=\"3\"]').getAttribute('height');
        requestAnimationFrame(() => requestAnimationFrame(() => {
            const first = height();
            setTimeout(() => done([first, height()]), 500);
        }));";
    let heights =
        page.browser.command("POST", "/execute/async", &json!({"script": script, "args": []})).unwrap();
    assert_eq!(heights[0], heights[1]);
    page.assert_no_mistake();
}

#[test]
fn nasty_names_run_nothing() {
    let Some(page) = open(hostile()) else { return };
    page.run("document.getElementById('chart').focus()");
    for key in [key::HOME, key::RIGHT, key::RIGHT, key::RIGHT, "p"] {
        page.browser.press(key).unwrap();
    }
    page.browser.type_into("#search", "owned").unwrap();
    assert!(page.count("rect.v.hit") > 0);
    let title = page.run("return document.title");
    assert!(title.as_str().unwrap().contains("</script><script>"), "{title}");
    assert_eq!(page.count("body img"), 0);
    assert_eq!(page.count("script"), 2);
    assert_eq!(page.run("return document.getElementById('title').textContent"), json!(page.picture.title));
    page.assert_no_mistake();
}

#[test]
fn a_picture_of_nothing_is_a_page_without_mistakes() {
    let Some(page) = open(Picture::default()) else { return };
    for key in [key::HOME, key::UP, "p", "+", "0"] {
        page.run("document.getElementById('chart').focus()");
        page.browser.press(key).unwrap();
    }
    assert_eq!(page.text("#count"), "0 values");
    page.assert_no_mistake();
    std::fs::write(page.folder.path().join("plan.html"), html(&astray())).unwrap();
    page.browser.command("POST", "/refresh", &json!({})).unwrap();
    page.until("the other page", |p| p.text("#count"), |count| count == "1 value");
    page.assert_no_mistake();
}
