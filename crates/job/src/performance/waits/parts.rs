//! Waits by what they belong to: the collectives of one function, or the messages from one rank to another, on
//! one communicator.

use super::alike::Who;
use super::{OfCollectives, OfMessages, as_list};
use crate::jobs::worlds::Members;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of parts remembered.
const MOST: usize = 1 << 16;
/// Maximum length of each list of a report; those with the most time are kept.
const MOST_LISTED: usize = 1 << 12;

/// The end of a message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum End {
    Sender,
    Receiver,
}

/// What a wait belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// Collectives of this function on this communicator.
    Collectives(u64, String),
    /// Messages between two processes on this communicator; the end that waited.
    Messages(u64, [Who; 2], End),
}

impl Part {
    /// Messages on a communicator of which `who` is one end and waited for the other.
    pub fn of_message(comm: u64, who: &Who, other: &Who, end: End) -> Self {
        let ends = if end == End::Sender { [who, other] } else { [other, who] };
        Self::Messages(comm, ends.map(Who::clone), end)
    }
}

/// Seconds of waiting by part, including estimates for what was not observed.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Parts(
    #[serde(
        serialize_with = "as_list::serialize",
        deserialize_with = "as_list::at_most::<MOST, _, _, _, _>"
    )]
    BTreeMap<Part, f64>,
);

impl Parts {
    /// Adds waits.
    pub fn add(&mut self, part: Part, seconds: f64) {
        if self.0.len() < MOST || self.0.contains_key(&part) {
            *self.0.entry(part).or_default() += seconds;
        }
    }

    /// Adds those observed on another host.
    pub fn take_in(&mut self, Self(other): Self) {
        other.into_iter().for_each(|(part, seconds)| self.add(part, seconds));
    }

    /// Returns the waits in collectives and for messages, each in descending order of time. `number` maps a
    /// world to its number in the job.
    pub fn listed(self, number: impl Fn(&str) -> usize) -> (Vec<OfCollectives>, Vec<OfMessages>) {
        let name = |(world, rank): &Who| Members::from_iter([(number(world), *rank)]).to_string();
        let mut collectives = Vec::new();
        let mut messages: BTreeMap<(u64, [String; 2]), [f64; 2]> = BTreeMap::new();
        for (part, seconds) in self.0 {
            match part {
                Part::Collectives(comm, function) => {
                    collectives.push(OfCollectives { identity: identity(comm), function, seconds });
                }
                Part::Messages(comm, ends, end) => {
                    let [sender, receiver] = messages.entry((comm, ends.each_ref().map(name))).or_default();
                    *match end {
                        End::Sender => sender,
                        End::Receiver => receiver,
                    } += seconds;
                }
            }
        }
        let pair = |((comm, [from, to]), [sender_s, receiver_s]): ((u64, [String; 2]), [f64; 2])| {
            let identity = identity(comm);
            OfMessages { identity, from, to, sender_s, receiver_s }
        };
        let mut messages: Vec<OfMessages> = messages.into_iter().map(pair).collect();
        collectives.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        messages.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
        collectives.truncate(MOST_LISTED);
        messages.truncate(MOST_LISTED);
        (collectives, messages)
    }
}

/// The identity of a communicator as text, as in all views.
pub fn identity(comm: u64) -> String {
    format!("{comm:#x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_messages_of_two_ranks_are_one_line_and_survive_the_way_to_another_host() {
        let who = |rank| (std::sync::Arc::from("w"), Some(rank));
        let mut here = Parts::default();
        here.add(Part::Messages(7, [who(0), who(1)], End::Receiver), 1.0);
        here.add(Part::Collectives(7, "MPI_Bcast".into()), 0.5);
        let mut there = Parts::default();
        there.add(Part::Messages(7, [who(0), who(1)], End::Sender), 0.25);
        there.add(Part::Collectives(7, "MPI_Bcast".into()), 0.5);
        let sent = serde_json::to_string(&there).unwrap_or_default();
        here.take_in(serde_json::from_str(&sent).unwrap_or_default());
        let (collectives, messages) = here.listed(|_| 0);
        let bcasts = OfCollectives { identity: "0x7".into(), function: "MPI_Bcast".into(), seconds: 1.0 };
        let (from, to) = ("0".to_owned(), "1".to_owned());
        let both = OfMessages { identity: "0x7".into(), from, to, sender_s: 0.25, receiver_s: 1.0 };
        assert_eq!((collectives, messages), (vec![bcasts], vec![both]));
    }
}
