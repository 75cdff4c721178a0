//! Builds a report from all processes of a job.

use super::document::{Calls, HostReport, JobReport, RankReport, SCHEMA, Sections, Silent, WorldReport};
use super::efficiencies::Efficiencies;
use super::first_end::first_end;
use super::functions::functions;
use super::observed::{Observed, settle};
use super::one_by_one;
use super::ranks::rank_report;
use super::sections::Part;
use crate::base::total::total;
use crate::jobs::spawned;
use crate::jobs::worlds::{Members, Worlds};
use crate::model::locate::Locate;
use crate::model::process::Process;
use crate::observation::{Observation, share_names};
use crate::performance::monitor::Followed;
use crate::performance::monitor::windows::Windows;
use crate::performance::sites;
use crate::performance::waits::{self, Waiting};
use crate::questions::{findings, leaks};
use mpi_abi::AbiKind;
use std::collections::BTreeMap;

impl JobReport {
    /// Joins the processes of a job. `command` is what the user typed.
    pub fn new(command: String, observed: Vec<Observed>) -> Self {
        Self::followed(command, observed, None)
    }

    /// The same for a job that was monitored while running; the symbols resolve places recorded during that
    /// time.
    pub fn followed(
        command: String,
        mut observed: Vec<Observed>,
        seen: Option<(&Followed, &dyn Locate)>,
    ) -> Self {
        let silent = silent(&mut observed);
        settle(&mut observed);
        let worlds = Worlds::of(observed.iter().map(|o| &o.process));
        observed.sort_by_key(|o| {
            let p = &o.process;
            (worlds.number(&p.world), p.rank.is_none(), p.rank, p.begin_ns)
        });
        let erred = |one: &Observed| one.observation.as_ref().is_some_and(Observation::erred);
        let erred: Vec<bool> = observed.iter().map(erred).collect();
        let mut observations: Vec<Observation> = observed.iter_mut().filter_map(Observed::last).collect();
        let names = share_names(&mut observations);
        observed.iter_mut().for_each(|one| one.facts.call_sites.call_by(&names));
        let who = |o: &Observed| (worlds.number(&o.process.world), o.process.rank);
        let leaks = leaks::join(observed.iter().map(|o| (who(o), o.leaks.as_slice())));
        let call_sites = sites::join(observed.iter().map(|o| (who(o), &o.facts.call_sites)));
        let ranks = observed.iter().zip(erred);
        let ranks = ranks.map(|(one, erred)| RankReport { erred, ..rank_report(one, &worlds) });
        let ranks: Vec<RankReport> = ranks.collect();
        let times = observed.iter().any(|o| o.process.times);
        let spent = spent_by_rank(&observed, &ranks);
        let (waits, last) = match seen {
            Some((seen, symbols)) => seen.waits(&observations, time(&ranks, &spent), symbols),
            None => (waits::of(&observations, time(&ranks, &spent)), Vec::new()),
        };
        let mut report = Self {
            command,
            worlds: world_reports(&observed),
            hosts: hosts(&ranks),
            times,
            functions: functions(&ranks, times),
            call_sites,
            windows: seen.and_then(|(seen, _)| windows(seen, (waits.said_s(), &last), &worlds, &observed)),
            waits,
            silent,
            first_end: first_end(&ranks),
            notes: joined_notes(&ranks),
            findings: findings::findings(&observations, &leaks),
            leaks,
            sections: Sections::new(&observations, &Part::of(&observed, &worlds), &worlds),
            ranks,
            ..Self::of_library(observed.first().map(|o| &o.process))
        };
        report.add_up();
        if times {
            report.rate();
        }
        report.sections.wait(&mut report.waits);
        report.windows.iter().for_each(|windows| report.sections.reach(windows));
        report.notes.extend(unseen(&observed, report.silent.len()));
        report.notes.extend(one_by_one::note(&observed, &worlds));
        report
    }

