//! Tables and figures that do not follow from the windows.

use memplan::Fault;

use super::{always_found, pairs, pick};

#[test]
fn a_member_in_the_wrong_list_is_found() {
    always_found(
        |u, _, plan| {
            let candidates = pairs(plan, |_, _| true);
            let Some((a, b)) = pick(u, &candidates)? else { return Ok(false) };
            let Some(member) = plan.storages[a].members.pop() else { return Ok(false) };
            plan.storages[b].members.push(member);
            Ok(true)
        },
        |fault| matches!(fault, Fault::OutsideStorage { .. }),
    );
}

#[test]
fn a_storage_larger_than_its_values_is_found() {
    always_found(
        |u, problem, plan| {
            let Some(last) = plan.storages.len().checked_sub(1) else { return Ok(false) };
            let s = u.int_in_range(0..=last)?;
            let space = plan.storages[s].space.index();
            plan.storages[s].bytes += problem.spaces[space].align;
            let storage = &plan.storages[s];
            plan.spaces[space].bytes = plan.spaces[space].bytes.max(storage.offset + storage.bytes);
            Ok(true)
        },
        |fault| matches!(fault, Fault::BadStorage { .. }),
    );
}

#[test]
fn a_false_report_is_found() {
    always_found(
        |u, _, plan| {
            let s = u.choose_index(plan.spaces.len())?;
            let report = &mut plan.spaces[s];
            match u.int_in_range(0..=5)? {
                0 => report.lower_bound += 1,
                1 => report.naive += 1,
                2 => report.proven = !report.proven,
                3 if !report.proven => return Ok(false),
                3 => report.bytes += 1,
                _ if report.bound_values.is_empty() => return Ok(false),
                4 => drop(report.bound_values.pop()),
                // One storage named twice in place of another.
                _ if report.bound_values.len() < 2 => return Ok(false),
                _ => report.bound_values[1] = report.bound_values[0],
            }
            Ok(true)
        },
        |fault| matches!(fault, Fault::WrongReport { .. }),
    );
}
