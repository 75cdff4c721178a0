//! The call sites of all ranks combined.

use super::{Duration, RankSites, Site, Totals, busier};
use crate::jobs::worlds::Members;
use crate::performance::report::Extreme;
use serde::Serialize;
use std::collections::BTreeMap;

/// Calls of one function from one place on one object, on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobSite {
    /// The function.
    pub function: String,
    /// `file:line`, or function (otherwise module) and offset; empty if unknown.
    pub place: String,
    /// The communicator, window or file; `others` for objects beyond those distinguished at one place; empty
    /// for a function without one, and for one that frees it.
    pub object: String,
    /// Sums over the calls of all ranks.
    #[serde(flatten)]
    pub totals: Totals,
    /// Duration of the shortest call, in seconds; none without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_s: Option<f64>,
    /// Duration of the longest call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greatest_s: Option<f64>,
    /// The calls by duration, shortest first.
    pub durations: Vec<Duration>,
    /// Ranks that made such calls.
    pub ranks: Members,
    /// The rank with the least time in them.
    pub min: Extreme,
    /// The rank with the most time in them.
    pub max: Extreme,
}

/// Calls of a function from call sites for which there was no record left, on all ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobRest {
    /// The function.
    pub function: String,
    /// Sums over these calls.
    #[serde(flatten)]
    pub totals: Totals,
    /// Ranks that made such calls.
    pub ranks: Members,
}

/// The call sites of a job, in descending order of time.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobSites {
    #[allow(missing_docs)]
    pub sites: Vec<JobSite>,
    /// Calls that belong to no site, by function.
    #[serde(rename = "other_calls")]
    pub rest: Vec<JobRest>,
}

/// Joins the sites of several ranks (world number, rank).
#[must_use]
pub fn join<'a>(ranks: impl Iterator<Item = ((usize, Option<u32>), &'a RankSites)>) -> JobSites {
    let mut sites: BTreeMap<(&str, String, String), JobSite> = BTreeMap::new();
    let mut rest: BTreeMap<&str, JobRest> = BTreeMap::new();
    for ((world, rank), of) in ranks {
        let mut own: BTreeMap<(&str, String, String), JobSite> = BTreeMap::new();
        for site in &of.sites {
            let place = site.place.clone().unwrap_or_default();
            let object = label(site);
            let key = (site.function.as_str(), place, object);
            let empty = || empty(key.0, &key.1, &key.2);
            take(own.entry(key.clone()).or_insert_with(empty), site);
        }
        for (key, mut site) in own {
            let time = Extreme { time_s: site.totals.time_s, world, rank };
            (site.min, site.max) = (time, time);
            site.ranks.add(world, rank);
            match sites.get_mut(&key) {
                Some(known) => merge(known, site),
                None => _ = sites.insert(key, site),
            }
        }
        for one in &of.rest {
            let (totals, ranks) = (Totals::default(), Members::default());
            let new = || JobRest { function: one.function.clone(), totals, ranks };
            let known = rest.entry(&one.function).or_insert_with(new);
            known.totals.add(&one.totals);
            known.ranks.add(world, rank);
        }
    }
    let mut sites: Vec<JobSite> = sites.into_values().collect();
    sites.sort_by(|a, b| busier(&a.totals, &b.totals));
    JobSites { sites, rest: rest.into_values().collect() }
}

/// A label that is the same on all ranks, unlike handles.
fn label(site: &Site) -> String {
    let Some(object) = &site.object else {
        return if site.several { "others".into() } else { String::new() };
    };
    object.label()
}

fn empty(function: &str, place: &str, object: &str) -> JobSite {
    JobSite {
        function: function.to_owned(),
        place: place.to_owned(),
        object: object.to_owned(),
        totals: Totals::default(),
        least_s: None,
        greatest_s: None,
        durations: Vec::new(),
        ranks: Members::default(),
        min: Extreme::default(),
        max: Extreme::default(),
    }
}

/// Adds another site of the same rank: the same line at another address.
fn take(into: &mut JobSite, site: &Site) {
    into.totals.add(&site.totals);
    let (least, greatest) = site.extremes_s.unzip();
    lengths(into, least, greatest, &site.durations);
}

/// Adds the same place on another rank.
fn merge(into: &mut JobSite, other: JobSite) {
    into.totals.add(&other.totals);
    lengths(into, other.least_s, other.greatest_s, &other.durations);
    into.ranks.join(other.ranks);
    if other.min.seconds() < into.min.seconds() {
        into.min = other.min;
    }
    if other.max.seconds() > into.max.seconds() {
        into.max = other.max;
    }
}

fn lengths(into: &mut JobSite, least: Option<f64>, greatest: Option<f64>, durations: &[Duration]) {
    let both = |one: Option<f64>, other: Option<f64>, of: fn(f64, f64) -> f64| match (one, other) {
        (Some(one), Some(other)) => Some(of(one, other)),
        (one, other) => one.or(other),
    };
    into.least_s = both(into.least_s, least, f64::min);
    into.greatest_s = both(into.greatest_s, greatest, f64::max);
    for more in durations {
        match into.durations.iter_mut().find(|known| is_alike(known.below_s, more.below_s)) {
            Some(known) => known.calls = known.calls.saturating_add(more.calls),
            None => into.durations.push(*more),
        }
    }
    into.durations.sort_by(|a, b| a.below_s.total_cmp(&b.below_s));
}

/// Class bounds double from one class to the next, but may differ between hosts with different clocks.
fn is_alike(one: f64, other: f64) -> bool {
    let ratio = one / other;
    ratio > 0.71 && ratio < 1.41
}
