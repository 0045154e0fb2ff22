//! How many threads are worth starting.

use std::collections::BTreeSet;
use std::fs;

/// The physical cores that this process may use: those of its CPU affinity, each counted once
/// however many hardware threads it has, and no more than its CPU quota allows.
///
/// A second hardware thread of a core shares the units that kernels keep busy. Where the system does
/// not say which CPUs share a core, each counts as one.
pub fn default_threads() -> usize {
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    match cores() {
        Some(cores) if cores > 0 => cores.min(parallel),
        _ => parallel,
    }
}

/// Cores among the allowed CPUs, if Linux says which those are.
fn cores() -> Option<usize> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(parse_list)?;
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(path).ok().as_deref().and_then(parse_list)
    };
    Some(count_cores(&allowed, siblings))
}

/// Counts each allowed CPU that has no smaller allowed sibling.
fn count_cores(allowed: &BTreeSet<usize>, siblings: impl Fn(usize) -> Option<BTreeSet<usize>>) -> usize {
    allowed
        .iter()
        .filter(|&&cpu| {
            let first = siblings(cpu).and_then(|s| s.intersection(allowed).next().copied());
            first.is_none_or(|first| first >= cpu)
        })
        .count()
}

/// Parses a list such as `0-3,8,10-11`.
fn parse_list(list: &str) -> Option<BTreeSet<usize>> {
    let mut cpus = BTreeSet::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // The kernel knows at most a few thousand CPUs; a longer list is not one.
        if last.checked_sub(first)? > 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> BTreeSet<usize> {
        parse_list(text).unwrap()
    }

    #[test]
    fn lists_of_cpus_are_parsed() {
        assert_eq!(list("\t0-3,8,10-11\n"), BTreeSet::from([0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(list(""), BTreeSet::new());
        assert_eq!(parse_list("3-1"), None);
        assert_eq!(parse_list("x"), None);
    }

    #[test]
    fn siblings_count_once_and_only_if_allowed() {
        // Four cores with two hardware threads each: 0 and 4, 1 and 5, ...
        let siblings = |cpu: usize| Some(BTreeSet::from([cpu % 4, cpu % 4 + 4]));
        assert_eq!(count_cores(&list("0-7"), siblings), 4);
        assert_eq!(count_cores(&list("4-7"), siblings), 4);
        assert_eq!(count_cores(&list("0,4,5"), siblings), 2);
        assert_eq!(count_cores(&list("0-7"), |_| None), 8);
    }

    #[test]
    fn at_least_one_thread_is_worth_starting() {
        assert!(default_threads() >= 1);
    }
}
