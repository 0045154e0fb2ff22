//! Getters: every integer type that fits, nothing else, and errors that name key and value.

use gguf::{Error, Metadata, StrArray, Value};

fn one(value: impl Into<Value>) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("k", value).unwrap();
    metadata
}

#[test]
fn integers_of_any_type_are_read_if_in_range() {
    let values: [Value; 8] = [
        7u8.into(),
        7i8.into(),
        7u16.into(),
        7i16.into(),
        7u32.into(),
        7i32.into(),
        7u64.into(),
        7i64.into(),
    ];
    for value in values {
        assert_eq!(one(value).get_u32("k").unwrap(), Some(7));
    }
    assert_eq!(one(u64::MAX).require_u64("k").unwrap(), u64::MAX);
    assert_eq!(one(-2i8).require_i32("k").unwrap(), -2);
}

#[test]
fn other_values_are_refused_with_key_and_value() {
    let values: [(Value, &str); 5] = [
        ((-2i32).into(), "i32 -2"),
        (u64::MAX.into(), "u64 18446744073709551615"),
        ("2".into(), "string `2`"),
        (2.0f32.into(), "f32 2"),
        (vec![1u32].into(), "array of 1 u32"),
    ];
    for (value, found) in values {
        let error = one(value).get_u32("k").unwrap_err();
        assert!(matches!(error, Error::KeyType { .. }));
        let message = error.to_string();
        assert!(message.contains("`k`") && message.contains(found), "{message}");
    }
    assert!(one(1u32).get_f32("k").is_err());
    assert!(one(1u8).get_bool("k").is_err());
    assert!(one(1u32).get_str("k").is_err());
    assert!(one("x").get_str_array("k").is_err());
}

#[test]
fn missing_key_is_none_or_named() {
    let metadata = Metadata::new();
    assert_eq!(metadata.get_u32("k").unwrap(), None);
    assert_eq!(metadata.get_str("k").unwrap(), None);
    let message = metadata.require_u32("k").unwrap_err().to_string();
    assert!(message.contains("`k` is missing"), "{message}");
    assert!(metadata.require_str_array("k").is_err());
}

#[test]
fn arrays_of_integers_convert_and_name_the_bad_index() {
    assert_eq!(one(vec![1u8, 2]).get_i32_array("k").unwrap(), Some(vec![1, 2]));
    assert_eq!(one(vec![3i64]).get_u32_array("k").unwrap(), Some(vec![3]));
    let message = one(vec![1i32, -5]).get_u32_array("k").unwrap_err().to_string();
    assert!(message.contains("`k`") && message.contains("-5 at index 1"), "{message}");
    assert!(one(vec![1.0f32]).get_i32_array("k").is_err());
}

#[test]
fn arrays_of_other_types_are_read_as_they_are() {
    let floats = one(vec![1.5f32, -2.0]);
    assert_eq!(floats.get_f32_array("k").unwrap().unwrap().as_ref(), [1.5, -2.0]);
    assert_eq!(one(vec![0.5f64]).get_f32_array("k").unwrap().unwrap().as_ref(), [0.5]);
    assert_eq!(one(vec![true]).get_bool_array("k").unwrap(), Some(&[true][..]));
    let strings: StrArray = ["a", "", "\u{e9}"].into_iter().collect();
    let metadata = one(strings);
    let strings = metadata.require_str_array("k").unwrap();
    assert_eq!(strings.iter().collect::<Vec<_>>(), ["a", "", "\u{e9}"]);
    assert_eq!((strings.len(), strings.get(2)), (3, "\u{e9}"));
}

#[test]
fn keys_keep_their_order() {
    let mut metadata = Metadata::new();
    for key in ["z", "a", "m"] {
        metadata.insert(key, true).unwrap();
    }
    assert_eq!(metadata.iter().map(|(k, _)| k).collect::<Vec<_>>(), ["z", "a", "m"]);
    assert!(matches!(metadata.insert("a", 1u32), Err(Error::KeyTwice { .. })));
}
