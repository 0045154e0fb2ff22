//! Files on disk: one, several that belong together, and paths that are no file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gguf::{ElementType, Error, GgufFile, Residence, Writer};

/// A part with one tensor of four bytes, each the number of the part.
fn part(no: u16, count: u16, tensors: i32) -> Vec<u8> {
    let mut w = Writer::new();
    w.key("split.no", no).unwrap();
    w.key("split.count", count).unwrap();
    w.key("split.tensors.count", tensors).unwrap();
    if no == 0 {
        w.key("general.name", "first").unwrap();
    }
    w.tensor(format!("t{no}"), &[1], ElementType::F32).unwrap();
    w.to_vec(|_| vec![no as u8; 4]).unwrap()
}

fn part_path(dir: &Path, i: usize) -> PathBuf {
    dir.join(format!("model-{:05}-of-00003.gguf", i + 1))
}

fn write_parts(parts: &[Vec<u8>]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (i, bytes) in parts.iter().enumerate() {
        fs::write(part_path(dir.path(), i), bytes).unwrap();
    }
    dir
}

fn parts() -> Vec<Vec<u8>> {
    (0..3).map(|i| part(i, 3, 3)).collect()
}

#[test]
fn split_model_opens_from_any_part() {
    let parts = parts();
    let dir = write_parts(&parts);
    for i in 0..3 {
        let file = Arc::new(GgufFile::open(part_path(dir.path(), i)).unwrap());
        assert_eq!(file.path(), part_path(dir.path(), 0));
        assert_eq!(file.metadata().get_str("general.name").unwrap(), Some("first"));
        assert_eq!(file.file_bytes(), parts.iter().map(|p| p.len() as u64).sum::<u64>());
        for no in 0..3 {
            let info = file.tensor(&format!("t{no}")).unwrap();
            assert_eq!(info.file, no);
            assert_eq!(file.data(info), [no as u8; 4]);
        }
    }
}

#[test]
fn files_read_into_memory_say_the_same_and_outlive_the_file() {
    let dir = write_parts(&parts());
    for i in 0..3 {
        let open = |residence| GgufFile::open_in(part_path(dir.path(), i), residence).unwrap();
        let (mapped, read) = (open(Residence::Mapped), open(Residence::Memory));
        assert_eq!((read.path(), read.file_bytes()), (mapped.path(), mapped.file_bytes()));
        assert_eq!(read.tensors(), mapped.tensors());
    }
    let read = GgufFile::open_in(part_path(dir.path(), 1), Residence::Memory).unwrap();
    for no in 0..3 {
        fs::File::create(part_path(dir.path(), no)).unwrap();
    }
    for (no, info) in read.tensors().iter().enumerate() {
        assert_eq!(read.data(info), [no as u8; 4]);
        assert!(read.data(info).as_ptr().addr().is_multiple_of(8), "as aligned as a map");
    }
    // What is cut now is refused as it is when mapped.
    assert!(GgufFile::open_in(part_path(dir.path(), 1), Residence::Memory).is_err());
}

#[cfg(unix)]
#[test]
fn a_few_bytes_can_be_locked_in_memory() {
    let dir = write_parts(&parts());
    for residence in [Residence::Mapped, Residence::Memory] {
        let file = GgufFile::open_in(part_path(dir.path(), 0), residence).unwrap();
        match file.lock() {
            Ok(()) => {}
            // A process that may lock nothing at all.
            Err(Error::Lock { bytes, .. }) => assert_eq!(bytes, file.file_bytes()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let swaps: [(usize, Vec<u8>, &str); 4] = [
        (1, part(2, 3, 3), "split.no"),
        (1, part(1, 4, 3), "split.count"),
        (2, part(2, 3, 9), "split.tensors.count"),
        (0, part(0, 3, 4), "split.tensors.count"),
    ];
    for (place, bytes, key) in swaps {
        let mut parts = parts();
        parts[place] = bytes;
        let dir = write_parts(&parts);
        let message = GgufFile::open(part_path(dir.path(), 0)).unwrap_err().to_string();
        assert!(message.contains(key), "{message}");
        assert!(message.contains(&format!("{:05}-of", place + 1)), "{message}");
    }
}

#[test]
fn missing_part_is_named() {
    let dir = write_parts(&parts()[..2]);
    let message = GgufFile::open(part_path(dir.path(), 0)).unwrap_err().to_string();
    assert!(message.contains("model-00003-of-00003.gguf"), "{message}");
}

#[test]
fn part_under_another_name_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["model.gguf", "model-00004-of-00003.gguf", "model-00001-of-00002.gguf"] {
        let path = dir.path().join(name);
        fs::write(&path, part(0, 3, 3)).unwrap();
        assert!(matches!(GgufFile::open(path), Err(Error::SplitName { count: 3, .. })), "{name}");
    }
}

#[test]
fn same_tensor_in_two_parts_is_refused() {
    let mut w = Writer::new();
    w.key("split.no", 1u16).unwrap();
    w.key("split.count", 3u16).unwrap();
    w.key("split.tensors.count", 3i32).unwrap();
    w.tensor("t0", &[1], ElementType::F32).unwrap();
    let mut parts = parts();
    parts[1] = w.to_vec(|_| vec![0; 4]).unwrap();
    let dir = write_parts(&parts);
    let message = GgufFile::open(part_path(dir.path(), 0)).unwrap_err().to_string();
    assert!(message.contains("`t0` occurs twice"), "{message}");
}

#[test]
fn paths_that_are_no_file_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(GgufFile::open(dir.path()), Err(Error::NotAFile { .. })));
    assert!(matches!(GgufFile::open(dir.path().join("none")), Err(Error::Io { .. })));
    let empty = dir.path().join("empty.gguf");
    fs::write(&empty, []).unwrap();
    let message = GgufFile::open(&empty).unwrap_err().to_string();
    assert!(message.contains("empty.gguf") && message.contains("end of file"), "{message}");
}
