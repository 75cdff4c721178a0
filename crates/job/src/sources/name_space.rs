//! Pids and thread ids in separate namespaces, as in containers. An image records the ids in the process's
//! own namespace, which need not be unique on a host; users and the kernel need those of the host.

use mpiscope_target::procfs::{self, StatusLines};
use std::collections::BTreeMap;

/// A process and its pids in its namespaces, from the reader's inward.
pub type Numbers<'a> = (u32, &'a [u32]);

/// Finds the process of this host whose pid in its own namespace is `own`.
pub fn process<'a>(own: u32, among: impl Iterator<Item = Numbers<'a>>) -> Option<u32> {
    let all = among.filter(|(_, numbers)| numbers.last() == Some(&own));
    // A process that only reads the image may by chance have the same pid on the host as the other has
    // inside.
    all.max_by_key(|(_, numbers)| numbers.len()).map(|(pid, _)| pid)
}

/// Maps the id of each thread in the process's own namespace to its id on the host.
pub fn threads(pid: u32) -> BTreeMap<u32, u32> {
    let inner = |tid| StatusLines::of_thread(pid, tid).ok()?.namespace_pids().last().copied();
    let threads = procfs::threads(pid).unwrap_or_default();
    threads.into_iter().filter_map(|tid| Some((inner(tid)?, tid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_outside_other_pid_namespaces_has_one_pid() {
        let own = std::process::id();
        let numbers = StatusLines::of(own).unwrap().namespace_pids();
        assert_eq!(process(own, [(own, numbers.as_slice()), (1, &[1])].into_iter()), Some(own));
        assert_eq!(process(own, [(1, [1].as_slice())].into_iter()), None);
        assert!(threads(own).iter().all(|(inner, outer)| inner == outer));
    }
}
