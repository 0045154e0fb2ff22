//! Files whose numbers cannot be true. Each must end in an error that names the number's owner.

use crate::bytes::*;
use gguf::{ElementType, Error, Gguf};

#[test]
fn size_that_does_not_fit_names_tensor_and_dims() {
    let cases: [(&[u64], u32); 6] = [
        (&[4194304, 4398046511105], F32),
        (&[i64::MAX as u64, 2], I8),
        (&[65536; 4], F16),
        (&[1 << 62], F32),
        (&[1 << 62, 1], F32),
        (&[(1 << 63) + 1], I8),
    ];
    for (dims, ty) in cases {
        let error = refused(&one_tensor(dims, ty, &[0; 64]), &["`t`", &format!("{dims:?}")]);
        assert!(matches!(error, Error::TensorSize { .. }), "{error}");
    }
}

#[test]
fn strides_of_an_empty_tensor_must_fit_too() {
    let error = refused(&one_tensor(&[1 << 40, 1 << 40, 0], F32, &[]), &["`t`"]);
    assert!(matches!(error, Error::TensorSize { .. }), "{error}");
}

#[test]
fn large_tensor_that_fits_in_63_bits_is_past_the_end() {
    let error = refused(&one_tensor(&[1 << 60], F32, &[0; 64]), &["`t`", "past the end"]);
    assert!(matches!(error, Error::TensorPastEnd { .. }), "{error}");
}

#[test]
fn sum_of_offset_and_size_that_wraps_is_past_the_end() {
    let offset = u64::MAX - 31;
    let error = refused(&file(&[], &[info("t", &[16], F32, offset)], &[0; 64]), &["`t`"]);
    assert!(matches!(error, Error::TensorPastEnd { .. }), "{error}");
}

#[test]
fn dimension_of_zero_is_an_empty_tensor() {
    let dims: [&[u64]; 4] = [&[4, 0], &[0], &[1, 0, 0, 0], &[0, 7]];
    for dims in dims {
        let parsed = Gguf::parse(&one_tensor(dims, F32, &[])).unwrap();
        assert_eq!(parsed.tensors[0].dims, dims);
        assert_eq!(parsed.tensors[0].bytes, 0);
        assert_eq!(parsed.tensors[0].elements(), 0);
    }
    let quantized = one_tensor(&[0, 5], ElementType::Q4_K.id(), &[]);
    assert_eq!(Gguf::parse(&quantized).unwrap().tensors[0].bytes, 0);
}

#[test]
fn no_dimensions_is_one_element() {
    let parsed = Gguf::parse(&one_tensor(&[], F32, &[0; 4])).unwrap();
    assert_eq!(parsed.tensors[0].bytes, 4);
    refused(&one_tensor(&[], F32, &[]), &["`t`", "past the end"]);
}

#[test]
fn counts_are_compared_with_the_bytes_that_are_left() {
    refused(&file_with_counts(0, 500_000_000, &[]), &["key count", "500000000", "0 bytes left"]);
    refused(&file_with_counts(1 << 63, 0, &[]), &["tensor count", "9223372036854775808"]);
    let second_missing = file_with_counts(2, 0, &info("t", &[0], F32, 0));
    refused(&second_missing, &["tensor count", "is 2"]);
}

#[test]
fn more_keys_or_tensors_than_any_model_has_are_refused() {
    // The file is long enough, so only a limit bounds the memory that the table would take.
    let room = vec![0; 24 << 19];
    let error = refused(&file_with_counts(0, 1 << 17, &room), &["key count", "131072", "65536"]);
    assert!(matches!(error, Error::TooMany { .. }), "{error}");
    let error = refused(&file_with_counts(1 << 19, 0, &room), &["tensor count", "524288"]);
    assert!(matches!(error, Error::TooMany { .. }), "{error}");
}

#[test]
fn lengths_are_compared_with_the_bytes_that_are_left() {
    let length = |n: u64, rest: &[u8]| [&n.to_le_bytes()[..], rest].concat();
    refused(&file_with_counts(0, 1, &length(1 << 62, b"abc")), &["key number 0 length"]);
    let tensor_name = length(1 << 63, &[b't'; 40]);
    refused(&file_with_counts(1, 0, &tensor_name), &["tensor name length"]);
    let string = key("k", STRING, &length(1 << 40, b"xyz"));
    refused(&file(&[string], &[], &[]), &["`k`", "string length", "1099511627776"]);
    for (element, count, rest) in [(U8, 1 << 63, 0), (U32, 1 << 62, 16), (STRING, 1 << 33, 0)] {
        let array = array_key("k", element, count, &vec![0; rest]);
        refused(&file(&[array], &[], &[]), &["`k`", "array length", &count.to_string()]);
    }
}

