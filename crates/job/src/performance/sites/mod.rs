//! Call sites: which places of the program the time and the bytes of its calls come from.
//!
//! ```text
//! records of a process ──► RankSites (of_rank) ──► JobSites (join)
//! ```
//!
//! The calls of a function are those of its sites and the [`Rest`] for which the process had no record left: both together are
//! what its counters say. What a communicator was used for is the sum of the sites with it.

mod join;

pub use join::{JobRest, JobSite, JobSites, join};

use crate::model::objects::{Hex, Reference};
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

/// More records than this are not looked at: the layer makes fewer.
const MOST_RECORDS: u64 = 1 << 22;

/// Sums over calls of one function.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Completed calls.
    pub calls: u64,
    /// Seconds in them; zero where times are not recorded, none if these calls were not timed.
    pub time_s: Option<f64>,
    /// Bytes that they moved out of the process.
    pub sent: u64,
    /// Into it.
    pub received: u64,
    /// By collectives, which do both.
    pub collective: u64,
    /// Of the calls, those whose time is an estimate: of calls that start a message and are short, one in sixteen is timed.
    #[serde(default)]
    pub estimated: u64,
}

impl Totals {
    fn of<S: Source>(calls: &Calls, rank: &Rank<'_, S>, function: u32) -> Self {
        let Moved { sent, received, collective } = calls.moved(moves(rank, function));
        let time_s = rank.process().seconds_in(function, calls.count, calls.ticks);
        Self { calls: calls.count, time_s, sent, received, collective, estimated: calls.estimated }
    }

    /// Seconds that are known to have been spent in them.
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

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sent.saturating_add(self.received).saturating_add(self.collective)
    }
}

/// Calls of a similar length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Duration {
    /// They took less than this, and at least half of it. In seconds.
    pub below_s: f64,
    /// How many.
    pub calls: u64,
}

/// Calls of one function from one place with one object, on one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Site {
    /// The function.
    pub function: String,
    /// `file:line`, or function (else module) and offset; none if the address is not known.
    pub place: Option<String>,
    /// The address behind the call.
    pub address: Hex,
    /// The communicator, window or file; none for a function without, and for one that frees it.
    pub object: Option<Reference>,
    /// Several objects that are not told apart: too many were used at this place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
    /// Sums over the calls.
    pub totals: Totals,
    /// The shortest and the longest call, in seconds; none without times.
    pub extremes_s: Option<(f64, f64)>,
    /// The calls by length, shortest first; classes without calls are left out.
    pub durations: Vec<Duration>,
}

/// Calls of a function whose places had no record left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rest {
    /// The function.
    pub function: String,
    /// Sums over these calls.
    pub totals: Totals,
}

/// The call sites of a rank, most time first (most calls, without times).
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankSites {
    #[allow(missing_docs)]
    pub sites: Vec<Site>,
    /// What belongs to no site; by function.
    pub rest: Vec<Rest>,
}

/// Reads the call sites of a rank. Without any, as in an image from before, everything is rest.
///
/// # Errors
/// When the table is damaged or cannot be read.
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

/// Most time first; without times, most calls.
fn busier(a: &Totals, b: &Totals) -> std::cmp::Ordering {
    b.seconds().total_cmp(&a.seconds()).then(b.calls.cmp(&a.calls))
}

/// Address, function, uid of the object.
type Key = (u64, u32, u64);

/// The records of all threads together.
fn places<S: Source>(rank: &Rank<'_, S>) -> Result<BTreeMap<Key, (Calls, Durations)>, Error> {
    let image = rank.image();
    let table = image.table::<Record>(SectionKind::SITES)?;
    let mut places: BTreeMap<Key, (Calls, Durations)> = BTreeMap::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        // A table that continues in a further section may have left room behind.
        let Ok(record) = image.get::<Record>(&table, index) else { continue };
        let Some((function, calls, durations)) = sites::of(&record.value) else { continue };
        let key = (record.value.from.get(), function, record.value.object.get());
        let known = places.entry(key).or_insert((Calls::NONE, Durations::NONE));
        *known = (known.0.and(calls), known.1.and(&durations));
    }
    Ok(places)
}

/// What the counters of all threads say, by function.
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
