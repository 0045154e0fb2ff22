//! Validates a problem and works out what each value is part of and when it is needed.

use crate::error::PlanError;
use crate::problem::{Named, Pin, Problem, SpaceId, StepId, Value, ValueId};

/// The value at the end of a chain of views, and the offset in it in bytes.
pub(crate) type Root = (ValueId, u64);

/// What follows from a valid problem. All tables are indexed by value.
pub(crate) struct Facts {
    /// Where the value lies; a value that is no view is its own root.
    pub root: Vec<Root>,
    /// The step that writes the value; `None` when it is filled from outside, and for a persistent one, which is there
    /// before any step.
    pub writer: Vec<Option<u32>>,
    /// For roots: the last step that reads the value or a view of it.
    pub last_read: Vec<Option<u32>>,
    /// For roots: whether the value or a view of it is an output.
    pub output: Vec<bool>,
    /// Whether anything needs the value: a reader, a pin, or a view that is needed.
    pub used: Vec<bool>,
    /// The last step of the program, 0 for an empty one.
    pub end: u32,
}

impl Facts {
    /// Validates the problem, in order: ids, views, writers, order of reads.
    pub fn of(problem: &Problem) -> Result<Self, PlanError> {
        check_ids(problem)?;
        let (root, order) = resolve_views(problem)?;
        let writer = find_writers(problem)?;
        check_order(problem, &root, &order, &writer)?;

        let count = problem.values.len();
        let mut last_read = vec![None; count];
        let mut output = vec![false; count];
        let mut used = vec![false; count];
        for (s, step) in problem.steps.iter().enumerate() {
            for read in &step.reads {
                used[read.index()] = true;
                last_read[root[read.index()].0.index()] = Some(s as u32);
            }
        }
        // From views to their parents, so that a need reaches the root.
        for &v in order.iter().rev() {
            let value = &problem.values[v.index()];
            if value.pin != Pin::None {
                used[v.index()] = true;
            }
            if value.pin == Pin::Output {
                output[root[v.index()].0.index()] = true;
            }
            if let Some(view) = value.view_of {
                used[view.parent.index()] |= used[v.index()];
            }
        }
        let end = problem.steps.len().max(1) as u32 - 1;
        Ok(Self { root, writer, last_read, output, used, end })
    }

    /// First and last step, inclusive, at which a used root must be in memory.
    pub fn life(&self, problem: &Problem, root: ValueId) -> (u32, u32) {
        let i = root.index();
        match problem.values[i].pin {
            Pin::Input | Pin::Fresh | Pin::Persistent => (0, self.end),
            Pin::None | Pin::Output | Pin::Scratch => {
                let first = self.writer[i].expect("a used value without a writer is filled from outside");
                let last = if self.output[i] { self.end } else { self.last_read[i].unwrap_or(first) };
                (first, last)
            }
        }
    }
}

/// A value with its name, for an error.
fn named_value(problem: &Problem, id: ValueId) -> Named<ValueId> {
    Named { id, name: problem.values[id.index()].name.clone() }
}

/// A step with its name, for an error.
fn named_step(problem: &Problem, step: u32) -> Named<StepId> {
    Named { id: StepId(step), name: problem.steps[step as usize].name.clone() }
}

/// A space with its name, for an error.
pub(crate) fn named_space(problem: &Problem, id: SpaceId) -> Named<SpaceId> {
    Named { id, name: problem.spaces[id.index()].name.clone() }
}

fn check_ids(problem: &Problem) -> Result<(), PlanError> {
    let tables =
        [("spaces", problem.spaces.len()), ("values", problem.values.len()), ("steps", problem.steps.len())];
    for (table, count) in tables {
        if count >= u32::MAX as usize {
            return Err(PlanError::TooMany { table, count });
        }
    }
    for (i, space) in problem.spaces.iter().enumerate() {
        if !space.align.is_power_of_two() {
            let space = named_space(problem, SpaceId::new(i));
            return Err(PlanError::BadAlignment { align: problem.spaces[i].align, space });
        }
    }
    let count = problem.values.len();
    for (i, value) in problem.values.iter().enumerate() {
        let named = || named_value(problem, ValueId::new(i));
        if value.space.index() >= problem.spaces.len() {
            let (space, count) = (value.space, problem.spaces.len());
            return Err(PlanError::UnknownSpace { value: named(), space, count });
        }
        if let Some(view) = value.view_of {
            let parent = view.parent;
            if parent.index() >= count {
                return Err(PlanError::UnknownParent { value: named(), parent, count });
            }
            if !matches!(value.pin, Pin::None | Pin::Output) {
                return Err(PlanError::ViewPinned { value: named() });
            }
        }
    }
    for (s, step) in problem.steps.iter().enumerate() {
        let pairs = step.overwrites.iter().flat_map(|o| [&o.write, &o.read]);
        for &value in step.reads.iter().chain(&step.writes).chain(pairs) {
            if value.index() >= count {
                let step = named_step(problem, s as u32);
                return Err(PlanError::UnknownValue { step, value, count });
            }
        }
        for o in &step.overwrites {
            if !step.writes.contains(&o.write) || !step.reads.contains(&o.read) {
                return Err(PlanError::UnrelatedOverwrite {
                    step: named_step(problem, s as u32),
                    write: named_value(problem, o.write),
                    read: named_value(problem, o.read),
                });
            }
        }
    }
    Ok(())
}

