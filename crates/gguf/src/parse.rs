//! From the bytes of one file to its metadata and its table of tensors.

use std::collections::HashMap;

use crate::cursor::Cursor;
use crate::error::Shown;
use crate::{Array, ElementType, Error, Metadata, StrArray, TensorInfo, Value};

/// The alignment of data in a file that does not state one.
pub const ALIGNMENT_DEFAULT: u32 = 32;
/// The longest key, and the longest tensor name that is read.
pub(crate) const NAME_BYTES_MAX: usize = 65535;

pub(crate) const MAGIC: [u8; 4] = *b"GGUF";
pub(crate) const KEY_ALIGNMENT: &str = "general.alignment";

/// The largest numbers of keys and tensors that are read. A key or tensor takes several times more
/// memory than file, so without a limit a file of nothing else would cost many times its size.
/// Models have under a hundred keys, and tens of thousands of tensors at the very most.
const KEY_COUNT_MAX: usize = 1 << 16;
const TENSOR_COUNT_MAX: usize = 1 << 18;

/// The smallest part of a key-value pair: its length. A pair needs a few bytes more, but the error
/// of a pair that is cut off should name the pair and not the count.
const KEY_BYTES_MIN: usize = 8;
/// The smallest entry of the tensor table: length, no name, dimension count, type, offset.
const TENSOR_BYTES_MIN: usize = 8 + 4 + 4 + 8;

/// All that one file says before its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Gguf {
    /// The version of the format, 2 or 3.
    pub version: u32,
    /// The keys and their values.
    pub metadata: Metadata,
    /// The tensors, in the order of the file; their `file` is 0.
    pub tensors: Vec<TensorInfo>,
    /// Where the data section begins, in bytes from the start of the file.
    pub data_offset: u64,
    /// What every offset is a multiple of: a power of two, at least 8.
    pub alignment: u32,
}

impl Gguf {
    /// Reads everything before the data out of the bytes of a whole file, and checks that the data
    /// of every tensor lies within them and overlaps no other's.
    pub fn parse(bytes: &[u8]) -> Result<Gguf, Error> {
        let mut at = Cursor::new(bytes);
        let magic = at.array(|| "the magic".to_owned())?;
        if magic != MAGIC {
            return Err(Error::Magic { found: magic });
        }
        let version = at.u32(|| "the version".to_owned())?;
        match (version, version.swap_bytes()) {
            (2 | 3, _) => {}
            (_, swapped @ 1..=3) => return Err(Error::BigEndian { version: swapped }),
            _ => return Err(Error::Version { found: version }),
        }
        let tensor_count_offset = at.at() as u64;
        let tensor_count = at.u64(|| "the tensor count".to_owned())?;
        let key_count = at.count(KEY_BYTES_MIN, || "the key count".to_owned())?;
        few("the key count", key_count, KEY_COUNT_MAX)?;

        let mut metadata = Metadata::new();
        for index in 0..key_count {
            let (key, value) = key_value(&mut at, index)?;
            metadata.insert(key, value)?;
        }
        let alignment = alignment(&metadata)?;

        let what = || "the tensor count".to_owned();
        let tensor_count = at.fits(tensor_count, TENSOR_BYTES_MIN, tensor_count_offset, what)?;
        few("the tensor count", tensor_count, TENSOR_COUNT_MAX)?;
        let mut tensors = Vec::new();
        for index in 0..tensor_count {
            tensors.push(tensor_info(&mut at, index, alignment)?);
        }
        name_index(&tensors)?;
        let data_offset = (at.at() as u64).next_multiple_of(alignment.into());
        check_data(&tensors, data_offset, bytes.len() as u64)?;
        Ok(Gguf { version, metadata, tensors, data_offset, alignment })
    }
}

