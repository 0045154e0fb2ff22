//! New files out of old ones: cut into parts, put together, with another value of a key. The data of
//! tensors is copied as it is, a piece at a time, and no file that exists is written to.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::file::{KEY_SPLIT_COUNT, KEY_SPLIT_NO, KEY_SPLIT_TENSORS};
use crate::parse::{self, KEY_ALIGNMENT};
use crate::{Error, GgufFile, Metadata, TensorInfo, Value, Writer};

/// Where a part ends. A part has at least one tensor, however large that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartLimit {
    /// At most so many bytes of tensors, each counted with the padding after it.
    Bytes(u64),
    /// At most so many tensors.
    Tensors(usize),
}

const SPLIT_KEYS: [&str; 3] = [KEY_SPLIT_NO, KEY_SPLIT_COUNT, KEY_SPLIT_TENSORS];
const PIECE_BYTES: usize = 4 << 20;

/// Told of bytes of tensors that are copied, and of all.
type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Cuts a model into `PREFIX-00001-of-00003.gguf` and so on, and returns their paths in order.
///
/// The first part has all keys; the others have those that say which part they are. A part that
/// exists already is an error, and then none of the new ones stays.
pub fn split(
    file: &GgufFile,
    prefix: &Path,
    limit: PartLimit,
    progress: Progress<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let groups = groups(file, limit)?;
    let count = u16::try_from(groups.len()).map_err(|_| Error::TooMany {
        what: "the number of parts",
        found: groups.len() as u64,
        count_max: u16::MAX.into(),
    })?;
    let path = |no: u16| {
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!("-{:05}-of-{count:05}.gguf", no + 1));
        PathBuf::from(path)
    };
    let mut copy = Copy::new(file, progress);
    let mut made = Vec::new();
    for (no, tensors) in (0..count).zip(groups) {
        let written =
            part_metadata(file, no, count).and_then(|metadata| copy.write(metadata, tensors, &path(no)));
        if let Err(error) = written {
            // Parts without the rest are of no use; what cannot be removed does not change the error.
            made.iter().for_each(|path: &PathBuf| drop(fs::remove_file(path)));
            return Err(error);
        }
        made.push(path(no));
    }
    Ok(made)
}

/// Writes a model, of one part or several, to one file, which must not exist.
pub fn merge(file: &GgufFile, out: &Path, progress: Progress<'_>) -> Result<(), Error> {
    Copy::new(file, progress).write(whole(file.metadata())?, file.tensors(), out)
}

/// Writes a model to one file with another value of a key, or with one key more; `out` must not
/// exist. Keys that say which part of a model a file is are refused: they change with the parts.
pub fn set(
    file: &GgufFile,
    out: &Path,
    key: &str,
    value: Value,
    progress: Progress<'_>,
) -> Result<(), Error> {
    if SPLIT_KEYS.contains(&key) {
        return Err(Error::KeyOfParts { key: key.to_owned() });
    }
    let mut metadata = whole(file.metadata())?;
    metadata.set(key, value)?;
    Copy::new(file, progress).write(metadata, file.tensors(), out)
}

/// The tensors of each part.
fn groups(file: &GgufFile, limit: PartLimit) -> Result<Vec<&[TensorInfo]>, Error> {
    let alignment: u64 = parse::alignment(file.metadata())?.into();
    let (mut groups, mut start, mut bytes) = (Vec::new(), 0, 0u64);
    let tensors = file.tensors();
    for (i, info) in tensors.iter().enumerate() {
        let size = info.bytes.next_multiple_of(alignment);
        let full = match limit {
            PartLimit::Bytes(most) => bytes.saturating_add(size) > most,
            PartLimit::Tensors(most) => i - start >= most,
        };
        if full && i > start {
            groups.push(&tensors[start..i]);
            (start, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(size);
    }
    groups.push(&tensors[start..]);
    Ok(groups)
}

/// All keys but those of parts.
fn whole(metadata: &Metadata) -> Result<Metadata, Error> {
    let mut kept = Metadata::new();
    for (key, value) in metadata.iter().filter(|(key, _)| !SPLIT_KEYS.contains(key)) {
        kept.insert(key, value.clone())?;
    }
    Ok(kept)
}

fn part_metadata(file: &GgufFile, no: u16, count: u16) -> Result<Metadata, Error> {
    let mut metadata = match no {
        0 => whole(file.metadata())?,
        _ => Metadata::new(),
    };
    // Each part has offsets of its own, so each says what they are multiples of.
    if let Some(alignment) = file.metadata().get(KEY_ALIGNMENT).filter(|_| no > 0) {
        metadata.insert(KEY_ALIGNMENT, alignment.clone())?;
    }
    metadata.insert(KEY_SPLIT_NO, no)?;
    metadata.insert(KEY_SPLIT_COUNT, count)?;
    // As many as the reader takes at most fit in this type.
    metadata.insert(KEY_SPLIT_TENSORS, file.tensors().len() as i32)?;
    Ok(metadata)
}

/// Copies tensors of one model to new files, and counts.
struct Copy<'a> {
    file: &'a GgufFile,
    progress: Progress<'a>,
    done: u64,
    total: u64,
}

impl<'a> Copy<'a> {
    fn new(file: &'a GgufFile, progress: Progress<'a>) -> Copy<'a> {
        let total = file.tensors().iter().map(|info| info.bytes).sum();
        Copy { file, progress, done: 0, total }
    }

    /// A new file of these keys and tensors; nothing stays if it cannot be written to its end.
    fn write(&mut self, metadata: Metadata, tensors: &[TensorInfo], path: &Path) -> Result<(), Error> {
        let mut writer = Writer::new();
        for (key, value) in metadata.iter() {
            writer.key(key, value.clone())?;
        }
        for info in tensors {
            writer.tensor(info.name.as_str(), &info.dims, info.ty)?;
        }
        let io = |error| Error::Io { path: path.to_owned(), error };
        let out = OpenOptions::new().write(true).create_new(true).open(path).map_err(io)?;
        let written = self.fill(&writer, out).map_err(|error| error.in_file(path));
        if written.is_err() {
            // What cannot be removed does not change the error.
            let _ = fs::remove_file(path);
        }
        written
    }

    fn fill(&mut self, writer: &Writer, out: File) -> Result<(), Error> {
        let file = self.file;
        writer.write_to(BufWriter::new(out), |info, sink| {
            let info = file.tensor(&info.name).expect("the tensors written are those of the file");
            for piece in file.data(info).chunks(PIECE_BYTES) {
                sink.write_all(piece)?;
                self.done += piece.len() as u64;
                (self.progress)(self.done, self.total);
            }
            Ok(())
        })
    }
}
