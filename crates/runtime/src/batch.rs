//! What a caller wants computed, cut into batches that a program can hold.

use graph::Extents;

use crate::SeqId;

/// Which rows a caller wants: of logits, or of what the engine gives instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// None: only the cache is filled.
    None,
    /// After the first token.
    First,
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
    /// Which rows to compute.
    pub rows: Rows,
}

/// A piece of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which item.
    pub item: usize,
    /// Its tokens.
    pub tokens: std::ops::Range<usize>,
    /// Tokens of the item that get rows, a part of `tokens`.
    pub outputs: std::ops::Range<usize>,
}

/// Cuts items, in order, into batches. Where the cuts fall does not change any result. A sequence is at most once
/// in a batch.
pub(crate) struct Cutter {
    item: usize,
    /// The item's next token.
    start: usize,
    /// No item is cut: each has room in an empty batch.
    whole: bool,
}

impl Cutter {
    /// From the first item on; with `whole`, every item goes into one batch.
    pub fn new(whole: bool) -> Cutter {
        Cutter { item: 0, start: 0, whole }
    }

    /// Puts the next batch within `capacity` into `batch`; false if no item is left.
    pub fn next(&mut self, items: &[Item], capacity: &Extents, batch: &mut Vec<Piece>) -> bool {
        batch.clear();
        let mut room = *capacity;
        while let Some(Item { seq, tokens: all, rows }) = items.get(self.item) {
            let repeated = batch.iter().any(|p| items[p.item].seq == *seq);
            let no_output = room.outputs == 0 && *rows != Rows::None;
            let rows_wanted = if *rows == Rows::All { all.len() } else { 1 };
            let too_long = self.whole && (all.len() > room.tokens || rows_wanted > room.outputs);
            if room.tokens == 0 || room.sequences == 0 || no_output || repeated || too_long {
                break;
            }
            let start = self.start;
            let most = if *rows == Rows::All { room.tokens.min(room.outputs) } else { room.tokens };
            let end = all.len().min(start + most);
            let outputs = match rows {
                Rows::All => start..end,
                Rows::First if start == 0 => 0..1,
                Rows::Last if end == all.len() => end - 1..end,
                Rows::First | Rows::Last | Rows::None => end..end,
            };
            room.tokens -= end - start;
            room.outputs -= outputs.len();
            room.sequences -= 1;
            batch.push(Piece { item: self.item, tokens: start..end, outputs });
            (self.item, self.start) = if end == all.len() { (self.item + 1, 0) } else { (self.item, end) };
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
                let (mut cutter, mut batch) = (Cutter::new(false), Vec::new());
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
    fn batches(items: &[Item], capacity: Extents, whole: bool) -> Vec<Vec<Piece>> {
        let (mut cutter, mut batch, mut all) = (Cutter::new(whole), Vec::new(), Vec::new());
        while cutter.next(items, &capacity, &mut batch) {
            all.push(batch.clone());
        }
        all
    }

    #[test]
    fn whole_items_share_batches_and_are_never_cut() {
        let ids: Vec<u32> = (0..60).collect();
        let item = |seq, n, rows| Item { seq: SeqId(seq), tokens: &ids[..n], rows };
        let items = [
            item(0, 30, Rows::All),
            item(1, 40, Rows::First),
            item(2, 20, Rows::Last),
            item(3, 60, Rows::All),
            item(4, 1, Rows::First),
        ];
        let batches = batches(&items, Extents { tokens: 60, outputs: 60, sequences: 8 }, true);
        let sizes: Vec<Vec<usize>> =
            batches.iter().map(|b| b.iter().map(|p| p.tokens.len()).collect()).collect();
        assert_eq!(sizes, [vec![30], vec![40, 20], vec![60], vec![1]]);
        let outputs: Vec<_> = batches.iter().flatten().map(|p| p.outputs.clone()).collect();
        assert_eq!(outputs, [0..30, 0..1, 19..20, 0..60, 0..1]);
    }

    #[test]
    fn the_first_row_of_a_long_item_is_asked_for_once() {
        let ids: Vec<u32> = (0..10).collect();
        let items = [Item { seq: SeqId(0), tokens: &ids, rows: Rows::First }];
        let batches = batches(&items, Extents { tokens: 4, outputs: 1, sequences: 1 }, false);
        let outputs: Vec<usize> = batches.iter().flatten().map(|p| p.outputs.len()).collect();
        assert_eq!(outputs, [1, 0, 0]);
    }
}
