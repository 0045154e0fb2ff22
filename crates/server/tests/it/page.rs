//! The page: what is served, and what people do with it in a browser. The latter is skipped where there is no Chromium.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use server::ServerOptions;
use webdriver::{Browser, key};

use crate::support::{PARALLEL, Running, model, start, start_sized, start_with};

/// A page in a browser.
struct Page {
    browser: Browser,
    running: Running,
}

/// Opens the page of a server, or says why it is not.
fn open(running: Running) -> Option<Page> {
    let programs = match Browser::find() {
        Ok(programs) => programs,
        Err(absent) => {
            eprintln!("skipped: {absent}");
            return None;
        }
    };
    let browser = Browser::start(&programs, 1100, 800).unwrap();
    let page = Page { browser, running };
    page.load();
    Some(page)
}

/// Answers that go on until the context is full: long enough to be met while they are written.
fn endless() -> Running {
    start_sized(model(), ServerOptions { ignore_eos: true, ..ServerOptions::default() }, PARALLEL, 16384)
}

const ANSWER: &str = ".answer:last-child .body";

impl Page {
    fn load(&self) {
        self.browser.open(&format!("http://{}/", self.running.address)).unwrap();
        self.until("the page is ready", "return document.getElementById('send').title", |title| title != "");
    }

    fn run(&self, script: &str) -> Json {
        self.browser.run(script, &[]).unwrap()
    }

