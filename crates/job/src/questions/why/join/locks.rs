//! Window locks (MPI 5.0, section "Lock"): which process holds one that another waits for, and which must be
//! in MPI to serve it.

use super::{Joiner, Observation, Slot, observation};
use crate::observation::windows::{Lock, Window};
use crate::questions::why::Kind;
use crate::questions::why::snapshot::{Need, ProcessIndex, RELEASE};

impl<'a> Joiner<'a> {
    /// The lock of a member's memory: its holder must release it. A process may hold it itself and ask for it
    /// again, which is an error that not every library reports.
    pub(super) fn lock(
        &self,
        seen: &Observation,
        (window, target): (u64, u32),
        name: &str,
        asks: bool,
    ) -> Need {
        let mine = seen.windows.iter().find(|known| known.identity == window);
        let of = mine.and_then(|mine| self.partner(seen, mine.comm, target));
        let release = |lock: Lock, known: &Window| {
            let how = if lock.exclusive { "exclusive" } else { "shared" };
            let at = known.place.as_ref().map_or_else(String::new, |place| format!(" of {place}"));
            let of = of.and_then(|index| self.slots.get(index as usize));
            let of = of.map_or(target, |(_, rank, _)| *rank);
            format!("{RELEASE}its {how} lock{at} on the memory of rank {of} in {name}")
        };
        if let Some((own, mine)) = mine.and_then(|mine| mine.lock(target).zip(Some(mine))).filter(|_| asks) {
            return self.action(vec![self.me], &release(own, mine), Kind::RMA);
        }
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
        // A library may need the target to act, and the target is outside MPI.
        let absent = of.filter(|of| !self.is_inside(*of));
        let holders: Vec<_> = (0..).zip(self.slots).filter_map(|slot| holds(&slot)).collect();
        let all: Vec<ProcessIndex> = holders.iter().map(|(by, ..)| *by).collect();
        let sure = holders.iter().position(surely);
        let holder = holders.into_iter().nth(sure.unwrap_or(0));
        match (holder, absent) {
            (Some((by, lock, known)), absent) if absent.is_none_or(|absent| absent == by) => {
                self.action(if sure.is_some() { vec![by] } else { all }, &release(lock, known), Kind::RMA)
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

/// Whether a thread of a process waits for the lock of a matching member of a window, which the process does not
/// hold already.
fn awaits(seen: &Observation, wanted: u64, of: impl Fn(u32) -> bool) -> bool {
    let holds = |member: u32| {
        let known = seen.windows.iter().find(|known| known.identity == wanted);
        known.is_some_and(|known| known.lock(member).is_some())
    };
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref());
    calls.flat_map(|call| &call.needs).any(|need| {
        matches!(need, observation::Need::Lock { window, target, asks, .. }
            if *window == wanted && of(*target) && !(*asks && holds(*target)))
    })
}

#[cfg(test)]
mod tests {
    use crate::observation::windows::{Lock, Window};
    use crate::observation::{Call, Communicator, Need, Observation, Stage, Thread};
    use crate::questions::why::{Kind, snapshot, verdict};

    fn locking(rank: u32, held: &[u32]) -> Observation {
        let asked = Need::Lock { window: 9, target: 0, name: "window w".into(), asks: true };
        let call = Call { function: "MPI_Win_lock".into(), needs: vec![asked], ..Call::default() };
        let world = Communicator {
            identity: 7,
            name: "WORLD".into(),
            rank,
            size: 2,
            members: Some(vec![0, 1]),
            ..Communicator::default()
        };
        let locks = held.iter().map(|target| Lock { target: *target, exclusive: true }).collect();
        Observation {
            world: "w".into(),
            rank: Some(rank),
            size: Some(2),
            stage: Stage::Running,
            communicators: vec![world],
            windows: vec![Window { identity: 9, comm: 7, name: "w".into(), locks, ..Window::default() }],
            threads: vec![Thread { call: Some(call), ..Thread::default() }],
            ..Observation::default()
        }
    }

    #[test]
    fn a_process_that_asks_again_for_a_lock_that_it_holds_waits_for_itself_and_others_wait_for_it() {
        let said = |held: &[u32]| {
            let job = snapshot(&[locking(0, held), locking(1, &[])], "unseen");
            verdict(&job, &job, 1.0)
        };
        let own = said(&[0]);
        assert!(
            own.verdict.starts_with(
                "rank 0 waits for itself to release its exclusive lock on the memory of rank 0 in window w"
            ),
            "{}",
            own.verdict
        );
        assert_eq!((own.kind, own.stuck.to_string().as_str()), (Kind::RMA, "[0-1]"));
        assert!(!said(&[]).verdict.contains("itself"), "{}", said(&[]).verdict);
    }
}
