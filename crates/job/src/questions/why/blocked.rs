//! Determines which processes can never be released: the wait-for problem with AND and OR conditions.
//!
//! Live processes release others until nothing changes; the rest are stuck. Three kinds of nodes between
//! processes avoid examining pairs of ranks: a collective (released when every member that has not entered it
//! is live), a wildcard on a communicator (released by the first live member), and a party (released by its
//! first live process, or by all of them).

use super::messages::Pairs;
use super::snapshot::{
    CommIndex, Condition, Need, PartyIndex, Peer, Process, ProcessIndex, Receive, Snapshot, Thread, Wait,
};
use crate::observation::awaits_mpi;
use std::collections::{HashMap, HashSet};

/// The solver's result.
#[derive(Debug)]
pub struct Blocked {
    /// By process: whether it waits and no process that could release it is left.
    pub stuck: Vec<bool>,
    /// By process: whether it can act, or can be released by a process that can.
    pub live: Vec<bool>,
}

impl Blocked {
    /// Returns the stuck processes in order.
    pub fn stuck(&self) -> impl Iterator<Item = ProcessIndex> + '_ {
        (0..).zip(&self.stuck).filter(|(_, stuck)| **stuck).map(|(process, _)| process)
    }

    /// Returns a copy in which only these processes are stuck.
    #[must_use]
    pub fn only(&self, these: &[ProcessIndex]) -> Self {
        let mut stuck = vec![false; self.stuck.len()];
        for one in these {
            if let Some(stuck) = stuck.get_mut(*one as usize) {
                *stuck = true;
            }
        }
        Self { stuck, live: self.live.clone() }
    }
}

/// Collectives that never end, by communicator and number: all members have entered them and do not agree.
pub type Endless = HashSet<(CommIndex, u64)>;

/// What becomes possible when a process is found to be live.
#[derive(Clone, Copy)]
enum Releases {
    /// A need of this wait.
    Wait(u32),
    /// One fewer process is missing for this node: a wildcard's communicator, a collective's missing members,
    /// or a party.
    Node(u32),
}

/// A wait of a thread that is not yet satisfied.
struct Waiting {
    process: ProcessIndex,
    /// Number of needs that remain to be met.
    missing: u32,
}

/// What a node represents.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shared {
    /// Any member of a communicator.
    Wildcard(CommIndex),
    /// The members that have not entered a collective.
    Collective(CommIndex, u64),
    /// Processes of which one must act, or all (`true`).
    Party(PartyIndex, bool),
}

#[derive(Default)]
struct Node {
    missing: u32,
    waits: Vec<u32>,
}

struct Solver<'a> {
    snapshot: &'a Snapshot,
    endless: &'a Endless,
    pairs: Pairs<'a>,
    live: Vec<bool>,
    queue: Vec<ProcessIndex>,
    waits: Vec<Waiting>,
    releases: Vec<Vec<Releases>>,
    shared: HashMap<Shared, u32>,
    nodes: Vec<Node>,
}

/// Finds the processes that can never be released. `acts` tells which processes were observed to complete
/// calls; with `polls_wait`, a thread that only polls counts as waiting for what it polls for.
#[must_use]
pub fn blocked(snapshot: &Snapshot, acts: &[bool], polls_wait: bool) -> Blocked {
    blocked_in(snapshot, acts, polls_wait, &Endless::new())
}

/// The same, given collectives known never to end.
#[must_use]
pub fn blocked_in(snapshot: &Snapshot, acts: &[bool], polls_wait: bool, endless: &Endless) -> Blocked {
    let count = snapshot.processes.len();
    let mut solver = Solver {
        snapshot,
        endless,
        pairs: Pairs::of(snapshot),
        live: vec![false; count],
        queue: Vec::new(),
        waits: Vec::new(),
        releases: vec![Vec::new(); count],
        shared: HashMap::new(),
        nodes: Vec::new(),
    };
    for (index, process) in (0..).zip(&snapshot.processes) {
        solver.pairs.use_up(index, process);
    }
    for (index, process) in (0..).zip(&snapshot.processes) {
        solver.add(index, process, acts.get(index as usize).copied().unwrap_or(false), polls_wait);
    }
    solver.run();
    let stuck = snapshot.processes.iter().zip(&solver.live);
    Blocked { stuck: stuck.map(|(process, live)| !live && !process.is_gone()).collect(), live: solver.live }
}

