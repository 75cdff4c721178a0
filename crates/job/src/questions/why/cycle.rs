//! Finds a ring of stuck processes, each of which waits for the next.
//!
//! Only what a process cannot do without is followed: a definite peer, or the members that have not entered a
//! collective. A collective is a separate node, so a ring through one costs no more than any other.

use super::blocked::Blocked;
use super::collectives;
use super::snapshot::{CommIndex, Need, PartyIndex, ProcessIndex, Snapshot, Wait};
use std::collections::{HashMap, HashSet, VecDeque};

/// Maximum number of nodes of a ring from which a shorter ring is searched.
const MOST_STARTS: usize = 64;

/// A node of the wait-for graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Process(ProcessIndex),
    Collective(CommIndex, u64),
    /// All of these processes.
    Party(PartyIndex),
    /// Any member of a communicator.
    Anybody(CommIndex),
}

/// Returns the processes of a ring, starting at the lowest; empty if there is none.
pub fn cycle(snapshot: &Snapshot, blocked: &Blocked) -> Vec<ProcessIndex> {
    rings(snapshot, blocked, 1).pop().unwrap_or_default()
}

/// Returns the processes of up to `most` disjoint rings, each starting at its lowest.
pub fn rings(snapshot: &Snapshot, blocked: &Blocked, most: usize) -> Vec<Vec<ProcessIndex>> {
    let mut search = Search::of(snapshot, blocked);
    blocked.stuck().filter_map(|start| search.from(Node::Process(start))).take(most).collect()
}

/// Returns for each process whether it is in a ring or waited for by one: these hold up the others. Processes
/// that wait for them without being waited for are excluded, so that a reason found among the rest explains
/// all of them.
pub fn core(snapshot: &Snapshot, blocked: &Blocked) -> Vec<bool> {
    let mut search = Search::of(snapshot, blocked);
    let mut waiters: HashMap<Node, u32> = HashMap::new();
    let mut nodes: Vec<Node> = blocked.stuck().map(Node::Process).collect();
    let mut at = 0;
    while let Some(node) = nodes.get(at).copied() {
        at += 1;
        for next in search.next(node) {
            if !waiters.contains_key(&next) && !matches!(next, Node::Process(_)) {
                nodes.push(next);
            }
            *waiters.entry(next).or_default() += 1;
        }
    }
    let mut outside: Vec<Node> = nodes.iter().copied().filter(|node| !waiters.contains_key(node)).collect();
    let mut core = blocked.stuck.clone();
    while let Some(node) = outside.pop() {
        if let Node::Process(process) = node
            && let Some(inside) = core.get_mut(process as usize)
        {
            *inside = false;
        }
        for next in search.next(node) {
            let Some(count) = waiters.get_mut(&next) else { continue };
            *count -= 1;
            if *count == 0 {
                outside.push(next);
            }
        }
    }
    core
}

/// Returns the processes that any of these cannot do without, without duplicates and in order.
pub fn waited_for(
    snapshot: &Snapshot,
    processes: impl IntoIterator<Item = ProcessIndex>,
) -> Vec<ProcessIndex> {
    let nodes = processes.into_iter().flat_map(|process| edges(snapshot, process));
    processes_of(snapshot, nodes.collect())
}

/// Returns the processes that could help any of these, including one of several, without duplicates and in
/// order.
pub fn could_help(
    snapshot: &Snapshot,
    processes: impl IntoIterator<Item = ProcessIndex>,
) -> Vec<ProcessIndex> {
    let process = |index: ProcessIndex| Some((index, snapshot.processes.get(index as usize)?));
    let processes = processes.into_iter().filter_map(process);
    let needs = processes.flat_map(|(index, process)| {
        process.calls().flat_map(|call| call.wait.needs()).map(move |need| (index, need))
    });
    let mut nodes = HashSet::new();
    for (index, need) in needs {
        match (node(snapshot, index, need), need) {
            (Some(node), _) => drop(nodes.insert(node)),
            (None, Need::Action { by, .. }) => drop(nodes.insert(Node::Party(*by))),
            (None, Need::Message(receive)) => drop(nodes.insert(Node::Anybody(receive.matches.comm))),
            (None, _) => {}
        }
    }
    processes_of(snapshot, nodes)
}

fn processes_of(snapshot: &Snapshot, nodes: HashSet<Node>) -> Vec<ProcessIndex> {
    let mut found = HashSet::new();
    for node in nodes {
        match node {
            Node::Process(peer) => drop(found.insert(peer)),
            Node::Collective(comm, number) => found.extend(collectives::missing(snapshot, comm, number)),
            Node::Party(party) => found.extend(snapshot.party(party)),
            Node::Anybody(comm) => {
                let comm = snapshot.communicators.get(comm as usize);
                found.extend(comm.iter().flat_map(|comm| comm.members.iter().copied()));
            }
        }
    }
    let mut found: Vec<ProcessIndex> = found.into_iter().collect();
    found.sort_unstable();
    found
}

