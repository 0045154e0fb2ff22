//! Page tables against a model that remembers what every cell holds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use arbtest::arbitrary::{Result, Unstructured};
use models::PAGE_POSITIONS;
use runtime::{PageCopy, Pages, RuntimeError, SeqId};

#[test]
fn free_pages_are_taken_lowest_first() {
    let mut pages = Pages::new(6, 6);
    let [a, b] = [(); 2].map(|()| pages.create());
    pages.reserve(a, 3 * PAGE_POSITIONS).unwrap();
    pages.reserve(b, PAGE_POSITIONS).unwrap();
    assert_eq!((pages.table(a).unwrap(), pages.table(b).unwrap()), (&[0, 1, 2][..], &[3][..]));
    assert_eq!(pages.remove(a).unwrap(), [0, 1, 2]);
    let c = pages.create();
    pages.reserve(c, 4 * PAGE_POSITIONS).unwrap();
    assert_eq!(pages.table(c).unwrap(), [0, 1, 2, 4]);
}

#[test]
fn whole_shared_pages_are_never_copied() {
    let mut pages = Pages::new(6, 6);
    let a = pages.create();
    pages.reserve(a, 64).unwrap();
    pages.advance(a, 64).unwrap();
    let b = pages.fork(a).unwrap();
    assert_eq!(pages.reserve(b, 1).unwrap(), []);
    assert_eq!((pages.table(a).unwrap(), pages.table(b).unwrap()), (&[0, 1][..], &[0, 1, 2][..]));
    // Cut into the second page, the next position would be written over what the other still reads.
    pages.truncate(b, 50).unwrap();
    assert_eq!(pages.reserve(b, 1).unwrap(), [PageCopy { from: 1, to: 2 }]);
}

#[test]
fn pages_agree_with_a_model_that_copies_everything() {
    arbtest::arbtest(walk).budget_ms(1500);
}

/// What a sequence should hold: a number of its own for each position, but not for those on its first pages, which
/// it has given back.
#[derive(Clone, Default)]
struct Expected {
    contents: Vec<u64>,
    gone: usize,
}

/// In a table: a page that was given back.
const GONE: u32 = u32::MAX;

/// The cache and what each cell holds.
struct World {
    pages: Pages,
    cells: Vec<[u64; PAGE_POSITIONS]>,
    sequences: BTreeMap<SeqId, Expected>,
    written: u64,
}

fn walk(u: &mut Unstructured) -> Result<()> {
    let count = u.int_in_range(1..=12)?;
    let mut world = World {
        pages: Pages::new(count, count),
        cells: vec![[0; PAGE_POSITIONS]; count],
        sequences: BTreeMap::new(),
        written: 0,
    };
    for _ in 0..u.int_in_range(1..=40)? {
        world.one_change(u)?;
        world.check();
    }
    let all: Vec<SeqId> = world.sequences.keys().copied().collect();
    for seq in all {
        world.pages.remove(seq).unwrap();
    }
    assert_eq!(world.pages.in_use(), 0, "every page is given back");
    Ok(())
}

impl World {
    fn one_change(&mut self, u: &mut Unstructured) -> Result<()> {
        let known: Vec<SeqId> = self.sequences.keys().copied().collect();
        let choice = u.int_in_range(0..=11)?;
        if choice == 0 || known.is_empty() {
            let id = self.pages.create();
            assert!(self.sequences.insert(id, Expected::default()).is_none(), "ids are never reused");
            return Ok(());
        }
        let seq = *u.choose(&known)?;
        match choice {
            1 | 2 => {
                let id = self.pages.fork(seq).unwrap();
                let copy = self.sequences[&seq].clone();
                assert!(self.sequences.insert(id, copy).is_none(), "ids are never reused");
            }
            3 => {
                self.sequences.remove(&seq);
                let alone = self.alone(seq, 0..usize::MAX);
                assert_eq!(self.pages.remove(seq).unwrap(), alone);
                assert!(matches!(self.pages.len(seq), Err(RuntimeError::UnknownSequence(_))));
            }
            4 | 5 => {
                let len = self.sequences[&seq].contents.len();
                let to = u.int_in_range(0..=len + 1)?;
                let window = u.int_in_range(1..=3 * PAGE_POSITIONS)?;
                self.truncate(seq, to, window);
            }
            10 | 11 => {
                let Expected { contents, gone } = &self.sequences[&seq];
                let (before, gone) = (u.int_in_range(0..=contents.len())?, *gone);
                let whole = (before / PAGE_POSITIONS).max(gone);
                let alone = self.alone(seq, gone..whole);
                assert_eq!(self.pages.forget(seq, before).unwrap(), alone);
                self.sequences.get_mut(&seq).unwrap().gone = whole;
            }
            _ => {
                let count = u.int_in_range(1..=3 * PAGE_POSITIONS)?;
                // Now and then a run fails after its pages were reserved.
                let fails = choice == 6;
                self.append(seq, count, fails);
            }
        }
        Ok(())
    }

