//! Call sites: the places in the program that account for the time and bytes of its calls.
//!
//! ```text
//! records of a process ──► RankSites (of_rank) ──► JobSites (join)
//! ```
//!
//! The calls of a function are those of its sites plus the [`Rest`], for which the process had no record
//! left: together they match its counters. The use of a communicator is the sum of the sites with it.

mod join;

pub use join::{JobRest, JobSite, JobSites, join};

use crate::model::objects::{Hex, Reference, SharedNames};
use crate::model::process::Counted;
use crate::model::rank::Rank;
use crate::performance::report::both_times;
use mpi_abi::Moves;
use mpiscope_image::derive::Moved;
use mpiscope_image::derive::sites::{self, Calls, Durations};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::sites::{SEVERAL, Site as Record};
use mpiscope_image::{Error, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of records read; the layer creates fewer.
const MOST_RECORDS: u64 = 1 << 22;

/// Sums over calls of one function.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Number of completed calls.
    pub calls: u64,
    /// Seconds in them; zero if times are not recorded, none if these calls were not timed.
    pub time_s: Option<f64>,
    /// Bytes that left the process.
    pub sent: u64,
    /// Bytes that entered the process.
    pub received: u64,
    /// Bytes moved by collectives, which do both.
    pub collective: u64,
    /// Number of calls whose time is estimated: of short calls that start a message, only one in sixteen is
    /// timed.
    #[serde(default)]
    pub estimated: u64,
}

impl Totals {
    fn of<S: Source>(calls: &Calls, rank: &Rank<'_, S>, function: u32) -> Self {
        let Moved { sent, received, collective } = calls.moved(moves(rank, function));
        let time_s = rank.process().seconds_in(function, calls.count, calls.ticks);
        Self { calls: calls.count, time_s, sent, received, collective, estimated: calls.estimated }
    }

    /// Returns the seconds known to have been spent in them.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(0.0)
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time_s = both_times(self.time_s, other.time_s);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.collective = self.collective.saturating_add(other.collective);
        self.estimated = self.estimated.saturating_add(other.estimated);
    }

    /// Returns the total number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sent.saturating_add(self.received).saturating_add(self.collective)
    }
}

/// Calls of similar duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Duration {
    /// Upper bound of their durations in seconds, which are at least half of this.
    pub below_s: f64,
    /// Number of calls.
    pub calls: u64,
}

/// Calls of one function from one place on one object, on one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Site {
    /// The function.
    pub function: String,
    /// `file:line`, or function (otherwise module) and offset; none if the address is unknown.
    pub place: Option<String>,
    /// The return address of the call.
    pub address: Hex,
    /// The communicator, window or file; none for a function without one, and for one that frees it.
    pub object: Option<Reference>,
    /// Whether it stands for several objects, because too many were used at this place to distinguish them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
    /// Sums over the calls.
    pub totals: Totals,
    /// Durations of the shortest and the longest call, in seconds; none without times.
    pub extremes_s: Option<(f64, f64)>,
    /// The calls by duration, shortest first; empty classes are omitted.
    pub durations: Vec<Duration>,
}

/// Calls of a function from places that no record was left for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rest {
    /// The function.
    pub function: String,
    /// Sums over these calls.
    pub totals: Totals,
}

/// The call sites of a rank, in descending order of time (of calls if times were not recorded).
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankSites {
    #[allow(missing_docs)]
    pub sites: Vec<Site>,
    /// Calls that belong to no site, by function.
    pub rest: Vec<Rest>,
}

impl RankSites {
    /// Gives shared objects these names.
    pub fn call_by(&mut self, names: &SharedNames) {
        self.sites.iter_mut().filter_map(|site| site.object.as_mut()).for_each(|object| names.give(object));
    }
}

