//! The message queues of a whole job: what was sent and not received, what is posted and not sent, and what fits what.
//!
//! From the same [`Snapshot`] and by the same pairing as [`why`](super::why): a message that `why` calls missing is missing
//! here. One side alone cannot answer this. An MPI library's own queues show the receiver what has arrived and never what is
//! still with the sender; both sides together show each message once.

use super::why::{Peer, Snapshot, messages::Pairs, not_seen, words::Words};
use serde::Serialize;

/// Name and version of the schema of `mpiscope queues --json`.
pub const SCHEMA: &str = "mpiscope.queues/1";

/// The queues of a job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queues {
    /// Name and version of this form: fields may be added to it, none changes its meaning.
    pub schema: &'static str,
    /// The communicators with anything in their queues.
    pub communicators: Vec<Queue>,
    /// What is not known, for people.
    pub not_seen: Vec<String>,
}

/// The queues of a communicator over all its members.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queue {
    /// Its name, or its identity.
    pub communicator: String,
    /// By receiver and oldest first: posted receives, then messages that none of them fits.
    pub entries: Vec<Entry>,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A receive is posted; no message that fits has been sent.
    Posted,
    /// A message was sent; no receive that fits is posted.
    Unexpected,
    /// A message was sent and a receive that fits is posted.
    Paired,
    /// A message was sent and matched by a probe (`MPI_Mprobe`), and not received.
    Matched,
}

impl State {
    /// For people.
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
    /// What it is.
    pub state: State,
    /// The receiver: its rank in the world, after `world.` if there are several.
    pub to: String,
    /// The sender; `None` where the receive names nobody in particular.
    pub from: Option<String>,
    /// The tag; `None` where the receive names none.
    pub tag: Option<i32>,
    /// Bytes of the message, if there is one.
    pub bytes: Option<u64>,
    /// Room of the receive in bytes, if that is known.
    pub room: Option<u64>,
    /// Where the message was sent, if that is known.
    pub sent_at: Option<String>,
    /// Where the receive was posted, if that is known.
    pub posted_at: Option<String>,
}

/// The queues at one look.
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
        for (sender, message) in pairs.left(receiver) {
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
    let named = snapshot.communicators.iter().zip(by_comm).filter(|(_, entries)| !entries.is_empty());
    let queue = |(comm, entries): (&super::why::Communicator, _)| Queue {
        communicator: comm.name.to_string(),
        entries,
    };
    Queues { schema: SCHEMA, communicators: named.map(queue).collect(), not_seen: not_seen(&words, snapshot) }
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
            matches: Match { from, comm: WORLD, tag },
            room: Some(64),
            place: Some("recv.c:2".into()),
            got: None,
            overwritten: None,
            matched: false,
            order: u64::MAX,
        }
    }

    #[test]
    fn every_message_and_every_receive_stands_once_and_what_fits_stands_together() {
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
    fn a_message_that_a_probe_has_matched_is_not_there_for_a_later_receive() {
        let mut scene = Scene::of(2);
        scene.process(0).sent = vec![message(1, 7)];
        let probe = Receive { matched: true, ..receive(Peer::Any, Some(7)) };
        scene.process(1).posted = vec![probe, receive(Peer::One(0), Some(7))];
        let found = queues(&scene.0);
        let states: Vec<_> = found.communicators[0].entries.iter().map(|entry| entry.state).collect();
        assert_eq!(states, [State::Posted, State::Matched]);
    }

    #[test]
    fn what_any_rank_may_send_with_any_tag_names_nobody() {
        let mut scene = Scene::of(2);
        scene.process(0).posted = vec![receive(Peer::Any, None)];
        let found = queues(&scene.0);
        let entry = &found.communicators[0].entries[0];
        assert_eq!((entry.state, entry.from.as_deref(), entry.tag), (State::Posted, None, None));
        assert!(queues(&Scene::of(2).0).communicators.is_empty());
    }
}