fn edges(snapshot: &Snapshot, index: ProcessIndex) -> Vec<Node> {
    let Some(process) = snapshot.processes.get(index as usize) else { return Vec::new() };
    let waits = process.calls().map(|call| &call.wait);
    let must = waits.filter(|wait| matches!(wait, Wait::All(_)) || wait.needs().len() == 1);
    let needs = must.flat_map(Wait::needs);
    needs.filter_map(|need| node(snapshot, index, need)).collect()
}

/// Returns what a need of a process cannot be met without; `None` if any process will do.
fn node(snapshot: &Snapshot, of: ProcessIndex, need: &Need) -> Option<Node> {
    match need {
        Need::Message(receive) => snapshot.sender(of, receive).map(Node::Process),
        Need::Receiver(message) => Some(Node::Process(message.to)),
        Need::Collective(collective) => Some(Node::Collective(collective.comm, collective.number)),
        // If any of several will do, none of them is certain.
        Need::Action { by, every, .. } => {
            (*every || snapshot.party(*by).len() == 1).then_some(Node::Party(*by))
        }
        Need::Outside { .. } => None,
    }
}

/// Follows the waits among the stuck processes.
pub(super) struct Search<'a> {
    snapshot: &'a Snapshot,
    blocked: &'a Blocked,
    done: HashSet<Node>,
    missing: HashMap<(CommIndex, u64), Vec<Node>>,
}

impl<'a> Search<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, blocked: &'a Blocked) -> Self {
        Self { snapshot, blocked, done: HashSet::new(), missing: HashMap::new() }
    }

    /// Returns what a node cannot go on without.
    pub(super) fn next(&mut self, node: Node) -> Vec<Node> {
        let stuck = |node: &Node| match node {
            Node::Process(p) => self.blocked.stuck.get(*p as usize).copied().unwrap_or(false),
            Node::Collective(..) | Node::Party(_) => true,
            Node::Anybody(_) => false,
        };
        match node {
            Node::Process(process) => edges(self.snapshot, process).into_iter().filter(stuck).collect(),
            Node::Collective(comm, number) => {
                let members = self.missing.entry((comm, number)).or_insert_with(|| {
                    let missing = collectives::missing(self.snapshot, comm, number);
                    missing.into_iter().map(Node::Process).filter(stuck).collect()
                });
                members.clone()
            }
            Node::Party(party) => {
                self.snapshot.party(party).iter().copied().map(Node::Process).filter(stuck).collect()
            }
            Node::Anybody(_) => Vec::new(),
        }
    }

    /// Returns the ring that a walk from a node runs into; nodes already walked are skipped.
    fn from(&mut self, start: Node) -> Option<Vec<ProcessIndex>> {
        if !self.done.insert(start) {
            return None;
        }
        let mut way = vec![(start, self.next(start).into_iter())];
        let mut places = HashMap::from([(start, 0)]);
        while let Some((node, edges)) = way.last_mut() {
            let Some(next) = edges.next() else {
                places.remove(node);
                way.pop();
                continue;
            };
            if let Some(at) = places.get(&next) {
                let around = way.iter().skip(*at).map(|(node, _)| *node).collect();
                return Some(ring(self.shortest(around)));
            }
            if self.done.insert(next) {
                places.insert(next, way.len());
                let edges = self.next(next).into_iter();
                way.push((next, edges));
            }
        }
        None
    }

    /// Returns the shortest ring among the nodes of one: with few links to examine, the fault is found
    /// sooner.
    fn shortest(&mut self, around: Vec<Node>) -> Vec<Node> {
        let places: HashMap<Node, usize> = around.iter().copied().zip(0..).collect();
        let edges: Vec<Vec<usize>> = around
            .iter()
            .map(|node| self.next(*node).iter().filter_map(|next| places.get(next).copied()).collect())
            .collect();
        // A ring other than this one leaves it at a node with another edge.
        let branches = edges.iter().enumerate().filter(|(_, edges)| edges.len() > 1);
        let starts = branches.map(|(start, _)| start).take(MOST_STARTS);
        let shortest = starts.filter_map(|start| back_to(start, &edges)).min_by_key(Vec::len);
        match shortest {
            Some(ring) => ring.into_iter().filter_map(|at| around.get(at).copied()).collect(),
            None => around,
        }
    }
}

/// Returns the shortest path from a node back to itself.
fn back_to(start: usize, edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut from: Vec<Option<usize>> = vec![None; edges.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in edges.get(node)? {
            if *next == start {
                let mut way: Vec<usize> =
                    std::iter::successors(Some(node), |at| from.get(*at).copied().flatten()).collect();
                way.reverse();
                return Some(way);
            }
            if let Some(unseen @ None) = from.get_mut(*next) {
                *unseen = Some(node);
                queue.push_back(*next);
            }
        }
    }
    None
}

fn ring(nodes: Vec<Node>) -> Vec<ProcessIndex> {
    let processes = nodes.into_iter().filter_map(|node| match node {
        Node::Process(process) => Some(process),
        Node::Collective(..) | Node::Party(_) | Node::Anybody(_) => None,
    });
    let mut ring: Vec<ProcessIndex> = processes.collect();
    let lowest = ring.iter().enumerate().min_by_key(|(_, process)| **process).map_or(0, |(at, _)| at);
    ring.rotate_left(lowest);
    ring
}
