//! Probe calls that have found a message which has not been received yet: where the program waited for it,
//! for its entry in the ledger.
//!
//! A receive may take a probed message whatever it specifies, and need not be the next call. So the probe is
//! found through the message: by its position among those that probes have matched or, if the probe left it
//! in the queue, by its envelope.

use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::traffic::polling;
use mpi_abi::Abi;
use std::cell::Cell;

/// Maximum number of messages that are remembered; the oldest is forgotten first.
const MOST: usize = 32;

/// A call that waited for a message and has not received it.
#[derive(Clone, Copy, Default)]
pub struct Probe {
    /// When it began, in ticks.
    pub since: u64,
    /// When it returned.
    pub until: u64,
    /// The return address.
    pub from: u64,
    /// Its function's number plus one.
    pub function: u64,
}

impl Probe {
    /// Returns the current call, including the loop that it ends.
    pub fn of<A: Abi>(call: &Call<A>) -> Self {
        Self {
            since: polling::waited_since(call),
            until: call.returned(),
            from: fortran_call_site::here(call),
            function: u64::from(call.function().0) + 1,
        }
    }

    fn ticks(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }
}

/// The key of a message.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Uid of the communicator.
    pub comm: u64,
    /// The actual source.
    pub source: i32,
    /// The actual tag.
    pub tag: i32,
    /// Its position among the receives posted if the probe removed it from the queue; zero if not.
    pub order: u64,
}

/// The messages that probes have found.
#[derive(Default)]
pub struct Probed {
    kept: [Cell<(Found, Probe)>; MOST],
    /// Number of entries in use.
    used: Cell<usize>,
}

impl Probed {
    /// A probe has found a message. If two found the same one, the longer one waited for it.
    pub fn add(&self, message: Found, probe: Probe) {
        if let Some(known) = self.find(message) {
            let (_, before) = known.get();
            if before.ticks() < probe.ticks() {
                known.set((message, probe));
            }
            return;
        }
        let empty = self.kept.iter().find(|one| one.get().1.since == 0);
        let oldest = || self.kept.iter().min_by_key(|one| one.get().1.since);
        if let Some(place) = empty.or_else(oldest) {
            if place.get().1.since == 0 {
                self.used.set(self.used.get() + 1);
            }
            place.set((message, probe));
        }
    }

    /// A message was received by a receive posted at that time. Returns the call that waited for it, if any.
    #[inline(always)]
    pub fn take(&self, message: Found, posted: u64) -> Option<Probe> {
        if self.used.get() == 0 { None } else { self.taken(message, posted) }
    }

    #[inline(never)]
    fn taken(&self, message: Found, posted: u64) -> Option<Probe> {
        let place = self.find(message).or_else(|| self.find(Found { order: 0, ..message }))?;
        let (found, probe) = place.get();
        // A receive posted earlier would have taken the message, so the probe would not have found it.
        if found.order == 0 && posted < probe.until {
            return None;
        }
        place.set(Default::default());
        self.used.set(self.used.get().saturating_sub(1));
        Some(probe)
    }

    fn find(&self, message: Found) -> Option<&Cell<(Found, Probe)>> {
        self.kept.iter().find(|one| one.get().0 == message && one.get().1.since != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(since: u64, until: u64) -> Probe {
        Probe { since, until, from: since, function: 1 }
    }

    const FROM_ONE: Found = Found { comm: 7, source: 1, tag: 3, order: 0 };

    #[test]
    fn the_receive_of_a_message_finds_its_probe_exactly_once() {
        let probed = Probed::default();
        probed.add(FROM_ONE, probe(10, 90));
        // The message is already there: this probe did not wait.
        probed.add(FROM_ONE, probe(91, 92));
        assert!(probed.take(Found { tag: 4, ..FROM_ONE }, 95).is_none());
        assert!(probed.take(Found { order: 12, ..FROM_ONE }, 5).is_none());
        assert_eq!(probed.take(Found { order: 12, ..FROM_ONE }, 95).map(|probe| probe.since), Some(10));
        assert!(probed.take(FROM_ONE, 96).is_none());
    }

    #[test]
    fn matched_messages_are_distinguished_and_the_oldest_is_forgotten_first() {
        let probed = Probed::default();
        let matched = |order: u64| Found { order, ..FROM_ONE };
        for order in 1..=MOST as u64 + 1 {
            probed.add(matched(order), probe(10 * order, 10 * order + 5));
        }
        let last = MOST as u64 + 1;
        assert_eq!(probed.take(matched(last), 0).map(|probe| probe.since), Some(10 * last));
        assert_eq!(probed.take(matched(2), 0).map(|probe| probe.since), Some(20));
        assert!(probed.take(matched(1), 0).is_none());
    }
}
