//! Splits the stuck processes into groups, each of which holds up itself, since several things may be wrong
//! at once.
//!
//! Each group is a strongly connected component of the wait-for graph: every member waits, directly or
//! indirectly, for every other one. Fixing one group does not help another. A process that merely waits for a
//! group belongs to none.

use super::blocked::Blocked;
use super::cycle::{Node, Search};
use super::snapshot::{ProcessIndex, Snapshot};
use std::collections::HashMap;

/// Returns the groups; their members, and the groups themselves, are in order.
pub fn parts(snapshot: &Snapshot, blocked: &Blocked) -> Vec<Vec<ProcessIndex>> {
    let mut walk = Walk::of(snapshot, blocked);
    for start in blocked.stuck() {
        walk.from(Node::Process(start));
    }
    let mut groups = walk.groups;
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    groups
}

/// A visited node.
struct Visited {
    /// Position in the order of visits.
    number: usize,
    /// The earliest node still on the path that can be reached from here.
    earliest: usize,
    on_way: bool,
}

/// Tarjan's algorithm with an explicit stack: rings may be as long as the job is large.
struct Walk<'a> {
    search: Search<'a>,
    visited: HashMap<Node, Visited>,
    /// Nodes whose group is not known yet.
    open: Vec<Node>,
    groups: Vec<Vec<ProcessIndex>>,
}

impl<'a> Walk<'a> {
    fn of(snapshot: &'a Snapshot, blocked: &'a Blocked) -> Self {
        let search = Search::of(snapshot, blocked);
        Self { search, visited: HashMap::new(), open: Vec::new(), groups: Vec::new() }
    }

    fn visit(&mut self, node: Node) -> std::vec::IntoIter<Node> {
        let number = self.visited.len();
        self.visited.insert(node, Visited { number, earliest: number, on_way: true });
        self.open.push(node);
        self.search.next(node).into_iter()
    }

    fn from(&mut self, start: Node) {
        if self.visited.contains_key(&start) {
            return;
        }
        let mut way = vec![(start, self.visit(start))];
        while let Some((node, edges)) = way.last_mut() {
            let node = *node;
            match edges.next() {
                Some(next) => match self.visited.get(&next) {
                    None => way.push((next, self.visit(next))),
                    Some(known) if known.on_way => self.reaches(node, known.number),
                    Some(_) => {}
                },
                None => {
                    way.pop();
                    self.leave(node, way.last().map(|(before, _)| *before));
                }
            }
        }
    }

    fn reaches(&mut self, node: Node, number: usize) {
        if let Some(known) = self.visited.get_mut(&node) {
            known.earliest = known.earliest.min(number);
        }
    }

    /// Everything reachable from a node is known: if no earlier node is, the open nodes from it on form a
    /// group.
    fn leave(&mut self, node: Node, before: Option<Node>) {
        let Some(Visited { number, earliest, .. }) = self.visited.get(&node) else { return };
        let (number, earliest) = (*number, *earliest);
        if let Some(before) = before {
            self.reaches(before, earliest);
        }
        if earliest < number {
            return;
        }
        let from = self.open.iter().rposition(|open| *open == node).unwrap_or(0);
        let group = self.open.split_off(from);
        for one in &group {
            if let Some(known) = self.visited.get_mut(one) {
                known.on_way = false;
            }
        }
        let alone = group.len() == 1 && !self.search.next(node).contains(&node);
        let processes = group.into_iter().filter_map(|node| match node {
            Node::Process(process) => Some(process),
            _ => None,
        });
        let processes: Vec<ProcessIndex> = processes.collect();
        if !alone && !processes.is_empty() {
            self.groups.push(processes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::why::scene::Scene;
    use crate::questions::why::snapshot::Peer;

    fn groups(scene: &Scene) -> Vec<Vec<ProcessIndex>> {
        let acts = vec![false; scene.0.processes.len()];
        let found = crate::questions::why::blocked(&scene.0, &acts, false);
        parts(&scene.0, &found)
    }

    #[test]
    fn a_rank_that_only_waits_for_a_ring_is_in_no_group() {
        let mut scene = Scene::of(7);
        for (rank, from) in [(0, 1), (1, 0), (2, 1), (3, 4), (4, 5), (5, 3), (6, 6)] {
            scene.receive(rank, Peer::One(from), 7);
        }
        assert_eq!(groups(&scene), [vec![0, 1], vec![3, 4, 5], vec![6]]);
    }

    #[test]
    fn a_rank_that_waits_in_a_collective_for_a_ring_and_blocks_others_is_another_group() {
        let mut scene = Scene::of(6);
        // Ranks 0 and 1 wait in a collective for the others, of which 2 and 3 wait for each other, 4 for 0,
        // and 5 for 4; none waits for 1.
        scene.collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
        scene.receive(2, Peer::One(3), 7).receive(3, Peer::One(2), 7);
        scene.receive(4, Peer::One(0), 7).receive(5, Peer::One(4), 7);
        assert_eq!(groups(&scene), [vec![0, 4, 5], vec![2, 3]]);
    }

    #[test]
    fn a_ring_as_long_as_the_job_is_one_group() {
        let mut scene = Scene::of(20_000);
        (0..20_000).for_each(|rank| {
            scene.receive(rank, Peer::One((rank + 1) % 20_000), 7);
        });
        assert_eq!(groups(&scene).iter().map(Vec::len).collect::<Vec<_>>(), [20_000]);
    }
}
