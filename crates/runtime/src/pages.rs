//! Which page of the cache holds which positions of which sequence.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use models::PAGE_POSITIONS;

use crate::RuntimeError;

/// A sequence of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeqId(pub u32);

/// A page that must be copied before a sequence may write to it, since another one reads it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// The shared page.
    pub from: u32,
    /// The sequence's own page.
    pub to: u32,
}

/// In a page table: the page has been given back.
const GONE: u32 = u32::MAX;

#[derive(Debug)]
struct Sequence {
    /// Page of the cache by page of the sequence.
    pages: Vec<u32>,
    len: usize,
}

/// Page tables of all sequences, and how many sequences refer to each page.
///
/// A page holds 32 consecutive positions in every region. Pages are shared by forked sequences; one that is
/// shared is copied when a sequence first writes to it. Free pages are taken lowest first, so that memory
/// that was touched once is touched again. All tables have their room from the start: a sequence that grows allocates
/// nothing.
#[derive(Debug)]
pub struct Pages {
    references: References,
    sequences: HashMap<SeqId, Sequence>,
    /// Pages of the longest sequence.
    longest: usize,
    next_id: u32,
}

/// Who refers to the pages of the cache.
#[derive(Debug)]
struct References {
    /// How many sequences have a page.
    counts: Vec<u32>,
    free: BinaryHeap<Reverse<u32>>,
    /// What the latest change freed.
    freed: Vec<u32>,
}

impl Pages {
    /// A cache of that many pages, all free. The longest sequence will have `longest` pages, those that it gives back
    /// on the way included.
    pub fn new(pages: usize, longest: usize) -> Pages {
        let count = u32::try_from(pages).expect("fewer than 2^32 pages");
        let references = References {
            counts: vec![0; pages],
            free: (0..count).map(Reverse).collect(),
            freed: Vec::with_capacity(pages),
        };
        Pages { references, sequences: HashMap::new(), longest, next_id: 0 }
    }

    /// Pages that some sequence refers to.
    pub fn in_use(&self) -> usize {
        self.count() - self.references.free.len()
    }

    /// Pages that there are.
    pub fn count(&self) -> usize {
        self.references.counts.len()
    }

    /// A new, empty sequence.
    pub fn create(&mut self) -> SeqId {
        let id = SeqId(self.next_id);
        self.next_id += 1;
        self.sequences.insert(id, Sequence { pages: Vec::with_capacity(self.longest), len: 0 });
        id
    }

    /// Positions that a sequence has.
    pub fn len(&self, seq: SeqId) -> Result<usize, RuntimeError> {
        Ok(self.get(seq)?.len)
    }

    /// The page table of a sequence.
    pub fn table(&self, seq: SeqId) -> Result<&[u32], RuntimeError> {
        Ok(&self.get(seq)?.pages)
    }

    /// A second sequence with the same positions; nothing is copied yet.
    pub fn fork(&mut self, seq: SeqId) -> Result<SeqId, RuntimeError> {
        self.get(seq)?;
        let id = self.create();
        let [Some(from), Some(to)] = self.sequences.get_disjoint_mut([&seq, &id]) else {
            unreachable!("one was found and the other one made");
        };
        to.pages.extend_from_slice(&from.pages);
        to.len = from.len;
        for page in to.pages.iter().filter(|page| **page != GONE) {
            self.references.counts[*page as usize] += 1;
        }
        Ok(id)
    }

    /// Gives a sequence pages of its own for `count` more positions, and returns the pages to copy first.
    /// Its length changes only with [`Pages::advance`]: a run that fails leaves it as it was.
    pub fn reserve(&mut self, seq: SeqId, count: usize) -> Result<Vec<PageCopy>, RuntimeError> {
        let Sequence { pages, len } = self.get(seq)?;
        let (have, len) = (pages.len(), *len);
        let need = (len + count).div_ceil(PAGE_POSITIONS);
        // Whole pages before the first new position are only read.
        let first_written = len / PAGE_POSITIONS;
        let shared: Vec<usize> =
            (first_written..have.min(need)).filter(|i| self.references.is_shared(pages[*i])).collect();
        if self.references.free.len() < need.saturating_sub(have) + shared.len() {
            return Err(RuntimeError::OutOfPages { pages: self.count() });
        }
        let mut copies = Vec::new();
        for index in shared {
            let to = self.references.take();
            let sequence = self.sequences.get_mut(&seq).expect("found above");
            let from = std::mem::replace(&mut sequence.pages[index], to);
            self.references.counts[from as usize] -= 1;
            // Pages that hold nothing of this sequence yet need no copy.
            if index * PAGE_POSITIONS < len {
                copies.push(PageCopy { from, to });
            }
        }
        for _ in have..need {
            let page = self.references.take();
            self.sequences.get_mut(&seq).expect("found above").pages.push(page);
        }
        Ok(copies)
    }

