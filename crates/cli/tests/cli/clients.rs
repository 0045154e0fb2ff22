//! Published clients, unchanged, against a server. Where Python or a client is missing, the test says so and does nothing.

use std::process::{Command, Stdio};

use crate::serve::serve;
use crate::support::file;

/// Runs a script of this folder if Python has the packages; it prints `ok` when all that it expects holds.
fn run(script: &str, packages: &str, arguments: &[&str]) {
    let import = format!("import {packages}");
    let has_packages = Command::new("python3").args(["-c", &import]).stderr(Stdio::null()).status();
    if !has_packages.is_ok_and(|status| status.success()) {
        eprintln!("skipped: python3 with the packages {packages} is not here");
        return;
    }
    let script = format!("{}/tests/cli/{script}", env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new("python3").arg(script).args(arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.ends_with("ok\n"), "{out}{err}");
}

/// Tells of tools and of calls.
const TEMPLATE: &str = "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}[{{ m.role }}]\
    {{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}\
    {% endfor %}[assistant]";

#[test]
fn openai_asks_for_chats_completions_and_embeddings() {
    let serving = serve(&["-c", "512", "--alias", "noise", "--embeddings"], Some("secret"));
    let limited = serve(&["-c", "64", "--alias", "noise", "--rate-limit", "1"], Some("secret"));
    run("openai_client.py", "openai, pydantic", &[serving.url(), "noise", limited.url()]);
}

#[test]
fn openai_asks_for_responses() {
    let (_folder, template) = file("template.jinja", TEMPLATE.as_bytes());
    let serving = serve(&["-c", "512", "--alias", "noise", "--chat-template", &template], Some("secret"));
    run("openai_responses.py", "openai, pydantic", &[serving.url(), "noise"]);
}

#[test]
fn litellm_asks_for_chats_and_responses() {
    let serving = serve(&["-c", "512", "--alias", "noise"], Some("secret"));
    run("litellm_client.py", "litellm", &[serving.url(), "noise"]);
}

/// Five answers to each here; `schemas_client.py` takes more.
#[test]
fn answers_obey_their_schemas_in_the_judgement_of_jsonschema() {
    let serving = serve(&["-c", "1024", "-np", "16"], None);
    let schemas = concat!(env!("CARGO_MANIFEST_DIR"), "/../constrain/tests/constrain/schemas.json");
    run("schemas_client.py", "jsonschema", &[serving.url(), schemas, "5"]);
}
