//! Pairs messages sent and not received with posted receives.
//!
//! Messages from one sender on one communicator do not overtake each other, and receives match in the order
//! in which they were posted. So each receive, oldest first, takes the oldest matching message of a sender.
//! The order between senders is not known; a wildcard receive takes from the lowest rank first, unless `matching`
//! has found out which one it took. This decides which processes are paired and which message is left.

use super::snapshot::{CommIndex, Match, Message, Need, Process, ProcessIndex, Receive, Snapshot};
use std::collections::{HashMap, HashSet};

/// A message with its sender.
pub type Sent<'a> = (ProcessIndex, &'a Message);

/// A posted receive with its process.
pub type Posted<'a> = (ProcessIndex, &'a Receive);

/// The pairs, and what is left over.
#[derive(Debug, Default)]
pub struct Pairs<'a> {
    /// Receives, with the message on its way to each if there is one, in posting order.
    posted: Vec<(Posted<'a>, Option<Sent<'a>>)>,
    /// Messages matched by a probe and not received.
    matched: HashSet<*const Message>,
    /// Number of messages per envelope that have a waiting receive or were already received.
    received: HashMap<(ProcessIndex, ProcessIndex, CommIndex, i32), u32>,
    /// Receives with a message on its way, by what they match and their position in posting order.
    found: HashMap<(ProcessIndex, Match, u64), u32>,
    /// Messages matching no posted receive, by receiver.
    left: HashMap<ProcessIndex, Vec<Sent<'a>>>,
}

impl<'a> Pairs<'a> {
    /// Pairs all messages of a job.
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let mut incoming: HashMap<ProcessIndex, Vec<Sent<'a>>> = HashMap::new();
        for (sender, process) in (0..).zip(&snapshot.processes) {
            for message in &process.sent {
                incoming.entry(message.to).or_default().push((sender, message));
            }
        }
        let mut pairs = Self::default();
        for (receiver, process) in (0..).zip(&snapshot.processes) {
            let messages = incoming.remove(&receiver).unwrap_or_default();
            pairs.pair(receiver, messages, &process.posted);
        }
        for (sender, process) in (0..).zip(&snapshot.processes).filter(|(_, process)| !process.lost) {
            pairs.gone(snapshot, sender, process);
        }
        pairs
    }

    /// Adds messages whose receipt a sender's calls wait for but which are not among the unreceived ones:
    /// they have been received. (Messages are recorded as sent before the library is called.)
    fn gone(&mut self, snapshot: &Snapshot, sender: ProcessIndex, process: &Process) {
        let mut waited: HashMap<(ProcessIndex, CommIndex, i32), u32> = HashMap::new();
        for need in process.calls().flat_map(|call| call.wait.needs().iter().chain(&call.met)) {
            if let Need::Receiver(message) = need
                && !message.partitioned
                && snapshot.processes.get(message.to as usize).is_some_and(|to| !to.is_unseen())
            {
                *waited.entry((message.to, message.comm, message.tag)).or_default() += 1;
            }
        }
        if waited.is_empty() {
            return;
        }
        for message in &process.sent {
            if let Some(waited) = waited.get_mut(&(message.to, message.comm, message.tag)) {
                *waited = waited.saturating_sub(1);
            }
        }
        for ((to, comm, tag), over) in waited.into_iter().filter(|(_, over)| *over > 0) {
            *self.received.entry((sender, to, comm, tag)).or_default() += over;
        }
    }

    fn pair(&mut self, receiver: ProcessIndex, messages: Vec<Sent<'a>>, posted: &'a [Receive]) {
        let (mut queues, mut matched) = (Queues::new(&messages), Vec::new());
        for receive in posted {
            let known = receive.took.and_then(|sender| queues.take_from(sender, &receive.matches));
            let taken = known.or_else(|| queues.take(&receive.matches));
            if receive.matched {
                // It is out of the queue but not received.
                matched.extend(taken);
                continue;
            }
            self.posted.push(((receiver, receive), taken));
            if let Some((sender, message)) = taken {
                *self.found.entry((receiver, receive.matches, receive.order)).or_default() += 1;
                *self.received.entry((sender, receiver, message.comm, message.tag)).or_default() += 1;
            }
        }
        let mut left = queues.rest();
        self.matched.extend(matched.iter().map(|(_, message)| std::ptr::from_ref(*message)));
        left.extend(matched);
        if !left.is_empty() {
            self.left.insert(receiver, left);
        }
    }

    /// Consumes messages for needs of an open call that are already met, so that no other receive can have
    /// them.
    pub fn use_up(&mut self, index: ProcessIndex, process: &Process) {
        for need in process.calls().flat_map(|call| &call.met) {
            match need {
                Need::Message(receive) => _ = self.finds(index, receive),
                Need::Receiver(message) => _ = self.is_received(index, message),
                Need::Collective(_) | Need::Action { .. } | Need::Outside { .. } => {}
            }
        }
    }

    /// Returns whether a receive or probe of `receiver` finds a message. Each `true` for a posted receive
    /// consumes that message.
    pub fn finds(&mut self, receiver: ProcessIndex, receive: &Receive) -> bool {
        match self.found.get_mut(&(receiver, receive.matches, receive.order)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => {
                let fits = |(sender, message): &Sent<'_>| {
                    receive.matches.fits(*sender, message) && !self.is_matched(message)
                };
                self.left(receiver).iter().any(fits)
            }
        }
    }

    /// Returns whether a message has a waiting receive. Each `true` consumes it. A partitioned one that a call
    /// waits for has none; see `join::partitions`.
    pub fn is_received(&mut self, sender: ProcessIndex, message: &Message) -> bool {
        if message.partitioned {
            return false;
        }
        match self.received.get_mut(&(sender, message.to, message.comm, message.tag)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// Returns all posted receives, by process and in posting order, each with the message on its way to it.
    pub fn posted(&self) -> &[(Posted<'a>, Option<Sent<'a>>)] {
        &self.posted
    }

    /// Returns those of one process.
    pub fn posted_by(&self, receiver: ProcessIndex) -> &[(Posted<'a>, Option<Sent<'a>>)] {
        let first = self.posted.partition_point(|((of, _), _)| *of < receiver);
        let own = self.posted.get(first..).unwrap_or_default();
        let count = own.partition_point(|((of, _), _)| *of == receiver);
        own.get(..count).unwrap_or_default()
    }

    /// Returns whether a probe has matched a message of [`left`](Self::left).
    pub fn is_matched(&self, message: &Message) -> bool {
        self.matched.contains(&std::ptr::from_ref(message))
    }

    /// Returns messages to a process that match no posted receive; those matched by a probe come last.
    pub fn left(&self, receiver: ProcessIndex) -> &[Sent<'a>] {
        self.left.get(&receiver).map_or(&[], Vec::as_slice)
    }
}

/// The messages to one process by envelope, each queue in sending order, so that finding one does not scan
/// others.
struct Queues<'a> {
    by_envelope: HashMap<(ProcessIndex, CommIndex, i32), Vec<usize>>,
    senders: HashMap<CommIndex, Vec<ProcessIndex>>,
    messages: Vec<Option<Sent<'a>>>,
}

