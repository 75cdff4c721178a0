//! `mpiscope inspect --json`: the schema is `mpiscope.inspect/3`.

use super::collect::{Inspection, Look, Shown, Wanted};
use super::counts;
use super::describe::{Fact, Summary};
use super::shared::{self, Alike, Fold, Groups, Likeness, Place};
use anyhow::Result;
use mpiscope_job::Members;
use mpiscope_job::base::json;
use mpiscope_job::jobs::merge::{Merged, MergedObject};
use mpiscope_job::model::objects::{Hex, Kind, Object};
use mpiscope_job::questions::leaks::{Count, Leak};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// Maximum number of runs and holes of a type map, and of array elements of a constructor, per datatype in a
/// list.
const MOST_ELEMENTS: usize = 16;

/// Maximum number of objects compared with those of other processes.
const MOST_ALIKE: usize = 1000;

/// The output of `mpiscope inspect --json`: the objects behind handles.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'a> {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    /// Name of the job.
    job: &'a str,
    /// The processes that were examined.
    ranks: Vec<Rank<'a>>,
    /// Objects that several ranks share.
    #[cfg_attr(test, schemars(with = "Vec<SharedForm<'static>>"))]
    shared: AllShared<'a>,
    /// Similar objects, each of one rank, which the text output shows in one line. At most 1000 are compared.
    #[cfg_attr(test, schemars(with = "Vec<AlikeForm<'static>>"))]
    alike: AllAlike<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaks: Option<Vec<Leak>>,
    /// What could not be read.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    errors: Errors<'a>,
}

/// A process.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Rank<'a> {
    /// Rank in `MPI_COMM_WORLD`.
    rank: Option<u32>,
    /// Size of `MPI_COMM_WORLD`.
    size: Option<u32>,
    /// Name of the world: the set of processes that share one `MPI_COMM_WORLD`.
    world: &'a str,
    host: &'a str,
    pid: u32,
    state: String,
    /// Whether the process is alive; null for a file.
    alive: Option<bool>,
    abi: String,
    /// Why nothing can be seen; if set, the other fields are empty and meaningless.
    cannot_see: Option<&'a str>,
    /// Why the requested object does not exist.
    missing: Option<&'a str>,
    counts: BTreeMap<&'static str, Count>,
    lost: &'a BTreeMap<String, u64>,
    #[cfg_attr(test, schemars(with = "Vec<One>"))]
    objects: Objects<'a>,
}

/// An object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct One<'a> {
    /// One-line description.
    brief: String,
    /// Full description as text, if a single object was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    text: Vec<String>,
    #[serde(flatten)]
    object: &'a Object,
}

/// An object that several ranks share.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SharedForm<'a> {
    kind: Kind,
    name: &'a Option<String>,
    identity: Hex,
    ranks: &'a Members,
    /// The ranks' views of it, merged.
    merged: Merged<'a>,
}

/// Similar objects, each of one rank.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AlikeForm<'a> {
    kind: Kind,
    /// One-line description.
    brief: String,
    ranks: &'a Members,
    /// The objects' properties, merged.
    merged: Merged<'a>,
}

/// A shared or similar object while it is being merged.
struct Joint {
    kind: Kind,
    name: Option<String>,
    identity: Hex,
    ranks: Members,
    views: usize,
    merged: MergedObject,
    summary: Summary,
    /// `None` once several processes share the object.
    likeness: Option<Likeness>,
}

impl Joint {
    fn shared(&self) -> SharedForm<'_> {
        let Self { kind, name, identity, ranks, merged, .. } = self;
        SharedForm { kind: *kind, name, identity: *identity, ranks, merged: merged.report() }
    }

    fn alike(&self) -> AlikeForm<'_> {
        let Self { kind, ranks, merged, summary, .. } = self;
        AlikeForm { kind: *kind, brief: summary.to_string(), ranks, merged: merged.report() }
    }
}

impl Alike for Joint {
    fn likeness(&self) -> Option<Likeness> {
        self.likeness.clone()
    }

    fn members(&self) -> &Members {
        &self.ranks
    }

    fn fold(&mut self, other: Self) {
        self.ranks.join(other.ranks);
        self.views += other.views;
        self.merged.join(other.merged);
    }
}

/// Returns the JSON Schema of the output; a test checks the published one against it.
#[cfg(test)]
pub fn schema() -> serde_json::Result<String> {
    mpiscope_job::schema::of::<Report<'static>>()
}

/// Results collected while the objects are written, since they are never all in memory at once.
struct Joined {
    groups: Groups,
    shared: Vec<Joint>,
    alike: Fold<Joint>,
    problems: Vec<String>,
    /// Whether only one process is examined, so that nothing can be similar across processes.
    alone: bool,
}

impl Joined {
    fn of(processes: usize) -> Self {
        let alike = Fold::with_room_for(MOST_ALIKE);
        Self {
            groups: Groups::default(),
            shared: Vec::new(),
            alike,
            problems: Vec::new(),
            alone: processes < 2,
        }
    }

