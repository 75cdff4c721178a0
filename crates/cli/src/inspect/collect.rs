//! Collects the processes and objects that the user requested.

use super::describe::{self, Fact, Summary};
use crate::host_scope::HostScope;
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::jobs::job::{Job, names};
use mpiscope_job::jobs::job_image::JobImage;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::jobs::{live_process, worlds};
use mpiscope_job::model::objects::{Kind, Object, Outline, SharedNames, by_handle};
use mpiscope_job::questions::inspected::Inspected;
use mpiscope_job::questions::leaks::{Count, Site};
use mpiscope_job::{Error, Members, Process, RankSet, Worlds};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

/// What the user wants to see.
pub struct Wanted {
    /// Which hosts are asked.
    pub host_scope: HostScope,
    /// Only these ranks.
    pub ranks: Option<RankSet>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only objects with this handle, identity or name.
    pub handle: Option<String>,
    /// Whether `handle` is a Fortran handle.
    pub fortran: bool,
    /// Whether to include freed objects.
    pub freed: bool,
    /// Whether to show what was not freed, by place.
    pub leaks: bool,
    /// Whether lists contain complete datatypes.
    pub whole: bool,
}

/// A process with its requested objects.
pub struct Look {
    inspected: Inspected,
    /// Number of its world, in the order in which the worlds began.
    pub world: usize,
    /// Number of objects of each kind.
    pub counts: BTreeMap<Kind, Count>,
    /// The objects with the requested handle.
    pub objects: Vec<Shown>,
    /// Places that created objects which were not freed.
    pub sites: Vec<Site>,
    /// Why nothing can be seen.
    pub blind: Option<String>,
    /// Why the requested object does not exist.
    pub missing: Option<String>,
}

/// An object, with the facts that need its process to be determined.
pub struct Shown {
    pub object: Object,
    /// The contents of its line in a list.
    pub summary: Summary,
    /// Everything about it, if a single object was requested.
    pub facts: Vec<Fact>,
}

/// Everything that was found.
#[derive(Default)]
pub struct Inspection {
    /// Name of the job.
    pub job: String,
    /// The processes, by rank.
    pub looks: Vec<Look>,
    /// Symbols of the files that the processes have mapped.
    symbols: FileSymbols,
    /// The names that any process gave to shared objects.
    names: SharedNames,
    /// Ranks that exist but were not requested.
    pub others: RankSet,
    /// Number of processes that have not called MPI.
    pub silent: usize,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// Returns the ranks of these processes.
pub fn who<'a>(looks: impl Iterator<Item = &'a Look>) -> Members {
    looks.map(|look| (look.world, look.process.rank)).collect()
}

impl Deref for Look {
    type Target = Inspected;

    fn deref(&self) -> &Inspected {
        &self.inspected
    }
}

impl Look {
    /// Returns the places that created objects which were not freed, of one kind or of all kinds.
    pub fn leaks(&self, kind: Option<Kind>) -> Vec<Site> {
        self.sites.iter().filter(|site| kind.is_none_or(|kind| site.kind == kind)).cloned().collect()
    }
}

impl Inspection {
    /// Passes the objects of one kind in process `look` to `each`, one at a time, so that a million of them
    /// are never in memory at once. `choose` filters by outline.
    ///
    /// # Errors
    /// If the process's table of that kind cannot be read.
    pub fn each(
        &self,
        look: &Look,
        kind: Kind,
        freed: bool,
        choose: &mut dyn FnMut(&Outline<'_>) -> bool,
        each: &mut dyn FnMut(Shown),
    ) -> Result<(), Error> {
        look.look(&self.symbols, &self.names, |reader| {
            let context = describe::Context { reader, process: &look.process, world: look.world };
            reader.visit_standing(kind, freed, choose, &mut |object| {
                each(Shown { summary: context.summary(&object), facts: Vec::new(), object });
            })
        })?
    }
}

/// Reads everything that `targets` refer to.
pub fn look(targets: &[OsString], wanted: &Wanted) -> Result<Inspection> {
    let mut found = Inspection::default();
    if targets.is_empty() {
        one(None, wanted.host_scope, &mut found)?;
    }
    for name in targets {
        one(Some(name), wanted.host_scope, &mut found)?;
    }
    worlds::settle(&mut found.looks.iter_mut().map(|look| &mut look.inspected.process).collect::<Vec<_>>());
    let worlds = Worlds::of(found.looks.iter().map(|look| &look.process));
    found.looks.sort_by_cached_key(|l| {
        (l.process.world.clone(), l.process.rank.is_none(), l.process.rank, l.process.pid)
    });
    let mut looks = std::mem::take(&mut found.looks);
    if let Some(ranks) = &wanted.ranks {
        let (meant, others) =
            looks.into_iter().partition(|look| look.process.rank.is_some_and(|rank| ranks.0.contains(&rank)));
        looks = meant;
        let others: Vec<Look> = others;
        found.others = others.iter().filter_map(|look| look.process.rank).collect();
    }
    for look in &mut looks {
        look.world = worlds.number(&look.process.world);
        look.blind = look.blind();
        if look.blind.is_none()
            && let Err(e) = fill(look, wanted, &found)
        {
            look.blind = Some(e.to_string());
        }
    }
    found.looks = looks;
    Ok(found)
}

fn one(name: Option<&OsStr>, host_scope: HostScope, found: &mut Inspection) -> Result<()> {
    match selection::find_one(name)? {
        Target::Job(mut job) => {
            let elsewhere = host_scope.join(&mut job, Duration::ZERO, false);
            found.problems.extend(elsewhere.not_seen);
            all(&job, name.and_then(OsStr::to_str), found);
        }
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), "mpiscope inspect ", ""));
        }
        Target::Files(paths) => {
            for path in paths {
                if let Err(e) = file(&path, found) {
                    found.problems.push(e.to_string());
                }
            }
        }
    }
    Ok(())
}