    /// Pages of a sequence, some of them, that no other sequence has.
    fn alone(&self, seq: SeqId, some: Range<usize>) -> Vec<u32> {
        let others: BTreeSet<u32> = self
            .sequences
            .keys()
            .filter(|s| **s != seq)
            .flat_map(|s| self.pages.table(*s).unwrap().to_vec())
            .collect();
        let table = self.pages.table(seq).unwrap();
        let some = table.iter().skip(some.start).take(some.len()).copied();
        some.filter(|p| *p != GONE && !others.contains(p)).collect()
    }

    /// Cuts where a window of that length, and the sequence, allow it.
    fn truncate(&mut self, seq: SeqId, to: usize, window: usize) {
        let Expected { contents, gone } = self.sequences[&seq].clone();
        // The next position and the window before it.
        let sees_gone = (to + 1).saturating_sub(window) < gone * PAGE_POSITIONS;
        match self.pages.check_truncate(seq, to, Some(window)) {
            Ok(()) => assert!(to <= contents.len() && (to == 0 || !sees_gone)),
            Err(RuntimeError::TruncateBeyond { .. }) => assert!(to > contents.len()),
            Err(RuntimeError::WindowGone { earliest, .. }) => {
                assert!(to > 0 && sees_gone);
                assert_eq!(earliest + 1 - window, gone * PAGE_POSITIONS);
            }
            Err(error) => panic!("{error}"),
        }
        if to > contents.len() || (to > 0 && sees_gone) {
            return;
        }
        let alone = self.alone(seq, to.div_ceil(PAGE_POSITIONS)..usize::MAX);
        assert_eq!(self.pages.truncate(seq, to).unwrap(), alone);
        let sequence = self.sequences.get_mut(&seq).unwrap();
        sequence.contents.truncate(to);
        sequence.gone = if to == 0 { 0 } else { gone };
    }

    fn append(&mut self, seq: SeqId, count: usize, fails: bool) {
        let len = self.sequences[&seq].contents.len();
        let table = self.pages.table(seq).unwrap().to_vec();
        let need = (len + count).div_ceil(PAGE_POSITIONS);
        let own = self.alone(seq, 0..usize::MAX);
        let first_written = len / PAGE_POSITIONS;
        // Pages that will be written and that another sequence has, too.
        let shared: Vec<usize> =
            (first_written..table.len().min(need)).filter(|i| !own.contains(&table[*i])).collect();
        let wanted = shared.len() + need.saturating_sub(table.len());
        let free = self.pages.count() - self.pages.in_use();
        let copies = match self.pages.reserve(seq, count) {
            Ok(copies) => copies,
            Err(error) => {
                assert!(matches!(error, RuntimeError::OutOfPages { .. }), "{error}");
                assert!(wanted > free, "refused {wanted} of {free} free pages");
                assert_eq!(self.pages.table(seq).unwrap(), table, "a refusal changes nothing");
                return;
            }
        };
        assert!(wanted <= free);
        // Only the page that holds the end of the sequence has something to copy.
        let expected: Vec<u32> =
            shared.iter().filter(|i| **i * PAGE_POSITIONS < len).map(|i| table[*i]).collect();
        assert_eq!(copies.iter().map(|c| c.from).collect::<Vec<_>>(), expected);
        for copy in copies {
            self.cells[copy.to as usize] = self.cells[copy.from as usize];
        }
        if fails {
            return;
        }
        let table = self.pages.table(seq).unwrap();
        for position in len..len + count {
            self.written += 1;
            self.cells[table[position / PAGE_POSITIONS] as usize][position % PAGE_POSITIONS] = self.written;
            self.sequences.get_mut(&seq).unwrap().contents.push(self.written);
        }
        self.pages.advance(seq, count).unwrap();
    }

    fn check(&self) {
        let mut used: BTreeSet<u32> = BTreeSet::new();
        for (seq, expected) in &self.sequences {
            assert_eq!(self.pages.len(*seq).unwrap(), expected.contents.len());
            let table = self.pages.table(*seq).unwrap();
            assert!(table.len() * PAGE_POSITIONS >= expected.contents.len());
            let (gone, kept) = table.split_at(expected.gone);
            assert!(gone.iter().all(|page| *page == GONE));
            let distinct: BTreeSet<_> = kept.iter().collect();
            assert_eq!(distinct.len(), kept.len(), "a page is in a table once");
            used.extend(kept);
            for (position, content) in
                expected.contents.iter().enumerate().skip(expected.gone * PAGE_POSITIONS)
            {
                let page = table[position / PAGE_POSITIONS] as usize;
                assert_eq!(self.cells[page][position % PAGE_POSITIONS], *content, "{seq:?} at {position}");
            }
        }
        assert_eq!(self.pages.in_use(), used.len(), "pages in tables are in use, and no others");
    }
}
