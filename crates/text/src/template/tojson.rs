//! `tojson` as Hugging Face sets it up: `json.dumps` of Python with `ensure_ascii=False`, which is
//! what models saw in training. No escapes for HTML, keys in the order of the client.

use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::{Map, Number, Value as Json};

use super::bounded;

/// How `json.dumps` is asked to write.
struct Style {
    ensure_ascii: bool,
    sort_keys: bool,
    item_separator: String,
    key_separator: String,
    // What one level is indented by; none: all in one line.
    indent: Option<String>,
}

/// The filter: `value | tojson(ensure_ascii=, indent=, separators=, sort_keys=)`.
pub(super) fn tojson(state: &State, value: Value, options: Kwargs) -> Result<String, Error> {
    let indent = match options.get::<Option<Value>>("indent")?.filter(|indent| !indent.is_none()) {
        None => None,
        Some(indent) => Some(indent_text(&indent)?),
    };
    let mut style = Style {
        ensure_ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sort_keys: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        item_separator: if indent.is_some() { "," } else { ", " }.to_owned(),
        key_separator: ": ".to_owned(),
        indent,
    };
    let separators = options.get::<Option<Value>>("separators")?.filter(|value| !value.is_none());
    if let Some(separators) = separators {
        let texts: Vec<String> = separators.try_iter()?.map(|text| text.to_string()).collect();
        let [item, key] =
            <[String; 2]>::try_from(texts).map_err(|_| invalid("tojson: separators are two strings"))?;
        (style.item_separator, style.key_separator) = (item, key);
    }
    options.assert_all_used()?;
    if value.is_undefined() {
        return Err(invalid("tojson: an undefined value is no JSON"));
    }
    bounded::check(state, &value)?;
    let json = serde_json::to_value(&value)
        .map_err(|error| invalid("tojson: the value is no JSON").with_source(error))?;
    let mut out = String::new();
    style.write(&json, 0, &mut out);
    state.consume_fuel(out.len() as u64 / 64)?;
    Ok(out)
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// A number of spaces, or the text itself.
fn indent_text(indent: &Value) -> Result<String, Error> {
    if let Some(text) = indent.as_str() {
        return Ok(text.to_owned());
    }
    // Wide enough for all templates; the output grows with it.
    let spaces = indent.as_i64().filter(|spaces| *spaces <= 16);
    let spaces = spaces.ok_or_else(|| invalid("tojson: indent is a number up to 16 or a string"))?;
    Ok(" ".repeat(spaces.max(0) as usize))
}

impl Style {
    fn write(&self, value: &Json, depth: usize, out: &mut String) {
        match value {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(number) => write_number(number, out),
            Json::String(text) => self.write_text(text, out),
            Json::Array(values) => {
                let write = |value: &Json, out: &mut String| self.write(value, depth + 1, out);
                self.write_items(['[', ']'], values.iter(), depth, out, write);
            }
            Json::Object(map) => self.write_map(map, depth, out),
        }
    }

    fn write_map(&self, map: &Map<String, Json>, depth: usize, out: &mut String) {
        let mut entries: Vec<(&String, &Json)> = map.iter().collect();
        if self.sort_keys {
            entries.sort_by_key(|&(key, _)| key);
        }
        self.write_items(['{', '}'], entries.into_iter(), depth, out, |(key, value), out| {
            self.write_text(key, out);
            out.push_str(&self.key_separator);
            self.write(value, depth + 1, out);
        });
    }

    fn write_items<T>(
        &self,
        [open, close]: [char; 2],
        items: impl ExactSizeIterator<Item = T>,
        depth: usize,
        out: &mut String,
        write: impl Fn(T, &mut String),
    ) {
        let is_empty = items.len() == 0;
        out.push(open);
        for (index, item) in items.enumerate() {
            if index > 0 {
                out.push_str(&self.item_separator);
            }
            self.new_line(depth + 1, out);
            write(item, out);
        }
        if !is_empty {
            self.new_line(depth, out);
        }
        out.push(close);
    }

    fn new_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }

    fn write_text(&self, text: &str, out: &mut String) {
        out.push('"');
        for char in text.chars() {
            match char {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{C}' => out.push_str("\\f"),
                ' '..='~' => out.push(char),
                '\0'..='\u{1F}' => push_escape(char as u16, out),
                _ if self.ensure_ascii => {
                    char.encode_utf16(&mut [0; 2]).iter().for_each(|&unit| push_escape(unit, out));
                }
                _ => out.push(char),
            }
        }
        out.push('"');
    }
}

fn push_escape(unit: u16, out: &mut String) {
    out.push_str(&format!("\\u{unit:04x}"));
}

/// Whole numbers keep all their digits; others are written as Python's `repr` does.
fn write_number(number: &Number, out: &mut String) {
    let float = match number.as_f64() {
        Some(float) if number.is_f64() => float,
        _ => {
            out.push_str(&number.to_string());
            return;
        }
    };
    // The shortest digits that read back as the same number, as Python's; only the layout differs.
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').expect("written with an exponent");
    let exponent: i32 = exponent.parse().expect("written as a number");
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{digits}e{sign}{:02}", exponent.abs()));
    }
}
