//! The message queues of a whole job: messages sent and not received, receives posted with no message sent,
//! and which of them match.
//!
//! Derived from the same [`Snapshot`] and by the same pairing as [`why`](super::why), so a message that `why`
//! calls missing is missing here too. One side alone cannot provide this: an MPI library's own queues show
//! the receiver what has arrived and never what is still held by the sender, whereas both sides together show
//! each message exactly once.

use super::why::{
    PartitionedEnd, PartitionedMessage, Peer, Snapshot, messages::Pairs, not_seen, words::Words,
};
use serde::Serialize;

/// Name and version of the schema of `mpiscope queues --json`.
pub const SCHEMA: &str = "mpiscope.queues/1";

/// The queues of a job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queues {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    pub schema: &'static str,
    /// Communicators with entries in their queues.
    pub communicators: Vec<Queue>,
    /// What is not known, as text for users.
    pub not_seen: Vec<String>,
}

/// The queues of one communicator across all its members.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// Its name, or otherwise its identity.
    pub communicator: String,
    /// Grouped by receiver, oldest first: posted receives, then messages that match none of them; at the end partitioned
    /// messages.
    pub entries: Vec<Entry>,
}

/// State of an [`Entry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A receive is posted; no matching message has been sent.
    Posted,
    /// A message was sent; no matching receive is posted.
    Unexpected,
    /// A message was sent and a matching receive is posted.
    Paired,
    /// A message was sent and matched by a probe (`MPI_Mprobe`) but has not been received.
    Matched,
}

impl State {
    /// Returns the state as text for users.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Posted => "posted",
            Self::Unexpected => "unexpected",
            Self::Paired => "paired",
            Self::Matched => "matched",
        }
    }
}

/// A message, a receive, or both.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// State of the entry.
    pub state: State,
    /// Rank of the receiver in its world, prefixed with `world.` if there are several worlds.
    pub to: String,
    /// Rank of the sender; `None` for a receive from any source.
    pub from: Option<String>,
    /// Tag; `None` for a receive with any tag.
    pub tag: Option<i32>,
    /// Size of the message in bytes, if there is one.
    pub bytes: Option<u64>,
    /// Size of the receive buffer in bytes, if known.
    pub room: Option<u64>,
    /// Where the message was sent, if known.
    pub sent_at: Option<String>,
    /// Where the receive was posted, if known.
    pub posted_at: Option<String>,
}

/// Returns the queues at the time of a snapshot.
#[must_use]
pub fn queues(snapshot: &Snapshot) -> Queues {
    let (pairs, words) = (Pairs::of(snapshot), Words::new(snapshot));
    let mut by_comm: Vec<Vec<Entry>> = snapshot.communicators.iter().map(|_| Vec::new()).collect();
    let text = |place: &Option<std::sync::Arc<str>>| place.as_deref().map(str::to_owned);
    for ((receiver, receive), sent) in pairs.posted() {
        let Some(entries) = by_comm.get_mut(receive.matches.comm as usize) else { continue };
        let named = match receive.matches.from {
            Peer::One(from) => Some(from),
            Peer::Any => None,
        };
        let message = sent.map(|(_, message)| message);
        entries.push(Entry {
            state: if sent.is_some() { State::Paired } else { State::Posted },
            to: words.rank(*receiver),
            from: sent.map(|(sender, _)| sender).or(named).map(|rank| words.rank(rank)),
            tag: message.map(|message| message.tag).or(receive.matches.tag),
            bytes: message.map(|message| message.bytes),
            room: receive.room,
            sent_at: message.and_then(|message| text(&message.place)),
            posted_at: text(&receive.place),
        });
    }
    for receiver in (0..).take(snapshot.processes.len()) {
        for (sender, message) in pairs.left(receiver).iter().filter(|(_, message)| !message.partitioned) {
            let Some(entries) = by_comm.get_mut(message.comm as usize) else { continue };
            entries.push(Entry {
                state: if pairs.is_matched(message) { State::Matched } else { State::Unexpected },
                to: words.rank(receiver),
                from: Some(words.rank(*sender)),
                tag: Some(message.tag),
                bytes: Some(message.bytes),
                room: None,
                sent_at: text(&message.place),
                posted_at: None,
            });
        }
    }
    for message in &snapshot.partitioned {
        if let Some(entries) = by_comm.get_mut(message.comm as usize) {
            entries.push(partitioned(message, &words));
        }
    }
    let named = snapshot.communicators.iter().zip(by_comm).filter(|(_, entries)| !entries.is_empty());
    let queue = |(comm, entries): (&super::why::Communicator, _)| Queue {
        communicator: comm.name.to_string(),
        entries,
    };
    Queues { schema: SCHEMA, communicators: named.map(queue).collect(), not_seen: not_seen(&words, snapshot) }
}

