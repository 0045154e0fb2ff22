//! Which message a template read last before it failed: most often the one that it does not take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::Value;
use minijinja::value::{Enumerator, Object, Serde, ValueKind};
use serde_json::Value as Json;

/// Messages that remember which of them was read.
pub(super) struct Reading {
    /// The list, for the template.
    pub(super) messages: Value,
    last: Arc<AtomicUsize>,
}

/// No message was read.
const NONE: usize = usize::MAX;

impl Reading {
    pub(super) fn new(messages: &[Json]) -> Reading {
        let last = Arc::new(AtomicUsize::new(NONE));
        let watched = messages.iter().enumerate().map(|(index, message)| {
            let fields = Value::from(Serde(message));
            match fields.kind() {
                ValueKind::Map => Value::from_object(Message { fields, index, last: Arc::clone(&last) }),
                _ => fields,
            }
        });
        Reading { messages: watched.collect(), last }
    }

    /// Index of the message that was read last.
    pub(super) fn last(&self) -> Option<usize> {
        Some(self.last.load(Ordering::Relaxed)).filter(|&index| index != NONE)
    }
}

/// A message as a mapping.
#[derive(Debug)]
pub(super) struct Message {
    fields: Value,
    index: usize,
    last: Arc<AtomicUsize>,
}

impl Object for Message {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.last.store(self.index, Ordering::Relaxed);
        self.fields.get_item(key).ok().filter(|value| !value.is_undefined())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.last.store(self.index, Ordering::Relaxed);
        let keys: Vec<Value> = self.fields.try_iter().map(Iterator::collect).unwrap_or_default();
        Enumerator::Values(keys)
    }
}
