//! Windows that are somewhere else.

use memplan::{Fault, Pin, Plan, StorageId, Value, View};

use super::{always_found, is_collision, live_together, move_storage, pairs, pick, pinned};

#[test]
fn an_offset_moved_by_one_unit_into_a_live_neighbour_is_found() {
    always_found(
        |u, problem, plan| {
            // Offsets are multiples of the alignment, so only what is adjacent is one unit away.
            let candidates = pairs(plan, |a, b| {
                let (first, second) = (&plan.storages[a], &plan.storages[b]);
                let is_below = first.offset + first.bytes == second.offset;
                let is_above = second.offset + second.bytes == first.offset;
                live_together(plan, a, b) && (is_below || is_above)
            });
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            let unit = problem.spaces[plan.storages[a].space.index()].align;
            let offset = plan.storages[a].offset;
            let moved = if offset < plan.storages[b].offset { offset + unit } else { offset - unit };
            move_storage(plan, a, moved);
            Ok(true)
        },
        // The last unit of a value may be larger than its last bytes: then only the table of storages tells.
        is_collision,
    );
}

#[test]
fn a_storage_moved_onto_a_live_neighbour_is_found() {
    always_found(
        |u, _, plan| {
            let candidates = pairs(plan, |a, b| live_together(plan, a, b));
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            move_storage(plan, a, plan.storages[b].offset);
            Ok(true)
        },
        is_collision,
    );
}

#[test]
fn two_persistent_regions_that_overlap_are_found() {
    always_found(
        |u, problem, plan| {
            let is_region = |s| pinned(problem, plan, s, &[Pin::Persistent]);
            let candidates = pairs(plan, |a, b| is_region(a) && is_region(b));
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            let unit = problem.spaces[plan.storages[a].space.index()].align;
            // From the start of the other, or in its middle, but where it has bytes of its own.
            let v = plan.storages[b].members[0];
            let units = (problem.values[v.index()].bytes - 1) / unit;
            move_storage(plan, a, plan.storages[b].offset + unit * u.int_in_range(0..=units)?);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Shared { .. }),
    );
}

#[test]
fn a_staging_window_or_region_that_is_shared_is_found() {
    for pin in [Pin::Fresh, Pin::Persistent] {
        always_found(
            |u, problem, plan| {
                let candidates = pairs(plan, |_, b| pinned(problem, plan, b, &[pin]));
                let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
                move_storage(plan, a, plan.storages[b].offset);
                Ok(true)
            },
            |fault| matches!(fault, Fault::Shared { .. }),
        );
    }
}

#[test]
fn a_broken_alignment_is_found() {
    always_found(
        |u, problem, plan| {
            let aligned = |s: &usize| problem.spaces[plan.storages[*s].space.index()].align > 1;
            let candidates: Vec<usize> = (0..plan.storages.len()).filter(aligned).collect();
            let Some(s) = pick(u, &candidates)? else { return Ok(false) };
            let storage = &plan.storages[s];
            let align = problem.spaces[storage.space.index()].align;
            move_storage(plan, s, storage.offset + u.int_in_range(1..=align - 1)?);
            Ok(true)
        },
        |fault| matches!(fault, Fault::Misaligned { .. }),
    );
}

#[test]
fn a_window_out_of_the_space_is_found() {
    always_found(
        |u, problem, plan| {
            let has_bytes = |i: &usize| {
                let value = &problem.values[*i];
                plan.placements[*i].is_some() && value.view_of.is_none() && value.bytes > 0
            };
            let candidates: Vec<usize> = (0..plan.placements.len()).filter(has_bytes).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            let placement = plan.placements[i].as_mut().expect("it is placed");
            let Value { space, bytes, .. } = problem.values[i];
            let (size, align) = (plan.spaces[space.index()].bytes, problem.spaces[space.index()].align);
            // The first aligned offset at which it no longer fits, or one that wraps around.
            placement.offset = if u.arbitrary()? {
                (size - bytes + 1).next_multiple_of(align)
            } else {
                u64::MAX - (align - 1)
            };
            Ok(true)
        },
        |fault| matches!(fault, Fault::OutsideSpace { .. }),
    );
}

#[test]
fn a_view_past_its_parent_is_found() {
    always_found(
        |u, problem, _| {
            let is_view = |i: &usize| problem.values[*i].view_of.is_some();
            let candidates: Vec<usize> = (0..problem.values.len()).filter(is_view).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            let View { parent, .. } = problem.values[i].view_of.expect("it is a view");
            let room = problem.values[parent.index()].bytes - problem.values[i].bytes;
            let offset = room + u.int_in_range(1..=100)?;
            problem.values[i].view_of = Some(View { parent, offset });
            Ok(true)
        },
        // A view of the view can come first, which then is not where its parent is.
        |fault| matches!(fault, Fault::ViewOutsideParent { .. } | Fault::ViewMisplaced { .. }),
    );
}

#[test]
fn a_view_that_is_not_where_its_parent_is_is_found() {
    always_found(
        |u, problem, plan| {
            let placed_view =
                |i: &usize| problem.values[*i].view_of.is_some() && plan.placements[*i].is_some();
            let candidates: Vec<usize> = (0..problem.values.len()).filter(placed_view).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            plan.placements[i].as_mut().expect("it is placed").offset += 1;
            Ok(true)
        },
        // At the very end of the space the window is outside, and a view of the view is misplaced as well.
        |fault| matches!(fault, Fault::ViewMisplaced { .. } | Fault::OutsideSpace { .. }),
    );
}

#[test]
fn a_missing_window_is_found() {
    always_found(
        |u, _, plan| {
            let candidates: Vec<usize> =
                (0..plan.placements.len()).filter(|&i| plan.placements[i].is_some()).collect();
            let Some(i) = pick(u, &candidates)? else { return Ok(false) };
            plan.placements[i] = None;
            // With all tables of one mind, so that only those who need the window can tell.
            for storage in &mut plan.storages {
                storage.members.retain(|m| m.index() != i);
            }
            let empty = plan.storages.iter().position(|storage| storage.members.is_empty());
            if let Some(s) = empty {
                remove_storage(plan, s);
            }
            Ok(true)
        },
        |fault| matches!(fault, Fault::Unplaced { .. } | Fault::Lost { .. } | Fault::ViewMisplaced { .. }),
    );
}

/// Takes a storage without members out of the table.
pub(super) fn remove_storage(plan: &mut Plan, s: usize) {
    plan.storages.remove(s);
    for placement in plan.placements.iter_mut().flatten() {
        if placement.storage.index() > s {
            placement.storage = StorageId::new(placement.storage.index() - 1);
        }
    }
}