    /// Waits until what a script gives is as expected.
    fn until(&self, what: &str, script: &str, expected: impl Fn(&Json) -> bool) -> Json {
        let patience = Instant::now() + Duration::from_secs(60);
        loop {
            let seen = self.run(script);
            if expected(&seen) {
                return seen;
            }
            assert!(Instant::now() < patience, "{what}: {seen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn text(&self, selector: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.textContent ?? ''";
        self.browser.run(script, &[json!(selector)]).unwrap().as_str().unwrap().to_owned()
    }

    fn count(&self, selector: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        self.browser.run(script, &[json!(selector)]).unwrap().as_u64().unwrap()
    }

    fn click(&self, selector: &str) {
        self.browser.click(selector).unwrap();
    }

    fn send(&self, text: &str) {
        self.browser.type_into("#input", &format!("{text}{}", key::ENTER)).unwrap();
    }

    fn until_answered(&self) {
        self.until(
            "the answer ends",
            "return document.getElementById('send').ariaLabel + document.querySelectorAll('.turn.running').length",
            |seen| seen == "Send0",
        );
    }

    /// What is kept, once it has been.
    fn stored(&self) -> Vec<Json> {
        let script = "const done = arguments[0];
            indexedDB.open('minfer').onsuccess = ({ target }) => {
                const all = target.result.transaction('conversations').objectStore('conversations').getAll();
                all.onsuccess = () => (target.result.close(), done(all.result));
            };";
        self.later(script).as_array().unwrap().clone()
    }

    /// What a script gives to the last of its arguments.
    fn later(&self, script: &str) -> Json {
        self.browser.command("POST", "/execute/async", &json!({"script": script, "args": []})).unwrap()
    }

    /// Chooses a file in the page's own dialog for that.
    fn import(&self, path: &Path) {
        self.browser.type_into("#file", path.to_str().unwrap()).unwrap();
    }

    fn assert_no_mistake(&self) {
        assert_eq!(self.browser.console().unwrap(), Vec::<String>::new());
        let strangers = "const all = performance.getEntriesByType('resource').map((entry) => entry.name);
            return all.filter((name) => !name.startsWith(location.origin + '/'))";
        assert_eq!(self.run(strangers), json!([]));
    }
}

#[test]
fn the_page_is_served_with_its_types_and_its_policy() {
    let running =
        start_with(model(), ServerOptions { api_keys: vec!["k".into()], ..ServerOptions::default() });
    let get = |path: &str, name: &str, value: &str| {
        let request = ureq::get(format!("http://{}{path}", running.address)).header(name, value);
        request.config().http_status_as_error(false).build().call().unwrap()
    };
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/style.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let response = get(path, "accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        let head = response.headers().clone();
        let header = |name: &str| head[name].to_str().unwrap();
        assert_eq!((response.status().as_u16(), header("content-type")), (200, kind));
        assert!(header("content-security-policy").starts_with("default-src 'self';"));
        assert_eq!((header("cache-control"), header("x-content-type-options")), ("no-cache", "nosniff"));
        let again = ureq::get(format!("http://{}{path}", running.address)).header("accept", "text/html");
        let again = again.header("if-none-match", header("etag")).call().unwrap();
        assert_eq!(again.status().as_u16(), 304);
    }
    for accept in ["application/json", "*/*"] {
        let mut response = get("/", "accept", accept);
        assert_eq!(response.headers()["vary"], "accept");
        assert!(response.body_mut().read_to_string().unwrap().starts_with("minfer answers here"));
    }
    assert_eq!(get("/page/main.rs", "accept", "*/*").status().as_u16(), 404);
    assert_eq!(get("/page/..%2Fpage.rs", "accept", "*/*").status().as_u16(), 404);
}

#[test]
fn an_answer_grows_is_stopped_and_is_there_after_a_reload() {
    let Some(page) = open(endless()) else { return };
    let length = |page: &Page| page.text(ANSWER).len();
    page.browser.type_into("#input", "one").unwrap();
    page.browser.press(&[key::SHIFT, key::ENTER].concat()).unwrap();
    // Enter that ends the composing of a word is not one that sends.
    page.run(
        "const event = { key: 'Enter', isComposing: true, bubbles: true };
        document.getElementById('input').dispatchEvent(new KeyboardEvent('keydown', event))",
    );
    assert_eq!(page.count(".turn"), 0);
    page.send("two");
    page.until("it begins", "return document.querySelector('.running .body')?.textContent.length > 0", |s| {
        s == true
    });
    assert_eq!(page.text(".question .body"), "one\ntwo");
    // Who reads further up is left there; who is at the end stays there.
    let scrolled = "const box = document.getElementById('scroll'); return [box.scrollTop, box.scrollHeight - box.clientHeight]";
    page.until("it is longer than the screen", scrolled, |at| at[1].as_f64() > Some(200.0));
    page.until("the end is followed", scrolled, |at| {
        at[1].as_f64().unwrap() - at[0].as_f64().unwrap() < 60.0
    });
    page.run("document.getElementById('scroll').scrollTop = 50");
    page.until("it is longer still", scrolled, |at| at[1].as_f64() > Some(500.0));
    assert_eq!(page.run(scrolled)[0], 50);
    page.click("#to-end");
    page.until("the end is followed again", scrolled, |at| at[0].as_f64() > Some(500.0));
    let before = length(&page);
    page.until(
        "it grows",
        &format!("return document.querySelector('{ANSWER}').textContent.length > {before}"),
        |s| s == true,
    );
    page.browser.press(key::ESCAPE).unwrap();
    page.until_answered();
    page.running.wait_until("the server stops too", |r| r.server.stats().running == 0);
    let figures = page.text(".figures");
    assert!(figures.starts_with("Stopped") && figures.contains("tokens/s"), "{figures}");
    let answer = page.text(ANSWER);

    page.browser.command("POST", "/refresh", &json!({})).unwrap();
    page.until("it is there again", "return document.querySelectorAll('.turn').length", |n| n == 2);
    assert_eq!((page.text(ANSWER), page.text(".question .body")), (answer.clone(), "one\ntwo".to_owned()));

    // A page that is left in the middle of an answer keeps all that it showed.
    page.click(".answer [aria-label='Answer again']");
    page.until(
        "it begins anew",
        "return document.querySelector('.running .body')?.textContent.length > 0",
        |s| s == true,
    );
    let shown = length(&page);
    page.browser.command("POST", "/refresh", &json!({})).unwrap();
    page.until("it is there again", "return document.querySelectorAll('.turn').length", |n| n == 2);
    assert!(length(&page) >= shown);
    assert!(page.text(".figures").starts_with("Not finished"), "{}", page.text(".figures"));

    // Another conversation, while the answer of the first goes on.
    page.click(".answer [aria-label='Answer again']");
    page.click("#new");
    page.until("a new one", "return document.querySelectorAll('.turn').length", |n| n == 0);
    assert_eq!(page.count("#list .running"), 1);
    page.send("three");
    page.until("both run", "return document.querySelectorAll('#list .running').length", |n| n == 2);
    page.click("#send");
    page.until_answered();
    page.click("#list li:not(.shown) a");
    page.until("the first again", "return document.querySelectorAll('.running .body').length", |n| n == 1);
    page.browser.press(key::ESCAPE).unwrap();
    page.until_answered();
    let kept = page.stored();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|each| each["messages"][1]["state"] == "stopped"), "{kept:?}");
    page.assert_no_mistake();
}