#[test]
fn string_in_an_array_that_is_cut_off_names_its_index() {
    let strings = [text(b"one"), 99u64.to_le_bytes().to_vec()].concat();
    let bytes = file(&[array_key("k", STRING, 2, &strings)], &[], &[]);
    refused(&bytes, &["`k`", "length of string 1", "99"]);
}

#[test]
fn unknown_value_types_are_named() {
    refused(&file(&[key("k", 13, &[0; 16])], &[], &[]), &["`k`", "type 13"]);
    refused(&file(&[array_key("k", 99, 1, &[0; 8])], &[], &[]), &["`k`", "type 99"]);
}

#[test]
fn dimension_count_is_bounded() {
    for dim_count in [5, u32::MAX] {
        let rest = [&text(b"t"), &dim_count.to_le_bytes()[..], &[0; 99]].concat();
        let names = ["`t`", "n_dims", &dim_count.to_string()];
        refused(&file_with_counts(1, 0, &rest), &names);
    }
}

#[test]
fn nested_arrays_are_refused_without_recursion() {
    let level = [&ARRAY.to_le_bytes()[..], &1u64.to_le_bytes()].concat();
    let nested = [level.repeat(100_000), U8.to_le_bytes().to_vec(), vec![0; 8]].concat();
    refused(&file(&[key("k", ARRAY, &nested)], &[], &[]), &["`k`", "nesting"]);
}

#[test]
fn alignment_is_a_power_of_two_and_a_multiple_of_8() {
    for bad in [0u32, 1, 2, 3, 4, 12, 33, u32::MAX] {
        let alignment = key("general.alignment", U32, &bad.to_le_bytes());
        let names = ["`general.alignment`", &bad.to_string()];
        refused(&file(std::slice::from_ref(&alignment), &[], &[]), &names);
        refused(&file(&[alignment], &[info("t", &[8], F32, 0)], &[0; 64]), &names);
    }
    for good in [8u32, 64, 1 << 30, 1 << 31] {
        let alignment = key("general.alignment", U32, &good.to_le_bytes());
        assert_eq!(Gguf::parse(&file(&[alignment], &[], &[])).unwrap().alignment, good);
    }
}

#[test]
fn alignment_must_have_the_type_u32() {
    for (ty, value) in
        [(I32, 32i32.to_le_bytes().to_vec()), (U64, 32u64.to_le_bytes().to_vec()), (STRING, text(b"32"))]
    {
        let alignment = key("general.alignment", ty, &value);
        refused(&file(&[alignment], &[], &[]), &["`general.alignment`", "type u32", "32"]);
    }
}

#[test]
fn huge_alignment_puts_the_data_past_the_end() {
    let alignment = key("general.alignment", U32, &(1u32 << 30).to_le_bytes());
    let bytes = file(&[alignment], &[info("t", &[8], F32, 0)], &[0; 64]);
    refused(&bytes, &["`t`", "past the end", "1073741824"]);
}

#[test]
fn every_prefix_of_a_valid_file_is_refused() {
    let keys = [key("a", U32, &[1; 4]), array_key("b", STRING, 2, &[text(b"x"), text(b"y")].concat())];
    let whole = file(&keys, &[info("t", &[8], F32, 0), info("u", &[2, 2], F32, 32)], &[7; 48]);
    assert!(Gguf::parse(&whole).is_ok());
    for end in 0..whole.len() {
        assert!(Gguf::parse(&whole[..end]).is_err(), "prefix of {end} bytes");
    }
    refused(b"GGUF", &["end of file", "version"]);
    refused(&one_tensor(&[8], F32, &[0; 31]), &["`t`", "past the end"]);
}