/// Adds all ranks of a job, or the one process that was named.
fn all(job: &Job, name: Option<&str>, found: &mut Inspection) {
    found.job.clone_from(&job.name);
    let pid: Option<u32> = name.and_then(|name| name.parse().ok()).filter(|_| name != Some(&job.name));
    let holds = |image: &JobImage, pid: u32| image.holders.iter().any(|holder| holder.pid == pid);
    // Count the images held by the process, not the holders of an image: a process whose files change during
    // the listing can be missed as a holder.
    let one_alone = pid.filter(|pid| job.images.iter().filter(|image| holds(image, *pid)).count() == 1);
    let is_named = |image: &JobImage, process: &Process| {
        Some(process.pid) == pid || one_alone.is_some_and(|pid| holds(image, pid))
    };
    let (mut read, reader) = (Vec::new(), live_process::Reader::default());
    for image in &job.images {
        match Inspected::of_job(&reader, image) {
            Ok(Some(inspected)) => read.push((image, inspected)),
            Ok(None) => found.silent += 1,
            Err(e) => found.problems.push(e.to_string()),
        }
    }
    read.iter().for_each(|(_, one)| found.names.join(&one.names(&found.symbols)));
    // A process that holds all images is the launcher or `mpiscope run`; it stands for the whole job.
    if read.iter().any(|(image, one)| is_named(image, &one.process)) {
        read.retain(|(image, one)| is_named(image, &one.process));
    }
    found.looks.extend(read.into_iter().map(|(_, inspected)| Look::new(inspected)));
}

/// Adds a core file or a saved image.
fn file(path: &Path, found: &mut Inspection) -> Result<()> {
    let inspected = Inspected::open(path)?;
    found.problems.extend(inspected.truncated());
    if found.job.is_empty() {
        found.job.clone_from(&inspected.process.job);
    }
    found.names.join(&inspected.names(&found.symbols));
    found.looks.push(Look::new(inspected));
    Ok(())
}

impl Look {
    /// Wraps a process that has not been examined yet.
    fn new(inspected: Inspected) -> Self {
        Self {
            inspected,
            world: 0,
            counts: BTreeMap::new(),
            objects: Vec::new(),
            sites: Vec::new(),
            blind: None,
            missing: None,
        }
    }
}

fn fill(look: &mut Look, wanted: &Wanted, found: &Inspection) -> Result<(), Error> {
    let (symbols, names) = (&found.symbols, &found.names);
    look.counts = look.inspected.counts(symbols)?;
    if wanted.leaks {
        look.sites = look.inspected.sites(symbols)?;
    }
    let Some(text) = &wanted.handle else { return Ok(()) };
    let (process, world) = (&look.inspected.process, look.world);
    let (objects, why) = look.inspected.look(symbols, names, |reader| {
        let (objects, why) = by_handle::find(reader, wanted.kind, text, wanted.fortran);
        let context = describe::Context { reader, process, world };
        let shown =
            |object| Shown { summary: context.summary(&object), facts: context.facts(&object), object };
        (objects.into_iter().map(shown).collect::<Vec<_>>(), why)
    })?;
    look.missing = why.filter(|_| objects.is_empty());
    if objects.is_empty() && look.missing.is_none() {
        look.missing = Some(format!("no object has the handle or name {text}"));
    }
    look.objects = objects;
    Ok(())
}
