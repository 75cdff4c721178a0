//! Window locks (MPI 5.0, section "Lock"): which process holds one that another waits for, and which must be
//! in MPI to serve it.

use super::{Joiner, Observation, Slot, observation};
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex};

impl<'a> Joiner<'a> {
    /// The lock of a member's memory: its holder must release it.
    pub(super) fn lock(&self, seen: &Observation, window: u64, target: u32, name: &str) -> Need {
        let mine = seen.windows.iter().find(|known| known.identity == window);
        // The kind of lock is recorded when the call that requests it returns. Until then, even a shared lock
        // counts as being in the way.
        let exclusive = mine.and_then(|mine| mine.lock(target)).is_none_or(|lock| lock.exclusive);
        let holds = |(index, (_, _, other)): &(ProcessIndex, &Slot<'a>)| {
            let other = (*other).filter(|_| *index != self.me)?;
            let known = other.windows.iter().find(|known| known.identity == window)?;
            let lock = known.lock(target).filter(|lock| lock.exclusive || exclusive)?;
            // A process waiting for the same lock has requested it and does not hold it.
            (!awaits(other, window, |other| other == target)).then_some((*index, lock, known))
        };
        // A process waiting for another lock may not hold this one yet: libraries defer requests.
        let surely = |(index, ..): &(ProcessIndex, _, _)| {
            let other = self.slots.get(*index as usize).and_then(|(_, _, seen)| *seen);
            !other.is_some_and(|other| awaits(other, window, |_| true))
        };
        let of = mine.and_then(|mine| self.partner(seen, mine.comm, target));
        // A library may need the target to act, and the target is outside MPI.
        let absent = of.filter(|of| !self.is_inside(*of));
        let holders: Vec<_> = (0..).zip(self.slots).filter_map(|slot| holds(&slot)).collect();
        let all: Vec<ProcessIndex> = holders.iter().map(|(by, ..)| *by).collect();
        let sure = holders.iter().position(surely);
        let holder = holders.into_iter().nth(sure.unwrap_or(0));
        match (holder, absent) {
            (Some((by, lock, known)), absent) if absent.is_none_or(|absent| absent == by) => {
                let how = if lock.exclusive { "exclusive" } else { "shared" };
                let at = known.place.as_ref().map_or_else(String::new, |place| format!(" of {place}"));
                let of = of.and_then(|index| self.slots.get(index as usize));
                let of = of.map_or(target, |(_, rank, _)| *rank);
                let what = format!("release its {how} lock{at} on the memory of rank {of} in {name}");
                self.action(if sure.is_some() { vec![by] } else { all }, &what, Kind::RMA)
            }
            (holder, Some(absent)) => {
                let by: Vec<ProcessIndex> = [absent].into_iter().chain(holder.map(|(by, ..)| by)).collect();
                let what = match by.len() {
                    1 => format!("call MPI, so that the library can serve others that use {name}"),
                    _ => format!("call MPI or to release a lock on {name}"),
                };
                self.action(by, &what, Kind::RMA)
            }
            _ => {
                let what = format!("one-sided synchronization on {name}").into();
                Need::Outside { what, kind: Kind::RMA }
            }
        }
    }

    /// Whether a thread of a process is in MPI.
    fn is_inside(&self, index: ProcessIndex) -> bool {
        let seen = self.slots.get(index as usize).and_then(|(_, _, seen)| *seen);
        seen.is_some_and(|seen| seen.threads.iter().any(|thread| thread.call.is_some()))
    }
}

/// Whether a thread of a process waits for the lock of a matching member of a window.
fn awaits(seen: &Observation, wanted: u64, of: impl Fn(u32) -> bool) -> bool {
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    calls
        .flat_map(|call| &call.needs)
        .any(|need| matches!(need, observation::Need::Lock { window, target, .. } if *window == wanted && of(*target)))
}