#[test]
fn keys_are_present_and_unique() {
    refused(&file(&[key("", U8, &[1])], &[], &[]), &["key number 0 is empty"]);
    let twice = [key("k", U8, &[1]), key("k", U8, &[1])];
    refused(&file(&twice, &[], &[]), &["`k`", "twice"]);
    let long = key(&"k".repeat(65536), U8, &[1]);
    refused(&file(&[long], &[], &[]), &["65536 bytes", "65535"]);
}

#[test]
fn text_must_be_utf8() {
    refused(&file(&[key("k", STRING, &text(b"a\xff"))], &[], &[]), &["`k`", "UTF-8"]);
    let bad = [text(b"ok"), text(b"\xf0\x9f"), text(b"ok")].concat();
    let bad = file(&[array_key("k", STRING, 3, &bad)], &[], &[]);
    refused(&bad, &["`k`", "string 1 of the array", "UTF-8"]);
}

#[test]
fn character_cut_between_two_strings_is_not_utf8() {
    // Together the two strings are valid, so only looking at where they end tells.
    let halves = [text(b"\xc3"), text(b"\xa9")].concat();
    let bytes = file(&[array_key("k", STRING, 2, &halves)], &[], &[]);
    refused(&bytes, &["`k`", "string 0 of the array", "UTF-8"]);
}

#[test]
fn booleans_are_zero_or_one() {
    refused(&file(&[key("k", BOOL, &[2])], &[], &[]), &["`k`", "boolean", "2"]);
    refused(&file(&[array_key("k", BOOL, 2, &[1, 9])], &[], &[]), &["`k`", "boolean", "9"]);
}

#[test]
fn tensor_names_are_unique() {
    let twice = [info("t", &[8], F32, 0), info("t", &[8], F32, 32)];
    refused(&file(&[], &twice, &[0; 64]), &["`t`", "twice"]);
}

#[test]
fn rows_are_whole_blocks() {
    let q4 = ElementType::Q4_0.id();
    refused(&one_tensor(&[48, 2], q4, &[0; 64]), &["`t`", "[48, 2]", "32", "Q4_0"]);
    assert_eq!(Gguf::parse(&one_tensor(&[64, 2], q4, &[0; 72])).unwrap().tensors[0].bytes, 72);
    refused(&one_tensor(&[], q4, &[0; 64]), &["`t`", "Q4_0"]);
}

#[test]
fn element_types_are_known() {
    refused(&one_tensor(&[8], 1000, &[0; 64]), &["`t`", "1000", "unknown"]);
    refused(&one_tensor(&[32], 31, &[0; 64]), &["`t`", "31", "Q4_0_4_4", "no longer"]);
}

#[test]
fn data_is_aligned_and_disjoint() {
    let info_at = |offset| file(&[], &[info("t", &[8], F32, offset)], &[0; 128]);
    refused(&info_at(8), &["`t`", "offset 8", "32"]);
    assert!(Gguf::parse(&info_at(64)).is_ok());
    let overlapping = [info("b", &[8], F32, 32), info("a", &[16], F32, 0)];
    refused(&file(&[], &overlapping, &[0; 128]), &["`a`", "`b`", "overlap"]);
}

#[test]
fn other_formats_are_told_apart() {
    refused(b"PK\x03\x04 and more", &["not a GGUF file"]);
    refused(&[], &["end of file"]);
    let version = |v: [u8; 4]| [b"GGUF", &v[..], &[0; 16]].concat();
    refused(&version([1, 0, 0, 0]), &["version 1"]);
    refused(&version([4, 0, 0, 0]), &["version 4"]);
    refused(&version([0, 0, 0, 3]), &["big-endian", "version 3"]);
    assert_eq!(Gguf::parse(&version([2, 0, 0, 0])).unwrap().version, 2);
}

#[test]
fn file_without_keys_and_tensors_is_legal() {
    let parsed = Gguf::parse(&file(&[], &[], &[])).unwrap();
    assert!(parsed.metadata.is_empty());
    assert!(parsed.tensors.is_empty());
}

#[test]
fn names_in_messages_are_short_and_on_one_line() {
    let name = format!("line\nbreak\u{1b}[2J{}", "x".repeat(5000));
    let error = refused(&file(&[key(&name, 13, &[0; 8])], &[], &[]), &["line\\nbreak"]);
    let message = error.to_string();
    assert!(message.len() < 300, "{} bytes", message.len());
    assert!(!message.contains(['\n', '\u{1b}']), "{message:?}");
}
