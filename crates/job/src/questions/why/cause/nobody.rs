//! No process is left that could bring about what is waited for, and no ring explains why: wildcards,
//! `MPI_Waitany`.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::snapshot::{Call, Need, Peer, Process, ProcessIndex, Wait};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::{ranks, verb};

/// Maximum number of waiting places named in a sentence.
const MOST_PLACES: usize = 3;

impl Case<'_> {
    /// No ring of definite peers: wildcards, `MPI_Waitany`.
    pub(super) fn nobody_left(&self, found: &Blocked) -> Option<Reason> {
        let stuck = self.words.members(found.stuck());
        // A process that waits for any of several is the reason why no definite peer can be named.
        let open =
            |one: &ProcessIndex| self.process(*one).is_some_and(|process| process.calls().any(is_open));
        let one = found.stuck().find(open).or_else(|| found.stuck().next())?;
        let others = self.at_other_places(found, one).into_iter();
        let activity = |one| format!("rank {}: {}", self.words.rank(one), self.words.activity(one));
        let said: Vec<String> = [one].into_iter().chain(others).map(activity).collect();
        let receive = self.receives(found).find(|(waits, _)| *waits == one).map(|(_, receive)| receive);
        let least = receive.and_then(|receive| self.least_of_tag(one, receive, 1));
        let even = receive.filter(|_| least.is_none()).and_then(|receive| self.even(one, receive));
        let compared = least.as_ref().map(|least| self.sent_least(least, one));
        let compared = compared.or_else(|| even.map(|even| self.sent_evenly(&even, one)));
        let compared = compared.map_or_else(String::new, |compared| format!("; {compared}"));
        let verdict = format!(
            "deadlock: {} {}, and no rank is left that could release {} ({}){compared}",
            ranks(&stuck),
            verb(&stuck, "waits", "wait"),
            verb(&stuck, "it", "them"),
            said.join("; ")
        );
        let receives = |process: &Process| {
            process.calls().flat_map(|call| call.wait.needs()).all(|need| matches!(need, Need::Message(_)))
        };
        let next = match found.stuck().all(|one| self.process(one).is_some_and(receives)) {
            true => "each of them waits for a message from any of the others: one must send first",
            false => {
                "a message is missing, or there is one receive too many: compare what these ranks do before they wait"
            }
        };
        let mut reason = Reason::new(Kind::DEADLOCK, verdict, next).blaming(self.culprit(one));
        reason.culprits.extend(self.culprits(least.map(|least| least.by)));
        Some(reason)
    }

    /// Returns stuck ranks that wait at places other than that of `one`, one rank per place.
    fn at_other_places(&self, found: &Blocked, one: ProcessIndex) -> Vec<ProcessIndex> {
        let at = |one: ProcessIndex| {
            let call = self.process(one).and_then(|process| process.calls().next());
            call.map(|call| (&call.function, &call.place))
        };
        let mut known = vec![at(one)];
        let mut others = Vec::new();
        for other in found.stuck() {
            if known.len() < MOST_PLACES && !known.contains(&at(other)) {
                known.push(at(other));
                others.push(other);
            }
        }
        others
    }
}

/// Whether any of several processes may end a call, or its peer is not named.
fn is_open(call: &Call) -> bool {
    let any = |need: &Need| matches!(need, Need::Message(receive) if receive.matches.from == Peer::Any);
    matches!(&call.wait, Wait::Any(needs) if needs.len() > 1) || call.wait.needs().iter().any(any)
}
