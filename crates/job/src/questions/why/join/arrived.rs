//! Messages sent to a process that it has no receive for.

use super::{all_ranks, made};
use crate::observation::Observation;
use crate::questions::why::messages::Pairs;
use crate::questions::why::snapshot::Condition;
use std::collections::HashMap;

/// Messages to a process that match none of its posted receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// By sender, oldest first.
    pub messages: Vec<Arrived>,
    /// Whether these are all: every process of the job was observed, and none of their message records were
    /// lost.
    pub complete: bool,
}

/// A message without a matching receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// Identity of the communicator.
    pub comm: u64,
    /// The sender as the receiver knows it: its rank in its own group.
    pub from: u32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
}

/// Returns the messages to the process that `is_receiver` recognizes; `None` if it was not observed.
pub fn arrived(observations: &[Observation], is_receiver: impl Fn(&Observation) -> bool) -> Option<Arrivals> {
    let (slots, communicators) = all_ranks(observations);
    let receiver = slots.iter().position(|(_, _, seen)| seen.is_some_and(&is_receiver))?;
    let snapshot = made(observations, "it was not seen", &HashMap::new());
    let pairs = Pairs::of(&snapshot);
    let left = pairs.left(u32::try_from(receiver).ok()?);
    let messages = left.iter().filter(|(_, message)| !pairs.is_matched(message));
    let messages = messages.filter_map(|(sender, message)| {
        let (_, _, seen) = slots.get(*sender as usize)?;
        let known = |comm: &&crate::observation::Communicator| {
            communicators.index(comm.identity) == Some(message.comm)
        };
        let comm = (*seen)?.communicators.iter().find(known)?;
        Some(Arrived { comm: comm.identity, from: comm.rank, tag: message.tag, bytes: message.bytes })
    });
    Some(Arrivals {
        messages: messages.collect(),
        complete: snapshot
            .processes
            .iter()
            .all(|process| !process.lost && !matches!(process.condition, Condition::Unseen(_))),
    })
}
