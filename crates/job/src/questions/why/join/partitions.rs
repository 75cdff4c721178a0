//! Partitioned messages: what the two sides of one know about each other.
//!
//! Both sides are persistent, so the n-th start of one belongs to the n-th start of the other. A message
//! arrives once both are started and the sender has marked every partition ready; until then, the process to
//! wait for may be the sender itself.

use super::other_sides::other_sides;
use super::{Joiner, Observation};
use crate::observation::Partitioned;
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Match, Message, Need, Peer, ProcessIndex, Receive};
use std::sync::Arc;

/// A waiting side.
pub struct Side {
    pub comm: u64,
    pub peer: u32,
    pub tag: i32,
    pub sends: bool,
    pub made: u64,
    pub starts: u64,
}

/// The receiver's end of a partitioned message that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A matching partitioned receive exists: what is missing is reported for the requests.
    Made,
    /// There is none, so the message matches nothing the receiver has.
    Missing,
}

/// The active partitioned sends of one process to another, which the message counters include with all
/// others.
pub struct Starts<'o>(Vec<(&'o Partitioned, End)>);

impl<'o> Starts<'o> {
    /// Returns those from `seen` to rank `to` of a communicator, where the receiver, `other`, knows it as
    /// rank `from`.
    pub fn of(seen: &'o Observation, (comm, to): (u64, u32), other: &Observation, from: u32) -> Self {
        let sends = seen.partitioned.iter().filter(|send| send.sends && send.active);
        let sends = sends.filter(|send| (send.comm, send.peer) == (comm, to));
        let receives = |send: &Partitioned, there: &Partitioned| {
            !there.sends && (there.comm, there.peer, there.tag) == (comm, from, send.tag)
        };
        let end = |send: &Partitioned| match other.partitioned.iter().any(|there| receives(send, there)) {
            true => End::Made,
            false => End::Missing,
        };
        Self(sends.map(|send| (send, end(send))).collect())
    }

    /// Removes one of them with this tag and returns its end.
    pub fn take(&mut self, tag: i32) -> Option<End> {
        let at = self.0.iter().position(|(send, _)| send.tag == tag)?;
        Some(self.0.swap_remove(at).1)
    }
}

impl Joiner<'_> {
    /// Returns what a side still needs; `None` if the other side is unknown.
    pub(super) fn partitioned(&self, seen: &Observation, side: &Side) -> Option<Need> {
        let by = self.partner(seen, side.comm, side.peer)?;
        let own = self.mine(seen, side);
        let unmarked = |send: &Partitioned| {
            let missing = send.ready.filter(|_| send.active)?.missing()?;
            let at = send.place.as_ref().map_or_else(String::new, |place| format!(", started at {place}"));
            Some(format!(
                "mark {missing} ready (MPI_Pready) of its partitioned send with tag {}{at}",
                side.tag
            ))
        };
        let wait =
            |by: ProcessIndex, what: &str| Some(self.action(vec![by], what, Kind::PARTITION_NOT_READY));
        if side.sends
            && let Some(what) = own.and_then(unmarked)
        {
            return wait(self.me, &what);
        }
        let slot = self.slots.get(by as usize);
        // An unobserved process may do anything, including what is needed here.
        let Some(other) = slot.and_then(|(_, _, other)| *other) else {
            return wait(by, "do its part of the partitioned message");
        };
        let theirs = own.map_or_else(Vec::new, |own| {
            let is_me = |peer| self.communicators.partner(by, other, side.comm, peer) == Some(self.me);
            other_sides(own, seen, other, is_me)
        });
        let started = theirs.iter().find(|theirs| theirs.starts >= side.starts);
        match started {
            Some(send) if !side.sends => match unmarked(send) {
                Some(what) => wait(by, &what),
                None => Some(arriving()),
            },
            Some(_) => Some(arriving()),
            None => match theirs.as_slice() {
                [] => self.without_other_side(by, side, own),
                [one, ..] => wait(by, &not_started(side, one)),
            },
        }
    }

    /// The other process has made no request for its side, so this message is like any other that was not
    /// sent or not received: what was sent or is awaited there instead may tell why.
    fn without_other_side(&self, by: ProcessIndex, side: &Side, own: Option<&Partitioned>) -> Option<Need> {
        let comm = self.communicators.index(side.comm)?;
        let place = own.and_then(|own| own.place.as_deref()).map(Arc::from);
        if side.sends {
            let bytes = own.and_then(|own| own.bytes).unwrap_or(0);
            let message = Message { to: by, comm, tag: side.tag, bytes, place, partitioned: true };
            return Some(Need::Receiver(message));
        }
        let matches = Match { from: Peer::One(by), comm, tag: Some(side.tag), partitioned: true };
        Some(Need::Message(Receive {
            matches,
            room: own.and_then(|own| own.bytes),
            element: None,
            place,
            got: None,
            overwritten: None,
            matched: false,
            took: None,
            order: u64::MAX,
        }))
    }

    /// Returns this side's request.
    fn mine<'o>(&self, seen: &'o Observation, side: &Side) -> Option<&'o Partitioned> {
        let same = |own: &&Partitioned| {
            (own.comm, own.peer, own.tag, own.sends) == (side.comm, side.peer, side.tag, side.sends)
                && own.made == side.made
        };
        seen.partitioned.iter().find(same)
    }
}