    /// Returns a report that contains only what a process knows about its MPI library.
    fn of_library(process: Option<&Process>) -> Self {
        let known = process.map(|p| Self {
            library: p.library.clone(),
            mpi_version: format!("{}.{}", p.mpi_version.0, p.mpi_version.1),
            size: p.size.unwrap_or(0),
            ..Self::default()
        });
        let abi = process.map_or(AbiKind::UNKNOWN, |p| p.abi).name().to_owned();
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), abi, ..known.unwrap_or_default() }
    }

    /// Computes the sums of all ranks.
    fn add_up(&mut self) {
        let sum = |of: fn(&RankReport) -> u64| self.ranks.iter().map(of).fold(0, u64::saturating_add);
        (self.bytes, self.sent, self.received, self.lost) =
            (sum(|r| r.bytes), sum(|r| r.sent), sum(|r| r.received), sum(|r| r.lost));
        self.wall_s = self.ranks.iter().map(|r| r.wall_s).fold(0.0, f64::max);
        self.thread_s = total(self.ranks.iter().map(|r| r.thread_s));
    }

    /// Computes shares and efficiencies.
    pub(super) fn rate(&mut self) {
        let wall: f64 = self.ranks.iter().map(|r| r.wall_s).sum();
        let threads: f64 = self.ranks.iter().map(|r| r.thread_s).sum();
        let part = |share: fn(&RankReport) -> f64| {
            (self.ranks.iter().map(|r| share(r) * r.thread_s).sum::<f64>() / threads).min(1.0)
        };
        let useful: Vec<f64> = self.ranks.iter().map(|r| r.wall_s * r.useful_share).collect();
        if wall <= 0.0 || threads <= 0.0 {
            return;
        }
        (self.mpi_share, self.polling_share) = (Some(part(|r| r.mpi_share)), Some(part(|r| r.polling_share)));
        if let Some(found) = Efficiencies::of(&useful, self.wall_s) {
            self.load_balance = Some(found.load_balance);
            self.communication_efficiency = Some(found.communication);
            self.parallel_efficiency = Some(found.parallel);
            let split = self.waited().and_then(|waits| found.split(&useful, &waits, self.wall_s));
            self.serialisation_efficiency = split.map(|(serialization, _)| serialization);
            self.transfer_efficiency = split.map(|(_, transfer)| transfer);
        }
    }

    /// Returns how long each rank waited for others, if all were monitored while running.
    fn waited(&self) -> Option<Vec<f64>> {
        let windows = self.windows.as_ref()?;
        let known: BTreeMap<&str, f64> =
            windows.ranks.iter().map(String::as_str).zip(windows.waited_s.iter().copied()).collect();
        let name = |rank: &RankReport| Members::from_iter([(rank.world_number, rank.rank)]).to_string();
        self.ranks.iter().map(|rank| known.get(name(rank).as_str()).copied()).collect()
    }
}

/// Removes the processes that never called MPI.
fn silent(observed: &mut Vec<Observed>) -> Vec<Silent> {
    let silent = observed.extract_if(.., |o| !o.process.called_mpi()).map(|o| Silent {
        rank: o.launcher_rank,
        host: Some(o.process.host).filter(|host| !host.is_empty()),
        pid: o.pid,
        ending: o.ending,
    });
    let mut silent: Vec<Silent> = silent.collect();
    silent.sort_by_key(|one| (one.rank.is_none(), one.rank, one.pid));
    silent
}

/// Returns the windows of a monitored run.
fn windows(
    seen: &Followed,
    waits: (f64, &[Waiting]),
    worlds: &Worlds,
    observed: &[Observed],
) -> Option<Windows> {
    // A process's name for its world during MPI_Init may differ from the final one.
    let by_process: BTreeMap<(&str, u32), &str> = observed
        .iter()
        .map(|o| ((o.process.host.as_str(), o.process.pid), o.process.world.as_str()))
        .collect();
    seen.windows(waits, |world, host, pid| match worlds.number(world) {
        number if worlds.has(number) => number,
        _ => worlds.number(by_process.get(&(host, pid)).copied().unwrap_or(world)),
    })
}

/// Returns a note about spawned processes that were not observed.
fn unseen(observed: &[Observed], silent: usize) -> Option<(String, Members)> {
    let spawned = observed.iter().flat_map(|o| o.facts.spawned.iter().cloned()).collect();
    let seen = observed.iter().map(|o| o.process.world.as_str());
    let unseen = spawned::unseen(&spawned, seen.chain(std::iter::repeat_n("", silent)));
    unseen.map(|text| (text, Members::default()))
}

