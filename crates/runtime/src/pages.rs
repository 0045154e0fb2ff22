//! Which page of the cache holds which positions of which sequence.

use std::collections::{BTreeSet, HashMap};

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

#[derive(Debug, Default)]
struct Sequence {
    /// Page of the cache by page of the sequence.
    pages: Vec<u32>,
    len: usize,
}

/// Page tables of all sequences, and how many sequences refer to each page.
///
/// A page holds 32 consecutive positions in every region. Pages are shared by forked sequences; one that is
/// shared is copied when a sequence first writes to it. Free pages are taken lowest first, so that memory
/// that was touched once is touched again.
#[derive(Debug)]
pub struct Pages {
    references: Vec<u32>,
    free: BTreeSet<u32>,
    sequences: HashMap<SeqId, Sequence>,
    next_id: u32,
}

impl Pages {
    /// A cache of that many pages, all free.
    pub fn new(pages: usize) -> Pages {
        let count = u32::try_from(pages).expect("fewer than 2^32 pages");
        Pages {
            references: vec![0; pages],
            free: (0..count).collect(),
            sequences: HashMap::new(),
            next_id: 0,
        }
    }

    /// Pages that some sequence refers to.
    pub fn in_use(&self) -> usize {
        self.references.len() - self.free.len()
    }

    /// Pages that there are.
    pub fn count(&self) -> usize {
        self.references.len()
    }

    /// A new, empty sequence.
    pub fn create(&mut self) -> SeqId {
        let id = SeqId(self.next_id);
        self.next_id += 1;
        self.sequences.insert(id, Sequence::default());
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
        let Sequence { pages, len } = self.get(seq)?;
        let copy = Sequence { pages: pages.clone(), len: *len };
        for page in copy.pages.iter().filter(|page| **page != GONE) {
            self.references[*page as usize] += 1;
        }
        let id = self.create();
        self.sequences.insert(id, copy);
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
            (first_written..have.min(need)).filter(|i| self.is_shared(pages[*i])).collect();
        if self.free.len() < need.saturating_sub(have) + shared.len() {
            return Err(RuntimeError::OutOfPages { pages: self.count() });
        }
        let mut copies = Vec::new();
        for index in shared {
            let to = self.take();
            let sequence = self.sequences.get_mut(&seq).expect("found above");
            let from = std::mem::replace(&mut sequence.pages[index], to);
            self.references[from as usize] -= 1;
            // Pages that hold nothing of this sequence yet need no copy.
            if index * PAGE_POSITIONS < len {
                copies.push(PageCopy { from, to });
            }
        }
        for _ in have..need {
            let page = self.take();
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

    /// Gives back the pages that hold only positions before `before`, and returns those that became free.
    pub fn forget(&mut self, seq: SeqId, before: usize) -> Result<Vec<u32>, RuntimeError> {
        let sequence = self.sequences.get_mut(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        let whole = (before / PAGE_POSITIONS).min(sequence.pages.len());
        // Pages go from the front, so those that are left to give back are next to the ones that are kept.
        let first = sequence.pages[..whole].iter().rposition(|page| *page == GONE).map_or(0, |last| last + 1);
        let old = sequence.pages[first..whole].iter_mut().map(|page| std::mem::replace(page, GONE)).collect();
        Ok(self.release(old))
    }

    /// Refuses a cut to more positions than there are, or to where a window of that length has let go of positions
    /// that the next one would see.
    pub fn check_truncate(&self, seq: SeqId, to: usize, window: Option<usize>) -> Result<(), RuntimeError> {
        let Sequence { pages, len } = self.get(seq)?;
        if to > *len {
            return Err(RuntimeError::TruncateBeyond { seq, len: *len, to });
        }
        let Some(window) = window else { return Ok(()) };
        let first_seen = (to + 1).saturating_sub(window) / PAGE_POSITIONS;
        let gone = pages.iter().take_while(|page| **page == GONE).count();
        if to > 0 && first_seen < gone {
            let earliest = gone * PAGE_POSITIONS + window - 1;
            return Err(RuntimeError::WindowGone { seq, to, earliest });
        }
        Ok(())
    }

    /// Cuts a sequence to its first `to` positions and returns the pages that became free.
    pub fn truncate(&mut self, seq: SeqId, to: usize) -> Result<Vec<u32>, RuntimeError> {
        let sequence = self.sequences.get_mut(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        if to > sequence.len {
            return Err(RuntimeError::TruncateBeyond { seq, len: sequence.len, to });
        }
        sequence.len = to;
        let keep = to.div_ceil(PAGE_POSITIONS).min(sequence.pages.len());
        let dropped = sequence.pages.split_off(keep);
        Ok(self.release(dropped))
    }

    /// Removes a sequence and returns the pages that became free.
    pub fn remove(&mut self, seq: SeqId) -> Result<Vec<u32>, RuntimeError> {
        let sequence = self.sequences.remove(&seq).ok_or(RuntimeError::UnknownSequence(seq))?;
        Ok(self.release(sequence.pages))
    }

    fn get(&self, seq: SeqId) -> Result<&Sequence, RuntimeError> {
        self.sequences.get(&seq).ok_or(RuntimeError::UnknownSequence(seq))
    }

    fn is_shared(&self, page: u32) -> bool {
        page != GONE && self.references[page as usize] > 1
    }

    fn take(&mut self) -> u32 {
        let page = self.free.pop_first().expect("counted before");
        self.references[page as usize] = 1;
        page
    }

    fn release(&mut self, pages: Vec<u32>) -> Vec<u32> {
        let mut freed = Vec::new();
        for page in pages.into_iter().filter(|page| *page != GONE) {
            let references = &mut self.references[page as usize];
            *references -= 1;
            if *references == 0 {
                self.free.insert(page);
                freed.push(page);
            }
        }
        freed
    }
}
