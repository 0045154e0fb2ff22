//! Files made out of others: split and merged they are the same, and only what was set is another.

use std::fs;
use std::path::{Path, PathBuf};

use gguf::{ElementType, Error, GgufFile, PartLimit, StrArray, Value, Writer, merge, set, split};

const SIZES: [u64; 6] = [64, 32, 96, 32, 0, 4096];

/// A model of six tensors of different sizes; each byte tells its tensor and place.
fn model(folder: &Path) -> PathBuf {
    let mut w = Writer::new();
    w.key("general.architecture", "test").unwrap();
    w.key("test.list", ["a", "", "c"].iter().collect::<StrArray>()).unwrap();
    w.key("general.alignment", 64u32).unwrap();
    w.key("test.size", 7u32).unwrap();
    for (i, size) in SIZES.iter().enumerate() {
        w.tensor(format!("t{i}"), &[*size], ElementType::I8).unwrap();
    }
    let bytes = w.to_vec(|info| {
        let tensor: usize = info.name[1..].parse().unwrap();
        (0..info.bytes).map(|byte| (byte as usize * 3 + tensor) as u8).collect()
    });
    let path = folder.join("model.gguf");
    fs::write(&path, bytes.unwrap()).unwrap();
    path
}

fn open(path: &Path) -> GgufFile {
    GgufFile::open(path).unwrap()
}

#[track_caller]
fn same_tensors(a: &GgufFile, b: &GgufFile) {
    assert_eq!(a.tensors().len(), b.tensors().len());
    for (x, y) in a.tensors().iter().zip(b.tensors()) {
        assert_eq!((&x.name, &x.dims, x.ty), (&y.name, &y.dims, y.ty));
        assert_eq!(a.data(x), b.data(y), "{}", x.name);
    }
}

#[test]
fn a_model_that_is_split_and_merged_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    for (name, limit, parts) in [
        ("one", PartLimit::Tensors(6), 1),
        ("each", PartLimit::Tensors(1), 6),
        ("two", PartLimit::Tensors(4), 2),
        ("none", PartLimit::Tensors(0), 6),
        ("small", PartLimit::Bytes(1), 6),
        ("middle", PartLimit::Bytes(192), 3),
        ("all", PartLimit::Bytes(u64::MAX), 1),
    ] {
        let file = open(&path);
        let made = split(&file, &folder.path().join(name), limit, &mut |_, _| {}).unwrap();
        assert_eq!(made.len(), parts, "{name}");
        let last = open(made.last().unwrap());
        assert_eq!(last.parts(), parts);
        same_tensors(&file, &last);
        let out = folder.path().join(format!("{name}.gguf"));
        merge(&last, &out, &mut |_, _| {}).unwrap();
        assert_eq!(fs::read(&out).unwrap(), fs::read(&path).unwrap(), "{name}");
    }
}

#[test]
fn parts_say_which_they_are_and_the_first_has_all_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = open(&model(folder.path()));
    let made = split(&file, &folder.path().join("m"), PartLimit::Tensors(2), &mut |_, _| {}).unwrap();
    let names: Vec<_> = made.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"]);
    for (no, path) in made.iter().enumerate() {
        let part = gguf::Gguf::parse(&fs::read(path).unwrap()).unwrap();
        assert_eq!(part.metadata.get("split.no"), Some(&Value::U16(no as u16)));
        assert_eq!(part.metadata.get("split.count"), Some(&Value::U16(3)));
        assert_eq!(part.metadata.get("split.tensors.count"), Some(&Value::I32(6)));
        assert_eq!(part.metadata.get("test.size").is_some(), no == 0);
        assert_eq!((part.alignment, part.tensors.len()), (64, 2));
    }
    // Parts can be cut again without being merged first.
    let again =
        split(&open(&made[1]), &folder.path().join("n"), PartLimit::Tensors(5), &mut |_, _| {}).unwrap();
    same_tensors(&open(&again[0]), &file);
}

#[test]
fn setting_a_key_changes_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let file = open(&path);
    let out = folder.path().join("out.gguf");
    set(&file, &out, "test.size", Value::U32(8), &mut |_, _| {}).unwrap();
    let (old, new) = (fs::read(&path).unwrap(), fs::read(&out).unwrap());
    let differ: Vec<_> = old.iter().zip(&new).filter(|(a, b)| a != b).collect();
    assert_eq!((old.len() == new.len(), differ), (true, vec![(&7, &8)]));
    let more = folder.path().join("more.gguf");
    set(&file, &more, "test.name", "new".into(), &mut |_, _| {}).unwrap();
    let more = open(&more);
    assert_eq!(more.metadata().iter().last(), Some(("test.name", &"new".into())));
    assert_eq!(more.metadata().len(), file.metadata().len() + 1);
    same_tensors(&more, &file);
    let wide = folder.path().join("wide.gguf");
    set(&file, &wide, "general.alignment", Value::U32(256), &mut |_, _| {}).unwrap();
    assert_eq!(open(&wide).alignment(0), 256);
    same_tensors(&open(&wide), &file);
}

#[test]
fn what_would_make_a_file_that_cannot_be_read_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = open(&model(folder.path()));
    let out = folder.path().join("out.gguf");
    let refused = |key: &str, value: Value| set(&file, &out, key, value, &mut |_, _| {}).unwrap_err();
    assert!(matches!(refused("split.count", Value::U16(2)), Error::KeyOfParts { .. }));
    assert!(matches!(refused("", Value::U16(2)), Error::KeyEmpty { .. }));
    assert!(refused("general.alignment", Value::U32(3)).to_string().contains("general.alignment"));
    assert!(!out.exists());
}

#[test]
fn no_file_that_exists_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path());
    let (file, before) = (open(&path), fs::read(&path).unwrap());
    let exists = |error: Error| {
        assert!(
            matches!(&error, Error::Io { error, .. } if error.kind() == std::io::ErrorKind::AlreadyExists)
        );
    };
    exists(merge(&file, &path, &mut |_, _| {}).unwrap_err());
    exists(set(&file, &path, "test.size", Value::U32(8), &mut |_, _| {}).unwrap_err());
    let last = folder.path().join("m-00003-of-00003.gguf");
    fs::write(&last, "mine").unwrap();
    exists(split(&file, &folder.path().join("m"), PartLimit::Tensors(2), &mut |_, _| {}).unwrap_err());
    assert_eq!((fs::read(&path).unwrap(), fs::read(&last).unwrap()), (before, b"mine".to_vec()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no part is left");
}

#[test]
fn progress_counts_every_byte_of_data_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = open(&model(folder.path()));
    let total: u64 = SIZES.iter().sum();
    let mut seen = Vec::new();
    let mut progress = |done, all| seen.push((done, all));
    split(&file, &folder.path().join("m"), PartLimit::Tensors(2), &mut progress).unwrap();
    assert!(seen.is_sorted() && seen.last() == Some(&(total, total)), "{seen:?}");
}

#[test]
fn values_read_from_text_by_the_name_of_their_type() {
    for (ty, text) in
        [("u8", "255"), ("i64", "-9"), ("f32", "0.5"), ("f64", "1e-9"), ("bool", "true"), ("string", "")]
    {
        let value = Value::parse(ty, text).unwrap();
        assert_eq!(value.type_name(), ty);
    }
    for (ty, text) in
        [("u8", "256"), ("u32", "-1"), ("bool", "yes"), ("f32", "x"), ("array", "1"), ("u128", "1")]
    {
        let error = Value::parse(ty, text).unwrap_err().to_string();
        assert!(error.contains(ty) && error.contains(text), "{error}");
    }
}
