//! Waits by what they belong to: the collectives of one function, or the messages from one rank to another, on
//! one communicator.

use super::alike::{End, Of, Who};
use super::merge::Amounts;
use super::{OfCollectives, OfMessages};
use crate::jobs::worlds::Members;
use std::collections::BTreeMap;

/// Maximum length of each list of a report; those with the most time are kept.
const MOST_LISTED: usize = 1 << 12;

/// Seconds in which the sender and the receiver waited.
type BothEnds = [f64; 2];

/// Returns the waits in collectives and for messages, including estimates for what was not observed, each in
/// descending order of time. `number` maps a world to its number in the job.
pub fn listed(found: &Amounts, number: impl Fn(&str) -> usize) -> (Vec<OfCollectives>, Vec<OfMessages>) {
    let name = |(world, rank): &Who| Members::from_iter([(number(world), *rank)]).to_string();
    let mut collectives: BTreeMap<(u64, &str), f64> = BTreeMap::new();
    let mut messages: BTreeMap<(u64, [&Who; 2]), BothEnds> = BTreeMap::new();
    for (key, amount) in found {
        match &key.of {
            Some(Of::Collectives(comm, function)) => {
                *collectives.entry((*comm, function)).or_default() += amount.estimated_s();
            }
            Some(Of::Messages(comm, end)) => {
                for (who, waited) in &amount.ranks {
                    let sends = *end == End::Sender;
                    let ends = if sends { [who, &key.culprit] } else { [&key.culprit, who] };
                    let [sender, receiver] = messages.entry((*comm, ends)).or_default();
                    *if sends { sender } else { receiver } += waited.estimated_s;
                }
            }
            None => {}
        }
    }
    let collective = |((comm, function), seconds): ((u64, &str), f64)| OfCollectives {
        identity: identity(comm),
        function: function.to_owned(),
        seconds,
    };
    let pair = |((comm, [from, to]), [sender_s, receiver_s]): ((u64, [&Who; 2]), BothEnds)| OfMessages {
        identity: identity(comm),
        from: name(from),
        to: name(to),
        sender_s,
        receiver_s,
    };
    let mut collectives: Vec<OfCollectives> = collectives.into_iter().map(collective).collect();
    let mut messages: Vec<OfMessages> = messages.into_iter().map(pair).collect();
    collectives.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    messages.sort_by(|a, b| b.seconds().total_cmp(&a.seconds()));
    collectives.truncate(MOST_LISTED);
    messages.truncate(MOST_LISTED);
    (collectives, messages)
}

/// The identity of a communicator as text, as in all views.
pub fn identity(comm: u64) -> String {
    format!("{comm:#x}")
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::super::alike::Alike;
    use super::super::merge::{self, Amount, Waited};
    use super::super::sent;
    use super::*;
    use std::sync::Arc;

    fn rank(rank: u32) -> Who {
        (Arc::from("w"), Some(rank))
    }

    fn waits(all: &[(Of, u32, u32, f64)]) -> Amounts {
        let mut found = Amounts::new();
        for (of, who, culprit, estimated_s) in all {
            let key = Alike {
                kind: Kind::N_TO_N,
                function: "MPI_Wait".into(),
                line: None,
                culprit: rank(*culprit),
                meanwhile: "computing".into(),
                of: Some(of.clone()),
            };
            let waited = Waited { ns: 1, estimated_s: *estimated_s };
            merge::add(&mut found, key, Amount { ranks: [(rank(*who), waited)].into(), ..Amount::default() });
        }
        found
    }

    #[test]
    fn both_ends_of_messages_of_two_ranks_are_one_line_and_survive_the_way_to_another_host() {
        let collectives = || Of::Collectives(7, "MPI_Bcast".into());
        let mut here = waits(&[(Of::Messages(7, End::Receiver), 1, 0, 1.0), (collectives(), 1, 0, 0.5)]);
        let there = waits(&[(Of::Messages(7, End::Sender), 0, 1, 0.25), (collectives(), 0, 1, 0.5)]);
        let mut text = Vec::new();
        sent::serialize(&there, &mut serde_json::Serializer::new(&mut text)).unwrap();
        let there = sent::deserialize(&mut serde_json::Deserializer::from_slice(&text)).unwrap();
        there.into_iter().for_each(|(key, amount)| merge::add(&mut here, key, amount));
        let (collectives, messages) = listed(&here, |_| 0);
        let bcasts = OfCollectives { identity: "0x7".into(), function: "MPI_Bcast".into(), seconds: 1.0 };
        let (from, to) = ("0".to_owned(), "1".to_owned());
        let both = OfMessages { identity: "0x7".into(), from, to, sender_s: 0.25, receiver_s: 1.0 };
        assert_eq!((collectives, messages), (vec![bcasts], vec![both]));
    }
}
