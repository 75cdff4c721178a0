//! Numbers of processes and threads in namespaces of their own, as containers have them. An image says how the process itself is
//! numbered, where two of one host may have the same number; people and the kernel need that of the host.

use mpiscope_target::procfs::{self, StatusLines};
use std::collections::BTreeMap;

/// Which of these processes of this host has the number `own` for itself.
pub fn process(own: u32, among: impl Iterator<Item = u32>) -> Option<u32> {
    let all = among.filter_map(|pid| Some((StatusLines::of(pid).ok()?.namespace_pids(), pid)));
    let all = all.filter(|(numbers, _)| numbers.last() == Some(&own));
    // One that only looks at the image may by chance have the number on the host that the other has inside.
    all.max_by_key(|(numbers, _)| numbers.len()).map(|(_, pid)| pid)
}

/// The number of each thread of a process of this host, by that which the thread has for itself.
pub fn threads(pid: u32) -> BTreeMap<u32, u32> {
    let inner = |tid| StatusLines::of_thread(pid, tid).ok()?.namespace_pids().last().copied();
    let threads = procfs::threads(pid).unwrap_or_default();
    threads.into_iter().filter_map(|tid| Some((inner(tid)?, tid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_no_other_name_space_has_one_number() {
        let own = std::process::id();
        assert_eq!(process(own, [own, 1].into_iter()), Some(own));
        assert_eq!(process(own, [1].into_iter()), None);
        assert!(threads(own).iter().all(|(inner, outer)| inner == outer));
    }
}
