//! Sequences in files: tokens, keys and values.
//!
//! A file is a header, the tokens and the rows of the cache, each with its SHA-256 behind it. Numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `minferKV` |
//! | 4 | version of this form, 1 |
//! | 4 | version of the numerics, [`cpu::NUMERICS_VERSION`] |
//! | 8, 8 | names of the types of keys and values, with zeros behind |
//! | 4 | 1 if the weights were dequantized (`reference`), else 0 |
//! | 4 | positions of a page, 32 |
//! | 16 | rotations: scaling asked for, bits of the base and scale asked for, 1 for factors of long contexts |
//! | 32 | hash of the model: its header, and samples of each tensor |
//! | 48 | name of the model, for messages |
//! | 8 | positions |
//! | 8 | the first position that layers with a window have, a multiple of 32; 0 without windows |
//! | 8 | bytes of all rows |
//! | 32 | SHA-256 of the above |
//! | 4 a position | tokens |
//! | 32 | SHA-256 of the tokens |
//! | as stated | rows, as [`runtime::Engine::export`] gives them |
//! | 32 | SHA-256 of the rows |
//!
//! Only positions that there are, and in layers with a window those that it still holds, are in the file. It is written beside
//! its place and moved there when it is complete. A file is not trusted: lengths are held against the size of the file and the
//! session before anything is reserved for them, and a sequence exists only once every checksum was right.

mod error;
mod header;
mod identity;
mod summed;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use runtime::{Held, SeqId};
use tempfile::NamedTempFile;

pub use self::error::SavedError;
use self::header::{BYTES, Header, MAGIC, VERSION};
use self::identity::Identity;
pub(crate) use self::identity::model_hash;
use self::summed::{SUM, Summed};
use crate::{Error, Sequence, Session};

/// Bytes of the header and its checksum.
const HEAD: u64 = (BYTES + SUM) as u64;

/// Bytes that are written or read at a time.
const ROOM: usize = 1 << 20;

impl Session {
    /// Writes a sequence to a file, as a whole or not at all; how many bytes. A session with the same model, KV types and
    /// rotations goes on from there with the same bits, whatever its threads, batches and context are.
    ///
    /// # Errors
    /// [`Error::Saved`] where the file cannot be written; [`Error::Encoder`] for models that keep nothing.
    pub fn save(&mut self, sequence: &Sequence, path: impl AsRef<Path>) -> Result<u64, Error> {
        self.save_tokens(sequence.id, &sequence.tokens, path.as_ref())
    }

