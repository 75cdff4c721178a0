//! Collectives by communicator, window and file: how many each member entered, and the most recent ones.

use super::part::Part;
use crate::jobs::worlds::{Members, Worlds};
use crate::model::objects::Kind;
use crate::observation::{Collective, Communicator, Need, Observation};
use crate::performance::report::both_times;
use crate::performance::report::document::{Collectives, OfFunction, Recent};
use crate::performance::sites::Totals;
use crate::performance::waits::{identity, open};
use mpi_abi::{Flags, FunctionId};
use std::collections::BTreeMap;

/// Returns the collectives by communicator, in descending order of number.
pub(super) fn collectives(
    observations: &[Observation],
    parts: &[Part<'_>],
    worlds: &Worlds,
) -> Vec<Collectives> {
    let mut found: BTreeMap<u64, Collectives> = BTreeMap::new();
    for seen in observations {
        let world = worlds.number(&seen.world);
        let used = seen.communicators.iter().filter(|comm| comm.identity != 0 && comm.processes() > 1);
        for comm in used {
            let known = found.entry(comm.identity).or_insert_with(|| Collectives::of(comm));
            known.enters(comm.collectives, world, seen.rank);
            let history = seen.history.iter().find(|history| history.comm == comm.identity);
            for (_, made) in history.iter().flat_map(|history| history.iter()) {
                known.add(made, world, seen.rank);
            }
        }
    }
    for (identity, function, totals) in parts.iter().flat_map(used) {
        if let Some(known) = found.get_mut(&identity) {
            known.sum(function, totals);
        }
    }
    for (identity, function, seconds) in observations.iter().flat_map(entered) {
        if let Some(known) = found.get_mut(&identity) {
            known.wait(function, seconds);
        }
    }
    let mut found: Vec<Collectives> = found.into_values().filter(|comm| comm.entered > 0).collect();
    for comm in &mut found {
        if comm.least == comm.entered {
            comm.behind = Members::default();
        }
        comm.functions = OfFunction::together(std::mem::take(&mut comm.functions));
        comm.last.sort_by(|a, b| b.count.cmp(&a.count).then(a.place.cmp(&b.place)));
    }
    found.sort_by(|a, b| b.entered.cmp(&a.entered).then(a.communicator.cmp(&b.communicator)));
    found
}

/// Returns the collective calls at each place of a process, with the identity of the communicator, window or
/// file.
fn used<'a>(part: &'a Part<'_>) -> impl Iterator<Item = (u64, &'a str, &'a Totals)> {
    part.facts.call_sites.sites.iter().filter_map(|site| {
        let shared = [Kind::Communicator, Kind::Window, Kind::File];
        let object = site.object.as_ref().filter(|object| shared.contains(&object.kind))?;
        is_collective(&site.function).then_some((object.identity.0, site.function.as_str(), &site.totals))
    })
}

/// Returns the collective calls of a process that were open at the end, with the identity of the communicator, window
/// or file and the time since they began: the waits in them count until then.
fn entered(seen: &Observation) -> impl Iterator<Item = (u64, &str, f64)> {
    open(seen).filter_map(|(span, call)| {
        let of = call.needs.iter().find_map(|need| match need {
            Need::Collective(collective) | Need::Neighbors { collective, .. } => Some(collective.comm),
            _ => None,
        })?;
        // All ranks wait in it for each other, but it is not a call on a communicator.
        let on_one = is_collective(&call.function) && call.function != "MPI_Finalize";
        on_one.then_some((of, call.function.as_str(), span.ns() as f64 / 1e9))
    })
}

fn is_collective(function: &str) -> bool {
    FunctionId::from_name(function).is_some_and(|function| function.properties().flags.has(Flags::COLLECTIVE))
}

impl OfFunction {
    /// Combines entries by function, in descending order of time, then of calls.
    pub fn together(all: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for one in all {
            let Some(known) = sums.iter_mut().find(|known| known.function == one.function) else {
                sums.push(one);
                continue;
            };
            known.calls = known.calls.saturating_add(one.calls);
            known.open = known.open.saturating_add(one.open);
            known.time_s = both_times(known.time_s, one.time_s);
            known.wait_s = both_times(known.wait_s, one.wait_s);
            known.bytes = known.bytes.saturating_add(one.bytes);
        }
        let seconds = |one: &Self| one.time_s.unwrap_or(0.0);
        sums.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)).then(b.calls.cmp(&a.calls)));
        sums
    }
}

