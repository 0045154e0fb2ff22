//! The memory limit of the container that the process runs in, where the system tells.

use std::fs;
use std::path::Path;

/// The smallest limit of the control groups of this process in bytes; `None` without one.
pub fn memory_limit() -> Option<u64> {
    limit_under(Path::new("/"))
}

/// Bytes of memory of the machine.
pub fn machine_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn limit_under(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (base, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => return None,
        };
        smallest(&root.join(base), path, file)
    });
    // Version 1 writes no limit as a number near 2^63.
    limits.min().filter(|bytes| *bytes < 1 << 60)
}

/// The smallest limit of a group and those around it. In a container the path may lie outside of what is mounted: then
/// the root is the group.
fn smallest(base: &Path, path: &str, file: &str) -> Option<u64> {
    let own = base.join(path.trim_start_matches('/'));
    let groups = own.ancestors().take_while(|group| group.starts_with(base));
    groups.filter_map(|group| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        limit_under(root.path())
    }

    #[test]
    fn the_smallest_limit_of_a_group_and_those_around_it_counts() {
        let group = ("proc/self/cgroup", "0::/a/b\n");
        let max = |path, text| (path, text);
        let (outer, inner) = ("sys/fs/cgroup/a/memory.max", "sys/fs/cgroup/a/b/memory.max");
        assert_eq!(limit(&[group, max(outer, "1000\n"), max(inner, "max\n")]), Some(1000));
        assert_eq!(limit(&[group, max(outer, "1000\n"), max(inner, "700\n")]), Some(700));
        assert_eq!(limit(&[group, max(outer, "max\n")]), None);
        assert_eq!(
            limit(&[("proc/self/cgroup", "0::/elsewhere\n"), ("sys/fs/cgroup/memory.max", "5000")]),
            Some(5000)
        );
    }

    #[test]
    fn version_1_and_no_groups_at_all() {
        let group = ("proc/self/cgroup", "5:cpu,memory:/x\n1:name=systemd:/\n");
        let file = "sys/fs/cgroup/memory/x/memory.limit_in_bytes";
        assert_eq!(limit(&[group, (file, "4096")]), Some(4096));
        assert_eq!(limit(&[group, (file, "9223372036854771712")]), None);
        assert_eq!(limit(&[]), None);
    }
}
