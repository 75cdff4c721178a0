//! Which message each receive from any source has taken, where the time that has passed tells.
//!
//! Such a receive may take a message of any sender, and `messages` assumes the lowest rank. What it took decides
//! whether a later receive that names its sender finds a message. If all that ranks wait for would be on its way,
//! and yet nothing has moved for long, the assumption is wrong: a message that has been sent arrives soon if both
//! sides are in MPI calls. So the earlier receive took the message that a later one names.

use super::blocked::blocked;
use super::progress;
use super::snapshot::{Match, Message, Need, Peer, Process, ProcessIndex, Receive, Snapshot};
use std::collections::HashSet;

/// A model in which receives from any source took what later ones name, and for how many seconds nothing has
/// moved, from which this follows.
pub struct Matched {
    pub snapshot: Snapshot,
    pub still_s: f64,
}

/// Returns that model if it explains why nothing moves and the usual one does not.
pub fn matched(snapshot: &Snapshot, acts: &[bool], completed: u64) -> Option<Matched> {
    let still_s = progress::long_still(snapshot).filter(|_| completed == 0)?;
    let changed = with_earlier_matches(snapshot)?;
    let is_stuck = |snapshot: &Snapshot| blocked(snapshot, acts, false).stuck().next().is_some();
    (!is_stuck(snapshot) && is_stuck(&changed)).then_some(Matched { snapshot: changed, still_s })
}

/// Returns a model in which each receive from any source takes a message that a later receive names and a call
/// waits for; `None` if there are none such.
fn with_earlier_matches(snapshot: &Snapshot) -> Option<Snapshot> {
    let mut changes: Vec<(usize, usize, ProcessIndex)> = Vec::new();
    for (index, process) in snapshot.processes.iter().enumerate() {
        let taken = earlier(snapshot, index as ProcessIndex, process);
        changes.extend(taken.into_iter().map(|(at, sender)| (index, at, sender)));
    }
    if changes.is_empty() {
        return None;
    }
    let mut snapshot = snapshot.clone();
    for (index, at, sender) in changes {
        let process = snapshot.processes.get_mut(index)?;
        process.posted.get_mut(at)?.took = Some(sender);
    }
    Some(snapshot)
}

/// Returns positions of posted receives from any source, each with the sender whose message it takes.
fn earlier(snapshot: &Snapshot, me: ProcessIndex, process: &Process) -> Vec<(usize, ProcessIndex)> {
    let mut taken = Vec::new();
    let is_open = |receive: &Receive| receive.matches.from == Peer::Any && !receive.matched;
    if !process.posted.iter().any(is_open) {
        return taken;
    }
    let needs = process.calls().flat_map(|call| call.wait.needs());
    let awaited: HashSet<(u64, Match)> = needs
        .filter_map(|need| match need {
            Need::Message(receive) => Some((receive.order, receive.matches)),
            _ => None,
        })
        .collect();
    let mut claimed = HashSet::new();
    for (at, any) in process.posted.iter().enumerate().filter(|(_, receive)| is_open(receive)) {
        let later = process.posted.iter().enumerate().skip(at + 1);
        let found = later.filter(|(_, later)| awaited.contains(&(later.order, later.matches))).find_map(
            |(after, later)| {
                let Peer::One(sender) = later.matches.from else { return None };
                let sent = &snapshot.processes.get(sender as usize)?.sent;
                let both = |message: &Message| {
                    message.to == me
                        && any.matches.fits(sender, message)
                        && later.matches.fits(sender, message)
                };
                (sent.iter().any(both) && claimed.insert(after)).then_some(sender)
            },
        );
        taken.extend(found.map(|sender| (at, sender)));
    }
    taken
}
