//! The collectives that a process entered.

use super::{Span, is_collective_that_waits};
use crate::observation::history::Completed;
use crate::observation::ledger::Called;
use crate::observation::{Call, Collective, Observation, RootBetween};
use mpiscope_image::history::RING;
use std::collections::HashMap;
use std::sync::Arc;

/// A collective that a process entered.
pub struct Taken {
    pub call: Arc<Called>,
    /// Its end is zero if the call has not returned or only started the operation.
    pub span: Span,
    pub root: Option<u32>,
    /// The root, if this is a call on an intercommunicator.
    pub between: Option<RootBetween>,
    /// The call that completed what this one started.
    pub completed: Option<(Span, Arc<Called>)>,
    /// Whether the call only started the operation and its completion will never be known.
    pub given_up: bool,
    /// Whether the call has not returned; its end is then that of the process or of the run.
    pub open: bool,
}

impl Taken {
    /// Returns whether the call only starts the operation.
    pub fn starts(&self) -> bool {
        !is_collective_that_waits(&self.call.function)
    }

    /// Whether the call frees the communicator along with its history.
    fn frees(&self) -> bool {
        matches!(self.call.function.as_str(), "MPI_Comm_free" | "MPI_Comm_disconnect")
    }

    /// Returns the call in which the process waited for the others.
    pub fn waits_in(&self) -> Option<(Span, &Arc<Called>)> {
        if self.starts() {
            return self.completed.as_ref().map(|(span, call)| (*span, call));
        }
        (self.span.until != 0).then_some((self.span, &self.call))
    }

    /// Returns whether the process is done with it.
    pub fn is_over(&self) -> bool {
        self.waits_in().is_some() || self.given_up && (self.starts() || self.frees())
    }
}

/// Age in collectives at which an incomplete one will soon drop out of the ring: it was freed, or is
/// persistent, or belongs to a freed communicator.
const GIVEN_UP: u64 = RING as u64 - 8;

/// Returns the collectives of a process whose times are known, by communicator and number. In the `last` pass
/// nothing is waited for.
pub fn entered(seen: &Observation, last: bool) -> impl Iterator<Item = ((u64, u64), Taken)> {
    seen.history.iter().flat_map(move |history| {
        let called =
            |kind: &Collective| Arc::new(Called { function: kind.called(), place: kind.place.clone() });
        // Many are equal, so their descriptions are shared.
        let calls: Vec<Arc<Called>> = history.kinds.iter().map(called).collect();
        let completed: HashMap<u64, &Completed> =
            history.completed.iter().map(|completed| (completed.number, completed)).collect();
        let known = history.times.len() == history.entries.len();
        let both = history.entries.iter().zip(&history.times).take(if known { usize::MAX } else { 0 });
        both.filter(|(_, (from, _))| *from != 0).filter_map(move |((number, kind), (from, until))| {
            let kind = *kind as usize;
            let given = history.kinds.get(kind)?;
            let root = given.root.and_then(|root| u32::try_from(root).ok());
            let between = given.between.map(|between| between.root);
            // The last one may be open if there will be no further pass.
            let called = calls.get(kind)?;
            let here = |call: &Call| call.function == called.function && call.place == called.place;
            let waits = is_collective_that_waits(&given.function);
            let may_be_open = waits && *until == 0 && *number == history.newest;
            let open = may_be_open && open(seen).any(|(_, call)| here(call));
            let end = seen.last.filter(|_| open).map_or(0, |last| last.ended_ns);
            let (call, span) = (Arc::clone(called), Span { from: *from, until: end.max(*until) });
            let completed = completed.get(number).map(|known| {
                let call = Called { function: known.function.clone(), place: known.place.clone() };
                (Span { from: known.from_ns, until: known.until_ns }, Arc::new(call))
            });
            let given_up = last || history.newest.saturating_sub(*number) >= GIVEN_UP;
            Some(((history.comm, *number), Taken { call, span, root, between, completed, given_up, open }))
        })
    })
}

/// Returns the calls open in the last pass, however short, with the time since they began.
pub fn open(seen: &Observation) -> impl Iterator<Item = (Span, &Call)> {
    let calls = seen.threads.iter().filter_map(|thread| thread.call.as_ref()).filter(|call| !call.polling);
    seen.last.into_iter().flat_map(move |last| {
        calls.clone().filter_map(move |call| {
            let age_ns = (call.age_s? * 1e9) as u64;
            let span = Span { from: last.looked_ns.saturating_sub(age_ns), until: last.ended_ns };
            (span.ns() > 0).then_some((span, call))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{History, LastLook, Thread};

    #[test]
    fn a_large_count_variant_has_its_own_name_and_is_found_among_the_open_calls() {
        let place = Some("a.c:7".to_owned());
        let given = Collective {
            function: "MPI_Bcast".into(),
            large: true,
            place: place.clone(),
            ..Collective::default()
        };
        let history = History {
            comm: 8,
            newest: 1,
            entries: vec![(1, 0)],
            kinds: vec![given],
            times: vec![(1_000, 0)],
            completed: Vec::new(),
        };
        let call = Call { function: "MPI_Bcast_c".into(), place, age_s: Some(1.0), ..Call::default() };
        let seen = Observation {
            history: vec![history],
            threads: vec![Thread { call: Some(call), ..Thread::default() }],
            last: Some(LastLook {
                looked_ns: 2_000_000_000,
                ended_ns: 3_000_000_000,
                began_to_end_ns: 3_000_000_000,
            }),
            ..Observation::default()
        };
        let taken: Vec<_> = entered(&seen, true).map(|(_, taken)| taken).collect();
        let [taken] = taken.as_slice() else { panic!("{}", taken.len()) };
        assert_eq!((taken.call.function.as_str(), taken.open), ("MPI_Bcast_c", true));
        assert_eq!(taken.span.until, 3_000_000_000);
    }
}
