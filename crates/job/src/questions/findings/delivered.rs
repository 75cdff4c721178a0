//! Messages that are not in the receive buffer as they were sent: the program changed the buffer after the message had
//! arrived, and before it knew so.
//!
//! The layer hashes what blocking and nonblocking sends send and what nonblocking receives have received, if their
//! elements follow one another without gaps.

use super::alike::Alike;
use super::changed::{Lines, changed, completed, sentence, written_over_in};
use super::overlaps::described;
use super::{Finding, Kind, Whose};
use crate::observation::Observation;
use crate::observation::ledger::{Line, Misuse};
use crate::questions::why::{Ends, Joined, ProcessIndex, Words};
use mpiscope_image::traffic::EntryFlag;
use std::collections::{HashMap, HashSet};

/// Returns one finding for each line that received such messages, unless [`changed`] already tells of it.
pub(super) fn otherwise(observations: &[Observation], words: &Words<'_>, whose: &Whose) -> Vec<Finding> {
    let joined = Joined::of(observations);
    let processes: HashMap<_, _> = joined.processes().map(|(me, .., seen)| (me, seen)).collect();
    let (mut found, mut known) = (Alike::new(), HashMap::new());
    for ends in differing(&joined, &processes) {
        let place = ends.received.named.place.as_deref();
        let Some(seen) = processes.get(&ends.receiver) else { continue };
        let known = known.entry(ends.receiver).or_insert_with(|| places(seen));
        if !known.contains(&place) {
            found.add(place, whose.who(seen), 1, || said(&ends, words));
        }
    }
    found.findings(Kind::BUFFER_CHANGED, |place| *place)
}

/// Returns the lines of receives whose buffers are known to have been changed.
fn places(seen: &Observation) -> HashSet<Option<&str>> {
    let receives = changed(seen).into_iter().filter(|(_, receives)| *receives);
    receives.map(|(line, _)| line.named.place.as_deref()).collect()
}

fn said(ends: &Ends<'_>, words: &Words<'_>) -> String {
    let changed = sentence(Misuse::Changed, &described(ends.received, true), completed(ends.received));
    let at = ends.sent.named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    format!("{changed}: it differs from what rank {} sent{at}", words.rank(ends.sender))
}

fn differing<'a>(joined: &Joined<'a>, processes: &HashMap<ProcessIndex, &Observation>) -> Vec<Ends<'a>> {
    let mut all = joined.messages();
    all.retain(|ends| ends.sent.digest != 0 && ends.received.digest != 0);
    // Messages of several threads may be paired in the wrong order; then it is another one that is the same.
    let route = |ends: &Ends<'_>, digest: u64| (ends.sender, ends.receiver, digest);
    let sent: HashSet<_> = all.iter().map(|ends| route(ends, ends.sent.digest)).collect();
    all.retain(|ends| is_certain(ends) && !sent.contains(&route(ends, ends.received.digest)));
    let mut shared: HashMap<ProcessIndex, Lines> = HashMap::new();
    let mut is_shared = |process: ProcessIndex, line: &Line| {
        let lines = || processes.get(&process).map(|seen| written_over_in(seen)).unwrap_or_default();
        shared.entry(process).or_insert_with(lines).contains(&std::ptr::from_ref(line))
    };
    all.retain(|ends| !is_shared(ends.receiver, ends.received) && !is_shared(ends.sender, ends.sent));
    all
}

/// Whether a difference is due to the receiver, and not known otherwise.
fn is_certain(ends: &Ends<'_>) -> bool {
    // The buffer of a send that is not known to be complete may have been changed, too.
    let is_sent = ends.sent.waited.is_some() || ends.sent.is(EntryFlag::BLOCKING);
    let is_whole = ends.sent.bytes == ends.received.bytes && !ends.received.failed;
    is_sent && is_whole && ends.sent.misuse().is_none() && ends.received.misuse().is_none()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::observation::Communicator;
    use crate::observation::ledger::{Called, Ledger, Named, Ring, Waited};
    use crate::questions::why::snapshot;
    use std::sync::Arc;

    /// Messages, by digest, of one side: rank 0 sends to rank 1.
    fn side(rank: u32, digests: &[u64]) -> Observation {
        let named =
            Named { place: Some(format!("a.c:{rank}")), data: "4 x MPI_INT".into(), ..Named::default() };
        let (named, call) =
            (Arc::new(named), Arc::new(Called { function: "MPI_Wait".into(), place: Some("a.c:7".into()) }));
        let lines = (1..).zip(digests).map(|(order, digest)| Line {
            comm: 5,
            peer: 1 - rank,
            order,
            nth: order as u32,
            bytes: 16,
            buffer: 64 * order,
            digest: *digest,
            named: Arc::clone(&named),
            posted_ns: order,
            waited: Some(Waited { from_ns: order, until_ns: order + 1, call: Arc::clone(&call) }),
            ..Line::default()
        });
        let ring = Ring { written: digests.len() as u64, lines: lines.collect(), ..Ring::default() };
        let ledger = match rank {
            0 => Ledger { sent: ring, ..Ledger::default() },
            _ => Ledger { received: ring, ..Ledger::default() },
        };
        let comm = Communicator { identity: 5, size: 2, rank, ..Communicator::default() };
        Observation {
            rank: Some(rank),
            size: Some(2),
            ledger: Some(Box::new(ledger)),
            communicators: vec![comm],
            ..Observation::default()
        }
    }

    fn said_of(sender: Observation, receiver: Observation) -> Vec<String> {
        let job = [sender, receiver];
        let snapshot = snapshot(&job, "");
        let found = otherwise(&job, &Words::new(&snapshot), &Whose::of(&job));
        found.into_iter().map(|one| one.sentence).collect()
    }

    #[test]
    fn a_received_message_that_differs_from_what_was_sent_is_found_once_per_line() {
        assert!(said_of(side(0, &[3, 4]), side(1, &[3, 4])).is_empty());
        let wanted = "rank 1: the buffer of the receive of 4 x MPI_INT at a.c:1 was changed before MPI_Wait at a.c:7 completed \
                      it: it differs from what rank 0 sent at a.c:0 (2 times)";
        assert_eq!(said_of(side(0, &[3, 4, 5]), side(1, &[3, 8, 9])), [wanted]);
        assert!(said_of(side(0, &[3, 4]), side(1, &[3, 0])).is_empty(), "unknown");
        let mut receiver = side(1, &[3, 8]);
        let first = receiver.ledger.iter_mut().find_map(|ledger| ledger.received.lines.first_mut()).unwrap();
        first.flags |= EntryFlag::CHANGED.0;
        assert!(said_of(side(0, &[3, 4]), receiver).is_empty(), "its line is reported already");
    }

    #[test]
    fn messages_paired_in_another_order_and_those_changed_by_the_sender_are_not_held_against_the_receiver() {
        assert!(said_of(side(0, &[3, 4]), side(1, &[4, 3])).is_empty());
        let with = |change: fn(&mut Line)| {
            let mut sender = side(0, &[3]);
            sender.ledger.iter_mut().flat_map(|ledger| &mut ledger.sent.lines).for_each(change);
            said_of(sender, side(1, &[8]))
        };
        assert_eq!(with(|_| {}).len(), 1);
        assert!(with(|line| line.flags |= EntryFlag::CHANGED.0).is_empty());
        assert!(with(|line| line.waited = None).is_empty());
        assert!(with(|line| line.bytes = 12).is_empty());
    }
}
