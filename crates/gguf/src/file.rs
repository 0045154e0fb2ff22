//! Files on disk, mapped into memory: one, or the parts of a split model.
//!
//! Another process that shortens a mapped file makes any later read of the lost pages end this
//! process by a signal (SIGBUS on Unix): that is the price of reading weights in place.
#![allow(unsafe_code)] // Mapping a file is unsafe by nature; this is the only place that does it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut};

use crate::parse::name_index;
use crate::{Error, Gguf, Metadata, TensorInfo};

/// Opens a file, or a split model by any of its parts. Same as [`GgufFile::open`].
pub fn open(path: impl AsRef<Path>) -> Result<GgufFile, Error> {
    GgufFile::open(path)
}

/// Where the bytes of a file are while it is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Residence {
    /// In the file, mapped: pages come in when they are read, and go when memory is short.
    #[default]
    Mapped,
    /// In memory, read whole when it is opened: what happens to the file later changes nothing.
    Memory,
}

/// A model's files, mapped read-only or read, and what they say. Share it in an `Arc`.
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    residence: Residence,
    parts: Vec<Part>,
    version: u32,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
}

#[derive(Debug)]
struct Part {
    map: Mmap,
    data_offset: u64,
    alignment: u32,
}

impl GgufFile {
    /// Maps a file and reads all but its data.
    ///
    /// A file that says it is one of several is opened with all of them, found by their names
    /// (`NAME-00001-of-00003.gguf`); the metadata are those of the first.
    pub fn open(path: impl AsRef<Path>) -> Result<GgufFile, Error> {
        GgufFile::open_in(path, Residence::Mapped)
    }

    /// The same with the bytes where `residence` says. Read into memory, the bytes are there once.
    pub fn open_in(path: impl AsRef<Path>, residence: Residence) -> Result<GgufFile, Error> {
        let path = path.as_ref();
        let (map, gguf) = read(path, residence)?;
        let count = split_count(path, &gguf)?;
        if count <= 1 {
            return GgufFile::assemble(path, residence, vec![(map, gguf)]);
        }
        let stem =
            split_stem(path, count).ok_or_else(|| Error::SplitName { path: path.to_owned(), count })?;
        let part_path = |i: u32| PathBuf::from(format!("{stem}-{:05}-of-{count:05}.gguf", i + 1));
        // The part that is there already is not read again.
        let mut given = Some((map, gguf));
        let mut parts = Vec::new();
        for i in 0..count {
            let part = part_path(i);
            let here = given.take_if(|_| part == path);
            let (map, gguf) = here.map_or_else(|| read(&part, residence), Ok)?;
            check_split_key(&part, &gguf, KEY_SPLIT_COUNT, count.into())?;
            check_split_key(&part, &gguf, KEY_SPLIT_NO, i.into())?;
            parts.push((map, gguf));
        }
        let tensor_count: usize = parts.iter().map(|(_, gguf)| gguf.tensors.len()).sum();
        for (i, (_, gguf)) in parts.iter().enumerate() {
            if gguf.metadata.get(KEY_SPLIT_TENSORS).is_some() || i == 0 {
                let path = part_path(i as u32);
                check_split_key(&path, gguf, KEY_SPLIT_TENSORS, tensor_count as u64)?;
            }
        }
        GgufFile::assemble(&part_path(0), residence, parts)
    }

    /// The same for the bytes of a single file, copied to memory aligned as a map of the file
    /// would be. The path is empty.
    pub fn from_bytes(bytes: &[u8]) -> Result<GgufFile, Error> {
        let gguf = Gguf::parse(bytes)?;
        let no_memory = |error| Error::Io { path: PathBuf::new(), error };
        let mut map = MmapMut::map_anon(bytes.len()).map_err(no_memory)?;
        map.copy_from_slice(bytes);
        let map = map.make_read_only().map_err(no_memory)?;
        GgufFile::assemble(Path::new(""), Residence::Memory, vec![(map, gguf)])
    }

    fn assemble(path: &Path, residence: Residence, files: Vec<(Mmap, Gguf)>) -> Result<GgufFile, Error> {
        let mut parts = Vec::new();
        let mut tensors = Vec::new();
        let mut first = None;
        for (file, (map, gguf)) in files.into_iter().enumerate() {
            parts.push(Part { map, data_offset: gguf.data_offset, alignment: gguf.alignment });
            tensors.extend(gguf.tensors.into_iter().map(|info| TensorInfo { file, ..info }));
            first.get_or_insert((gguf.version, gguf.metadata));
        }
        let (version, metadata) = first.expect("a model has at least one file");
        let index = name_index(&tensors).map_err(|e| e.in_file(path))?;
        Ok(GgufFile { path: path.to_owned(), residence, parts, version, metadata, tensors, index })
    }

    /// Where the bytes are.
    pub fn residence(&self) -> Residence {
        self.residence
    }

    /// The keys and their values; those of the first part of a split model.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Lets go of the value of a key, for who has made something else of it: vocabularies are large.
    pub fn forget(&mut self, key: &str) {
        self.metadata.remove(key);
    }

