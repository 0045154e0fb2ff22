//! The plan and the function that makes it.

use crate::bound::lower_bound;
use crate::budget::over_budget;
use crate::error::PlanError;
use crate::facts::{Facts, named_space};
use crate::pack::{Item, Layout, PackOptions, best_fit, by_class, packed, side_by_side};
use crate::problem::{Problem, SpaceId, StepId, StorageId, ValueId};
use crate::storages::{Draft, Drafts, storages};

/// How storages get their offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// One window a value, shared by nobody but its views; nothing is made in place. The oracle.
    Naive,
    /// A free list of exact size classes (powers of two up to 16 KiB, then multiples of 16 KiB). A buffer is released after
    /// the last reader of its storage and taken again, at the same offset, by a later storage of its class.
    SizeClass,
    /// A list of free blocks: each storage, in the order in which they begin, takes the smallest block that holds it, or
    /// else grows the last one; what ends is given back and merges with its free neighbours.
    BestFit,
    /// What [`pack()`](crate::pack()) finds; never needs more than the others.
    #[default]
    Packed,
}

/// What the planner may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// How storages get their offsets.
    pub strategy: Strategy,
    /// Whether declared [`Overwrite`](crate::Overwrite)s are used. [`Strategy::Naive`] never uses them.
    pub in_place: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { strategy: Strategy::Packed, in_place: true }
    }
}

/// Where every value lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// By value; `None` for a value that nobody needs.
    pub placements: Vec<Option<Placement>>,
    /// In the order in which they begin: those filled from outside by value, then the others by the step that writes first.
    pub storages: Vec<Storage>,
    /// By space.
    pub spaces: Vec<SpaceReport>,
}

impl Plan {
    /// The window of a value; `None` when nobody needs the value or there is no such value.
    pub fn placement(&self, value: ValueId) -> Option<&Placement> {
        self.placements.get(value.index())?.as_ref()
    }
}

/// The window of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The storage that it is part of.
    pub storage: StorageId,
    /// In bytes from the start of the space.
    pub offset: u64,
    /// Size of the value.
    pub bytes: u64,
}

/// What one or more values share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// The space it lies in.
    pub space: SpaceId,
    /// In bytes from the start of the space; a multiple of the space's alignment.
    pub offset: u64,
    /// Size of its largest value, rounded up to the space's alignment.
    pub bytes: u64,
    /// First step at which it is in use.
    pub first: u32,
    /// Last step at which it is in use, inclusive.
    pub last: u32,
    /// The values in it, views included, by id.
    pub members: Vec<ValueId>,
}

/// What a space needs, and how good that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceReport {
    /// Size that the space must have.
    pub bytes: u64,
    /// The largest sum of live bytes at any step: no plan of these storages needs less.
    pub lower_bound: u64,
    /// The first step with that sum; step 0 when nothing lives in the space.
    pub bound_step: StepId,
    /// What lives at that step: of each live storage the value that holds it then, the largest storage first.
    pub bound_values: Vec<ValueId>,
    /// Bytes with one window for each value, as [`Strategy::Naive`] has it.
    pub naive: u64,
    /// Whether `bytes` is the lower bound, so that no better plan exists.
    pub proven: bool,
}

/// Plans the memory of a problem.
///
/// The plan depends on the problem and the options only. With packing, the work grows with the square of the number of
/// storages at worst; a thousand storages take a fraction of a millisecond where a greedy placement reaches the lower bound,
/// and some hundredths of a second where it takes a search.
///
/// # Errors
/// [`PlanError`] when the problem contradicts itself (ids, views, two writers, a read at or before the write), when sizes
/// do not add up within 64 bits, or when a space needs more than its limit ([`PlanError::OverBudget`]).
pub fn plan(problem: &Problem, options: &Options) -> Result<Plan, PlanError> {
    let plan = plan_unlimited(problem, options)?;
    match over_budget(problem, &plan).into_iter().next() {
        Some(over) => Err(PlanError::OverBudget(Box::new(over))),
        None => Ok(plan),
    }
}

