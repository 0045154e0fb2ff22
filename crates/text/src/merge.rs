//! Merging as all algorithms do it: of all pairs of neighbours the best one is joined, the leftmost
//! one among equals, until no pair can be joined. What a pair is worth is the algorithm's business.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No token, no merge, no neighbour.
pub(crate) const NONE: u32 = u32::MAX;

/// Up to this many symbols the best pair is searched for by looking at all of them, which needs
/// less bookkeeping than a heap; the cost grows with the square, so longer words take the heap.
const SCAN_SYMBOLS_MAX: usize = 48;

/// The pairs that an algorithm joins.
pub(crate) trait Pairs {
    /// What the algorithm has to know of a symbol.
    type Symbol: Copy;

    /// What becomes of two neighbours; [`NO_MERGE`] if they stay apart.
    fn merge(&self, left: Self::Symbol, right: Self::Symbol) -> Merge;

    /// The symbol that takes the place of two, the token of which is `result`.
    fn join(&self, left: Self::Symbol, right: Self::Symbol, result: u32) -> Self::Symbol;
}

/// What becomes of a pair: the least rank is joined first.
#[derive(Clone, Copy)]
pub(crate) struct Merge {
    pub(crate) rank: u32,
    pub(crate) result: u32,
}

/// The merge of a pair that has none.
pub(crate) const NO_MERGE: Merge = Merge { rank: NONE, result: NONE };

/// A word being merged; kept between words so that its memory is reused.
pub(crate) struct Word<S> {
    links: Vec<Link<S>>,
    // Pairs: rank in the high half, index of the left symbol in the low half, so that the least one
    // is the best. Outdated ones are skipped when met.
    pairs: Vec<u64>,
    heap: BinaryHeap<Reverse<u64>>,
}

/// One symbol of the word, and its merge with the symbol after it.
#[derive(Clone, Copy)]
struct Link<S> {
    symbol: S,
    merge: Merge,
    previous: u32,
    next: u32,
}

impl<S: Copy> Word<S> {
    /// A word without symbols.
    pub(crate) fn new() -> Word<S> {
        Word { links: Vec::new(), pairs: Vec::new(), heap: BinaryHeap::new() }
    }

    /// Takes the symbols out.
    pub(crate) fn clear(&mut self) {
        self.links.clear();
    }

    /// Appends a symbol.
    #[inline]
    pub(crate) fn push(&mut self, symbol: S, pairs: &impl Pairs<Symbol = S>) {
        // A text is shorter than 2^31 bytes.
        let at = self.links.len() as u32;
        if let Some(last) = self.links.last_mut() {
            last.merge = pairs.merge(last.symbol, symbol);
            last.next = at;
        }
        self.links.push(Link { symbol, merge: NO_MERGE, previous: at.wrapping_sub(1), next: NONE });
    }

    /// Joins what can be joined and gives each symbol that is left to `each`, in order.
    pub(crate) fn merge(&mut self, pairs: &impl Pairs<Symbol = S>, mut each: impl FnMut(S)) {
        if self.links.len() <= SCAN_SYMBOLS_MAX {
            self.merge_by_scan(pairs);
            self.links.iter().for_each(|link| each(link.symbol));
        } else {
            self.merge_by_heap(pairs);
            // The first symbol is only ever merged with what comes after it.
            let mut at = 0;
            while at != NONE {
                let link = self.links[at as usize];
                each(link.symbol);
                at = link.next;
            }
        }
    }

    /// For short words: the symbols lie side by side and the links are not used.
    fn merge_by_scan(&mut self, pairs: &impl Pairs<Symbol = S>) {
        let links = &mut self.links;
        while links.len() > 1 {
            let mut best = 0;
            for at in 1..links.len() {
                if links[at].merge.rank < links[best].merge.rank {
                    best = at;
                }
            }
            let Merge { rank, result } = links[best].merge;
            if rank == NONE {
                return;
            }
            let right = links.remove(best + 1);
            let joined = pairs.join(links[best].symbol, right.symbol, result);
            links[best].symbol = joined;
            links[best].merge = match links.get(best + 1) {
                Some(right) => pairs.merge(joined, right.symbol),
                None => NO_MERGE,
            };
            if best > 0 {
                links[best - 1].merge = pairs.merge(links[best - 1].symbol, joined);
            }
        }
    }

    /// For words of any length: symbols are a linked list, pairs wait in a heap.
    fn merge_by_heap(&mut self, algorithm: &impl Pairs<Symbol = S>) {
        let Word { links, pairs, heap } = self;
        // Those that are there from the start are sorted, which is kinder to the processor's caches
        // than a heap; so the heap holds only those that come to be by a merge.
        pairs.clear();
        for (at, link) in links.iter().enumerate() {
            if link.merge.rank != NONE {
                pairs.push(pair(link.merge.rank, at as u32));
            }
        }
        pairs.sort_unstable();
        let mut first = pairs.iter().copied().peekable();
        heap.clear();

        loop {
            let best = match (first.peek(), heap.peek()) {
                (Some(pair), Some(&Reverse(new))) if new < *pair => heap.pop().map(|new| new.0),
                (None, _) => heap.pop().map(|new| new.0),
                (Some(_), _) => first.next(),
            };
            let Some(best) = best else { return };
            let (rank, at) = ((best >> 32) as u32, best as u32);
            let left = links[at as usize];
            // An equal rank at the same place is the turn of whatever pair is there now, so that it
            // does not matter which of two entries with equal keys was met.
            if left.merge.rank != rank {
                continue;
            }
            let right = links[left.next as usize];
            links[left.next as usize].merge = NO_MERGE;
            let symbol = algorithm.join(left.symbol, right.symbol, left.merge.result);
            let mut joined = Link { symbol, merge: NO_MERGE, next: right.next, ..left };
            if right.next != NONE {
                let after = &mut links[right.next as usize];
                after.previous = at;
                joined.merge = algorithm.merge(symbol, after.symbol);
                if joined.merge.rank != NONE {
                    heap.push(Reverse(pair(joined.merge.rank, at)));
                }
            }
            links[at as usize] = joined;
            if left.previous != NONE {
                let before = &mut links[left.previous as usize];
                before.merge = algorithm.merge(before.symbol, symbol);
                if before.merge.rank != NONE {
                    heap.push(Reverse(pair(before.merge.rank, left.previous)));
                }
            }
        }
    }
}

/// Two numbers as one that sorts by the left one first.
pub(crate) fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
