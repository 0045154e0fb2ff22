//! `minfer inspect`.

use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value as Json, json};

use super::{JSON_VERSION, print_json, print_text};
use crate::args::InspectArgs;
use crate::models;

pub fn run(args: InspectArgs) -> Result<()> {
    let found = minfer::inspect(&models::resolve(&args.model)?)?;
    if args.json {
        let mut out = json!({"version": JSON_VERSION});
        out.as_object_mut().expect("made above").extend(found.as_object().cloned().unwrap_or_default());
        return print_json(&out);
    }
    print_text(&for_people(&found)?)
}

fn tokenizer(found: &Json) -> String {
    let Some(model) = found["model"].as_str() else { return "no".to_owned() };
    let pre = found["pre"].as_str().map(|pre| format!(" (pre {pre})")).unwrap_or_default();
    let count = |key: &str| found[key].as_u64().unwrap_or(0);
    format!("{model}{pre}, {} tokens, {} merges", count("tokens"), count("merges"))
}

fn for_people(found: &Json) -> Result<String> {
    let mut out = String::new();
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for key in
        ["architecture", "name", "gguf_version", "files", "file_bytes", "parameters", "runs", "why_not"]
    {
        if !found[key].is_null() {
            writeln!(out, "{key:<14} {}", text(&found[key]))?;
        }
    }
    writeln!(out, "{:<14} {}", "tokenizer", tokenizer(&found["tokenizer"]))?;
    let template = if found["chat_template"].is_null() { "no" } else { "yes" };
    writeln!(out, "chat template  {template}\n\ntypes")?;
    for (name, count) in found["types"].as_object().into_iter().flatten() {
        let not = if count["supported"] == true { "" } else { "  not supported" };
        writeln!(out, "  {name:<8} {:>5} tensors {:>14} bytes{not}", count["tensors"], count["bytes"])?;
    }
    writeln!(out, "\nmetadata")?;
    for (key, value) in found["metadata"].as_object().into_iter().flatten() {
        let shown: String = text(value).chars().take(100).collect::<String>().replace('\n', "\\n");
        writeln!(out, "  {key:<44} {shown}")?;
    }
    writeln!(out, "\ntensors")?;
    for tensor in found["tensors"].as_array().into_iter().flatten() {
        writeln!(out, "  {:<36} {:<6} {}", text(&tensor["name"]), text(&tensor["type"]), tensor["dims"])?;
    }
    Ok(out)
}
