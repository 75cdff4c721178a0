//! Messages to stuck processes that match none of their receives: often the other half of the mistake. And the
//! receives that their receivers have cancelled, which may have been meant for them.

use super::blocked::Blocked;
use super::evidence::bounded;
use super::messages::Pairs;
use super::snapshot::{CommIndex, Process, ProcessIndex};
use super::verdict::Evidence;
use super::words::{Words, ranks, size, verb};
use std::collections::HashMap;

/// Messages that differ only in their two ends.
#[derive(Default)]
struct Alike {
    count: usize,
    to: Vec<ProcessIndex>,
    from: Vec<ProcessIndex>,
    bytes: u64,
}

/// Returns one line for each sending place, most messages first, omitting messages mentioned in the verdict.
pub fn leftover(words: &Words<'_>, pairs: &Pairs<'_>, blocked: &Blocked, verdict: &str) -> Vec<Evidence> {
    let mut lines: HashMap<(CommIndex, i32, Option<&str>), Alike> = HashMap::new();
    for to in blocked.stuck() {
        for (from, message) in pairs.left(to).iter().filter(|(_, message)| !pairs.is_matched(message)) {
            let alike = lines.entry((message.comm, message.tag, message.place.as_deref())).or_default();
            if alike.count == 0 && verdict.contains(&words.sent(message)) {
                continue;
            }
            alike.count += 1;
            alike.to.push(to);
            alike.from.push(*from);
            alike.bytes = message.bytes;
        }
    }
    let mut lines: Vec<_> = lines.into_iter().filter(|(_, alike)| alike.count > 0).collect();
    lines.sort_by_key(|(at, alike)| (usize::MAX - alike.count, *at));
    let said = |((comm, tag, place), alike): ((CommIndex, i32, Option<&str>), Alike)| {
        let (to, from) = (words.members(alike.to), ranks(&words.members(alike.from)));
        let what = match alike.count {
            1 => "a message".to_owned(),
            count => format!("{count} messages"),
        };
        let has = verb(&to, "has", "have");
        let size = size(alike.bytes, "sent at ", place);
        let comm = words.comm(comm);
        Evidence {
            ranks: to,
            what: format!("{has} not received {what} with tag {tag} from {from} on {comm}{size}"),
            function: None,
            place: place.map(str::to_owned),
            since_s: None,
            stuck: true,
        }
    };
    bounded(lines.into_iter().map(said).collect(), "messages that were not received")
}

/// Returns a line for each receiver of such a message, or of one that a stuck process waits to see received, that
/// has cancelled receives.
pub fn cancelled(words: &Words<'_>, pairs: &Pairs<'_>, blocked: &Blocked) -> Vec<Evidence> {
    let is_stuck = |one: ProcessIndex| blocked.stuck.get(one as usize).copied().unwrap_or(false);
    let concerned = |to: ProcessIndex| {
        let left = pairs.left(to);
        !left.is_empty() && (is_stuck(to) || left.iter().any(|(from, _)| is_stuck(*from)))
    };
    let line = |(to, process): (ProcessIndex, &Process)| {
        let what = match process.cancelled_receives {
            0 => return None,
            1 => "has cancelled a receive, which took no message".to_owned(),
            count => format!("has cancelled {count} receives, which took no message"),
        };
        let ranks = words.members([to]);
        concerned(to).then(|| Evidence {
            ranks,
            what,
            function: None,
            place: None,
            since_s: None,
            stuck: is_stuck(to),
        })
    };
    let lines = (0..).zip(&words.snapshot.processes).filter_map(line);
    bounded(lines.collect(), "ranks that have cancelled receives")
}
