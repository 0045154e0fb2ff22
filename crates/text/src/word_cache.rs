//! Words repeat: remembers, inside one text, where a piece was encoded before.

use std::hash::BuildHasher;
use std::ops::Range;

/// Pieces longer than this are rare and not worth a place.
const PIECE_BYTES_MAX: usize = 32;
const SLOTS_MAX: usize = 1 << 13;

/// A table with one place a hash; a newer piece takes the place of an older one.
pub(crate) struct WordCache {
    slots: Vec<Slot>,
    hasher: foldhash::fast::FixedState,
}

/// An earlier piece as a window of the text, and its ids as a window of the output.
#[derive(Clone, Copy, Default)]
struct Slot {
    text_start: usize,
    ids_start: usize,
    text_len: u16,
    ids_len: u16,
}

impl WordCache {
    /// A cache for a text of this length: a short one has few places to clear.
    pub(crate) fn new(text_bytes: usize) -> WordCache {
        let slots = (text_bytes / 16).next_power_of_two().clamp(16, SLOTS_MAX);
        WordCache { slots: vec![Slot::default(); slots], hasher: Default::default() }
    }

    /// Appends the ids of `text[piece]` to `ids`: those of an equal piece, or what `encode` appends.
    #[inline]
    pub(crate) fn encode<E>(
        &mut self,
        text: &str,
        piece: Range<usize>,
        ids: &mut Vec<u32>,
        encode: impl FnOnce(&str, &mut Vec<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let word = &text[piece.clone()];
        let bytes = word.as_bytes();
        if !(2..=PIECE_BYTES_MAX).contains(&bytes.len()) {
            return encode(word, ids);
        }
        let index = self.hasher.hash_one(bytes) as usize & (self.slots.len() - 1);
        let slot = self.slots[index];
        let before = slot.text_start..slot.text_start + slot.text_len as usize;
        if &text.as_bytes()[before] == bytes {
            ids.extend_from_within(slot.ids_start..slot.ids_start + slot.ids_len as usize);
            return Ok(());
        }
        let ids_start = ids.len();
        encode(word, ids)?;
        self.slots[index] = Slot {
            text_start: piece.start,
            ids_start,
            // A piece has at most as many ids as bytes, and those are few.
            text_len: bytes.len() as u16,
            ids_len: (ids.len() - ids_start) as u16,
        };
        Ok(())
    }
}