/// Plans the memory of a problem whatever the limits of its spaces are; [`over_budget`] then says how far the plan is
/// from them, and whether any plan could hold them.
///
/// # Errors
/// As [`plan`], without the limits.
pub fn plan_unlimited(problem: &Problem, options: &Options) -> Result<Plan, PlanError> {
    let facts = Facts::of(problem)?;
    // First of all, since from here on no sum of sizes can overflow: each is at most its naive one.
    let naive: Vec<u64> = (0..problem.spaces.len())
        .map(|s| {
            let overflow = || PlanError::Overflow { space: named_space(problem, SpaceId::new(s)) };
            naive_bytes(problem, &facts, SpaceId::new(s)).ok_or_else(overflow)
        })
        .collect::<Result<_, _>>()?;
    let in_place = options.in_place && options.strategy != Strategy::Naive;
    let drafts = storages(problem, &facts, in_place)?;

    let mut offsets = vec![0; drafts.storages.len()];
    let mut reports = Vec::with_capacity(problem.spaces.len());
    for s in 0..problem.spaces.len() {
        reports.push(plan_space(problem, options, &facts, &drafts, SpaceId::new(s), naive[s], &mut offsets)?);
    }

    let mut storages: Vec<Storage> = drafts.storages.iter().zip(&offsets).map(place_storage).collect();
    let mut placements = vec![None; problem.values.len()];
    for (i, storage) in drafts.of_value.iter().enumerate() {
        let Some(storage) = *storage else { continue };
        storages[storage].members.push(ValueId::new(i));
        placements[i] = Some(Placement {
            storage: StorageId::new(storage),
            offset: offsets[storage] + facts.root[i].1,
            bytes: problem.values[i].bytes,
        });
    }
    Ok(Plan { placements, storages, spaces: reports })
}

fn place_storage((draft, &offset): (&Draft, &u64)) -> Storage {
    let Draft { space, bytes, first, last, .. } = *draft;
    Storage { space, offset, bytes, first, last, members: Vec::new() }
}

/// Gives the storages of one space their offsets and reports what it needs.
fn plan_space(
    problem: &Problem,
    options: &Options,
    facts: &Facts,
    drafts: &Drafts,
    id: SpaceId,
    naive: u64,
    offsets: &mut [u64],
) -> Result<SpaceReport, PlanError> {
    let space = &problem.spaces[id.index()];
    let overflow = || PlanError::Overflow { space: named_space(problem, id) };
    let here: Vec<usize> = (0..drafts.storages.len()).filter(|&i| drafts.storages[i].space == id).collect();
    let drafts_here = || here.iter().map(|&i| &drafts.storages[i]);
    let items: Vec<Item> = drafts_here().map(Item::from).collect();
    let bound = lower_bound(drafts_here());
    let layout: Layout = match options.strategy {
        Strategy::Naive => side_by_side(&items),
        Strategy::SizeClass => by_class(&items, space.align).ok_or_else(overflow)?,
        Strategy::BestFit => best_fit(&items),
        Strategy::Packed => packed(&items, space.align, &bound, PackOptions::default().nodes).layout,
    };
    assert!(layout.bytes >= bound.bytes, "no layout needs less than the lower bound");
    for (&i, &offset) in here.iter().zip(&layout.offsets) {
        offsets[i] = offset;
    }
    let live = drafts_here().filter(|d| d.first <= bound.step && bound.step <= d.last && d.bytes > 0);
    let mut held: Vec<(u64, ValueId)> = live.map(|d| (d.bytes, holder(facts, d, bound.step))).collect();
    held.sort_by_key(|&(bytes, value)| (std::cmp::Reverse(bytes), value));
    Ok(SpaceReport {
        bytes: layout.bytes,
        lower_bound: bound.bytes,
        bound_step: StepId(bound.step),
        bound_values: held.into_iter().map(|(_, value)| value).collect(),
        naive,
        proven: layout.bytes == bound.bytes,
    })
}

/// The value that holds a storage at a step: the last one written by then.
fn holder(facts: &Facts, draft: &Draft, step: u32) -> ValueId {
    let written = |v: &&ValueId| facts.writer[v.index()].is_none_or(|writer| writer <= step);
    // An input or a fresh value can hold its window before its step writes it.
    *draft.roots.iter().rfind(written).unwrap_or(&draft.roots[0])
}

/// Bytes with a window for each needed value that is no view; `None` when the sum does not fit in 64 bits.
fn naive_bytes(problem: &Problem, facts: &Facts, space: SpaceId) -> Option<u64> {
    let align = problem.spaces[space.index()].align;
    let mut sum = 0u64;
    for (i, value) in problem.values.iter().enumerate() {
        if value.space == space && value.view_of.is_none() && facts.used[i] {
            sum = sum.checked_add(value.bytes.checked_next_multiple_of(align)?)?;
        }
    }
    Some(sum)
}