/// Reads the call sites of a rank. If there are none, as in older images, all calls belong to the rest.
///
/// # Errors
/// If the table is damaged or cannot be read.
pub fn of_rank<S: Source>(rank: &Rank<'_, S>) -> Result<RankSites, Error> {
    let process = rank.process();
    let places = places(rank)?;
    let mut sums: BTreeMap<u32, Calls> = BTreeMap::new();
    for ((_, function, _), (calls, _)) in &places {
        let sum = sums.entry(*function).or_insert(Calls::NONE);
        *sum = sum.and(*calls);
    }
    let mut found: Vec<Site> = places
        .iter()
        .map(|((from, function, object), of)| site(rank, (*from, *function, *object), of))
        .collect();
    found.sort_by(|a, b| busier(&a.totals, &b.totals));
    let rest = counted(process.threads.iter().flat_map(|thread| &thread.counters)).into_iter();
    let rest = rest.filter_map(|(function, all)| {
        let rest = all.without(sums.get(&function).copied().unwrap_or(Calls::NONE));
        let totals = Totals::of(&rest, rank, function);
        (!rest.are_none()).then(|| Rest { function: process.function(function as usize), totals })
    });
    Ok(RankSites { sites: found, rest: rest.collect() })
}

/// Orders by descending time, then by descending number of calls.
fn busier(a: &Totals, b: &Totals) -> std::cmp::Ordering {
    b.seconds().total_cmp(&a.seconds()).then(b.calls.cmp(&a.calls))
}

/// Address, function, unique id of the object.
type Key = (u64, u32, u64);

/// Combines the records of all threads.
fn places<S: Source>(rank: &Rank<'_, S>) -> Result<BTreeMap<Key, (Calls, Durations)>, Error> {
    let image = rank.image();
    let table = image.table::<Record>(SectionKind::SITES)?;
    let mut places: BTreeMap<Key, (Calls, Durations)> = BTreeMap::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        // A table that continues in another section may leave unused space behind.
        let Ok(record) = image.get::<Record>(&table, index) else { continue };
        let Some((function, calls, durations)) = sites::of(&record.value) else { continue };
        let key = (record.value.from.get(), function, record.value.object.get());
        let known = places.entry(key).or_insert((Calls::NONE, Durations::NONE));
        *known = (known.0.and(calls), known.1.and(&durations));
    }
    Ok(places)
}

/// Combines the counters of all threads by function.
fn counted<'a>(counters: impl Iterator<Item = &'a Counted>) -> BTreeMap<u32, Calls> {
    let mut all: BTreeMap<u32, Calls> = BTreeMap::new();
    for one in counters {
        let Ok(function) = u32::try_from(one.function) else { continue };
        let Counted { count, ticks, bytes, received, estimated, .. } = *one;
        let calls = Calls { count, ticks, bytes, received, estimated };
        let sum = all.entry(function).or_insert(Calls::NONE);
        *sum = sum.and(calls);
    }
    all
}

fn moves<S: Source>(rank: &Rank<'_, S>, function: u32) -> Moves {
    rank.process().functions.get(function).map_or(Moves::NONE, |function| function.properties.moves)
}

fn site<S: Source>(
    rank: &Rank<'_, S>,
    (from, function, object): Key,
    (calls, durations): &(Calls, Durations),
) -> Site {
    let clock = &rank.process().clock;
    let below = |class: usize| clock.seconds(1u64.checked_shl(class as u32).unwrap_or(u64::MAX));
    let classes = durations.classes.iter().enumerate().filter(|(_, calls)| **calls != 0);
    Site {
        function: rank.process().function(function as usize),
        place: rank.place(from),
        address: rank.objects().code(from),
        object: rank.objects().reference(object),
        several: object == SEVERAL,
        totals: Totals::of(calls, rank, function),
        extremes_s: durations.extremes.map(|(least, most)| (clock.seconds(least), clock.seconds(most))),
        durations: classes.map(|(class, calls)| Duration { below_s: below(class), calls: *calls }).collect(),
    }
}

#[cfg(test)]
mod tests;
