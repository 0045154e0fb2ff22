//! How deep and how large the values of a template may be.
//!
//! The engine prints, compares and drops values by recursion, without fuel, so that a list in a list in a list ends
//! the process, and one that holds another twice, which does the same, never ends. Values become deeper only where a
//! list, a map or a tuple is written, by a few filters and functions, and from one turn of a loop to the next only in
//! namespaces. [`super::checked`] has the first and the last checked by filters; the rest are wrapped here.

use std::collections::BTreeMap;

use minijinja::value::{Kwargs, Rest, Serde, Tuple, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, functions};
use serde_json::Value as Json;

use super::reading::Message;

/// Levels that values may have in values. JSON from a client has 128 at most.
pub(super) const DEPTH_MAX: usize = 256;
/// Values in a value, each counted as often as it is there, and 64 bytes of text counted as one.
const SIZE_MAX: usize = 1 << 18;
/// How many of them a step pays for.
const SIZE_PER_FUEL: u64 = 8;

/// Behind lists, maps and tuples that are written, with a bracket before them.
pub(super) const BOUNDED_END: &str = "|minfer_bounded)";
/// Behind what is put into a namespace, with a bracket before it.
pub(super) const KEPT_END: &str = "|minfer_kept)";
/// The same behind filters of a block.
pub(super) const KEPT_FILTER: &str = "|minfer_kept";

/// Adds the filters, and bounds those of the engine.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("minfer_bounded", bounded);
    environment.add_filter("minfer_kept", kept);
    environment.add_filter("batch", |state: &State, value: Value, count: usize, fill: Option<Value>| {
        bounded(state, filters::batch(state, value, count, fill)?)
    });
    environment.add_filter("slice", |state: &State, value: Value, count: usize, fill: Option<Value>| {
        bounded(state, filters::slice(state, value, count, fill)?)
    });
    environment.add_filter("zip", |state: &State, value: Value, others: Rest<Value>| {
        bounded(state, filters::zip(state, value, others)?)
    });
    environment.add_filter(
        "groupby",
        |state: &State, value: Value, attribute: Option<&str>, options: Kwargs| {
            bounded(state, filters::groupby(value, attribute, options)?)
        },
    );
    environment.add_function("dict", |state: &State, value: Option<Value>, more: Kwargs| {
        bounded(state, functions::dict(value, more)?)
    });
    environment.add_function("namespace", namespace);
    environment.set_formatter(|out, state, value| {
        check(state, value)?;
        minijinja::escape_formatter(out, state, value)
    });
}

/// The value, if it may be.
fn bounded(state: &State, value: Value) -> Result<Value, Error> {
    check(state, &value)?;
    Ok(value)
}

/// Refuses what is too deep or too large.
pub(super) fn check(state: &State, value: &Value) -> Result<(), Error> {
    if value.as_object().is_none() {
        return Ok(());
    }
    let mut walk = Walk { size: 0, is_kept: false };
    let walked = walk.value(value, 0);
    state.consume_fuel(walk.size as u64 / SIZE_PER_FUEL)?;
    walked.map(drop)
}

/// The same of a value that is put into a namespace, and a copy of the parts that might hold more than they show, or
/// the namespace itself.
fn kept(state: &State, value: Value) -> Result<Value, Error> {
    if value.as_object().is_none() {
        return Ok(value);
    }
    let mut walk = Walk { size: 0, is_kept: true };
    let walked = walk.value(&value, 0);
    state.consume_fuel(walk.size as u64 / SIZE_PER_FUEL)?;
    Ok(walked?.unwrap_or(value))
}

fn namespace(state: &State, values: Option<Value>, more: Kwargs) -> Result<Value, Error> {
    let values = functions::dict(values, more)?;
    let values = kept(state, values)?;
    functions::namespace(Some(values.into()))
}

struct Walk {
    size: usize,
    is_kept: bool,
}

impl Walk {
    /// What is to stand for the value, if not itself.
    fn value(&mut self, value: &Value, depth: usize) -> Result<Option<Value>, Error> {
        self.size += 1 + value.as_str().map_or(0, |text| text.len() / 64);
        if self.size > SIZE_MAX {
            return Err(too("large", SIZE_MAX));
        }
        if depth > DEPTH_MAX {
            return Err(too("deep", DEPTH_MAX));
        }
        if value.downcast_object_ref::<Message>().is_some() {
            // As deep as JSON may be; looking into it would count as reading it.
            return Ok(None);
        }
        match value.kind() {
            ValueKind::Seq | ValueKind::Iterable => self.list(value, depth),
            ValueKind::Map => self.map(value, depth),
            _ => Ok(None),
        }
    }

    fn list(&mut self, value: &Value, depth: usize) -> Result<Option<Value>, Error> {
        if let Some(items) = value.downcast_object_ref::<Vec<Value>>() {
            return Ok(self.items(items.iter().cloned(), false, depth)?.map(Value::from));
        }
        let is_tuple = value.downcast_object_ref::<Tuple>().is_some();
        let items = self.items(value.try_iter()?, self.is_kept && !is_tuple, depth)?;
        Ok(items.map(|items| if is_tuple { Value::from_object(Tuple::from(items)) } else { items.into() }))
    }

    /// The items, if one of them is replaced or all are `wanted`.
    fn items(
        &mut self,
        items: impl Iterator<Item = Value>,
        wanted: bool,
        depth: usize,
    ) -> Result<Option<Vec<Value>>, Error> {
        let (mut out, mut is_new) = (Vec::new(), wanted);
        for item in items {
            let other = self.value(&item, depth + 1)?;
            is_new |= other.is_some();
            if self.is_kept {
                out.push(other.unwrap_or(item));
            }
        }
        Ok(is_new.then_some(out))
    }

    fn map(&mut self, value: &Value, depth: usize) -> Result<Option<Value>, Error> {
        let (mut out, mut is_new) = (Vec::new(), self.is_kept && !is_plain_map(value));
        let Some(pairs) = value.as_object().and_then(|map| map.try_iter_pairs()) else { return Ok(None) };
        for (key, item) in pairs {
            let other_key = self.value(&key, depth + 1)?;
            let other = self.value(&item, depth + 1)?;
            is_new |= other.is_some() || other_key.is_some();
            if self.is_kept {
                out.push((other_key.unwrap_or(key), other.unwrap_or(item)));
            }
        }
        is_new.then(|| map_of(out)).transpose()
    }
}

fn map_of(pairs: Vec<(Value, Value)>) -> Result<Value, Error> {
    if pairs.iter().all(|(key, _)| key.as_str().is_some()) {
        let named = pairs.into_iter().map(|(key, value)| (key.to_string(), value));
        return functions::dict(None, named.collect());
    }
    Ok(Value::from(pairs.into_iter().collect::<BTreeMap<_, _>>()))
}

/// Whether it holds what it shows and nothing else.
fn is_plain_map(value: &Value) -> bool {
    let plain = Value::from(Serde(Json::Object(serde_json::Map::new())));
    let name = |value: &Value| value.as_object().map(|object| object.type_name());
    name(value) == name(&plain)
}

fn too(what: &str, most: usize) -> Error {
    let unit = if what == "deep" { "levels" } else { "values" };
    Error::new(ErrorKind::InvalidOperation, format!("a value is too {what}: {most} {unit} at most"))
}