    /// A sequence from a file that [`Session::save`] wrote. [`Session::generate_in`] goes on from it.
    ///
    /// # Errors
    /// [`Error::Saved`] where the file is damaged, or of another model, KV type, rotation, mode or version, or has more
    /// positions than the context. Then nothing has changed.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<Sequence, Error> {
        let path = path.as_ref();
        self.refuse_encoders()?;
        let (id, tokens) = self.read_file(path).map_err(|error| Error::saved(path, error))?;
        Ok(Sequence { id, tokens })
    }

    pub(crate) fn save_tokens(&mut self, seq: SeqId, tokens: &[u32], path: &Path) -> Result<u64, Error> {
        self.refuse_encoders()?;
        let held = self.engine.held(seq)?;
        if held.len != tokens.len() {
            // One of another session, with a number that this one uses too.
            return Err(runtime::RuntimeError::UnknownSequence(seq).into());
        }
        self.write_file(seq, held, tokens, path).map_err(|error| Error::saved(path, error))
    }

    fn refuse_encoders(&self) -> Result<(), Error> {
        let arch = self.model.config().arch;
        if arch.encoder { Err(Error::Encoder { arch: arch.name }) } else { Ok(()) }
    }

    fn write_file(&mut self, seq: SeqId, held: Held, tokens: &[u32], path: &Path) -> Result<u64, SavedError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = Summed::new(BufWriter::with_capacity(ROOM, NamedTempFile::new_in(folder)?));
        let header = Header {
            identity: Identity::of(self),
            positions: held.len as u64,
            window_first: held.window_first as u64,
            rows: self.engine.held_bytes(held),
        };
        file.put(&header.encode())?;
        file.close()?;
        tokens.iter().try_for_each(|token| file.put(&token.to_le_bytes()))?;
        file.close()?;
        self.engine.export(seq, &mut |rows| Ok::<_, SavedError>(file.put(rows)?))?;
        file.close()?;
        let file = file.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_data()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(length(held, header.rows))
    }

    fn read_file(&mut self, path: &Path) -> Result<(SeqId, Vec<u32>), SavedError> {
        // Looked at before it is opened: opening a pipe would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(SavedError::NotAFile);
        }
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        let room = usize::try_from(found).unwrap_or(ROOM).min(ROOM);
        let mut file = Summed::new(BufReader::with_capacity(room, file));
        let Header { identity, positions, window_first, rows } = read_header(&mut file, found)?;
        identity.check(self)?;
        let held = self.held(positions, window_first)?;
        if rows != self.engine.held_bytes(held) {
            let expected = self.engine.held_bytes(held).to_string();
            return Err(SavedError::Stated { what: "bytes of rows:", found: rows, expected });
        }
        if found != length(held, rows) {
            return Err(SavedError::Length { found, expected: length(held, rows) });
        }
        let tokens = self.read_tokens(&mut file, held.len)?;
        let seq = self.engine.import(held, &mut |rows| Ok::<_, SavedError>(file.take(rows)?))?;
        if let Err(error) = file.check("cache") {
            self.engine.remove(seq)?;
            return Err(error);
        }
        Ok((seq, tokens))
    }

    /// What a header says of positions, if this session can have it.
    fn held(&self, positions: u64, window_first: u64) -> Result<Held, SavedError> {
        let n_ctx = self.n_ctx();
        let Some(len) = usize::try_from(positions).ok().filter(|len| *len <= n_ctx) else {
            return Err(SavedError::Context { positions, n_ctx });
        };
        match usize::try_from(window_first).ok().filter(|first| *first <= len) {
            Some(window_first) => Ok(Held { len, window_first }),
            None => Err(SavedError::Stated {
                what: "windows from position",
                found: window_first,
                expected: format!("at most {len}"),
            }),
        }
    }

    fn read_tokens<R: Read>(&self, file: &mut Summed<R>, count: usize) -> Result<Vec<u32>, SavedError> {
        let n_vocab = self.model.config().n_vocab;
        let mut tokens = vec![0; count];
        for token in &mut tokens {
            let mut bytes = [0; 4];
            file.take(&mut bytes)?;
            *token = u32::from_le_bytes(bytes);
        }
        file.check("list of tokens")?;
        match tokens.iter().position(|token| *token as usize >= n_vocab) {
            Some(position) => Err(SavedError::Token { position, id: tokens[position], n_vocab }),
            None => Ok(tokens),
        }
    }
}

/// Bytes of the whole file.
fn length(held: Held, rows: u64) -> u64 {
    let tokens = (held.len * size_of::<u32>() + SUM) as u64;
    HEAD + tokens + rows + SUM as u64
}

fn read_header<R: Read>(file: &mut Summed<R>, found: u64) -> Result<Header, SavedError> {
    let mut bytes = [0; BYTES];
    let (magic, rest) = bytes.split_at_mut(MAGIC.len());
    let there = magic.len().min(usize::try_from(found).unwrap_or(usize::MAX));
    file.take(&mut magic[..there])?;
    if magic != MAGIC {
        return Err(SavedError::NotSaved { found: magic[..there].to_vec(), expected: MAGIC });
    }
    if found < HEAD {
        return Err(SavedError::Length { found, expected: HEAD });
    }
    file.take(rest)?;
    let version = u32::from_le_bytes(*rest.first_chunk().expect("the header is longer"));
    if version != VERSION {
        return Err(SavedError::Version { found: version, expected: VERSION });
    }
    file.check("header")?;
    Header::decode(&bytes)
}
