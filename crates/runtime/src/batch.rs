//! What a caller wants computed, cut into batches that a program can hold.

use graph::Extents;

use crate::SeqId;

/// Which rows of logits a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// None: only the cache is filled.
    None,
    /// After the last token.
    Last,
    /// After every token.
    All,
}

/// Tokens to append to a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The sequence.
    pub seq: SeqId,
    /// Its next tokens.
    pub tokens: &'a [u32],
    /// Which logits to compute.
    pub rows: Rows,
}

/// A piece of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which item.
    pub item: usize,
    /// Its tokens.
    pub tokens: std::ops::Range<usize>,
    /// Tokens of the item that get logits, a part of `tokens`.
    pub outputs: std::ops::Range<usize>,
}

/// Cuts items, in order, into batches. Where the cuts fall does not change any result. A sequence is at most once
/// in a batch.
#[derive(Default)]
pub(crate) struct Cutter {
    item: usize,
    /// The item's next token.
    start: usize,
}

impl Cutter {
    /// Puts the next batch within `capacity` into `batch`; false if no item is left.
    pub fn next(&mut self, items: &[Item], capacity: &Extents, batch: &mut Vec<Piece>) -> bool {
        batch.clear();
        let mut room = *capacity;
        while let Some(Item { seq, tokens: all, rows }) = items.get(self.item) {
            let repeated = batch.iter().any(|p| items[p.item].seq == *seq);
            let no_output = room.outputs == 0 && *rows != Rows::None;
            if room.tokens == 0 || room.sequences == 0 || no_output || repeated {
                break;
            }
            let start = self.start;
            let most = if *rows == Rows::All { room.tokens.min(room.outputs) } else { room.tokens };
            let end = all.len().min(start + most);
            let outputs = match rows {
                Rows::All => start..end,
                Rows::Last if end == all.len() => end - 1..end,
                Rows::Last | Rows::None => end..end,
            };
            room.tokens -= end - start;
            room.outputs -= outputs.len();
            room.sequences -= 1;
            batch.push(Piece { item: self.item, tokens: start..end, outputs });
            *self = if end == all.len() {
                Cutter { item: self.item + 1, start: 0 }
            } else {
                Cutter { item: self.item, start: end }
            };
        }
        !batch.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_in_one_piece_and_outputs_are_the_ones_asked_for() {
        let ids: Vec<u32> = (0..100).collect();
        let item = |seq, n, rows| Item { seq: SeqId(seq), tokens: &ids[..n], rows };
        let items =
            [item(0, 70, Rows::Last), item(1, 5, Rows::All), item(2, 40, Rows::None), item(0, 1, Rows::All)];
        for tokens in [1, 3, 32, 64, 200] {
            for (sequences, most_outputs) in [(1, 1), (1, 200), (2, 2), (3, 3), (3, 40)] {
                let capacity = Extents { tokens, outputs: most_outputs, sequences };
                let mut next = [0; 4];
                let mut outputs = [0; 4];
                let (mut cutter, mut batch) = (Cutter::default(), Vec::new());
                while cutter.next(&items, &capacity, &mut batch) {
                    assert!(batch.iter().map(|p| p.tokens.len()).sum::<usize>() <= tokens);
                    assert!(batch.iter().map(|p| p.outputs.len()).sum::<usize>() <= most_outputs);
                    assert!(batch.len() <= sequences);
                    for (i, piece) in batch.iter().enumerate() {
                        assert_eq!(piece.tokens.start, next[piece.item]);
                        next[piece.item] = piece.tokens.end;
                        outputs[piece.item] += piece.outputs.len();
                        assert!(batch[..i].iter().all(|p| items[p.item].seq != items[piece.item].seq));
                    }
                }
                assert_eq!(next, [70, 5, 40, 1]);
                assert_eq!(outputs, [1, 5, 0, 1]);
            }
        }
    }
}
