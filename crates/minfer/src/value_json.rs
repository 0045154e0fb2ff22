//! Metadata as JSON.

use gguf::{Array, Value};
use serde_json::{Value as Json, json};

/// A value of a file's metadata, whole. Numbers that JSON does not have are null.
pub fn value_json(value: &Value) -> Json {
    match value {
        Value::U8(x) => json!(x),
        Value::I8(x) => json!(x),
        Value::U16(x) => json!(x),
        Value::I16(x) => json!(x),
        Value::U32(x) => json!(x),
        Value::I32(x) => json!(x),
        Value::F32(x) => json!(x),
        Value::U64(x) => json!(x),
        Value::I64(x) => json!(x),
        Value::F64(x) => json!(x),
        Value::Bool(x) => json!(x),
        Value::String(x) => json!(x),
        Value::Array(array) => array_json(array, array.len()),
    }
}

/// At most the first `most` elements of an array.
pub fn array_json(array: &Array, most: usize) -> Json {
    let n = array.len().min(most);
    match array {
        Array::U8(x) => json!(x[..n]),
        Array::I8(x) => json!(x[..n]),
        Array::U16(x) => json!(x[..n]),
        Array::I16(x) => json!(x[..n]),
        Array::U32(x) => json!(x[..n]),
        Array::I32(x) => json!(x[..n]),
        Array::F32(x) => json!(x[..n]),
        Array::U64(x) => json!(x[..n]),
        Array::I64(x) => json!(x[..n]),
        Array::F64(x) => json!(x[..n]),
        Array::Bool(x) => json!(x[..n]),
        Array::String(x) => json!(x.iter().take(n).collect::<Vec<_>>()),
    }
}
