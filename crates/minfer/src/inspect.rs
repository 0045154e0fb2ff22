//! What a file holds, for people and programs; works on files that cannot be run.

use std::collections::BTreeMap;

use gguf::{GgufFile, Value};
use serde_json::{Map, Value as Json, json};

use crate::value_json::value_json;
use crate::{Model, weight_types};

/// Longer lists are described by their length.
const LIST_MAX: usize = 16;

/// Architecture, parameters, metadata, tensors by type, tokenizer, template, and why the file cannot be run if
/// it cannot.
pub fn inspect(path: &std::path::Path) -> Result<Json, gguf::Error> {
    let file = GgufFile::open(path)?;
    let metadata = file.metadata();
    let string = |key: &str| match metadata.get(key) {
        Some(Value::String(s)) => json!(s),
        _ => Json::Null,
    };
    let mut types: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for tensor in file.tensors() {
        let entry = types.entry(tensor.ty.name()).or_default();
        *entry = (entry.0 + 1, entry.1 + tensor.elements(), entry.2 + tensor.bytes);
    }
    let types: Map<String, Json> = types
        .into_iter()
        .map(|(name, (tensors, elements, bytes))| {
            let supported = weight_types().any(|ty| ty.name() == name);
            let counts = json!({
                "tensors": tensors,
                "elements": elements,
                "bytes": bytes,
                "supported": supported,
            });
            (name.to_owned(), counts)
        })
        .collect();
    let tensors: Vec<Json> = file
        .tensors()
        .iter()
        .map(|t| json!({"name": t.name, "dims": t.dims, "type": t.ty.name(), "bytes": t.bytes}))
        .collect();
    let parameters: u64 = file.tensors().iter().map(|t| t.elements()).sum();
    let all: Map<String, Json> = metadata.iter().map(|(k, v)| (k.to_owned(), value(v))).collect();
    let mut out = json!({
        "architecture": string("general.architecture"),
        "name": string("general.name"),
        "gguf_version": file.version(),
        "files": file.parts(),
        "file_bytes": file.file_bytes(),
        "parameters": parameters,
        "types": types,
        "tokenizer": {
            "model": string("tokenizer.ggml.model"),
            "pre": string("tokenizer.ggml.pre"),
            "tokens": count(metadata.get("tokenizer.ggml.tokens")),
            "merges": count(metadata.get("tokenizer.ggml.merges")),
        },
        "chat_template": string("tokenizer.chat_template"),
        "metadata": all,
        "tensors": tensors,
    });
    // Loading takes the file: whether it runs is asked last.
    let refusal = Model::from_file(file).err().map(|e| e.to_string());
    out["runs"] = json!(refusal.is_none());
    out["why_not"] = json!(refusal);
    Ok(out)
}

fn count(value: Option<&Value>) -> Json {
    match value {
        Some(Value::Array(array)) => json!(array.len()),
        _ => Json::Null,
    }
}

/// Long arrays are said by their length.
fn value(value: &Value) -> Json {
    match value {
        Value::Array(array) if array.len() > LIST_MAX => {
            json!(format!("array of {} {}", array.len(), array.type_name()))
        }
        value => value_json(value),
    }
}
