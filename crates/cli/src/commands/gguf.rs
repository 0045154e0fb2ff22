//! `minfer gguf`: look into model files, cut them, put them together, change their keys.

use std::fmt::Write;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap::error::ErrorKind;
use gguf::{GgufFile, Value};
use minfer::{array_json, value_json};
use serde_json::{Map, Value as Json, json};

use super::{JSON_VERSION, print_json, print_text};
use crate::args::{Cli, DumpArgs, GgufTool, SetArgs};
use crate::models;
use crate::progress::Progress;

/// Elements of an array that are shown to people.
const SHOWN_MAX: usize = 8;

pub fn run(tool: GgufTool) -> Result<()> {
    match tool {
        GgufTool::Dump(args) => dump(&args),
        GgufTool::Split(args) => {
            let file = open(&args.file)?;
            let made = with_progress("splitting", |progress| {
                gguf::split(&file, &args.out_prefix, args.limit(), progress)
            })?;
            let lines: String = made.iter().map(|path| format!("{}\n", path.display())).collect();
            print_text(&lines)
        }
        GgufTool::Merge(args) => {
            let file = open(&args.first_part)?;
            Ok(with_progress("merging", |progress| gguf::merge(&file, &args.out, progress))?)
        }
        GgufTool::Set(args) => set(&args),
    }
}

fn open(model: &str) -> Result<GgufFile> {
    Ok(GgufFile::open(models::resolve(model)?)?)
}

fn with_progress<T>(what: &'static str, work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> T) -> T {
    let mut progress = Progress::of_bytes(what);
    let done = work(&mut |done, total| progress.set(done, total));
    progress.finish();
    done
}

fn set(args: &SetArgs) -> Result<()> {
    let file = open(&args.file)?;
    let (key, value) = match &args.assignment[..] {
        [key, ty, value] => (key.as_str(), Value::parse(ty, value)?),
        [assignment] if assignment.contains('=') => {
            let (key, value) = assignment.split_once('=').context("there is no `=`")?;
            let unknown =
                || format!("{}: there is no key {key:?}; give a new one as KEY TYPE VALUE", args.file);
            let old = file.metadata().get(key).with_context(unknown)?;
            (key, Value::parse(old.type_name(), value)?)
        }
        _ => {
            let why = "expected KEY=VALUE, or KEY TYPE VALUE";
            Cli::command().error(ErrorKind::WrongNumberOfValues, why).exit()
        }
    };
    Ok(with_progress("writing", |progress| gguf::set(&file, &args.out, key, value, progress))?)
}

fn dump(args: &DumpArgs) -> Result<()> {
    let file = open(&args.file)?;
    if args.json {
        return print_json(&to_json(&file));
    }
    let mut out = String::new();
    writeln!(
        out,
        "GGUF version {}, {} file(s), {} bytes, alignment {}",
        file.version(),
        file.parts(),
        file.file_bytes(),
        file.alignment(0)
    )?;
    writeln!(out, "\n{} keys", file.metadata().len())?;
    for (key, value) in file.metadata().iter() {
        writeln!(out, "  {key:<44} {:<7} {}", value.type_name(), for_people(value))?;
    }
    writeln!(out, "\n{} tensors (part, offset in its data, bytes, type, dimensions)", file.tensors().len())?;
    for t in file.tensors() {
        writeln!(
            out,
            "  {:<36} {:>3} {:>13} {:>12} {:<8} {:?}",
            t.name,
            t.file + 1,
            t.offset,
            t.bytes,
            t.ty.name(),
            t.dims
        )?;
    }
    print_text(&out)
}

fn for_people(value: &Value) -> String {
    match value {
        Value::Array(array) => {
            let json = array_json(array, SHOWN_MAX);
            let more = if array.len() > SHOWN_MAX { ", ..." } else { "" };
            let text = json.to_string();
            format!("{} {}{more}]", array.type_name(), text.trim_end_matches(']'))
        }
        Value::String(text) => format!("{text:?}"),
        // JSON would show it as the f64 that it is equal to.
        Value::F32(x) => format!("{x:?}"),
        other => value_json(other).to_string(),
    }
}

fn to_json(file: &GgufFile) -> Json {
    let key = |(key, value): (&str, &Value)| {
        let ty = match value {
            Value::Array(array) => format!("array of {}", array.type_name()),
            other => other.type_name().to_owned(),
        };
        (key.to_owned(), json!({"type": ty, "value": value_json(value)}))
    };
    let metadata: Map<String, Json> = file.metadata().iter().map(key).collect();
    let tensors: Vec<Json> = file
        .tensors()
        .iter()
        .map(|t| {
            json!({
                "name": t.name, "type": t.ty.name(), "dims": t.dims,
                "bytes": t.bytes, "offset": t.offset, "part": t.file + 1,
            })
        })
        .collect();
    json!({
        "version": JSON_VERSION,
        "gguf_version": file.version(),
        "files": file.parts(),
        "file_bytes": file.file_bytes(),
        "alignment": file.alignment(0),
        "metadata": metadata,
        "tensors": tensors,
    })
}