/// The alignment that the metadata states. Of all keys this one alone must have one exact type:
/// the format fixes it, and an alignment read wrongly moves every byte of the data.
pub(crate) fn alignment(metadata: &Metadata) -> Result<u32, Error> {
    match metadata.get(KEY_ALIGNMENT) {
        None => Ok(ALIGNMENT_DEFAULT),
        Some(&Value::U32(n)) if n.is_power_of_two() && n.is_multiple_of(8) => Ok(n),
        Some(&Value::U32(found)) => Err(Error::Alignment { found }),
        Some(other) => Err(Error::KeyType {
            key: KEY_ALIGNMENT.to_owned(),
            expected: "the type u32",
            found: other.describe(),
        }),
    }
}

/// Where each tensor is in the table; refuses names that occur twice.
pub(crate) fn name_index(tensors: &[TensorInfo]) -> Result<HashMap<String, usize>, Error> {
    let mut index = HashMap::with_capacity(tensors.len());
    for (i, info) in tensors.iter().enumerate() {
        if index.insert(info.name.clone(), i).is_some() {
            return Err(Error::TensorTwice { tensor: info.name.clone() });
        }
    }
    Ok(index)
}

fn few(what: &'static str, count: usize, count_max: usize) -> Result<(), Error> {
    match count <= count_max {
        true => Ok(()),
        false => Err(Error::TooMany { what, found: count as u64, count_max }),
    }
}

fn key_value<'a>(at: &mut Cursor<'a>, index: usize) -> Result<(&'a str, Value), Error> {
    let key = at.str(|| format!("key number {index}"))?;
    let ty = at.u32(|| format!("key {}, value type", Shown(key)))?;
    let value = match ty {
        STRING => Value::String(at.str(|| format!("key {}, string", Shown(key)))?.to_owned()),
        ARRAY => Value::Array(array(at, key)?),
        _ => number(at, key, ty)?,
    };
    Ok((key, value))
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn number(at: &mut Cursor<'_>, key: &str, ty: u32) -> Result<Value, Error> {
    macro_rules! read {
        ($variant:ident, $ty:ident) => {{
            let bytes = at.array(|| format!("key {}, value", Shown(key)))?;
            Value::$variant($ty::from_le_bytes(bytes))
        }};
    }
    Ok(match ty {
        0 => read!(U8, u8),
        1 => read!(I8, i8),
        2 => read!(U16, u16),
        3 => read!(I16, i16),
        4 => read!(U32, u32),
        5 => read!(I32, i32),
        6 => read!(F32, f32),
        7 => {
            let [byte] = at.array(|| format!("key {}, value", Shown(key)))?;
            Value::Bool(boolean(key, byte)?)
        }
        10 => read!(U64, u64),
        11 => read!(I64, i64),
        12 => read!(F64, f64),
        found => return Err(Error::ValueType { key: key.to_owned(), found }),
    })
}

/// An array. One whose elements are arrays is refused at its first level: no model needs it, and
/// the depth would be a number from the file.
fn array(at: &mut Cursor<'_>, key: &str) -> Result<Array, Error> {
    let ty = at.u32(|| format!("key {}, element type", Shown(key)))?;
    let length = || format!("key {}, array length", Shown(key));
    macro_rules! read {
        ($variant:ident, $ty:ident) => {{
            const BYTES: usize = size_of::<$ty>();
            let count = at.count(BYTES, length)?;
            // `count` made sure that the product is at most the bytes left.
            let bytes = at.take(count * BYTES, length)?;
            let (elements, _) = bytes.as_chunks::<BYTES>();
            Array::$variant(elements.iter().map(|&b| $ty::from_le_bytes(b)).collect())
        }};
    }
    Ok(match ty {
        0 => read!(U8, u8),
        1 => read!(I8, i8),
        2 => read!(U16, u16),
        3 => read!(I16, i16),
        4 => read!(U32, u32),
        5 => read!(I32, i32),
        6 => read!(F32, f32),
        7 => {
            let count = at.count(1, length)?;
            let bytes = at.take(count, length)?;
            Array::Bool(bytes.iter().map(|&b| boolean(key, b)).collect::<Result<_, _>>()?)
        }
        STRING => Array::String(strings(at, key)?),
        ARRAY => return Err(Error::NestedArray { key: key.to_owned() }),
        10 => read!(U64, u64),
        11 => read!(I64, i64),
        12 => read!(F64, f64),
        found => return Err(Error::ValueType { key: key.to_owned(), found }),
    })
}

fn strings(at: &mut Cursor<'_>, key: &str) -> Result<StrArray, Error> {
    // Each string begins with its length, so the ends take no more room than the lengths do.
    let count = at.count(8, || format!("key {}, array length", Shown(key)))?;
    let offset = at.at() as u64;
    let mut ends = Vec::with_capacity(count);
    let mut text = Vec::new();
    for index in 0..count {
        let n = at.count(1, || format!("key {}, length of string {index}", Shown(key)))?;
        text.extend_from_slice(at.take(n, || format!("key {}, string {index}", Shown(key)))?);
        ends.push(text.len());
    }
    StrArray::from_parts(text, ends).map_err(|index| Error::Utf8 {
        what: format!("key {}, string {index} of the array", Shown(key)),
        offset,
    })
}

fn boolean(key: &str, byte: u8) -> Result<bool, Error> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(Error::Bool { key: key.to_owned(), found }),
    }
}

