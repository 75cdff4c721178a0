//! Which processes of a job are about to create an intercommunicator, so that its two sides find out that
//! both run under the layer. Two sides on one host do so without help (the layer's `debugger::presence`);
//! sides on different hosts ask their collectors:
//!
//! ```text
//! parents' root ── Unix socket ── collector ─┐                              ┌─ collector ── child, rank 0
//!   offers, spawns, is ready                 └── first `mpiscope run`, here ┘      comes, initializes, is ready
//! ```
//!
//! Both sides register before the library's call and are ready when it has returned. As a child registers
//! before it enters `MPI_Init`, a side that is ready knows at once if no one of the other side is on its way.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the other side may take to become ready: the coming side may still be in its call when the
/// offering side's has returned, and the other way around. The layer's limits are the same.
const OFFER: Duration = Duration::from_secs(5);
const COME: Duration = Duration::from_secs(20);

/// The role of a process in a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It spawns or accepts.
    Offers,
    /// It was spawned, or connects.
    Comes,
}

impl Role {
    fn patience(self) -> Duration {
        match self {
            Self::Offers => OFFER,
            Self::Comes => COME,
        }
    }
}

#[derive(Debug)]
struct Party {
    number: u64,
    key: u64,
    role: Role,
    ready: bool,
    met: bool,
}

impl Party {
    fn awaits(&self, other: &Self) -> bool {
        !self.met && !other.met && self.key == other.key && self.role != other.role
    }
}

#[derive(Debug, Default)]
struct Parties {
    last: u64,
    all: Vec<Party>,
}

impl Parties {
    fn find(&self, number: u64) -> Option<&Party> {
        self.all.iter().find(|party| party.number == number)
    }

    /// The number of a party that this one waits for, preferably a ready one, and whether it is ready.
    fn other(&self, number: u64) -> Option<(u64, bool)> {
        let party = self.find(number)?;
        let others = || self.all.iter().filter(|other| party.awaits(other));
        let found = others().find(|other| other.ready).or_else(|| others().next())?;
        Some((found.number, found.ready))
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Party)) {
        if let Some(party) = self.all.iter_mut().find(|party| party.number == number) {
            change(party);
        }
    }
}

/// The meetings of a job.
#[derive(Debug, Default)]
pub struct Meetings {
    parties: Mutex<Parties>,
    news: Condvar,
}

impl Meetings {
    fn parties(&self) -> MutexGuard<'_, Parties> {
        self.parties.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a process, before its call.
    pub fn register(self: &Arc<Self>, key: u64, role: Role) -> Registered {
        let mut parties = self.parties();
        parties.last += 1;
        let number = parties.last;
        parties.all.push(Party { number, key, role, ready: false, met: false });
        Registered { meetings: Arc::clone(self), number, patience: role.patience() }
    }
}

/// A registered process. It is withdrawn when this is dropped.
pub struct Registered {
    meetings: Arc<Meetings>,
    number: u64,
    patience: Duration,
}

impl Registered {
    /// After its call: returns whether a process of the other side is ready too; both get the same answer.
    pub fn meets(self) -> bool {
        self.meets_within(self.patience)
    }

    fn meets_within(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut parties = self.meetings.parties();
        parties.change(self.number, |party| party.ready = true);
        loop {
            if parties.find(self.number).is_none_or(|party| party.met) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            match parties.other(self.number) {
                Some((other, true)) => {
                    [self.number, other]
                        .iter()
                        .for_each(|one| parties.change(*one, |party| party.met = true));
                    self.meetings.news.notify_all();
                    return true;
                }
                Some(_) if !left.is_zero() => {
                    let waited = self.meetings.news.wait_timeout(parties, left);
                    parties = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    // No other process may meet one that has been given the answer no.
                    parties.change(self.number, |party| party.ready = false);
                    return false;
                }
            }
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.meetings.parties().all.retain(|party| party.number != self.number);
        self.meetings.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until this many processes are registered and ready.
    fn ready(meetings: &Meetings, count: usize) {
        while meetings.parties().all.iter().filter(|party| party.ready).count() < count {
            thread::yield_now();
        }
    }

    #[test]
    fn both_sides_meet_whichever_is_ready_first() {
        for first in [Role::Offers, Role::Comes] {
            let meetings = Arc::new(Meetings::default());
            let second = if first == Role::Offers { Role::Comes } else { Role::Offers };
            let (one, other) = (meetings.register(1, first), meetings.register(1, second));
            let waits = thread::spawn(move || one.meets_within(LONG));
            ready(&meetings, 1);
            assert!(other.meets());
            assert!(waits.join().unwrap());
            assert!(meetings.parties().all.is_empty(), "both have gone");
        }
    }

    #[test]
    fn nobody_waits_for_a_side_that_is_not_on_its_way() {
        let meetings = Arc::new(Meetings::default());
        let begin = Instant::now();
        let _other_key = meetings.register(2, Role::Comes);
        let _same_side = meetings.register(1, Role::Offers);
        assert!(!meetings.register(1, Role::Offers).meets());
        assert!(!meetings.register(3, Role::Comes).meets());
        assert!(begin.elapsed() < OFFER / 2);
    }

    #[test]
    fn a_side_that_withdraws_frees_the_one_that_waits_for_it() {
        let meetings = Arc::new(Meetings::default());
        let (one, other) = (meetings.register(1, Role::Offers), meetings.register(1, Role::Comes));
        let waits = thread::spawn(move || one.meets_within(LONG));
        ready(&meetings, 1);
        drop(other);
        assert!(!waits.join().unwrap());
    }

    #[test]
    fn each_process_meets_one_other() {
        let meetings = Arc::new(Meetings::default());
        let all: Vec<_> =
            (0..20).map(|i| meetings.register(1, if i < 10 { Role::Offers } else { Role::Comes })).collect();
        let third = meetings.register(1, Role::Offers);
        let all: Vec<_> = all.into_iter().map(|one| thread::spawn(move || one.meets_within(LONG))).collect();
        assert!(all.into_iter().all(|one| one.join().unwrap()));
        assert!(!third.meets(), "the others have met");
    }

    #[test]
    fn a_side_that_is_never_ready_is_given_up() {
        let meetings = Arc::new(Meetings::default());
        let (one, _other) = (meetings.register(1, Role::Offers), meetings.register(1, Role::Comes));
        assert!(!one.meets_within(Duration::from_millis(20)));
    }
}
