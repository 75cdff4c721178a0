//! Parents and children of the processes on this host.

use mpiscope_target::procfs;
use std::collections::HashMap;

/// A snapshot of the processes of this host.
#[derive(Debug, Default, Clone)]
pub struct Families {
    children: HashMap<u32, Vec<u32>>,
}

impl Families {
    /// Takes a snapshot.
    #[must_use]
    pub fn now() -> Self {
        let pids = procfs::list().unwrap_or_default();
        Self::of(pids.into_iter().filter_map(|pid| Some((pid, procfs::stat(pid).ok()?.parent))))
    }

    /// Builds the tree from pairs of process and parent.
    fn of(all: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (pid, parent) in all {
            children.entry(parent).or_default().push(pid);
        }
        Self { children }
    }

    /// Returns all descendants of a process, nearest first.
    #[must_use]
    pub fn descendants(&self, pid: u32) -> Vec<u32> {
        let mut found: Vec<u32> = self.children.get(&pid).cloned().unwrap_or_default();
        let mut next = 0;
        // A process has one parent, so each is found once. Pids may be reused while the list is made, hence
        // the bound.
        while let Some(parent) = found.get(next).filter(|_| found.len() <= self.children.len() * 2) {
            found.extend(self.children.get(parent).into_iter().flatten());
            next += 1;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_children_and_their_children_only() {
        let families = Families::of([(2, 1), (3, 2), (4, 2), (5, 3), (6, 1)]);
        assert_eq!(families.descendants(2), [3, 4, 5]);
        assert!(families.descendants(6).is_empty());
    }

    #[test]
    fn cycles_of_parents_do_not_loop_forever() {
        let families = Families::of([(2, 3), (3, 2)]);
        assert!(families.descendants(2).len() < 10);
    }
}
