//! The table of storages: members, lives, and that no two live storages overlap.

use std::collections::BTreeMap;

use super::windows::Windows;
use super::{Fault, value};
use crate::plan::{Plan, Storage};
use crate::problem::{Pin, Problem, StepId, StorageId};

pub(super) fn check(problem: &Problem, plan: &Plan, windows: &Windows) -> Result<(), Fault> {
    let end = problem.steps.len().saturating_sub(1);
    for (i, storage) in plan.storages.iter().enumerate() {
        check_storage(problem, plan, end, storage)
            .map_err(|what| Fault::BadStorage { storage: StorageId(i as u32), what })?;
    }
    check_members(problem, plan, windows)?;
    check_lives(problem, plan, end)?;
    check_sizes(problem, plan)?;
    check_disjoint(problem, plan)
}

fn check_storage(problem: &Problem, plan: &Plan, end: usize, storage: &Storage) -> Result<(), &'static str> {
    let Some(space) = problem.spaces.get(storage.space.index()) else {
        return Err("names a space that does not exist");
    };
    if !storage.offset.is_multiple_of(space.align) || !storage.bytes.is_multiple_of(space.align) {
        return Err("is misaligned");
    }
    let space_bytes = plan.spaces[storage.space.index()].bytes;
    if storage.offset.checked_add(storage.bytes).is_none_or(|end| end > space_bytes) {
        return Err("reaches past the end of its space");
    }
    if storage.first > storage.last || storage.last as usize > end {
        return Err("has a life that is no range of steps");
    }
    Ok(())
}

/// Placements and member lists agree, and each window lies in its storage.
fn check_members(problem: &Problem, plan: &Plan, windows: &Windows) -> Result<(), Fault> {
    let mut listed = vec![None; problem.values.len()];
    for (s, storage) in plan.storages.iter().enumerate() {
        for member in &storage.members {
            let Some(entry) = listed.get_mut(member.index()) else {
                let (id, count) = (member.0, problem.values.len());
                return Err(Fault::UnknownId { what: "member", id, count });
            };
            if entry.replace(s).is_some() || plan.placements[member.index()].is_none() {
                let storage = StorageId(s as u32);
                return Err(Fault::OutsideStorage { value: value(problem, member.index()), storage });
            }
        }
    }
    for (i, placement) in plan.placements.iter().enumerate() {
        let (Some(placement), Some(window)) = (placement, windows.window[i]) else { continue };
        let inside = plan.storages.get(placement.storage.index()).is_some_and(|storage| {
            storage.space.index() == window.space
                && storage.offset <= window.start
                && window.end <= storage.offset + storage.bytes
        });
        if !inside || listed[i] != Some(placement.storage.index()) {
            return Err(Fault::OutsideStorage { value: value(problem, i), storage: placement.storage });
        }
    }
    Ok(())
}

/// A storage lives from the first to the last step at which one of its members is in use, and neither less nor more.
fn check_lives(problem: &Problem, plan: &Plan, end: usize) -> Result<(), Fault> {
    let mut needed: Vec<Option<(usize, usize)>> = vec![None; plan.storages.len()];
    let mut use_at = |i: usize, step: usize| {
        let Some(placement) = &plan.placements[i] else { return Ok(()) };
        let (first, last) = needed[placement.storage.index()].unwrap_or((step, step));
        needed[placement.storage.index()] = Some((first.min(step), last.max(step)));
        let storage = &plan.storages[placement.storage.index()];
        if (storage.first as usize..=storage.last as usize).contains(&step) {
            return Ok(());
        }
        let (value, storage) = (value(problem, i), placement.storage);
        Err(Fault::LifeTooShort { value, storage, step: StepId(step as u32) })
    };
    for (s, step) in problem.steps.iter().enumerate() {
        step.reads.iter().try_for_each(|read| use_at(read.index(), s))?;
        // A view among the writes is only named.
        let mut writes = step.writes.iter().filter(|w| problem.values[w.index()].view_of.is_none());
        writes.try_for_each(|write| use_at(write.index(), s))?;
    }
    for (i, pinned) in problem.values.iter().enumerate() {
        if matches!(pinned.pin, Pin::Input | Pin::Fresh | Pin::Persistent) {
            use_at(i, 0)?;
        }
        if !matches!(pinned.pin, Pin::None | Pin::Scratch) {
            use_at(i, end)?;
        }
    }
    for (i, (storage, needed)) in plan.storages.iter().zip(needed).enumerate() {
        if needed != Some((storage.first as usize, storage.last as usize)) {
            let what = "lives longer than its values are in use";
            return Err(Fault::BadStorage { storage: StorageId(i as u32), what });
        }
    }
    Ok(())
}

/// A storage is as large as its largest member, to the alignment.
fn check_sizes(problem: &Problem, plan: &Plan) -> Result<(), Fault> {
    for (i, storage) in plan.storages.iter().enumerate() {
        let largest = storage.members.iter().map(|m| problem.values[m.index()].bytes).max().unwrap_or(0);
        // The members lie in the storage, whose size is a multiple already, so this cannot overflow.
        if storage.bytes != largest.next_multiple_of(problem.spaces[storage.space.index()].align) {
            let what = "is larger than its values need";
            return Err(Fault::BadStorage { storage: StorageId(i as u32), what });
        }
    }
    Ok(())
}

/// Walks the steps with the live storages sorted by offset, so that only neighbours need to be compared.
fn check_disjoint(problem: &Problem, plan: &Plan) -> Result<(), Fault> {
    let mut begins: Vec<usize> = (0..plan.storages.len()).filter(|&i| plan.storages[i].bytes > 0).collect();
    let mut ends = begins.clone();
    begins.sort_by_key(|&i| plan.storages[i].first);
    ends.sort_by_key(|&i| plan.storages[i].last);
    let mut ends = ends.into_iter().peekable();

    let mut live: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); problem.spaces.len()];
    for i in begins {
        let storage = &plan.storages[i];
        while let Some(over) = ends.next_if(|&over| plan.storages[over].last < storage.first) {
            live[plan.storages[over].space.index()].remove(&plan.storages[over].offset);
        }
        let live = &mut live[storage.space.index()];
        // All live storages are disjoint so far: if any reaches into this one, the last that starts before its end does.
        if let Some((_, &other)) = live.range(..storage.offset + storage.bytes).next_back()
            && plan.storages[other].offset + plan.storages[other].bytes > storage.offset
        {
            let (first, second) = (StorageId(other as u32), StorageId(i as u32));
            return Err(Fault::StoragesOverlap { first, second, step: StepId(storage.first) });
        }
        live.insert(storage.offset, i);
    }
    Ok(())
}
