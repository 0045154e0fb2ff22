//! The header of the file: numbers at fixed places.

use models::PAGE_POSITIONS;

use super::SavedError;
use super::identity::Identity;

/// What files begin with.
pub(super) const MAGIC: &[u8; 8] = b"minferKV";
/// Grows when anything in the form of the file changes.
pub(super) const VERSION: u32 = 1;
/// Bytes of the header, without its checksum.
pub(super) const BYTES: usize = 160;

/// What is in the file, and what it goes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub identity: Identity,
    /// Positions, each with a token.
    pub positions: u64,
    /// The first position that layers with a window have.
    pub window_first: u64,
    /// Bytes of all keys and values.
    pub rows: u64,
}

impl Header {
    pub fn encode(&self) -> [u8; BYTES] {
        let Identity { numerics, type_k, type_v, mode, rotation, model, name } = &self.identity;
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(numerics.to_le_bytes());
        bytes.extend(type_k);
        bytes.extend(type_v);
        bytes.extend(mode.to_le_bytes());
        bytes.extend((PAGE_POSITIONS as u32).to_le_bytes());
        rotation.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(model);
        bytes.extend(name);
        [self.positions, self.window_first, self.rows].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        bytes.try_into().expect("the fields are as long as the header")
    }

    /// Of bytes whose magic, version and checksum are right already. The numbers may be any.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Header, SavedError> {
        let mut rest = &bytes[MAGIC.len() + size_of_val(&VERSION)..];
        let numerics = u32::from_le_bytes(next(&mut rest));
        let (type_k, type_v) = (next(&mut rest), next(&mut rest));
        let mode = u32::from_le_bytes(next(&mut rest));
        let page = u32::from_le_bytes(next(&mut rest));
        if page as usize != PAGE_POSITIONS {
            let expected = PAGE_POSITIONS.to_string();
            return Err(SavedError::Stated { what: "the positions of a page", found: page.into(), expected });
        }
        let rotation = [(); 4].map(|()| u32::from_le_bytes(next(&mut rest)));
        let model = next(&mut rest);
        let name = next(&mut rest);
        let [positions, window_first, rows] = [(); 3].map(|()| u64::from_le_bytes(next(&mut rest)));
        let identity = Identity { numerics, type_k, type_v, mode, rotation, model, name };
        Ok(Header { identity, positions, window_first, rows })
    }
}

/// The first bytes of what is left.
fn next<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (first, later) = rest.split_first_chunk().expect("the fields are as long as the header");
    *rest = later;
    *first
}