#[test]
fn messages_are_answered_again_edited_and_deleted_and_each_can_be_undone() {
    let Some(page) = open(start()) else { return };
    page.click("#open-settings");
    page.browser.type_into("[name=system]", "Be brief.").unwrap();
    for (name, value) in [("temperature", "0.5"), ("max_tokens", "12"), ("seed", "7"), ("top_p", "5")] {
        page.browser.type_into(&format!("[name={name}]"), value).unwrap();
    }
    assert_eq!(page.run("return document.querySelector(':invalid[name]').name"), "top_p");
    page.click("#settings-reset");
    page.browser.type_into("[name=max_tokens]", "12").unwrap();
    page.browser.type_into("[name=seed]", &format!("7{}", key::ESCAPE)).unwrap();
    let ask = "const list = []; window.asked = list; const before = window.fetch;
        window.fetch = (path, options) => (options?.body && list.push(JSON.parse(options.body)), before(path, options));";
    page.run(ask);
    page.send("first");
    page.until_answered();
    let first = page.text(ANSWER);
    let asked = page.run("return asked[0]");
    assert_eq!(
        asked["messages"],
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "first"}])
    );
    assert_eq!((&asked["max_tokens"], &asked["seed"], asked.get("top_p")), (&json!(12), &json!(7), None));
    let figures = page.text(".figures");
    assert!(
        figures.contains("first after") && figures.contains("12 tokens") && figures.contains("prompt "),
        "{figures}"
    );
    let used =
        page.run("const c = document.getElementById('context'); return [c.ariaValueNow, c.ariaValueMax]");
    assert!(used[0].as_str().unwrap().parse::<u32>().unwrap() > 12 && used[1] == "512", "{used}");

    page.send("second");
    page.until_answered();
    assert_eq!(page.count(".turn"), 4);
    assert!(page.text(".answer:last-child .figures").contains("from the cache"));
    let all = page.text("#thread");

    // The same seed, the same answer.
    page.click(".answer [aria-label='Answer again']");
    page.until_answered();
    assert_eq!((page.count(".turn"), page.text(ANSWER)), (2, first));
    page.click(".notice .plain");
    assert_eq!(page.text("#thread"), all);

    page.click(".question [aria-label='Edit and send again']");
    page.browser.type_into(".editor textarea", &format!(" of all{}", key::ENTER)).unwrap();
    page.until_answered();
    assert_eq!((page.count(".turn"), page.text(".question .body")), (2, "first of all".to_owned()));
    page.click(".notice .plain");
    assert_eq!(page.text("#thread"), all);

    page.click(".answer [aria-label='Delete the message and its answer']");
    assert_eq!((page.count(".turn"), page.text(".question .body")), (2, "second".to_owned()));
    page.click(".notice .plain");
    assert_eq!(page.text("#thread"), all);

    page.browser.hover("#list li").unwrap();
    page.click("#list [aria-label^=Rename]");
    page.browser.press(&format!("rivers{}", key::ENTER)).unwrap();
    page.until("the title", "return document.getElementById('title').textContent", |title| title == "rivers");
    page.browser.type_into("#search", "SECOND riv").unwrap();
    assert_eq!(page.count("#list li"), 1);
    page.browser.type_into("#search", "x").unwrap();
    assert_eq!((page.count("#list li"), page.text("#none")), (0, "Nothing found.".to_owned()));
    page.run(
        "const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))",
    );
    page.browser.hover("#list li").unwrap();
    page.click("#list [aria-label^=Delete]");
    page.until("it is gone", "return document.querySelectorAll('.turn, #list li').length", |n| n == 0);
    page.click(".notice .plain");
    page.until("it is there again", "return document.querySelectorAll('#list li').length", |n| n == 1);
    page.assert_no_mistake();
}