/// The root of every value, and an order in which parents come before their views.
fn resolve_views(problem: &Problem) -> Result<(Vec<Root>, Vec<ValueId>), PlanError> {
    let count = problem.values.len();
    let mut root: Vec<Option<Root>> = vec![None; count];
    let mut on_path = vec![false; count];
    let mut order = Vec::with_capacity(count);
    let mut path = Vec::new();
    for start in 0..count {
        let mut at = ValueId::new(start);
        // Up to a value that is resolved already, or is no view ...
        while root[at.index()].is_none() {
            if on_path[at.index()] {
                return Err(PlanError::ViewCycle { value: named_value(problem, at) });
            }
            on_path[at.index()] = true;
            path.push(at);
            match problem.values[at.index()].view_of {
                Some(view) => at = view.parent,
                None => break,
            }
        }
        // ... and down again.
        while let Some(v) = path.pop() {
            let value = &problem.values[v.index()];
            root[v.index()] = Some(match value.view_of {
                None => (v, 0),
                Some(view) => {
                    check_view(problem, v, value)?;
                    let (r, offset) = root[view.parent.index()].expect("parents are resolved first");
                    // No overflow: each view lies inside its parent, hence inside the root.
                    (r, offset + view.offset)
                }
            });
            order.push(v);
        }
    }
    let root = root.into_iter().map(|r| r.expect("every value was visited")).collect();
    Ok((root, order))
}

fn check_view(problem: &Problem, v: ValueId, value: &Value) -> Result<(), PlanError> {
    let Some(view) = value.view_of else { return Ok(()) };
    let parent = &problem.values[view.parent.index()];
    if parent.space != value.space {
        return Err(PlanError::ViewInOtherSpace {
            value: named_value(problem, v),
            space: named_space(problem, value.space),
            parent_space: named_space(problem, parent.space),
        });
    }
    let inside = view.offset.checked_add(value.bytes).is_some_and(|end| end <= parent.bytes);
    if !inside {
        return Err(PlanError::ViewOutsideParent {
            value: named_value(problem, v),
            parent: named_value(problem, view.parent),
            offset: view.offset,
            bytes: value.bytes,
            parent_bytes: parent.bytes,
        });
    }
    Ok(())
}

fn find_writers(problem: &Problem) -> Result<Vec<Option<u32>>, PlanError> {
    let mut writer: Vec<Option<u32>> = vec![None; problem.values.len()];
    for (s, step) in problem.steps.iter().enumerate() {
        for &write in &step.writes {
            let pin = problem.values[write.index()].pin;
            if pin == Pin::Input {
                let (value, step) = (named_value(problem, write), named_step(problem, s as u32));
                return Err(PlanError::InputWritten { value, step });
            }
            let before = writer[write.index()].replace(s as u32);
            if let Some(first) = before.filter(|&first| pin != Pin::Persistent || first == s as u32) {
                return Err(PlanError::WrittenTwice {
                    value: named_value(problem, write),
                    first: named_step(problem, first),
                    second: named_step(problem, s as u32),
                });
            }
        }
    }
    for (writer, value) in writer.iter_mut().zip(&problem.values) {
        if value.pin == Pin::Persistent {
            *writer = None;
        }
    }
    Ok(writer)
}

/// Every read comes after the step that writes the value, and after those that write what it looks into.
fn check_order(
    problem: &Problem,
    root: &[Root],
    order: &[ValueId],
    writer: &[Option<u32>],
) -> Result<(), PlanError> {
    // The step from which on a value can be read is the last one that writes it or an ancestor.
    let mut ready: Vec<Option<u32>> = vec![None; problem.values.len()];
    for &v in order {
        let i = v.index();
        let parent = problem.values[i].view_of.and_then(|view| ready[view.parent.index()]);
        if let (Some(made), Some(before)) = (writer[i], parent)
            && made <= before
        {
            let parent = problem.values[i].view_of.map_or(v, |view| view.parent);
            return Err(read_before_write(problem, parent, made, before));
        }
        ready[i] = writer[i].or(parent);
    }
    for (s, step) in problem.steps.iter().enumerate() {
        let s = s as u32;
        for &read in &step.reads {
            if let Some(w) = ready[read.index()].filter(|&w| w >= s) {
                return Err(read_before_write(problem, read, s, w));
            }
            let r = root[read.index()].0;
            if is_never_filled(problem, writer, r) {
                let (value, reader) = (named_value(problem, r), Some(named_step(problem, s)));
                return Err(PlanError::NeverWritten { value, reader });
            }
        }
    }
    for (i, value) in problem.values.iter().enumerate() {
        let r = root[i].0;
        let needed = matches!(value.pin, Pin::Output | Pin::Scratch);
        if needed && is_never_filled(problem, writer, r) {
            return Err(PlanError::NeverWritten { value: named_value(problem, r), reader: None });
        }
    }
    Ok(())
}

fn is_never_filled(problem: &Problem, writer: &[Option<u32>], root: ValueId) -> bool {
    let filled_outside =
        matches!(problem.values[root.index()].pin, Pin::Input | Pin::Fresh | Pin::Persistent);
    writer[root.index()].is_none() && !filled_outside
}

fn read_before_write(problem: &Problem, value: ValueId, reader: u32, writer: u32) -> PlanError {
    PlanError::ReadBeforeWrite {
        value: named_value(problem, value),
        reader: named_step(problem, reader),
        writer: named_step(problem, writer),
    }
}