impl<'a> Queues<'a> {
    fn new(messages: &[Sent<'a>]) -> Self {
        let mut by_envelope: HashMap<_, Vec<usize>> = HashMap::new();
        let mut senders: HashMap<_, Vec<ProcessIndex>> = HashMap::new();
        for (at, (sender, message)) in messages.iter().enumerate().filter(|(_, (_, one))| !one.partitioned) {
            by_envelope.entry((*sender, message.comm, message.tag)).or_default().push(at);
            let known = senders.entry(message.comm).or_default();
            if known.last() != Some(sender) {
                known.push(*sender);
            }
        }
        // The oldest is taken from the end.
        by_envelope.values_mut().for_each(|queue| queue.reverse());
        Self { by_envelope, senders, messages: messages.iter().copied().map(Some).collect() }
    }

    fn take(&mut self, receive: &Match) -> Option<Sent<'a>> {
        let at = match (receive.from, receive.tag) {
            (super::Peer::One(sender), Some(tag)) => self.pop(sender, receive.comm, tag),
            (super::Peer::Any, Some(tag)) => {
                let senders = self.senders.get(&receive.comm).cloned().unwrap_or_default();
                senders.into_iter().find_map(|sender| self.pop(sender, receive.comm, tag))
            }
            (_, None) => self.oldest(receive),
        }?;
        self.messages.get_mut(at)?.take()
    }

    fn take_from(&mut self, sender: ProcessIndex, receive: &Match) -> Option<Sent<'a>> {
        self.take(&Match { from: super::Peer::One(sender), ..*receive })
    }

    fn pop(&mut self, sender: ProcessIndex, comm: CommIndex, tag: i32) -> Option<usize> {
        let queue = self.by_envelope.get_mut(&(sender, comm, tag))?;
        loop {
            let at = queue.pop()?;
            if self.messages.get(at).is_some_and(Option::is_some) {
                return Some(at);
            }
        }
    }

    fn oldest(&self, receive: &Match) -> Option<usize> {
        let fits = |sent: &Option<Sent<'a>>| sent.is_some_and(|(sender, m)| receive.fits(sender, m));
        self.messages.iter().position(fits)
    }

    fn rest(self) -> Vec<Sent<'a>> {
        self.messages.into_iter().flatten().collect()
    }
}
