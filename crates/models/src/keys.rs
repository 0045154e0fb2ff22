//! Reads hyper-parameters and says what is wrong with them by key.

use gguf::Metadata;

use crate::{ModelError, Tensors};

/// The keys of one architecture: `llama.block_count` is `block_count` here.
pub struct Keys<'a> {
    metadata: &'a Metadata,
    tensors: &'a Tensors,
    arch: &'a str,
}

impl<'a> Keys<'a> {
    pub fn new(metadata: &'a Metadata, tensors: &'a Tensors, arch: &'a str) -> Keys<'a> {
        Keys { metadata, tensors, arch }
    }

    /// The key with the architecture in front.
    pub fn full(&self, key: &str) -> String {
        format!("{}.{key}", self.arch)
    }

    /// An error about the value of a key.
    pub fn refuse(&self, key: &str, found: impl ToString, expected: impl ToString) -> ModelError {
        ModelError::Value { key: self.full(key), found: found.to_string(), expected: expected.to_string() }
    }

    /// A count of at least 1 that the file must state.
    pub fn count(&self, key: &str) -> Result<usize, ModelError> {
        let count = self.metadata.require_u32(&self.full(key))? as usize;
        self.at_least_one(key, count)
    }

    /// A count of at least 1, if the file states it.
    pub fn count_or(&self, key: &str, default: usize) -> Result<usize, ModelError> {
        match self.metadata.get_u32(&self.full(key))? {
            Some(count) => self.at_least_one(key, count as usize),
            None => Ok(default),
        }
    }

    /// A count of at least 1, if the file states it.
    pub fn optional_count(&self, key: &str) -> Result<Option<usize>, ModelError> {
        match self.metadata.get_u32(&self.full(key))? {
            Some(count) => Ok(Some(self.at_least_one(key, count as usize)?)),
            None => Ok(None),
        }
    }

    /// A count, if the file states it and it is not 0.
    pub fn optional_count_or_zero(&self, key: &str) -> Result<Option<usize>, ModelError> {
        Ok(self.metadata.get_u32(&self.full(key))?.filter(|n| *n > 0).map(|n| n as usize))
    }

    /// A cap: finite, above 0; 0 is none.
    pub fn cap(&self, key: &str, default: f32) -> Result<Option<f32>, ModelError> {
        let found = self.metadata.get_f32(&self.full(key))?.unwrap_or(default);
        let cap = self.check_positive(key, found, true)?;
        Ok((cap > 0.0).then_some(cap))
    }

    /// Which layers have windows: a flag each, or a period of which the last layer has none.
    pub fn window_layers(&self, key: &str, period: usize, layers: usize) -> Result<Vec<bool>, ModelError> {
        let full = self.full(key);
        if let Some(gguf::Value::Array(_)) = self.metadata.get(&full) {
            let flags = match self.metadata.get_bool_array(&full) {
                Ok(flags) => flags.unwrap_or_default().to_vec(),
                Err(_) => {
                    self.metadata.get_u32_array(&full)?.unwrap_or_default().iter().map(|f| *f > 0).collect()
                }
            };
            if flags.len() != layers {
                return Err(self.refuse(
                    key,
                    format!("{} flags", flags.len()),
                    format!("one a layer, {layers}"),
                ));
            }
            return Ok(flags);
        }
        let period = self.count_or(key, period)?;
        Ok((0..layers).map(|layer| layer % period < period - 1).collect())
    }

    /// True or false, if the file states it.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, ModelError> {
        Ok(self.metadata.get_bool(&self.full(key))?)
    }

    /// Whether the file has a tensor.
    pub fn has_tensor(&self, name: &str) -> bool {
        self.tensors.get(name).is_some()
    }

    /// A finite number above 0 (or, with `zero`, from 0) that the file must state.
    pub fn positive(&self, key: &str, zero: bool) -> Result<f32, ModelError> {
        let found = self.metadata.require_f32(&self.full(key))?;
        self.check_positive(key, found, zero)
    }

    /// A finite number above 0, if the file states it.
    pub fn positive_or(&self, key: &str, default: f32) -> Result<f32, ModelError> {
        match self.metadata.get_f32(&self.full(key))? {
            Some(found) => self.check_positive(key, found, false),
            None => Ok(default),
        }
    }

    /// A string, if the file states it.
    pub fn string(&self, key: &str) -> Result<Option<&'a str>, ModelError> {
        Ok(self.metadata.get_str(&self.full(key))?)
    }

    fn at_least_one(&self, key: &str, count: usize) -> Result<usize, ModelError> {
        if count == 0 {
            return Err(self.refuse(key, 0, "at least 1"));
        }
        Ok(count)
    }

    fn check_positive(&self, key: &str, found: f32, zero: bool) -> Result<f32, ModelError> {
        let fits = found.is_finite() && (found > 0.0 || (zero && found == 0.0));
        let expected = if zero { "a finite number from 0" } else { "a finite number above 0" };
        if fits { Ok(found) } else { Err(self.refuse(key, found, expected)) }
    }
}