/// The times that waits are parts of.
fn time<'a>(ranks: &[RankReport], spent: &'a waits::SpentByRank) -> waits::Time<'a> {
    let waiting =
        |(name, calls): (&String, &Calls)| if waits::can_wait(name) { calls.seconds() } else { 0.0 };
    let open = ranks.iter().flat_map(open).filter(|(name, ..)| waits::can_wait(name));
    let collective = |(name, calls): (&String, &Calls)| {
        if waits::is_collective_that_waits(name) { calls.seconds() } else { 0.0 }
    };
    waits::Time {
        threads: total(ranks.iter().map(|rank| rank.thread_s)),
        waiting: total(
            ranks.iter().flat_map(|rank| rank.calls.iter().map(waiting)).chain(open.map(|(.., s)| s)),
        ),
        collectives: total(ranks.iter().flat_map(|rank| rank.calls.iter().map(collective))),
        spent: Some(spent),
    }
}

/// Returns the calls of a rank that have not returned: function, place, seconds.
fn open(rank: &RankReport) -> impl Iterator<Item = (&str, Option<&str>, f64)> {
    rank.by_thread.iter().filter_map(|thread| {
        Some((thread.in_call.as_deref()?, thread.call_place.as_deref(), thread.in_call_s))
    })
}

/// Returns the time that each rank spent in calls.
fn spent_by_rank(observed: &[Observed], ranks: &[RankReport]) -> waits::SpentByRank {
    let mut all = waits::SpentByRank::new();
    for (observed, rank) in observed.iter().zip(ranks) {
        let spent = all.entry((rank.world.as_str().into(), rank.rank)).or_default();
        spent.all += rank.mpi_s + rank.polling_share * rank.thread_s;
        let sites = &observed.facts.call_sites;
        let ended = sites.sites.iter().map(|site| {
            (site.function.as_str(), site.place.as_deref().unwrap_or_default(), site.totals.seconds())
        });
        let open = || open(rank).map(|(function, place, s)| (function, place.unwrap_or_default(), s));
        for (function, place, seconds) in ended.chain(open()) {
            *spent.places.entry((function.to_owned(), place.to_owned())).or_default() += seconds;
        }
        // Calls at places that there was no room for may have been at any of them.
        for ((function, _), seconds) in &mut spent.places {
            let rest = sites.rest.iter().filter(|rest| rest.function == *function);
            *seconds += rest.map(|rest| rest.totals.seconds()).sum::<f64>();
        }
        let ended = rank.calls.iter().map(|(function, calls)| (function.as_str(), calls.seconds()));
        for (function, seconds) in ended.chain(open().map(|(function, _, seconds)| (function, seconds))) {
            *spent.functions.entry(function.to_owned()).or_default() += seconds;
        }
    }
    all
}

/// Requires processes sorted by world.
fn world_reports(observed: &[Observed]) -> Vec<WorldReport> {
    let same = |a: &Observed, b: &Observed| a.process.world == b.process.world;
    let world = |members: &[Observed]| WorldReport {
        name: members.first().map_or_else(String::new, |o| o.process.world.clone()),
        size: members.iter().find_map(|o| o.process.size).unwrap_or(0),
        ranks: members.iter().filter_map(|o| o.process.rank).collect(),
    };
    observed.chunk_by(same).map(world).collect()
}

fn hosts(ranks: &[RankReport]) -> Vec<HostReport> {
    let mut hosts: BTreeMap<&str, Members> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(&rank.host).or_default().add(rank.world_number, rank.rank);
    }
    let mut hosts: Vec<HostReport> = hosts
        .into_iter()
        .map(|(host, ranks)| HostReport {
            host: host.to_owned(),
            ranks,
            clock_later_s: None,
            clock_error_s: None,
        })
        .collect();
    hosts.sort_by_key(|h| h.ranks.first());
    hosts
}

fn joined_notes(ranks: &[RankReport]) -> Vec<(String, Members)> {
    let mut notes: BTreeMap<&String, Members> = BTreeMap::new();
    for rank in ranks {
        for note in &rank.notes {
            notes.entry(note).or_default().add(rank.world_number, rank.rank);
        }
    }
    notes.into_iter().map(|(text, ranks)| (text.clone(), ranks)).collect()
}