/// Whether a thread may act by itself.
fn may_act_by_itself(thread: &Thread, polls_wait: bool) -> bool {
    if thread.ended {
        return false;
    }
    match &thread.call {
        None => !awaits_mpi(&thread.idle.doing),
        Some(call) if matches!(call.wait, Wait::Nothing) => true,
        // A call kept open only by polling: the program may stop polling.
        Some(_) => thread.is_polling() && !polls_wait,
    }
}

impl Thread {
    /// Returns whether the call has completed over and over, asking for the same thing each time.
    #[must_use]
    pub fn is_polling(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.polling)
    }
}

impl Solver<'_> {
    fn add(&mut self, index: ProcessIndex, process: &Process, acts: bool, polls_wait: bool) {
        let threads = || process.threads.iter().filter(|thread| !thread.ended);
        let free = match process.condition {
            Condition::Unseen(_) => true,
            Condition::Finalized | Condition::Ended(_) => return,
            Condition::Starting | Condition::Running => acts || threads().all(|thread| thread.call.is_none()),
        };
        if free || threads().any(|thread| may_act_by_itself(thread, polls_wait)) {
            self.revive(index);
            return;
        }
        for thread in threads() {
            if let Some(call) = &thread.call {
                let in_turn = call.polling && matches!(&call.wait, Wait::Any(needs) if needs.len() > 1);
                self.wait(index, process, &call.wait, in_turn);
            }
        }
    }

    /// `in_turn`: a loop that polls for several things in turn cannot be polling for something that has
    /// already arrived; see [`message`].
    ///
    /// [`message`]: Self::message
    fn wait(&mut self, index: ProcessIndex, process: &Process, wait: &Wait, in_turn: bool) {
        let number = self.waits.len() as u32;
        let (needs, every) = match wait {
            Wait::Nothing => return self.revive(index),
            Wait::All(needs) => (needs, true),
            Wait::Any(needs) => (needs, false),
        };
        // If a loop polls for sends alone, one that has been received may still be what it polls for.
        let in_turn = in_turn && !needs.iter().all(|need| matches!(need, Need::Receiver(_)));
        let met = needs.iter().filter(|need| self.need(index, process, need, (number, in_turn))).count();
        let open = needs.len() - met;
        let missing = if every { open } else { usize::from(met == 0) };
        self.waits.push(Waiting { process: index, missing: missing as u32 });
        if missing == 0 {
            self.revive(index);
        }
    }

    /// Returns whether a need is already met; otherwise registers what can meet it.
    fn need(
        &mut self,
        index: ProcessIndex,
        process: &Process,
        need: &Need,
        (wait, in_turn): (u32, bool),
    ) -> bool {
        match need {
            Need::Message(receive) => self.message(index, receive, wait, in_turn),
            Need::Receiver(message) => {
                let lost = process.lost || self.process(message.to).is_some_and(|to| to.lost);
                // A loop that polls for several things in turn has gone round since this message was
                // received, so that is not what it polls for, unless the receiver has yet to take all of it.
                let received = !lost && self.pairs.is_received(index, message) && !in_turn;
                lost || received || self.releases(message.to, Releases::Wait(wait))
            }
            Need::Collective(collective) => self.collective(collective.comm, collective.number, wait),
            Need::Action { by, every, .. } => self.party(*by, *every, wait),
            Need::Outside { .. } => true,
        }
    }

    /// What a loop that polls for several things in turn asks for is not known for each of them; it is
    /// treated as a message from any source with any tag. Had it polled for one that has arrived, the loop
    /// would have ended, for it has gone round since.
    fn message(&mut self, index: ProcessIndex, receive: &Receive, wait: u32, in_turn: bool) -> bool {
        let anything = receive.matches.from == Peer::Any && receive.matches.tag.is_none();
        if !(in_turn && anything) && self.pairs.finds(index, receive) {
            return true;
        }
        match receive.matches.from {
            Peer::One(from) => {
                self.process(from).is_some_and(|from| from.lost) || self.releases(from, Releases::Wait(wait))
            }
            Peer::Any => self.wildcard(receive.matches.comm, wait),
        }
    }

    /// Adds an edge; this never meets a need at once.
    fn releases(&mut self, by: ProcessIndex, what: Releases) -> bool {
        if let Some(edges) = self.releases.get_mut(by as usize) {
            edges.push(what);
        }
        false
    }

    fn wildcard(&mut self, comm: CommIndex, wait: u32) -> bool {
        let snapshot = self.snapshot;
        self.shared(Shared::Wildcard(comm), wait, || {
            let members = snapshot.communicators.get(comm as usize).map_or(&[][..], |c| &c.members);
            let process = |member: &ProcessIndex| snapshot.processes.get(*member as usize);
            let lost = members.iter().any(|member| process(member).is_some_and(|process| process.lost));
            (u32::from(!lost), members.to_vec())
        })
    }

    fn collective(&mut self, comm: CommIndex, number: u64, wait: u32) -> bool {
        let snapshot = self.snapshot;
        let never = self.endless.contains(&(comm, super::collectives::parts(number).0));
        self.shared(Shared::Collective(comm, number), wait, || {
            let missing = super::collectives::missing(snapshot, comm, number);
            (missing.len() as u32 + u32::from(never), missing)
        })
    }

    fn party(&mut self, party: PartyIndex, every: bool, wait: u32) -> bool {
        let snapshot = self.snapshot;
        self.shared(Shared::Party(party, every), wait, || {
            let members = snapshot.party(party);
            (if every { members.len() as u32 } else { 1 }, members.to_vec())
        })
    }

    /// Makes a wait depend on a shared node, which the first to need it creates: a number of certain
    /// processes must be live. Returns whether the node has already been released.
    fn shared(&mut self, what: Shared, wait: u32, make: impl FnOnce() -> (u32, Vec<ProcessIndex>)) -> bool {
        let node = match self.shared.get(&what) {
            Some(node) => *node,
            None => {
                let node = self.nodes.len() as u32;
                let (missing, of) = make();
                self.nodes.push(Node { missing, waits: Vec::new() });
                self.shared.insert(what, node);
                for member in of {
                    self.releases(member, Releases::Node(node));
                }
                node
            }
        };
        self.join(node, wait)
    }

    /// Makes a wait depend on a node. Returns whether the node has already been released.
    fn join(&mut self, node: u32, wait: u32) -> bool {
        let Some(node) = self.nodes.get_mut(node as usize) else { return false };
        node.waits.push(wait);
        node.missing == 0
    }

    fn process(&self, index: ProcessIndex) -> Option<&Process> {
        self.snapshot.processes.get(index as usize)
    }

    fn revive(&mut self, index: ProcessIndex) {
        if let Some(live) = self.live.get_mut(index as usize)
            && !*live
        {
            *live = true;
            self.queue.push(index);
        }
    }

    fn run(&mut self) {
        while let Some(index) = self.queue.pop() {
            let edges = self.releases.get_mut(index as usize).map(std::mem::take).unwrap_or_default();
            for edge in edges {
                match edge {
                    Releases::Wait(wait) => self.met(wait),
                    Releases::Node(node) => self.reached(node),
                }
            }
        }
    }

    fn reached(&mut self, node: u32) {
        let Some(node) = self.nodes.get_mut(node as usize).filter(|node| node.missing > 0) else { return };
        node.missing -= 1;
        if node.missing == 0 {
            for wait in std::mem::take(&mut node.waits) {
                self.met(wait);
            }
        }
    }

    fn met(&mut self, wait: u32) {
        let Some(waiting) = self.waits.get_mut(wait as usize).filter(|wait| wait.missing > 0) else { return };
        waiting.missing -= 1;
        if waiting.missing == 0 {
            let process = waiting.process;
            self.revive(process);
        }
    }
}
