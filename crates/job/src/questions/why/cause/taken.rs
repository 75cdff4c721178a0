//! Awaited messages that went to a receive which the same process had posted earlier and no longer waits for.

use super::Case;
use crate::questions::why::blocked::Blocked;
use crate::questions::why::messages::Sent;
use crate::questions::why::snapshot::{Need, Process, ProcessIndex, Receive};
use crate::questions::why::verdict::Evidence;
use std::collections::{BTreeMap, HashSet};

/// A receive posted earlier, and the message it took.
pub(super) struct Taken<'a> {
    by: &'a Receive,
    sent: Sent<'a>,
}

/// Receives at one place that took messages others wait for.
#[derive(Default)]
struct Line {
    /// The receiving processes.
    ranks: Vec<ProcessIndex>,
    /// What the first of them received.
    what: String,
}

impl Taken<'_> {
    /// Formats `an earlier receive, at a.c:7, which nothing waits for`.
    pub(super) fn by(&self) -> String {
        let at = self.by.place.as_ref().map_or_else(String::new, |place| format!(", at {place}"));
        match &self.by.overwritten {
            Some(over) => format!(
                "an earlier receive{at}, which nothing can wait for since its request was overwritten with another \
                 one at {over}"
            ),
            None => format!("an earlier receive{at}, which nothing waits for"),
        }
    }
}

impl<'s> Case<'s> {
    /// Returns the earlier receive that took a message this receive would have matched, if no call of its
    /// process waits for it.
    pub(super) fn taken_before(&self, receiver: ProcessIndex, receive: &Receive) -> Option<Taken<'_>> {
        let calls = self.process(receiver).into_iter().flat_map(Process::calls);
        let needs = calls.flat_map(|call| call.wait.needs().iter().chain(&call.met));
        let waited: HashSet<u64> = needs
            .filter_map(|need| match need {
                Need::Message(other) => Some(other.order),
                _ => None,
            })
            .collect();
        self.pairs().posted_by(receiver).iter().find_map(|((_, posted), sent)| {
            let sent = (*sent).filter(|(sender, message)| receive.matches.fits(*sender, message))?;
            let before = posted.order < receive.order && !waited.contains(&posted.order);
            before.then_some(Taken { by: posted, sent })
        })
    }

    /// Returns one line for each place with such a receive.
    pub(super) fn taken_elsewhere(&self, found: &Blocked) -> Vec<Evidence> {
        let mut known = HashSet::new();
        let once =
            |(receiver, receive): &(ProcessIndex, &Receive)| known.insert((*receiver, receive.matches));
        let mut lines: BTreeMap<(Option<&str>, String), Line> = BTreeMap::new();
        for (receiver, receive) in self.receives(found).filter(once) {
            let Some(taken) = self.taken_before(receiver, receive) else { continue };
            let line = lines.entry((taken.by.place.as_deref(), taken.by())).or_default();
            line.ranks.push(receiver);
            if line.what.is_empty() {
                let (sender, message) = taken.sent;
                line.what = format!("rank {} sent {}", self.words.rank(sender), self.words.sent(message));
            }
        }
        let said = |((place, by), line): ((Option<&str>, String), Line)| Evidence {
            ranks: self.words.members(line.ranks),
            what: format!("{}, and it went to {by}", line.what),
            function: None,
            place: place.map(str::to_owned),
            since_s: None,
            stuck: true,
        };
        lines.into_iter().map(said).collect()
    }
}