    /// Says that `count` more positions of a sequence are written.
    pub fn advance(&mut self, seq: SeqId, count: usize) -> Result<(), RuntimeError> {
        let sequence = self.sequences.get_mut(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        sequence.len += count;
        assert!(sequence.len <= sequence.pages.len() * PAGE_POSITIONS);
        Ok(())
    }

    /// Gives an empty sequence `len` positions, of which the first `gone` pages are as if they were given back. What the
    /// others hold is for the caller to write.
    pub fn restore(&mut self, seq: SeqId, gone: usize, len: usize) -> Result<(), RuntimeError> {
        assert_eq!(self.len(seq)?, 0);
        let need = len.div_ceil(PAGE_POSITIONS);
        assert!(gone <= need && need <= self.longest, "{gone} of {need} pages, {} at most", self.longest);
        if self.references.free.len() < need - gone {
            return Err(RuntimeError::OutOfPages { pages: self.count() });
        }
        let Pages { references, sequences, .. } = self;
        let sequence = sequences.get_mut(&seq).expect("found above");
        // A run that failed may have left pages behind.
        references.release(sequence.pages.drain(..));
        sequence.pages.resize(gone, GONE);
        sequence.pages.extend((gone..need).map(|_| references.take()));
        sequence.len = len;
        Ok(())
    }

    /// Pages that a sequence has given back.
    pub fn gone(&self, seq: SeqId) -> Result<usize, RuntimeError> {
        Ok(self.get(seq)?.pages.iter().take_while(|page| **page == GONE).count())
    }

    /// Gives back the pages that hold only positions before `before`, and returns those that became free.
    pub fn forget(&mut self, seq: SeqId, before: usize) -> Result<&[u32], RuntimeError> {
        let sequence = self.sequences.get_mut(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        let whole = (before / PAGE_POSITIONS).min(sequence.pages.len());
        // Pages go from the front, so those that are left to give back are next to the ones that are kept.
        let first = sequence.pages[..whole].iter().rposition(|page| *page == GONE).map_or(0, |last| last + 1);
        let old = sequence.pages[first..whole].iter_mut().map(|page| std::mem::replace(page, GONE));
        Ok(self.references.release(old))
    }

    /// Refuses a cut to more positions than there are, or to where a window of that length has let go of positions
    /// that the next one would see.
    pub fn check_truncate(&self, seq: SeqId, to: usize, window: Option<usize>) -> Result<(), RuntimeError> {
        let len = self.len(seq)?;
        if to > len {
            return Err(RuntimeError::TruncateBeyond { seq, len, to });
        }
        let Some(window) = window else { return Ok(()) };
        let first_seen = (to + 1).saturating_sub(window) / PAGE_POSITIONS;
        let gone = self.gone(seq)?;
        if to > 0 && first_seen < gone {
            let earliest = gone * PAGE_POSITIONS + window - 1;
            return Err(RuntimeError::WindowGone { seq, to, earliest });
        }
        Ok(())
    }

    /// Cuts a sequence to its first `to` positions and returns the pages that became free.
    pub fn truncate(&mut self, seq: SeqId, to: usize) -> Result<&[u32], RuntimeError> {
        let sequence = self.sequences.get_mut(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        if to > sequence.len {
            return Err(RuntimeError::TruncateBeyond { seq, len: sequence.len, to });
        }
        sequence.len = to;
        let keep = to.div_ceil(PAGE_POSITIONS).min(sequence.pages.len());
        Ok(self.references.release(sequence.pages.drain(keep..)))
    }

    /// Removes a sequence and returns the pages that became free.
    pub fn remove(&mut self, seq: SeqId) -> Result<&[u32], RuntimeError> {
        let sequence = self.sequences.remove(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        Ok(self.references.release(sequence.pages.into_iter()))
    }

    fn get(&self, seq: SeqId) -> Result<&Sequence, RuntimeError> {
        self.sequences.get(&seq).ok_or(RuntimeError::UnknownSequence(seq))
    }
}

impl References {
    fn is_shared(&self, page: u32) -> bool {
        page != GONE && self.counts[page as usize] > 1
    }

    fn take(&mut self) -> u32 {
        let Reverse(page) = self.free.pop().expect("counted before");
        self.counts[page as usize] = 1;
        page
    }

    /// One sequence less for each page; those that became free.
    fn release(&mut self, pages: impl Iterator<Item = u32>) -> &[u32] {
        self.freed.clear();
        for page in pages.filter(|page| *page != GONE) {
            let count = &mut self.counts[page as usize];
            *count -= 1;
            if *count == 0 {
                self.free.push(Reverse(page));
                self.freed.push(page);
            }
        }
        &self.freed
    }
}
