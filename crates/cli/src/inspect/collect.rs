//! Collecting the processes and objects that the user asked for.

use super::describe::{self, Fact};
use super::handle;
use super::process_context::{Around, Beyond};
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use mpiscope_image::Image;
use mpiscope_image::layout::{self, Recording, SectionKind, State};
use mpiscope_image::objects::Head;
use mpiscope_job::clock::Moment;
use mpiscope_job::discover::{Found as FoundImage, Job};
use mpiscope_job::leaks::{self, Count, Site};
use mpiscope_job::objects::{FileContext, Kind, Lifetime, Object, Reader};
use mpiscope_job::symbols::FileSymbols;
use mpiscope_job::{Bytes, Error, Process, RankSet, Worlds};
use mpiscope_target::Core;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What the user wants to see.
pub struct Wanted {
    /// Only these ranks.
    pub ranks: Option<RankSet>,
    /// Only this kind.
    pub kind: Option<Kind>,
    /// One object.
    pub handle: Option<String>,
    /// `handle` is Fortran's.
    pub fortran: bool,
    /// Freed ones too.
    pub freed: bool,
    /// What is not freed, by place.
    pub leaks: bool,
    /// Lists have every datatype whole.
    pub whole: bool,
}

/// A process and what of its objects is wanted.
pub struct Look {
    image: Image<Bytes>,
    beyond: Beyond,
    /// The process.
    pub process: Process,
    /// Number of its world, in the order in which they began.
    pub world: usize,
    /// Whether it is there; `None` for a file.
    pub alive: Option<bool>,
    /// How many of each kind.
    pub counts: BTreeMap<Kind, Count>,
    /// The objects with the handle that was asked for.
    pub objects: Vec<Shown>,
    /// Places that made what is not freed.
    pub sites: Vec<Site>,
    /// Why nothing can be seen.
    pub blind: Option<String>,
    /// Why there is no such object.
    pub missing: Option<String>,
}

/// An object with what can only be said while its process is at hand.
pub struct Shown {
    /// The object.
    pub object: Object,
    /// It in one line.
    pub brief: String,
    /// Everything about it, if one object was asked for.
    pub facts: Vec<Fact>,
}

/// Everything that was found.
#[derive(Default)]
pub struct Found {
    /// Name of the job.
    pub job: String,
    /// In order of the ranks.
    pub looks: Vec<Look>,
    /// The files that the processes have mapped.
    symbols: FileSymbols,
    /// Ranks that are there and were not asked for.
    pub others: RankSet,
    /// Processes that have not called MPI.
    pub silent: usize,
    /// What could not be read.
    pub problems: Vec<String>,
}

impl Look {
    /// Places that made what is not freed, of one kind or of all.
    pub fn leaks(&self, kind: Option<Kind>) -> Vec<Site> {
        self.sites.iter().filter(|site| kind.is_none_or(|kind| site.kind == kind)).cloned().collect()
    }
}

impl Found {
    /// Hands on the objects of a kind that process `look` has, one after the other: a million of them are looked at and
    /// told, and never there at once. Those whose head is not chosen are left out.
    ///
    /// # Errors
    /// When the process's table of that kind cannot be read.
    pub fn each(
        &self,
        look: &Look,
        kind: Kind,
        freed: bool,
        choose: &mut dyn FnMut(&Head) -> bool,
        each: &mut dyn FnMut(Shown),
    ) -> Result<(), mpiscope_image::Error> {
        let around = Around { files: FileContext::new(&look.process, &self.symbols), beyond: &look.beyond };
        let reader = Reader::new(&look.image, &around)?;
        let context = describe::Context { reader: &reader, process: &look.process };
        let wanted = |standing| freed || standing != Lifetime::Freed;
        reader.visit(kind, &mut |head| wanted(reader.standing(head)) && choose(head), &mut |object| {
            if wanted(object.common().standing) {
                each(Shown { brief: context.brief(&object), facts: Vec::new(), object });
            }
        })
    }
}

/// Looks at everything that `targets` mean.
pub fn look(targets: &[String], wanted: &Wanted) -> Result<Found> {
    let mut found = Found::default();
    if targets.is_empty() {
        one(None, &mut found)?;
    }
    for name in targets {
        one(Some(name), &mut found)?;
    }
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
        look.blind = blind(&look.image, &look.process);
        if look.blind.is_none()
            && let Err(e) = fill(look, wanted, &found.symbols)
        {
            look.blind = Some(e.to_string());
        }
    }
    found.looks = looks;
    Ok(found)
}

fn one(name: Option<&str>, found: &mut Found) -> Result<()> {
    match selection::find(name)? {
        Target::Job(job) => all(&job, name, found),
        Target::Jobs(jobs) => {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            bail!("several jobs run; name one: {} (`mpiscope ps` shows them)", names.join(", "));
        }
        Target::File(path) => {
            if let Err(e) = file(&path, found) {
                found.problems.push(e.to_string());
            }
        }
    }
    Ok(())
}

