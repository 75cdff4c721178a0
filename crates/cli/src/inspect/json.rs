//! `mpiscope inspect --json`: the schema is `mpiscope.inspect/1`; objects are those of `mpiscope.objects/1`.

use super::look::{Found, Look, Shown, Wanted};
use super::same;
use mpiscope_job::RankSet;
use mpiscope_job::leaks::{self, Count, Leak};
use mpiscope_job::objects::{Hex, Kind, Object};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is behind handles: the answer of `mpiscope inspect --json`.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Name and version of this form: fields may be added to it, none changes its meaning.
    schema: &'static str,
    /// Name of the job.
    job: &'a str,
    /// The processes that were looked at.
    ranks: Vec<Rank<'a>>,
    /// Objects that more than one rank has.
    shared: Vec<Shared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaks: Option<Vec<Leak>>,
    /// What could not be read.
    errors: &'a [String],
}

/// A process.
#[derive(Serialize, JsonSchema)]
struct Rank<'a> {
    /// Rank in `MPI_COMM_WORLD`.
    rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`.
    size: Option<u32>,
    /// Name of the world: the processes with which it shares `MPI_COMM_WORLD`.
    world: &'a str,
    host: &'a str,
    pid: u32,
    state: String,
    /// Whether the process is there; none for a file.
    alive: Option<bool>,
    abi: String,
    /// Why nothing can be seen; the rest is then empty and means nothing.
    cannot_see: Option<&'a str>,
    /// Why there is no such object.
    missing: Option<&'a str>,
    counts: BTreeMap<&'static str, Count>,
    lost: &'a BTreeMap<String, u64>,
    objects: Vec<One<'a>>,
}

/// An object.
#[derive(Serialize, JsonSchema)]
struct One<'a> {
    /// In one line.
    brief: &'a str,
    /// For people, if one object was asked for.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    text: &'a [String],
    #[serde(flatten)]
    object: &'a Object,
}

/// An object that several ranks have.
#[derive(Serialize, JsonSchema)]
struct Shared {
    kind: Kind,
    name: Option<String>,
    identity: Hex,
    ranks: RankSet,
}

/// The form of the text, as JSON Schema.
pub fn schema() -> serde_json::Result<String> {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    serde_json::to_string_pretty(&generator.into_root_schema_for::<Report<'static>>())
}

/// The text.
pub fn text(found: &Found, wanted: &Wanted) -> serde_json::Result<String> {
    let sites: Vec<_> = found.looks.iter().map(|look| (look.process.rank, look.leaks(wanted.kind))).collect();
    let shared = same::groups(found).into_iter().filter(|group| group.views.len() > 1);
    let shared = shared.filter_map(|group| {
        let common = group.views.first()?.1.object.common();
        Some(Shared {
            kind: common.kind,
            name: common.name.clone(),
            identity: common.identity,
            ranks: group.ranks,
        })
    });
    serde_json::to_string(&Report {
        schema: "mpiscope.inspect/1",
        job: &found.job,
        ranks: found.looks.iter().map(rank).collect(),
        shared: shared.collect(),
        leaks: wanted.leaks.then(|| leaks::join(sites.iter().map(|(r, s)| (0, *r, s.as_slice())))),
        errors: &found.problems,
    })
}

fn rank(look: &Look) -> Rank<'_> {
    let process = &look.process;
    Rank {
        rank: process.rank,
        size: process.size,
        world: &process.world,
        host: &process.host,
        pid: process.pid,
        state: format!("{:?}", process.state),
        alive: look.alive,
        abi: process.abi.name().unwrap_or("unknown").to_owned(),
        cannot_see: look.blind.as_deref(),
        missing: look.missing.as_deref(),
        counts: look.counts.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
        lost: &process.losses,
        objects: look.objects.iter().map(one).collect(),
    }
}

fn one(shown: &Shown) -> One<'_> {
    One { brief: &shown.brief, text: &shown.text, object: &shown.object }
}
