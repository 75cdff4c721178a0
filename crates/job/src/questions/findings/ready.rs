//! Ready sends that began before their receives were posted (MPI 4.1, section 3.4).
//!
//! Both ends record when the call began. The sender of a correct program knows that the other call has returned, so an
//! earlier begin is an error even if the library had posted the receive by the time that it sent.

use super::alike::Alike;
use super::overlaps::described;
use super::{Finding, Kind};
use crate::observation::Observation;
use crate::questions::why::{Ends, Hosts, Joined, Words};
use mpiscope_image::traffic::EntryFlag;

/// Returns one finding for each pair of lines.
pub(super) fn early(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    let joined = Joined::of(observations);
    let (messages, hosts) = (joined.messages(), Hosts::of(&joined));
    let mut found = Alike::new();
    for ends in messages.iter().filter(|ends| ends.sent.is(EntryFlag::READY)) {
        let Some(error_ns) = hosts.between([&ends.sender, &ends.receiver]) else { continue };
        if ends.sent.posted_ns.saturating_add(error_ns) < ends.received.posted_ns {
            let places = [ends.sent, ends.received].map(|line| line.named.place.as_deref());
            found.add(places, words.members([ends.sender]), 1, || said(ends, words));
        }
    }
    found.findings(Kind::READY_SEND, |[place, _]| *place)
}

fn said(ends: &Ends<'_>, words: &Words<'_>) -> String {
    let [sent, received] = [described(ends.sent, false), described(ends.received, true)];
    format!("{sent} began before rank {} posted {received}", words.rank(ends.receiver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Communicator;
    use crate::observation::ledger::{Ledger, Line, Named, Ring};
    use crate::questions::why::snapshot;
    use std::sync::Arc;

    /// Rank 0 sends to rank 1. Times are those of the calls' begins.
    fn side(rank: u32, posted_ns: u64, flags: u32) -> Observation {
        let named =
            Named { place: Some(format!("a.c:{rank}")), data: "4 x MPI_INT".into(), ..Named::default() };
        let line = Line {
            comm: 5,
            peer: 1 - rank,
            tag: 3,
            bytes: 16,
            order: 1,
            nth: 1,
            flags,
            posted_ns,
            named: Arc::new(named),
            ..Line::default()
        };
        let ring = Ring { lines: vec![line], written: 1, ..Ring::default() };
        let (sent, received) = if rank == 0 { (ring, Ring::default()) } else { (Ring::default(), ring) };
        let communicator = Communicator { identity: 5, size: 2, rank, ..Communicator::default() };
        Observation {
            rank: Some(rank),
            size: Some(2),
            host: "n1".into(),
            communicators: vec![communicator],
            ledger: Some(Box::new(Ledger { sent, received, ..Ledger::default() })),
            ..Observation::default()
        }
    }

    fn found(sent: Observation, received: Observation) -> Vec<String> {
        let observations = [sent, received];
        let snapshot = snapshot(&observations, "");
        let found = early(&observations, &Words::new(&snapshot));
        found.into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn a_ready_send_that_began_before_its_receive_was_posted_is_found() {
        let ready = EntryFlag::READY.0;
        let wanted = "rank 0: the ready send of 4 x MPI_INT at a.c:0 began before rank 1 posted the receive of 4 x MPI_INT at a.c:1";
        assert_eq!(found(side(0, 10, ready), side(1, 11, 0)), [wanted]);
        assert_eq!(found(side(0, 10, ready), side(1, 9, 0)), [""; 0]);
        assert_eq!(found(side(0, 10, 0), side(1, 11, 0)), [""; 0], "another send");
    }

    #[test]
    fn times_of_two_hosts_are_compared_only_as_exactly_as_their_clocks_are_known() {
        let on = |host: &str, error_ns: Option<u64>, seen: Observation| Observation {
            host: host.into(),
            clock_error_ns: error_ns,
            ..seen
        };
        let pair = |error_ns, posted_ns| {
            let sent = on("n1", error_ns, side(0, 10, EntryFlag::READY.0));
            found(sent, on("n2", error_ns, side(1, posted_ns, 0))).len()
        };
        assert_eq!([pair(None, 1000), pair(Some(4), 18), pair(Some(4), 19)], [0, 0, 1]);
    }
}