    fn add(&mut self, number: usize, look: &Look, shown: &Shown) {
        let common = shown.object.common();
        let place = shared::may_be_shared(common).then(|| {
            let place = self.groups.place(common, number, look.world);
            self.groups.put(&place, common, number, look.world);
            place
        });
        let who = (look.world, look.process.rank);
        if let Some(Place::Known(known)) = place {
            let Some(known) = self.shared.get_mut(known) else { return };
            known.likeness = None;
            known.ranks.add(who.0, who.1);
            known.views += 1;
            if let Err(e) = known.merged.add(who, &shown.object) {
                self.problems.push(format!("an object cannot be merged with others: {e}"));
            }
            return;
        }
        if place.is_none() && self.alone {
            return;
        }
        let mut merged = MergedObject::default();
        if let Err(e) = merged.add(who, &shown.object) {
            self.problems.push(format!("an object cannot be merged with others: {e}"));
        }
        let joint = Joint {
            kind: common.kind,
            name: common.name.clone(),
            identity: common.identity,
            ranks: [who].into_iter().collect(),
            views: 1,
            merged,
            summary: shown.summary.clone(),
            likeness: Some(Likeness::of(shown)),
        };
        match place {
            Some(_) => self.shared.push(joint),
            None => self.alike.add(joint),
        }
    }

    /// Finishes: objects that could be shared but are not may be similar to others.
    fn settle(&mut self) {
        let (shared, single) =
            std::mem::take(&mut self.shared).into_iter().partition(|joint| joint.views > 1);
        self.shared = shared;
        let single: Vec<Joint> = single;
        single.into_iter().for_each(|joint| self.alike.add(joint));
    }
}

/// The objects of a process.
struct Objects<'a> {
    found: &'a Inspection,
    number: usize,
    look: &'a Look,
    /// `None` for only those requested by handle.
    kind: Option<Kind>,
    freed: bool,
    whole: bool,
    joined: &'a RefCell<Joined>,
}

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut failed = None;
        let mut tell = |shown: &Shown| {
            self.joined.borrow_mut().add(self.number, self.look, shown);
            if failed.is_none() {
                let text = shown.facts.iter().map(Fact::text).collect();
                let one = One { brief: shown.summary.to_string(), text, object: &shown.object };
                failed = list.serialize_element(&one).err();
            }
        };
        self.look.objects.iter().for_each(&mut tell);
        if let Some(kind) = self.kind.filter(|_| self.look.blind.is_none())
            && let Err(e) = self.found.each(self.look, kind, self.freed, &mut |_| true, &mut |mut shown| {
                if let Object::Datatype(datatype) = &mut shown.object
                    && !self.whole
                {
                    datatype.shorten(MOST_ELEMENTS);
                }
                tell(&shown);
            })
        {
            let rank = self.look.process.rank.map_or_else(String::new, |rank| format!("rank {rank}: "));
            self.joined.borrow_mut().problems.push(format!("{rank}{e}"));
        }
        match failed {
            Some(e) => Err(e),
            None => list.end(),
        }
    }
}

/// Written after all objects.
struct AllShared<'a>(&'a RefCell<Joined>);

impl Serialize for AllShared<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow_mut().settle();
        serializer.collect_seq(self.0.borrow().shared.iter().map(Joint::shared))
    }
}

/// Written after the shared objects.
struct AllAlike<'a>(&'a RefCell<Joined>);

impl Serialize for AllAlike<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let joined = self.0.borrow();
        serializer.collect_seq(joined.alike.groups.iter().filter(|joint| joint.views > 1).map(Joint::alike))
    }
}

/// Written last.
struct Errors<'a> {
    before: &'a [String],
    joined: &'a RefCell<Joined>,
}

impl Serialize for Errors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.before.iter().chain(&self.joined.borrow().problems))
    }
}

/// Writes the JSON output.
///
/// # Errors
/// If the output is closed.
pub fn write(found: &mut Inspection, wanted: &Wanted, out: &mut dyn Write) -> Result<()> {
    let joined = RefCell::new(Joined::of(found.looks.len()));
    let mut out = BufWriter::new(out);
    let report = Report {
        schema: "mpiscope.inspect/3",
        job: &found.job,
        ranks: found
            .looks
            .iter()
            .enumerate()
            .map(|(number, look)| rank(found, number, look, wanted, &joined))
            .collect(),
        shared: AllShared(&joined),
        alike: AllAlike(&joined),
        leaks: wanted.leaks.then(|| counts::joined(found, wanted.kind)),
        errors: Errors { before: &found.problems, joined: &joined },
    };
    json::write(&mut out, &report)?;
    writeln!(out)?;
    out.flush()?;
    found.problems.extend(joined.into_inner().problems);
    Ok(())
}

fn rank<'a>(
    found: &'a Inspection,
    number: usize,
    look: &'a Look,
    wanted: &Wanted,
    joined: &'a RefCell<Joined>,
) -> Rank<'a> {
    let process = &look.process;
    Rank {
        rank: process.rank,
        size: process.size,
        world: &process.world,
        host: &process.host,
        pid: process.pid,
        state: format!("{:?}", process.state),
        alive: look.alive,
        abi: process.abi.name().to_owned(),
        cannot_see: look.blind.as_deref(),
        missing: look.missing.as_deref(),
        counts: look.counts.iter().map(|(kind, count)| (kind.name(), *count)).collect(),
        lost: &process.losses,
        objects: Objects {
            found,
            number,
            look,
            kind: wanted.kind.filter(|_| wanted.handle.is_none()),
            freed: wanted.freed,
            whole: wanted.whole,
            joined,
        },
    }
}