/// The program has done everything it must.
fn arriving() -> Need {
    Need::Outside { what: "the partitioned message to arrive".into(), kind: Kind::RUNNING }
}

fn not_started(side: &Side, theirs: &Partitioned) -> String {
    let what = if side.sends { "receive" } else { "send" };
    let verb = if theirs.starts == 0 { "made" } else { "started last" };
    let at = theirs.place.as_ref().map_or_else(String::new, |place| format!(", {verb} at {place}"));
    format!("start its partitioned {what} with tag {} (MPI_Start){at}", side.tag)
}

#[cfg(test)]
mod tests {
    use crate::observation::{self, Call, Observation, Partitioned, Thread};
    use crate::questions::why::snapshot::{Need, Peer};

    const COMM: u64 = 7;

    /// Two ranks of one world; rank 1 waits for its side of a partitioned message with tag 4, which rank 0 has
    /// not made.
    fn job(sends: bool) -> Vec<Observation> {
        let world = |rank: u32| observation::Communicator {
            identity: COMM,
            rank,
            size: 2,
            peers: vec![observation::Peer { rank: 1 - rank, ..Default::default() }],
            ..Default::default()
        };
        let seen = |rank: u32| Observation {
            rank: Some(rank),
            size: Some(2),
            communicators: vec![world(rank)],
            ..Default::default()
        };
        let mut job = vec![seen(0), seen(1)];
        let (comm, peer, tag, made, starts) = (COMM, 0, 4, 1, 1);
        let need = observation::Need::Partitioned { comm, peer, tag, sends, made, starts };
        let call = Call { function: "MPI_Wait".into(), needs: vec![need], ..Call::default() };
        job[1].threads = vec![Thread { call: Some(call), ..Thread::default() }];
        let (active, ready, bytes) = (true, None, Some(160));
        job[1].partitioned =
            vec![Partitioned { comm, peer, tag, sends, made, starts, active, ready, bytes, place: None }];
        job
    }

    fn need(job: &[Observation]) -> Need {
        let mut snapshot = super::super::snapshot(job, "");
        let call = snapshot.processes[1].threads[0].call.take().expect("rank 1 waits");
        call.wait.needs().first().cloned().expect("for something")
    }

    #[test]
    fn a_side_whose_other_side_was_not_made_waits_for_a_partitioned_message_or_its_receiver() {
        match need(&job(false)) {
            Need::Message(receive) => {
                let matches = receive.matches;
                assert_eq!((matches.from, matches.tag, matches.partitioned), (Peer::One(0), Some(4), true));
            }
            other => panic!("{other:?}"),
        }
        match need(&job(true)) {
            Need::Receiver(message) => {
                assert_eq!((message.to, message.tag, message.partitioned), (0, 4, true));
                assert_eq!(message.bytes, 160);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_side_whose_other_side_was_made_waits_for_its_start() {
        let mut job = job(false);
        let made =
            Partitioned { peer: 1, sends: true, starts: 0, active: false, ..job[1].partitioned[0].clone() };
        job[0].partitioned = vec![made];
        assert!(matches!(need(&job), Need::Action { what, .. } if what.contains("(MPI_Start)")));
    }
}