/// An answer that tries whatever markup could do.
const NASTY: &str = "<script>owned = 1</script> <img src=x onerror='owned = 1'>\n\n[a](javascript:owned=1) ![b](https://example.org/b.png \"t\")\n\n\
    | <b>h</b> |\n|---|\n| <svg onload=owned=1> |\n\n```html\"><script>owned = 1</script>\n<script>owned = 1</script>\n```\n\n**bold** [good](https://example.org)";

fn nasty() -> Json {
    let messages = json!([
        {"id": "m1", "role": "user", "text": "<img src=x onerror='owned = 1'>"},
        {"id": "m2", "role": "assistant", "text": NASTY, "state": "done", "figures": {"prompt": 20, "tokens": 30, "cached": 4, "rate": 12.5, "first": 0.25}},
    ]);
    let conversation = json!({"id": "c1", "title": "<b>title</b>", "created": 1, "updated": 2, "system": "", "messages": messages});
    json!({"format": "minfer-conversations", "version": 1, "conversations": [conversation]})
}

#[test]
fn tabs_show_the_same_and_what_did_not_change_stays_as_it_is() {
    let Some(page) = open(start()) else { return };
    let to = |tab: &Json| page.browser.command("POST", "/window", &json!({"handle": tab})).unwrap();
    let first = page.browser.command("GET", "/window", &Json::Null).unwrap();
    page.click("#open-settings");
    page.browser.type_into("[name=max_tokens]", &format!("8{}", key::ESCAPE)).unwrap();
    page.send("hello");
    page.until_answered();
    let second = page.browser.command("POST", "/window/new", &json!({"type": "tab"})).unwrap();
    to(&second["handle"]);
    page.load();
    page.click("#list a");
    page.until("it is shown", "return document.querySelectorAll('.turn').length", |n| n == 2);
    page.run("window.nodes = [...document.querySelectorAll('.turn, #list li')]");
    to(&first);
    page.send("more");
    page.until_answered();
    let all = page.text("#thread");
    to(&second["handle"]);
    let thread = "return document.getElementById('thread').textContent";
    page.until("the other tab follows", thread, |text| text == all.as_str());
    assert_eq!(page.run("return nodes.every((node) => node.isConnected)"), true);
    page.assert_no_mistake();
}

