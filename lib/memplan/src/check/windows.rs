//! The window of every value, verified as far as that needs no program.

use super::{Fault, value};
use crate::plan::Plan;
use crate::problem::{Pin, Problem, SpaceId};

/// Bytes `start..end` of a space.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub space: usize,
    pub start: u64,
    pub end: u64,
}

impl Window {
    /// The first byte that both windows have; windows of no bytes have none.
    pub fn common(&self, other: &Self) -> Option<u64> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (self.space == other.space && start < end).then_some(start)
    }
}

/// By value.
pub(super) struct Windows {
    /// Where the plan puts it.
    pub window: Vec<Option<Window>>,
    /// Whose bytes it reads: itself, or what the chain of views ends in.
    pub root: Vec<usize>,
}

impl Windows {
    pub fn of(problem: &Problem, plan: &Plan) -> Result<Self, Fault> {
        check_shape(problem, plan)?;
        let mut windows = Self { window: Vec::new(), root: Vec::new() };
        for i in 0..problem.values.len() {
            windows.root.push(find_root(problem, i)?);
            windows.window.push(find_window(problem, plan, i)?);
        }
        for i in 0..problem.values.len() {
            windows.check_view(problem, i)?;
        }
        windows.check_own(problem)?;
        Ok(windows)
    }

    fn check_view(&self, problem: &Problem, i: usize) -> Result<(), Fault> {
        let Some(view) = problem.values[i].view_of else { return Ok(()) };
        let p = view.parent.index();
        let end = view.offset.checked_add(problem.values[i].bytes);
        if end.is_none_or(|end| end > problem.values[p].bytes) {
            return Err(Fault::ViewOutsideParent { value: value(problem, i), parent: value(problem, p) });
        }
        let Some(window) = self.window[i] else { return Ok(()) };
        let parent = self.window[p].filter(|parent| parent.space == window.space);
        // The parent's window lies in its space and the view in the parent, so this sum cannot overflow.
        let expected = parent.map(|parent| parent.start + view.offset);
        if expected != Some(window.start) {
            let (child, parent) = (value(problem, i), value(problem, p));
            return Err(Fault::ViewMisplaced { value: child, parent, expected, found: window.start });
        }
        Ok(())
    }

    /// Nothing else is ever in the window of a fresh or persistent value.
    fn check_own(&self, problem: &Problem) -> Result<(), Fault> {
        let count = problem.values.len();
        let is_own = |i: &usize| matches!(problem.values[*i].pin, Pin::Fresh | Pin::Persistent);
        for i in (0..count).filter(is_own) {
            let Some(own) = self.window[i] else { continue };
            for other in (0..count).filter(|&other| self.root[other] != self.root[i]) {
                if let Some(offset) = self.window[other].and_then(|window| own.common(&window)) {
                    let (value, other) = (value(problem, i), value(problem, other));
                    return Err(Fault::Shared { value, other, offset });
                }
            }
        }
        Ok(())
    }
}

/// Tables of the right length, operands that exist, sound spaces, so that the rest can use ids as indices.
fn check_shape(problem: &Problem, plan: &Plan) -> Result<(), Fault> {
    let lengths = [
        ("placements", problem.values.len(), plan.placements.len()),
        ("spaces", problem.spaces.len(), plan.spaces.len()),
    ];
    for (table, expected, found) in lengths {
        if expected != found {
            return Err(Fault::WrongLength { table, expected, found });
        }
    }
    let count = problem.values.len();
    for step in &problem.steps {
        for id in step.reads.iter().chain(&step.writes) {
            if id.index() >= count {
                return Err(Fault::UnknownId { what: "value", id: id.0, count });
            }
        }
    }
    for (i, (space, report)) in problem.spaces.iter().zip(&plan.spaces).enumerate() {
        let id = SpaceId(i as u32);
        if !space.align.is_power_of_two() {
            return Err(Fault::BadAlignment { space: id, align: space.align });
        }
        if let Some(limit) = space.limit.filter(|&limit| report.bytes > limit) {
            return Err(Fault::OverLimit { space: id, bytes: report.bytes, limit });
        }
    }
    Ok(())
}

fn find_root(problem: &Problem, start: usize) -> Result<usize, Fault> {
    let count = problem.values.len();
    let mut at = start;
    // A chain longer than there are values goes in a circle.
    for _ in 0..count {
        match problem.values[at].view_of {
            None => return Ok(at),
            Some(view) if view.parent.index() < count => at = view.parent.index(),
            Some(view) => return Err(Fault::UnknownId { what: "parent", id: view.parent.0, count }),
        }
    }
    Err(Fault::UnknownId { what: "root of value", id: start as u32, count })
}

fn find_window(problem: &Problem, plan: &Plan, i: usize) -> Result<Option<Window>, Fault> {
    let Some(placement) = &plan.placements[i] else { return Ok(None) };
    let wanted = &problem.values[i];
    let Some(space) = problem.spaces.get(wanted.space.index()) else {
        let count = problem.spaces.len();
        return Err(Fault::UnknownId { what: "space", id: wanted.space.0, count });
    };
    if placement.bytes != wanted.bytes {
        let (expected, found) = (wanted.bytes, placement.bytes);
        return Err(Fault::WrongSize { value: value(problem, i), expected, found });
    }
    let (start, align) = (placement.offset, space.align);
    if wanted.view_of.is_none() && !start.is_multiple_of(align) {
        return Err(Fault::Misaligned { value: value(problem, i), offset: start, align });
    }
    let space_bytes = plan.spaces[wanted.space.index()].bytes;
    match start.checked_add(placement.bytes) {
        Some(end) if end <= space_bytes => Ok(Some(Window { space: wanted.space.index(), start, end })),
        _ => {
            let (value, bytes) = (value(problem, i), placement.bytes);
            Err(Fault::OutsideSpace { value, offset: start, bytes, space_bytes })
        }
    }
}
