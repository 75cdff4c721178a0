//! Numbers of processes and threads in namespaces of their own, as containers have them. An image says how the process itself is
//! numbered, where two of one host may have the same number; people and the kernel need that of the host.

use std::collections::BTreeMap;
use std::fs;

/// The numbers of a process or thread in all namespaces that it is in, this host's first; none if it is not there.
fn numbers(of: &str) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{of}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
    line.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// Which of these processes of this host has the number `own` for itself.
pub fn process(own: u32, among: impl Iterator<Item = u32>) -> Option<u32> {
    let all = among.map(|pid| (numbers(&pid.to_string()), pid));
    let all = all.filter(|(numbers, _)| numbers.last() == Some(&own));
    // One that only looks at the image may by chance have the number on the host that the other has inside.
    all.max_by_key(|(numbers, _)| numbers.len()).map(|(_, pid)| pid)
}

/// The number of each thread of a process of this host, by that which the thread has for itself.
pub fn threads(pid: u32) -> BTreeMap<u32, u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tasks = tasks.filter_map(|task| task.file_name().to_str()?.parse::<u32>().ok());
    tasks.filter_map(|tid| Some((*numbers(&format!("{pid}/task/{tid}")).last()?, tid))).collect()
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