fn tensor_info(at: &mut Cursor<'_>, index: usize, alignment: u32) -> Result<TensorInfo, Error> {
    let name = at.str(|| format!("name of tensor number {index}, tensor name"))?;
    if name.len() > NAME_BYTES_MAX {
        return Err(Error::NameTooLong { what: "tensor name", name: name.to_owned() });
    }
    let dim_count = at.u32(|| format!("tensor {}, n_dims", Shown(name)))?;
    if dim_count > 4 {
        let tensor = name.to_owned();
        return Err(Error::DimensionCount { tensor, found: dim_count.into() });
    }
    let mut dims = Vec::with_capacity(dim_count as usize);
    for i in 0..dim_count {
        dims.push(at.u64(|| format!("tensor {}, dimension {i}", Shown(name)))?);
    }
    let id = at.u32(|| format!("tensor {}, element type", Shown(name)))?;
    let ty =
        ElementType::from_id(id).ok_or_else(|| Error::ElementType { tensor: name.to_owned(), found: id })?;
    let offset = at.u64(|| format!("tensor {}, offset", Shown(name)))?;
    if !offset.is_multiple_of(alignment.into()) {
        return Err(Error::TensorOffset { tensor: name.to_owned(), offset, alignment });
    }
    Ok(TensorInfo { offset, ..TensorInfo::new(name.to_owned(), dims, ty)? })
}

/// Every byte of data in the file, and no byte in two tensors. Tensors without elements have no
/// bytes, so their offset says nothing.
fn check_data(tensors: &[TensorInfo], data_offset: u64, file_bytes: u64) -> Result<(), Error> {
    let data_bytes = file_bytes.saturating_sub(data_offset);
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().filter(|t| t.bytes > 0).collect();
    for info in &by_offset {
        if info.offset.checked_add(info.bytes).is_none_or(|end| end > data_bytes) {
            return Err(Error::TensorPastEnd {
                tensor: info.name.clone(),
                dims: info.dims.clone(),
                bytes: info.bytes,
                offset: info.offset,
                data_offset,
                data_bytes,
            });
        }
    }
    by_offset.sort_by_key(|info| info.offset);
    for pair in by_offset.windows(2) {
        let [first, second] = pair else { unreachable!("windows of two") };
        if first.offset + first.bytes > second.offset {
            return Err(Error::TensorOverlap {
                first: first.name.clone(),
                second: second.name.clone(),
                offset: second.offset,
            });
        }
    }
    Ok(())
}