    /// The tensors of all parts, in the order of the files.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).map(|&i| &self.tensors[i])
    }

    /// The data of a tensor, aligned in memory as in its file (at least 8 bytes) and
    /// [`TensorInfo::bytes`] long.
    ///
    /// # Panics
    /// When `info` is not a tensor of this file and points outside it.
    pub fn data(&self, info: &TensorInfo) -> &[u8] {
        if info.bytes == 0 {
            return &[];
        }
        let part = &self.parts[info.file];
        let start = (part.data_offset + info.offset) as usize;
        &part.map[start..][..info.bytes as usize]
    }

    /// Keeps all bytes in memory from now on: pages that are not there are read, none is given up.
    ///
    /// # Errors
    /// [`Error::Lock`] if the system refuses, most often since a process may lock less.
    pub fn lock(&self) -> Result<(), Error> {
        let bytes = self.file_bytes();
        self.parts.iter().try_for_each(|part| lock(&part.map)).map_err(|error| Error::Lock {
            path: self.path.clone(),
            bytes,
            error,
        })
    }

    /// The path of the file, or of the first part.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many files the model has.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The size of all files together, in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.map.len() as u64).sum()
    }

    /// The bytes of a part before its data: metadata and tensor table, as they are in the file.
    ///
    /// # Panics
    /// When there is no such part.
    pub fn header(&self, part: usize) -> &[u8] {
        let Part { map, data_offset, .. } = &self.parts[part];
        &map[..map.len().min(*data_offset as usize)]
    }

    /// The version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What the offsets in a part are multiples of.
    ///
    /// # Panics
    /// When there is no such part.
    pub fn alignment(&self, part: usize) -> u32 {
        self.parts[part].alignment
    }
}

pub(crate) const KEY_SPLIT_NO: &str = "split.no";
pub(crate) const KEY_SPLIT_COUNT: &str = "split.count";
pub(crate) const KEY_SPLIT_TENSORS: &str = "split.tensors.count";

#[cfg(unix)]
fn lock(map: &Mmap) -> std::io::Result<()> {
    map.lock()
}

#[cfg(not(unix))]
fn lock(_: &Mmap) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn read(path: &Path, residence: Residence) -> Result<(Mmap, Gguf), Error> {
    let io = |error| Error::Io { path: path.to_owned(), error };
    // Looked at before it is opened: opening a pipe would wait for a writer.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(io)?;
    let map = match residence {
        // SAFETY: the map is read-only and private to this crate, which treats its bytes as plain data
        // of any value. A process that writes to the file meanwhile can change what is read; the header
        // is copied out of the map and checked once, and weights may be any bits.
        Residence::Mapped => prefer_large_pages(unsafe { Mmap::map(&file) }.map_err(io)?),
        Residence::Memory => read_whole(file).map_err(io)?,
    };
    let gguf = Gguf::parse(&map).map_err(|e| e.in_file(path))?;
    Ok((map, gguf))
}

/// Asks the system to read what is not in memory yet in pieces of 2 MiB, and to map a piece as one page: weights are
/// read from beginning to end for every token, and each page costs a look-up of its address. File systems that cannot
/// do that, and what is in memory in small pieces already, stay as they are.
fn prefer_large_pages(map: Mmap) -> Mmap {
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    map
}

/// A file's bytes in memory of their own, aligned as a map of it would be.
fn read_whole(mut file: File) -> std::io::Result<Mmap> {
    let length = usize::try_from(file.metadata()?.len()).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    let mut map = MmapMut::map_anon(length)?;
    // All of it is read over and over: large pages save the processor most look-ups of addresses. A system that has
    // none refuses the advice, which then changes nothing.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    file.read_exact(&mut map)?;
    map.make_read_only()
}

fn split_count(path: &Path, gguf: &Gguf) -> Result<u32, Error> {
    let count = gguf.metadata.get_u32(KEY_SPLIT_COUNT).map_err(|e| e.in_file(path))?;
    Ok(count.unwrap_or(1))
}

/// The path up to `-00001-of-00003.gguf`, if it ends so for any part of `count`.
fn split_stem(path: &Path, count: u32) -> Option<&str> {
    let name = path.to_str()?.strip_suffix(&format!("-of-{count:05}.gguf"))?;
    let (stem, part) = name.rsplit_once('-')?;
    let number: u32 = part.parse().ok()?;
    (part.len() >= 5 && (1..=count).contains(&number)).then_some(stem)
}

fn check_split_key(path: &Path, gguf: &Gguf, key: &'static str, expected: u64) -> Result<(), Error> {
    match gguf.metadata.get_u64(key) {
        Ok(Some(found)) if found == expected => Ok(()),
        _ => Err(Error::Split {
            path: path.to_owned(),
            key,
            expected,
            found: gguf.metadata.get(key).map_or("nothing".to_owned(), |v| v.describe()),
        }),
    }
}
