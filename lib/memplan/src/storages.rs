//! Decides which values share a storage, and how long each storage lives.

use crate::bound::lower_bound;
use crate::error::PlanError;
use crate::facts::{Facts, named_space};
use crate::problem::{Pin, Problem, SpaceId, Step, ValueId};

/// A storage before it has an offset.
pub(crate) struct Draft {
    pub space: SpaceId,
    /// Rounded up to the alignment of the space.
    pub bytes: u64,
    /// First and last step, inclusive.
    pub first: u32,
    pub last: u32,
    /// Holds a pinned value, so that nothing may be written over it.
    pub kept: bool,
    /// The values that are no views, in the order in which they are written.
    pub roots: Vec<ValueId>,
}

/// All storages, in the order in which they begin, and the storage of each used value (by value).
pub(crate) struct Drafts {
    pub storages: Vec<Draft>,
    pub of_value: Vec<Option<usize>>,
    /// Whether any result took over a storage that is larger than it needs.
    took_larger: bool,
}

/// Whether a storage is as large as one that holds this value alone.
fn is_same_size(problem: &Problem, draft: &Draft, v: ValueId) -> bool {
    let value = &problem.values[v.index()];
    let align = problem.spaces[value.space.index()].align;
    value.bytes.checked_next_multiple_of(align) == Some(draft.bytes)
}

/// What a write may take over, for a space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reuse {
    Nothing,
    /// A storage of its own size, to the alignment. The sum of live bytes is then nowhere larger than with a storage of
    /// its own: the step needs one window less, and all later steps need the same.
    SameSize,
    /// A larger storage as well. The step needs less, but what the result does not fill is kept as long as the result.
    Larger,
}

/// Makes the storages of a valid problem, in step order. The sizes of its values must add up within 64 bits.
///
/// Results take over larger storages only in those spaces where that does not raise the lower bound, so that working in
/// place never does.
pub(crate) fn storages(problem: &Problem, facts: &Facts, in_place: bool) -> Result<Drafts, PlanError> {
    let count = problem.spaces.len();
    if !in_place {
        return assign(problem, facts, &vec![Reuse::Nothing; count]);
    }
    let larger = assign(problem, facts, &vec![Reuse::Larger; count])?;
    if !larger.took_larger {
        return Ok(larger);
    }
    let same_size = assign(problem, facts, &vec![Reuse::SameSize; count])?;
    let chosen: Vec<Reuse> = (0..count)
        .map(|s| {
            let bound = |made: &Drafts| {
                lower_bound(made.storages.iter().filter(|draft| draft.space.index() == s)).bytes
            };
            if bound(&larger) <= bound(&same_size) { Reuse::Larger } else { Reuse::SameSize }
        })
        .collect();
    // No space looks at another, so each gets what was weighed.
    assign(problem, facts, &chosen)
}

fn assign(problem: &Problem, facts: &Facts, reuse: &[Reuse]) -> Result<Drafts, PlanError> {
    let mut made =
        Drafts { storages: Vec::new(), of_value: vec![None; problem.values.len()], took_larger: false };
    for i in 0..problem.values.len() {
        let v = ValueId::new(i);
        let is_root = facts.root[i].0 == v;
        if is_root && facts.used[i] && facts.writer[i].is_none() {
            made.begin(problem, facts, v)?;
        }
    }
    for (s, step) in problem.steps.iter().enumerate() {
        for write in writes_by_life(problem, facts, step) {
            let reuse = reuse[problem.values[write.index()].space.index()];
            match made.candidate(problem, facts, s as u32, step, write, reuse) {
                Some(storage) => made.join(problem, facts, storage, write),
                None => made.begin(problem, facts, write)?,
            }
        }
    }
    for i in 0..problem.values.len() {
        if facts.used[i] {
            made.of_value[i] = made.of_value[facts.root[i].0.index()];
        }
    }
    Ok(made)
}

/// The used results of a step that are no views, the longest-lived first: it is the one that should not move.
fn writes_by_life(problem: &Problem, facts: &Facts, step: &Step) -> Vec<ValueId> {
    let needs_storage = |w: &ValueId| {
        // A persistent value has its storage already, and no writer.
        facts.used[w.index()] && facts.root[w.index()].0 == *w && facts.writer[w.index()].is_some()
    };
    let mut writes: Vec<ValueId> = step.writes.iter().copied().filter(needs_storage).collect();
    if writes.len() > 1 {
        writes.sort_by_key(|&w| std::cmp::Reverse(facts.life(problem, w).1));
    }
    writes
}

impl Drafts {
    fn begin(&mut self, problem: &Problem, facts: &Facts, v: ValueId) -> Result<(), PlanError> {
        let value = &problem.values[v.index()];
        let align = problem.spaces[value.space.index()].align;
        let bytes = value
            .bytes
            .checked_next_multiple_of(align)
            .ok_or_else(|| PlanError::Overflow { space: named_space(problem, value.space) })?;
        let (first, last) = facts.life(problem, v);
        let kept = value.pin != Pin::None || facts.output[v.index()];
        self.of_value[v.index()] = Some(self.storages.len());
        self.storages.push(Draft { space: value.space, bytes, first, last, kept, roots: vec![v] });
        Ok(())
    }

    fn join(&mut self, problem: &Problem, facts: &Facts, storage: usize, v: ValueId) {
        let draft = &mut self.storages[storage];
        self.took_larger |= !is_same_size(problem, draft, v);
        draft.last = draft.last.max(facts.life(problem, v).1);
        draft.kept |= facts.output[v.index()];
        draft.roots.push(v);
        self.of_value[v.index()] = Some(storage);
    }

    /// The storage that `write` may take over at step `s`; of several the one written first.
    fn candidate(
        &self,
        problem: &Problem,
        facts: &Facts,
        s: u32,
        step: &Step,
        write: ValueId,
        reuse: Reuse,
    ) -> Option<usize> {
        let value = &problem.values[write.index()];
        // Scratch does not outlive its step: a second result could then take the same storage.
        if reuse == Reuse::Nothing || !matches!(value.pin, Pin::None | Pin::Output) {
            return None;
        }
        let storage_of = |v: ValueId| self.of_value[facts.root[v.index()].0.index()];
        let may_take = |read: ValueId| {
            let storage = storage_of(read)?;
            let draft = &self.storages[storage];
            // Roots always start where their storage starts, so the offset in the root is the offset in the storage.
            let covers = facts.root[read.index()].1 == 0 && problem.values[read.index()].bytes >= value.bytes;
            // A result of this step that already lives there is read later or kept, so this test refuses a second one.
            let is_last_reader = draft.last == s && !draft.kept;
            let operands = step.reads.iter().filter(|&&r| storage_of(r) == Some(storage)).count();
            let fits = covers && (reuse == Reuse::Larger || is_same_size(problem, draft, write));
            (fits && is_last_reader && draft.space == value.space && operands == 1).then_some(storage)
        };
        step.overwrites
            .iter()
            .filter(|o| o.write == write)
            .filter_map(|o| may_take(o.read))
            .min_by_key(|&storage| (self.storages[storage].first, storage))
    }
}
