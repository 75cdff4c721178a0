//! Messages that nobody received.
//!
//! Left out are messages that a receive may have taken although the records do not show it: one from any source,
//! or one whose request was freed; and those of calls that failed, which have not been sent. Messages matched but
//! not received, and those whose receive is not complete, are other findings.

use super::{Finding, Kind, Whose, pending};
use crate::jobs::worlds::Members;
use crate::observation::Observation;
use crate::questions::why::messages::Pairs;
use crate::questions::why::{Message, Outcome, Peer, Process, ProcessIndex, Receive, Snapshot, Words};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Key for equal messages of a sender: receiver, communicator, tag, line.
type Alike = (ProcessIndex, u32, i32, Option<Arc<str>>);

/// Returns the messages that nobody received, one finding for equal ones of each sender.
pub(super) fn unreceived(
    observations: &[Observation],
    snapshot: &Snapshot,
    words: &Words<'_>,
    whose: &Whose,
) -> Vec<Finding> {
    let pairs = Pairs::of(snapshot);
    let receivers = Receivers::of(&pairs, pending::untold(observations, whose), words);
    let mut found: BTreeMap<(ProcessIndex, Alike), (u64, &Message)> = BTreeMap::new();
    for (sender, process) in (0..).zip(&snapshot.processes) {
        let unsent = unsent(process);
        let left = process.sent.iter().filter(|message| {
            !unsent.contains(&std::ptr::from_ref(*message)) && !receivers.may_have(sender, message)
        });
        for message in left {
            let alike = (message.to, message.comm, message.tag, message.place.clone());
            found.entry((sender, alike)).or_insert((0, message)).0 += 1;
        }
    }
    let finding = |((sender, _), (count, message))| finding(words, sender, count, message);
    found.into_iter().map(finding).collect()
}

fn finding(words: &Words<'_>, sender: ProcessIndex, count: u64, message: &Message) -> Finding {
    let what = match count {
        1 => words.sent(message),
        _ => format!("{count} times {}", words.sent(message)),
    };
    Finding {
        kind: Kind::MESSAGE_NEVER_RECEIVED,
        ranks: words.members([sender]),
        line: message.place.as_deref().map(str::to_owned),
        sentence: format!("rank {} sent {what}, which nobody received", words.rank(sender)),
    }
}

/// Returns the last message of each call that cannot succeed: it has not been sent.
fn unsent(process: &Process) -> HashSet<*const Message> {
    let failed = process.failed.iter().filter(|one| matches!(one.outcome, Outcome::Given(_)));
    let last = failed.filter_map(|one| process.sent.iter().rfind(|message| message.place == one.place));
    last.map(std::ptr::from_ref).collect()
}

/// What is known of the receives of a job.
struct Receivers<'a> {
    pairs: &'a Pairs<'a>,
    /// Messages whose receives are posted.
    awaited: HashSet<*const Message>,
    /// Receives from any source that have a message. They do not tell which one they took.
    wild: Vec<(ProcessIndex, &'a Receive)>,
    /// Receives whose requests were freed, with the tag if they named one. What they took is unknown.
    untold: Vec<(Members, Option<i32>)>,
    words: &'a Words<'a>,
}

impl<'a> Receivers<'a> {
    fn of(pairs: &'a Pairs<'a>, untold: Vec<(Members, Option<i32>)>, words: &'a Words<'a>) -> Self {
        let met = || pairs.posted().iter().filter_map(|(posted, sent)| Some((*posted, (*sent)?)));
        let awaited = met().map(|(_, (_, message))| std::ptr::from_ref(message)).collect();
        let from_any = |(_, receive): &(ProcessIndex, &Receive)| receive.matches.from == Peer::Any;
        let wild = met().map(|(posted, _)| posted).filter(from_any).collect();
        Self { pairs, awaited, wild, untold, words }
    }

    /// Whether a message may have been received, or may still be.
    fn may_have(&self, sender: ProcessIndex, message: &Message) -> bool {
        self.pairs.is_matched(message)
            || self.awaited.contains(&std::ptr::from_ref(message))
            || self
                .wild
                .iter()
                .any(|(to, receive)| *to == message.to && receive.matches.fits(sender, message))
            || self.untold.iter().any(|(who, tag)| {
                tag.is_none_or(|tag| tag == message.tag) && *who == self.words.members([message.to])
            })
    }
}