/// All ranks of a job, or the one process that was named.
fn all(job: &Job, name: Option<&str>, found: &mut Found) {
    found.job.clone_from(&job.name);
    let pid: Option<u32> = name.and_then(|name| name.parse().ok()).filter(|_| name != Some(&job.name));
    let holds = |image: &FoundImage, pid: u32| image.holders.iter().any(|holder| holder.0 == pid);
    // How many others hold an image tells nothing: a process whose files change while they are listed is missed.
    let one_alone = pid.filter(|pid| job.images.iter().filter(|image| holds(image, *pid)).count() == 1);
    let is_named = |image: &FoundImage, process: &Process| {
        Some(process.pid) == pid || one_alone.is_some_and(|pid| holds(image, pid))
    };
    let mut read = Vec::new();
    for image in &job.images {
        match open(image) {
            Ok(Some((bytes, process))) => read.push((image, bytes, process)),
            Ok(None) => found.silent += 1,
            Err(e) => found.problems.push(e.to_string()),
        }
    }
    // Who holds all images is the launcher or `mpiscope run`: that means the whole job.
    if read.iter().any(|(image, _, process)| is_named(image, process)) {
        read.retain(|(image, _, process)| is_named(image, process));
    }
    for (image, bytes, process) in read {
        let alive = image.alive(process.pid);
        let beyond = if alive { Beyond::Process(process.pid, OnceCell::new()) } else { Beyond::None };
        found.looks.push(Look::new(bytes, process, Some(alive), beyond));
    }
}

fn open(found: &FoundImage) -> Result<Option<(Image<Bytes>, Process)>> {
    let image = match found.open() {
        Ok(image) => image,
        Err(Error::Image { why: mpiscope_image::Error::NotAnImage, .. }) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let process = Process::read(&image, Some(Moment::now()))?;
    Ok(process.called_mpi().then_some((image, process)))
}

/// A core file, or a saved image.
fn file(path: &Path, found: &mut Found) -> Result<()> {
    let (image, beyond) = match Core::open(path) {
        Ok(core) => {
            let core = Arc::new(core);
            (mpiscope_job::core::image(&core)?, Beyond::Core(core))
        }
        Err(_) => (mpiscope_job::open_file(path)?, Beyond::None),
    };
    let process =
        Process::read(&image, None).map_err(|why| Error::Image { what: path.display().to_string(), why })?;
    if found.job.is_empty() {
        found.job.clone_from(&process.job);
    }
    found.looks.push(Look::new(image, process, None, beyond));
    Ok(())
}

impl Look {
    /// A process of which nothing was looked at yet.
    fn new(image: Image<Bytes>, process: Process, alive: Option<bool>, beyond: Beyond) -> Self {
        Self {
            image,
            beyond,
            process,
            world: 0,
            alive,
            counts: BTreeMap::new(),
            objects: Vec::new(),
            sites: Vec::new(),
            blind: None,
            missing: None,
        }
    }
}

/// Why a process has no objects to show.
fn blind(image: &Image<Bytes>, process: &Process) -> Option<String> {
    if process.state.0 < State::INITIALIZED.0 {
        return Some("it has not been through MPI_Init yet: there are no objects".into());
    }
    let table = image.table::<layout::Process>(SectionKind::PROCESS).ok()?;
    let facts = image.get::<layout::Process>(&table, 0).ok()?.value;
    let records = facts.recording.get() & Recording::OBJECTS.0 != 0;
    (!records)
        .then(|| "objects are not recorded in it: leave MPISCOPE_RECORD unset, or add `objects` to it".into())
}

fn fill(look: &mut Look, wanted: &Wanted, symbols: &FileSymbols) -> Result<(), mpiscope_image::Error> {
    let around = Around { files: FileContext::new(&look.process, symbols), beyond: &look.beyond };
    let reader = Reader::new(&look.image, &around)?;
    for kind in Kind::ALL {
        look.counts.insert(*kind, leaks::count(&reader, *kind)?);
    }
    if wanted.leaks {
        look.sites = leaks::sites(&look.image, &look.process, symbols)?;
    }
    let Some(text) = &wanted.handle else { return Ok(()) };
    let (objects, why) = handle::find(&reader, &around, wanted.kind, text, wanted.fortran);
    look.missing = why.filter(|_| objects.is_empty());
    if objects.is_empty() && look.missing.is_none() {
        look.missing = Some(format!("no object has the handle or name {text}"));
    }
    let context = describe::Context { reader: &reader, process: &look.process };
    let shown = |object| Shown { brief: context.brief(&object), facts: context.facts(&object), object };
    look.objects = objects.into_iter().map(shown).collect();
    Ok(())
}