impl Collectives {
    fn of(comm: &Communicator) -> Self {
        Self {
            communicator: comm.name.clone(),
            identity: identity(comm.identity),
            size: comm.processes(),
            between_worlds: comm.callers().is_none(),
            entered: 0,
            least: u64::MAX,
            behind: Members::default(),
            bytes: 0,
            functions: Vec::new(),
            last: Vec::new(),
        }
    }

    fn sum(&mut self, function: &str, totals: &Totals) {
        self.bytes = self.bytes.saturating_add(totals.bytes());
        self.functions.push(OfFunction {
            function: function.to_owned(),
            calls: totals.calls,
            open: 0,
            time_s: totals.time_s,
            wait_s: None,
            bytes: totals.bytes(),
        });
    }

    /// Adds a call that was open at the end: its time counts, and it does not count as a call.
    fn wait(&mut self, function: &str, seconds: f64) {
        self.functions.push(OfFunction {
            function: function.to_owned(),
            calls: 0,
            open: 1,
            time_s: Some(seconds),
            wait_s: None,
            bytes: 0,
        });
    }

    fn enters(&mut self, entered: u64, world: usize, rank: Option<u32>) {
        self.entered = self.entered.max(entered);
        if entered < self.least {
            (self.least, self.behind) = (entered, Members::default());
        }
        if entered == self.least {
            self.behind.add(world, rank);
        }
    }

    fn add(&mut self, made: &Collective, world: usize, rank: Option<u32>) {
        let function = made.called();
        let same = |known: &&mut Recent| {
            known.function == function && known.data == made.data && known.place == made.place
        };
        if let Some(known) = self.last.iter_mut().find(same) {
            known.count = known.count.saturating_add(1);
            known.ranks.add(world, rank);
            return;
        }
        self.last.push(Recent {
            function,
            data: made.data.clone(),
            bytes: made.bytes,
            place: made.place.clone(),
            count: 1,
            ranks: [(world, rank)].into_iter().collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Call, LastLook, Remote, Thread};

    #[test]
    fn a_call_that_was_open_at_the_end_counts_with_its_time_as_the_waits_in_it_do() {
        let collective = Collective { comm: 7, function: "MPI_Barrier".into(), ..Collective::default() };
        let call = Call {
            function: "MPI_Barrier".into(),
            age_s: Some(4.0),
            needs: vec![Need::Collective(Box::new(collective))],
            ..Call::default()
        };
        let finalize = Call { function: "MPI_Finalize".into(), ..call.clone() };
        let comm = Communicator { identity: 7, size: 2, collectives: 1, ..Communicator::default() };
        // It was looked at a second after it had ended.
        let (looked_ns, ended_ns) = (9_000_000_000, 8_000_000_000);
        let seen = Observation {
            rank: Some(0),
            threads: [call, finalize].map(|call| Thread { call: Some(call), ..Thread::default() }).into(),
            communicators: vec![comm],
            last: Some(LastLook { looked_ns, ended_ns, began_to_end_ns: ended_ns }),
            ..Observation::default()
        };
        let found = collectives(&[seen], &[], &Worlds::default());
        let functions = found.iter().flat_map(|one| &one.functions);
        let times: Vec<_> =
            functions.map(|one| (one.function.as_str(), one.calls, one.open, one.time_s)).collect();
        assert_eq!(times, [("MPI_Barrier", 0, 1, Some(3.0))]);
    }

    #[test]
    fn an_intercommunicator_has_the_members_of_both_groups_also_if_one_is_a_single_process() {
        let group = |size| Some(Remote { size, ..Remote::default() });
        let side = |world: &str, size, remote| Observation {
            world: world.into(),
            rank: Some(0),
            communicators: vec![Communicator {
                identity: 7,
                size,
                remote: group(remote),
                collectives: 2,
                ..Communicator::default()
            }],
            ..Observation::default()
        };
        let found = collectives(&[side("a", 1, 2), side("b", 2, 1)], &[], &Worlds::default());
        assert_eq!(found.iter().map(|one| (one.size, one.entered)).collect::<Vec<_>>(), [(3, 2)]);
    }
}
