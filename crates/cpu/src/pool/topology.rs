//! How many threads are worth starting.

use std::collections::BTreeSet;
use std::fs;

/// The physical cores that this process may use: those of its CPU affinity, each counted once
/// however many hardware threads it has, and no more than its CPU quota allows.
///
/// A second hardware thread of a core shares the units that kernels keep busy. Where the system does
/// not say which CPUs share a core, each counts as one.
pub fn default_threads() -> usize {
    Topology::detect().default_threads()
}

/// How many CPUs there are, and how many of them this process may use. What the system does not say is `None`:
/// all but `parallel` are known on Linux only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Hardware threads of the machine that are switched on.
    pub cpus: Option<usize>,
    /// Their physical cores.
    pub cores: Option<usize>,
    /// Hardware threads that this process may run on.
    pub cpus_allowed: Option<usize>,
    /// Their physical cores.
    pub cores_allowed: Option<usize>,
    /// Threads that run at the same time at best: what is allowed, or a smaller quota of CPU time in whole CPUs.
    pub parallel: usize,
}

impl Topology {
    /// Asks the system.
    pub fn detect() -> Topology {
        let (online, mut allowed) = (online(), allowed());
        // Affinity may name CPUs that could be plugged in.
        if let (Some(online), Some(allowed)) = (&online, &mut allowed) {
            allowed.retain(|cpu| online.contains(cpu));
        }
        Topology {
            cpus: online.as_ref().map(BTreeSet::len),
            cores: online.map(|cpus| count_cores(&cpus, siblings)),
            cpus_allowed: allowed.as_ref().map(BTreeSet::len),
            cores_allowed: allowed.map(|cpus| count_cores(&cpus, siblings)),
            parallel: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The quota of CPU time in whole CPUs, if it is what limits the process.
    pub fn quota(&self) -> Option<usize> {
        self.cpus_allowed.is_some_and(|allowed| self.parallel < allowed).then_some(self.parallel)
    }

    fn default_threads(&self) -> usize {
        match self.cores_allowed {
            Some(cores) if cores > 0 => cores.min(self.parallel),
            _ => self.parallel,
        }
    }
}

fn online() -> Option<BTreeSet<usize>> {
    fs::read_to_string("/sys/devices/system/cpu/online").ok().as_deref().and_then(parse_list)
}

fn allowed() -> Option<BTreeSet<usize>> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).and_then(parse_list)
}

/// Hardware threads that share the core of one.
fn siblings(cpu: usize) -> Option<BTreeSet<usize>> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(path).ok().as_deref().and_then(parse_list)
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
    fn a_quota_limits_threads_and_is_told_apart_from_affinity() {
        let machine = Topology {
            cpus: Some(16),
            cores: Some(8),
            cpus_allowed: Some(8),
            cores_allowed: Some(4),
            parallel: 8,
        };
        assert_eq!((machine.quota(), machine.default_threads()), (None, 4));
        let limited = Topology { parallel: 2, ..machine };
        assert_eq!((limited.quota(), limited.default_threads()), (Some(2), 2));
        let unknown = Topology { cpus_allowed: None, cores_allowed: None, ..limited };
        assert_eq!((unknown.quota(), unknown.default_threads()), (None, 2));
    }

    #[test]
    fn at_least_one_thread_is_worth_starting_and_never_more_than_can_run() {
        let machine = Topology::detect();
        assert!((1..=machine.parallel).contains(&default_threads()));
        assert!(machine.cores <= machine.cpus && machine.cores_allowed <= machine.cpus_allowed);
        assert!(machine.cpus_allowed <= machine.cpus);
    }
}
