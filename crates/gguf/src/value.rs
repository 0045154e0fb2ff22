//! The value of a key: a number, a boolean, a string, or an array of one of these.

use crate::error::Shown;
use crate::{Error, StrArray};

macro_rules! numbers {
    ($($name:ident $ty:ident;)*) => {
        /// The value of a key.
        #[allow(missing_docs)] // The names are the documentation.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Value { $($name($ty),)* Bool(bool), String(String), Array(Array) }

        /// An array of values of one type.
        #[allow(missing_docs)] // The names are the documentation.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Array { $($name(Vec<$ty>),)* Bool(Vec<bool>), String(StrArray) }

        $(impl From<$ty> for Value {
            fn from(value: $ty) -> Self { Value::$name(value) }
        }
        impl From<Vec<$ty>> for Value {
            fn from(values: Vec<$ty>) -> Self { Value::Array(Array::$name(values)) }
        })*

        impl Value {
            /// The type and the value in words, as in `i32 -2`, for messages and listings. Long
            /// strings are cut short and arrays are shown by their type and length.
            pub fn describe(&self) -> String {
                match self {
                    $(Value::$name(v) => format!("{} {v}", stringify!($ty)),)*
                    Value::Bool(v) => format!("bool {v}"),
                    Value::String(v) => format!("string {}", Shown(v)),
                    Value::Array(v) => format!("array of {} {}", v.len(), v.type_name()),
                }
            }

            /// Bytes on the heap.
            pub fn heap_bytes(&self) -> u64 {
                let bytes = match self {
                    $(Value::$name(_) => 0,)*
                    Value::Bool(_) => 0,
                    Value::String(v) => v.capacity(),
                    $(Value::Array(Array::$name(v)) => v.capacity() * size_of::<$ty>(),)*
                    Value::Array(Array::Bool(v)) => v.capacity(),
                    Value::Array(Array::String(v)) => v.heap_bytes(),
                };
                bytes as u64
            }

            /// The type, as in `i32`, `bool`, `string` or `array`.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Value::$name(_) => stringify!($ty),)*
                    Value::Bool(_) => "bool",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                }
            }

            /// A value out of its type's name and a text, as in `u32` and `7` or `bool` and `true`.
            /// Arrays cannot be read so.
            pub fn parse(ty: &str, text: &str) -> Result<Value, Error> {
                let wrong = || Error::ValueText { ty: ty.to_owned(), text: text.to_owned() };
                Ok(match ty {
                    $(stringify!($ty) => Value::$name(text.parse().map_err(|_| wrong())?),)*
                    "bool" => Value::Bool(text.parse().map_err(|_| wrong())?),
                    "string" | "str" => Value::String(text.to_owned()),
                    _ => return Err(wrong()),
                })
            }
        }

        impl Array {
            /// The type of the elements, as in `i32`, `bool` or `string`.
            pub fn type_name(&self) -> &'static str {
                match self {
                    $(Array::$name(_) => stringify!($ty),)*
                    Array::Bool(_) => "bool",
                    Array::String(_) => "string",
                }
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                match self {
                    $(Array::$name(v) => v.len(),)*
                    Array::Bool(v) => v.len(),
                    Array::String(v) => v.len(),
                }
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

numbers! {
    U8 u8; I8 i8; U16 u16; I16 i16; U32 u32; I32 i32; U64 u64; I64 i64; F32 f32; F64 f64;
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<Vec<bool>> for Value {
    fn from(values: Vec<bool>) -> Self {
        Value::Array(Array::Bool(values))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(value)
    }
}

impl From<StrArray> for Value {
    fn from(values: StrArray) -> Self {
        Value::Array(Array::String(values))
    }
}

impl Value {
    /// Any integer type; `None` for the rest.
    pub(crate) fn integer(&self) -> Option<i128> {
        Some(match *self {
            Value::U8(v) => v.into(),
            Value::I8(v) => v.into(),
            Value::U16(v) => v.into(),
            Value::I16(v) => v.into(),
            Value::U32(v) => v.into(),
            Value::I32(v) => v.into(),
            Value::U64(v) => v.into(),
            Value::I64(v) => v.into(),
            _ => return None,
        })
    }
}

impl Array {
    /// The elements of an array of any integer type as another one, or the first that is out of
    /// range with its index; `None` for other arrays.
    pub(crate) fn to_integers<T: TryFrom<i128>>(&self) -> Option<Result<Vec<T>, (usize, i128)>> {
        fn convert<S: Copy + Into<i128>, T: TryFrom<i128>>(from: &[S]) -> Result<Vec<T>, (usize, i128)> {
            let checked = |(i, &x): (usize, &S)| T::try_from(x.into()).map_err(|_| (i, x.into()));
            from.iter().enumerate().map(checked).collect()
        }
        Some(match self {
            Array::U8(v) => convert(v),
            Array::I8(v) => convert(v),
            Array::U16(v) => convert(v),
            Array::I16(v) => convert(v),
            Array::U32(v) => convert(v),
            Array::I32(v) => convert(v),
            Array::U64(v) => convert(v),
            Array::I64(v) => convert(v),
            _ => return None,
        })
    }
}