#[test]
fn what_is_exported_can_be_imported_and_runs_nothing() {
    let Some(page) = open(start()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.json");
    std::fs::write(&file, nasty().to_string()).unwrap();
    page.import(&file);
    page.until("it is in the list", "return document.querySelectorAll('#list li').length", |n| n == 1);
    page.click("#list a");
    page.until("it is shown", "return document.querySelectorAll('.turn').length", |n| n == 2);
    let seen = page.text(ANSWER);
    for text in [
        "<script>owned = 1</script> <img src=x onerror='owned = 1'>",
        "[a](javascript:owned=1)",
        "<b>h</b>",
        "<svg onload=owned=1>",
    ] {
        assert!(seen.contains(text), "{text}: {seen}");
    }
    assert_eq!(page.text(".question .body"), "<img src=x onerror='owned = 1'>");
    assert_eq!(page.text("#list a"), "<b>title</b>");
    assert_eq!(
        (page.count(".answer strong"), page.count(".answer table"), page.count(".answer .code pre")),
        (1, 1, 1)
    );
    assert_eq!(page.count(":is(#thread, #list) :is(img, script, b, svg[onload])"), 0);
    let links = page.run("return [...document.querySelectorAll('.answer a')].map((a) => `${a.textContent} ${a.href} ${a.rel}`)");
    assert_eq!(
        links,
        json!([
            "b https://example.org/b.png noopener noreferrer",
            "good https://example.org/ noopener noreferrer"
        ])
    );
    assert_eq!(page.run("return typeof owned"), "undefined");

    let to = json!({"behavior": "allow", "downloadPath": folder.path()});
    page.browser.devtools("Browser.setDownloadBehavior", to).unwrap();
    page.click("#export");
    let since = Instant::now();
    let exported = loop {
        let mut files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let found = files.find(|path| path.extension().is_some_and(|e| e == "json") && *path != file);
        if let Some(text) =
            found.and_then(|path| std::fs::read_to_string(path).ok()).filter(|text| text.ends_with('}'))
        {
            break text;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "the file comes");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(serde_json::from_str::<Json>(&exported).unwrap(), nasty());

    // The same again changes nothing; another one of the same name is one more.
    let notice = |found: &'static str| {
        page.until(found, "return document.getElementById('notices').textContent", |text| {
            text.as_str().unwrap().contains(found)
        });
    };
    page.import(&file);
    notice("0 imported, 1 of the file were here already");
    let mut other = nasty();
    other["conversations"][0]["title"] = json!("another");
    std::fs::write(&file, other.to_string()).unwrap();
    page.import(&file);
    page.until("one more", "return document.querySelectorAll('#list li').length", |n| n == 2);
    let mut wrong = nasty();
    wrong["conversations"][0]["messages"][1]["text"] = json!(5);
    for (text, why) in [
        (
            "no json".to_owned(),
            "in.json: expected conversations exported from this page, found a file that is no JSON",
        ),
        ("[]".to_owned(), "found a list"),
        (
            r#"{"format": "other"}"#.to_owned(),
            "(\"format\": \"minfer-conversations\"), found \"format\": \"other\"",
        ),
        (wrong.to_string(), "conversations[0].messages[1].text: expected a text, found 5"),
    ] {
        std::fs::write(&file, text).unwrap();
        page.import(&file);
        notice(why);
    }
    assert_eq!(page.stored().len(), 2);
    page.assert_no_mistake();
}

#[test]
fn a_text_that_grows_is_drawn_as_the_whole_is_and_finished_blocks_stay() {
    let Some(page) = open(start()) else { return };
    let whole = "# One\n\nText *with* `code`\nand more.\n\n1. a\n   - b\n\n   c\n2. d\n\n```rust\nlet x = 1;\n\n# no heading\n```\n> quote\n\na | b\n--|--:\nc | `|`\n\n---\n- [x] done\n- [ ] not\n\n~~old~~ **new *both***  \nlast";
    let script = "const [text, done] = arguments;
        import('/page/markdown.js').then(({ Drawing }) => {
            const draw = (step) => {
                const root = document.createElement('div');
                const drawing = new Drawing(root);
                let first = null;
                for (let end = step; end < text.length + step; end += step) {
                    drawing.update(text.slice(0, end));
                    if (end > 30) first ??= root.firstChild;
                }
                drawing.end();
                return [root.innerHTML, first === null || first === root.firstChild];
            };
            const all = draw(text.length);
            done([all[0], [1, 2, 3, 7].map(draw).every(([html, stayed]) => html === all[0] && stayed)]);
        }, (error) => done([String(error)]));";
    let body = json!({"script": script, "args": [whole]});
    let drawn = page.browser.command("POST", "/execute/async", &body).unwrap();
    assert_eq!(drawn[1], true, "{drawn}");
    let html = drawn[0].as_str().unwrap();
    for part in [
        "<h3 class=\"h1\">One</h3><p>Text <em>with</em> <code>code</code><br>and more.</p>",
        "<ol><li><p>a</p><ul><li>b</li></ul><p>c</p></li><li><p>d</p></li></ol>",
        "<code>let x = 1;\n\n# no heading</code>",
        "<blockquote><p>quote</p></blockquote>",
        "<td class=\"left\">c</td><td class=\"right\"><code>|</code></td>",
        "<hr><ul><li>☑ done</li><li>☐ not</li></ul>",
        "<del>old</del> <strong>new <em>both</em></strong><br>last",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    page.assert_no_mistake();
}

#[test]
fn errors_are_told_and_can_be_tried_again_and_a_key_is_asked_for() {
    let options = ServerOptions { api_keys: vec!["secret".into()], ..ServerOptions::default() };
    let Some(page) = open(start_with(model(), options)) else { return };
    page.until(
        "a key is asked for",
        "return document.getElementById('key-wanted').checkVisibility()",
        |seen| seen == true,
    );
    page.browser.type_into("[name=apiKey]", "secret").unwrap();
    page.browser.type_into("[name=max_tokens]", &format!("8{}", key::ENTER)).unwrap();
    page.until("the model is told", "return document.getElementById('model').textContent", |text| {
        text == "noise"
    });

    // More than the context holds; pasted, since typing it takes long.
    page.run("document.getElementById('input').value = 'word '.repeat(700)");
    page.send(" ");
    page.until_answered();
    let trouble = page.text(".trouble p");
    assert!(trouble.contains("the context 512 positions"), "{trouble}");
    page.click(".question [aria-label='Edit and send again']");
    page.run("document.querySelector('.editor textarea').value = 'word'");
    page.browser.type_into(".editor textarea", key::ENTER).unwrap();
    page.until_answered();
    assert_eq!(page.count(".turn .trouble:not([hidden])"), 0);

    // A store without room loses nothing that is on the page, and keeps it once there is room.
    page.run(
        "window.put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); };",
    );
    page.send("more");
    page.until_answered();
    assert!(page.text(".notice.wrong").contains("storage is full"), "{}", page.text("#notices"));
    assert_eq!((page.count(".turn"), page.stored()[0]["messages"].as_array().unwrap().len()), (4, 2));
    page.run("IDBObjectStore.prototype.put = window.put");
    page.send("again");
    page.until_answered();
    assert_eq!(page.count(".notice.wrong"), 0);
    assert_eq!(page.stored()[0]["messages"].as_array().unwrap().len(), 6);

    // The browser itself tells of what was refused; nothing else is on the console.
    let console = page.browser.console().unwrap();
    assert!(console.iter().all(|line| line.contains("401") || line.contains("400")), "{console:?}");
    let Page { browser, running } = page;
    drop(running);
    let said = "document.getElementById('input').value = 'gone'; document.getElementById('composer').requestSubmit();
        const done = arguments[0]; const look = () => { const text = document.querySelector('.answer:last-child .trouble p');
        if (text) done(text.textContent); else setTimeout(look, 20); }; look();";
    let said = browser.command("POST", "/execute/async", &json!({"script": said, "args": []})).unwrap();
    assert!(said.as_str().unwrap().contains("cannot be reached"), "{said}");
}

#[test]
fn narrow_screens_and_both_schemes_are_served() {
    let Some(page) = open(start()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.json");
    let mut wide = nasty();
    let long = format!(
        "<think>A plan.</think>{}\n\n```\n{}\n```\n\n|{}\n|{}",
        "w".repeat(500),
        "x".repeat(500),
        "a b|".repeat(30),
        "-|".repeat(30)
    );
    wide["conversations"][0]["messages"][1]["text"] = json!(long);
    std::fs::write(&file, wide.to_string()).unwrap();
    page.import(&file);
    page.until("it is in the list", "return document.querySelectorAll('#list li').length", |n| n == 1);
    page.click("#list a");
    page.until("it is shown", "return document.querySelectorAll('.turn').length", |n| n == 2);
    assert_eq!(
        (page.text(".thought div"), page.text(ANSWER).contains("plan")),
        ("A plan.".to_owned(), false)
    );
    let size = json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": false});
    page.browser.devtools("Emulation.setDeviceMetricsOverride", size).unwrap();
    let overflow = "return ['html', 'body', '#scroll', '#bottom', 'header'].filter((each) => {
        const box = document.querySelector(each); return box.scrollWidth > box.clientWidth || box.getBoundingClientRect().right > 360; })";
    page.until("nothing is wider than the screen", overflow, |wider| wider == &json!([]));
    let hidden = "return !document.getElementById('side').checkVisibility({ visibilityProperty: true })";
    page.until("the list is out of sight", hidden, |hidden| hidden == true);
    page.click("#open-side");
    assert_eq!(page.run("return document.activeElement.id"), "new");
    page.browser.press(key::ESCAPE).unwrap();
    assert_eq!(page.run("return document.activeElement.id"), "open-side");

    let scheme = |name: &str| {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": name}]});
        page.browser.devtools("Emulation.setEmulatedMedia", features).unwrap();
    };
    let paper = || page.run("return getComputedStyle(document.body).backgroundColor");
    for (system, other) in [("light", "rgb(22, 26, 34)"), ("dark", "rgb(255, 255, 255)")] {
        scheme(system);
        let scheme = "return document.documentElement.dataset.theme";
        page.until("the system's scheme", scheme, |scheme| scheme == system);
        assert_ne!(paper(), other);
        page.click("#theme");
        assert_eq!(paper(), other);
        page.browser.command("POST", "/refresh", &json!({})).unwrap();
        assert_eq!(paper(), other, "the choice stays");
        page.until("ready", "return document.getElementById('send').title", |title| title != "");
        page.click("#theme");
        assert_ne!(paper(), other);
    }
    page.assert_no_mistake();
}