/// Returns the entry of a partitioned message.
fn partitioned(message: &PartitionedMessage, words: &Words<'_>) -> Entry {
    let PartitionedMessage { tag, sender, receiver, sent, received, .. } = message;
    let place = |end: &Option<PartitionedEnd>| end.as_ref()?.place.as_deref().map(str::to_owned);
    let bytes = |end: &Option<PartitionedEnd>| end.as_ref()?.bytes;
    Entry {
        state: match (sent, received) {
            (Some(_), Some(_)) => State::Paired,
            (Some(_), None) => State::Unexpected,
            (None, _) => State::Posted,
        },
        to: words.rank(*receiver),
        from: Some(words.rank(*sender)),
        tag: Some(*tag),
        bytes: bytes(sent),
        room: bytes(received),
        sent_at: place(sent),
        posted_at: place(received),
    }
}

#[cfg(test)]
mod tests {
    use super::super::why::scene::{Scene, WORLD};
    use super::super::why::{Match, Message, Peer, Receive};
    use super::*;

    fn message(to: u32, tag: i32) -> Message {
        Message { to, comm: WORLD, tag, bytes: 8, place: Some("send.c:1".into()), partitioned: false }
    }

    fn receive(from: Peer, tag: Option<i32>) -> Receive {
        Receive {
            matches: Match { from, comm: WORLD, tag, partitioned: false },
            room: Some(64),
            element: None,
            place: Some("recv.c:2".into()),
            got: None,
            overwritten: None,
            matched: false,
            took: None,
            order: u64::MAX,
        }
    }

    #[test]
    fn every_message_and_receive_appears_once_and_matches_are_paired() {
        let mut scene = Scene::of(3);
        scene.process(0).sent = vec![message(1, 41), message(1, 7)];
        scene.process(1).posted = vec![receive(Peer::One(0), Some(42)), receive(Peer::Any, Some(7))];
        let found = queues(&scene.0);
        let entries = &found.communicators[0].entries;
        let shown: Vec<_> =
            entries.iter().map(|e| (e.state, e.from.as_deref(), e.to.as_str(), e.tag)).collect();
        let expected = [
            (State::Posted, Some("0"), "1", Some(42)),
            (State::Paired, Some("0"), "1", Some(7)),
            (State::Unexpected, Some("0"), "1", Some(41)),
        ];
        assert_eq!(shown, expected);
        assert_eq!((entries[1].bytes, entries[1].room), (Some(8), Some(64)));
    }

    #[test]
    fn a_message_matched_by_a_probe_is_not_available_to_a_later_receive() {
        let mut scene = Scene::of(2);
        scene.process(0).sent = vec![message(1, 7)];
        let probe = Receive { matched: true, ..receive(Peer::Any, Some(7)) };
        scene.process(1).posted = vec![probe, receive(Peer::One(0), Some(7))];
        let found = queues(&scene.0);
        let states: Vec<_> = found.communicators[0].entries.iter().map(|entry| entry.state).collect();
        assert_eq!(states, [State::Posted, State::Matched]);
    }

    #[test]
    fn partitioned_messages_are_listed_as_far_as_they_were_started() {
        let end = |bytes| Some(PartitionedEnd { bytes: Some(bytes), place: Some("part.c:3".into()) });
        let message = |sent, received| PartitionedMessage {
            comm: WORLD,
            tag: 5,
            sender: 0,
            receiver: 1,
            sent,
            received,
        };
        let mut scene = Scene::of(2);
        // Also among those sent, since the receiver has made no request.
        scene.process(0).sent = vec![Message { partitioned: true, ..self::message(1, 5) }];
        scene.0.partitioned = vec![message(end(16), None), message(None, end(32)), message(end(16), end(32))];
        let found = queues(&scene.0);
        let entries = found.communicators[0].entries.iter();
        let shown: Vec<_> = entries.map(|one| (one.state, one.bytes, one.room)).collect();
        let expected = [
            (State::Unexpected, Some(16), None),
            (State::Posted, None, Some(32)),
            (State::Paired, Some(16), Some(32)),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_wildcard_receive_names_no_sender() {
        let mut scene = Scene::of(2);
        scene.process(0).posted = vec![receive(Peer::Any, None)];
        let found = queues(&scene.0);
        let entry = &found.communicators[0].entries[0];
        assert_eq!((entry.state, entry.from.as_deref(), entry.tag), (State::Posted, None, None));
        assert!(queues(&Scene::of(2).0).communicators.is_empty());
    }
}
