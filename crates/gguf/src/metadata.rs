//! The key-value pairs of a file, in order, with getters that check type and range.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::parse::NAME_BYTES_MAX;
use crate::{Array, Error, StrArray, Value};

/// Keys and their values, in the order of the file.
///
/// A getter `get_x` gives `None` for a key that is not there and an error for one whose value is no
/// `x`; `require_x` refuses both. Integer getters take every integer type that holds a value in
/// range, since writers differ in their choice.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    index: HashMap<String, usize>,
}

macro_rules! integer_getters {
    ($($get:ident, $require:ident, $get_array:ident, $ty:ident, $expected:literal;)*) => {
        $(
            #[doc = concat!("The value of `key` as `", stringify!($ty), "`, if the key is there.")]
            pub fn $get(&self, key: &str) -> Result<Option<$ty>, Error> {
                self.read(key, $expected, |v| v.integer()?.try_into().ok())
            }

            #[doc = concat!("The value of `key` as `", stringify!($ty), "`; an error if it is missing.")]
            pub fn $require(&self, key: &str) -> Result<$ty, Error> {
                required(key, $expected, self.$get(key)?)
            }

            #[doc = concat!("The array of `key` as `", stringify!($ty), "`, if the key is there.")]
            pub fn $get_array(&self, key: &str) -> Result<Option<Vec<$ty>>, Error> {
                self.read_integers(key, concat!("an array, each ", $expected))
            }
        )*
    };
}

impl Metadata {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.index.get(key).map(|&i| &self.entries[i].1)
    }

    /// Keys and values, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a key at the end. Refuses a key that is empty, too long or already there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Result<(), Error> {
        let key = key.into();
        if key.is_empty() {
            return Err(Error::KeyEmpty { index: self.entries.len() as u64 });
        }
        if key.len() > NAME_BYTES_MAX {
            return Err(Error::NameTooLong { what: "key", name: key });
        }
        if self.index.contains_key(&key) {
            return Err(Error::KeyTwice { key });
        }
        self.index.insert(key.clone(), self.entries.len());
        self.entries.push((key, value.into()));
        Ok(())
    }

    /// Gives a key another value in its place, or adds it at the end.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) -> Result<(), Error> {
        match self.index.get(key) {
            Some(&i) => self.entries[i].1 = value.into(),
            None => self.insert(key, value)?,
        }
        Ok(())
    }

    /// Takes a key out, so that its value needs no memory any more; `None` if it is not there. The keys that are left
    /// keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.index.remove(key)?;
        self.index.values_mut().filter(|i| **i > at).for_each(|i| *i -= 1);
        Some(self.entries.remove(at).1)
    }

    integer_getters! {
        get_u32, require_u32, get_u32_array, u32, "an integer from 0 to 4294967295";
        get_u64, require_u64, get_u64_array, u64, "an integer from 0 to 2^64-1";
        get_i32, require_i32, get_i32_array, i32, "an integer from -2147483648 to 2147483647";
    }

    /// The value of `key` as `f32`, if the key is there; its type is f32 or f64.
    pub fn get_f32(&self, key: &str) -> Result<Option<f32>, Error> {
        self.read(key, F32, |v| match *v {
            Value::F32(x) => Some(x),
            Value::F64(x) => Some(x as f32),
            _ => None,
        })
    }

    /// The value of `key` as `f32`; an error if it is missing.
    pub fn require_f32(&self, key: &str) -> Result<f32, Error> {
        required(key, F32, self.get_f32(key)?)
    }

    /// The boolean of `key`, if the key is there.
    pub fn get_bool(&self, key: &str) -> Result<Option<bool>, Error> {
        self.read(key, BOOL, |v| match *v {
            Value::Bool(x) => Some(x),
            _ => None,
        })
    }

    /// The boolean of `key`; an error if it is missing.
    pub fn require_bool(&self, key: &str) -> Result<bool, Error> {
        required(key, BOOL, self.get_bool(key)?)
    }

    /// The string of `key`, if the key is there.
    pub fn get_str(&self, key: &str) -> Result<Option<&str>, Error> {
        self.read(key, STRING, |v| match v {
            Value::String(x) => Some(x.as_str()),
            _ => None,
        })
    }

    /// The string of `key`; an error if it is missing.
    pub fn require_str(&self, key: &str) -> Result<&str, Error> {
        required(key, STRING, self.get_str(key)?)
    }

    /// The array of strings of `key`, if the key is there.
    pub fn get_str_array(&self, key: &str) -> Result<Option<&StrArray>, Error> {
        self.read(key, STRINGS, |v| match v {
            Value::Array(Array::String(x)) => Some(x),
            _ => None,
        })
    }

    /// The array of strings of `key`; an error if it is missing.
    pub fn require_str_array(&self, key: &str) -> Result<&StrArray, Error> {
        required(key, STRINGS, self.get_str_array(key)?)
    }

    /// The array of `key` as `f32`, if the key is there; its elements are f32 or f64.
    pub fn get_f32_array(&self, key: &str) -> Result<Option<Cow<'_, [f32]>>, Error> {
        self.read(key, "an array of f32", |v| match v {
            Value::Array(Array::F32(x)) => Some(Cow::Borrowed(x.as_slice())),
            Value::Array(Array::F64(x)) => Some(x.iter().map(|&x| x as f32).collect()),
            _ => None,
        })
    }

    /// The array of booleans of `key`, if the key is there.
    pub fn get_bool_array(&self, key: &str) -> Result<Option<&[bool]>, Error> {
        self.read(key, "an array of booleans", |v| match v {
            Value::Array(Array::Bool(x)) => Some(x.as_slice()),
            _ => None,
        })
    }

    fn read<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match convert(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(Error::KeyType { key: key.to_owned(), expected, found: value.describe() }),
        }
    }

    fn read_integers<T: TryFrom<i128>>(
        &self,
        key: &str,
        expected: &'static str,
    ) -> Result<Option<Vec<T>>, Error> {
        let wrong = |found| Error::KeyType { key: key.to_owned(), expected, found };
        let Some(value) = self.get(key) else { return Ok(None) };
        let converted = match value {
            Value::Array(array) => array.to_integers(),
            _ => None,
        };
        match converted {
            Some(Ok(integers)) => Ok(Some(integers)),
            Some(Err((i, x))) => Err(wrong(format!("{x} at index {i}"))),
            None => Err(wrong(value.describe())),
        }
    }
}

const F32: &str = "an f32";
const BOOL: &str = "a boolean";
const STRING: &str = "a string";
const STRINGS: &str = "an array of strings";

fn required<T>(key: &str, expected: &'static str, found: Option<T>) -> Result<T, Error> {
    found.ok_or_else(|| Error::KeyMissing { key: key.to_owned(), expected })
}
