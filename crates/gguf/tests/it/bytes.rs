//! Files made by hand, byte by byte, so that every number in them can be a lie.

use gguf::{Error, Gguf};

pub const U8: u32 = 0;
pub const U32: u32 = 4;
pub const I32: u32 = 5;
pub const BOOL: u32 = 7;
pub const STRING: u32 = 8;
pub const ARRAY: u32 = 9;
pub const U64: u32 = 10;

pub const F32: u32 = 0;
pub const F16: u32 = 1;
pub const I8: u32 = 24;

/// A length and the bytes.
pub fn text(s: &[u8]) -> Vec<u8> {
    [&(s.len() as u64).to_le_bytes(), s].concat()
}

/// A key, the number of its type and the bytes of its value.
pub fn key(name: &str, ty: u32, value: &[u8]) -> Vec<u8> {
    [&text(name.as_bytes()), &ty.to_le_bytes()[..], value].concat()
}

/// A key with the start of an array: element type and count, then bytes as given.
pub fn array_key(name: &str, element: u32, count: u64, rest: &[u8]) -> Vec<u8> {
    key(name, ARRAY, &[&element.to_le_bytes(), &count.to_le_bytes()[..], rest].concat())
}

/// An entry of the tensor table.
pub fn info(name: &str, dims: &[u64], ty: u32, offset: u64) -> Vec<u8> {
    let mut out = text(name.as_bytes());
    out.extend((dims.len() as u32).to_le_bytes());
    out.extend(dims.iter().flat_map(|d| d.to_le_bytes()));
    out.extend(ty.to_le_bytes());
    out.extend(offset.to_le_bytes());
    out
}

/// A file whose counts say what they should not have to.
pub fn file_with_counts(tensors: u64, keys: u64, rest: &[u8]) -> Vec<u8> {
    let counts = [tensors.to_le_bytes(), keys.to_le_bytes()].concat();
    [b"GGUF", &3u32.to_le_bytes()[..], &counts, rest].concat()
}

/// A file with honest counts, the data section aligned to 32.
pub fn file(keys: &[Vec<u8>], infos: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let rest = [keys.concat(), infos.concat()].concat();
    let mut out = file_with_counts(infos.len() as u64, keys.len() as u64, &rest);
    if !infos.is_empty() {
        out.resize(out.len().next_multiple_of(32), 0);
    }
    out.extend_from_slice(data);
    out
}

/// A file of one tensor `t` at offset 0.
pub fn one_tensor(dims: &[u64], ty: u32, data: &[u8]) -> Vec<u8> {
    file(&[], &[info("t", dims, ty, 0)], data)
}

/// The error of reading, which must name each of `names`.
#[track_caller]
pub fn refused(bytes: &[u8], names: &[&str]) -> Error {
    let error = Gguf::parse(bytes).expect_err("the file must be refused");
    let message = error.to_string();
    for name in names {
        assert!(message.contains(name), "{message:?} does not name {name:?}");
    }
    error
}
