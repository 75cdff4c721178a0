//! Variables of a job.
//!
//! A helper process in the same environment determines the library's variables and the initial values of its
//! control variables; ranks with the same settings share one helper. Later changes are read from the images.

use super::item::{self, Item, Object, Who};
use super::query::{self, Environment};
use super::{Options, output};
use crate::render::{complain, while_working};
use crate::selection::{self, Target};
use anyhow::{Result, bail};
use mpiscope_job::base::parallel;
use mpiscope_job::base::refusal::Refusal;
use mpiscope_job::jobs::job::names;
use mpiscope_job::jobs::live_process::{self, Living};
use mpiscope_job::jobs::worlds;
use mpiscope_job::model::objects::SharedNames;
use mpiscope_job::observation::Observation;
use mpiscope_job::questions::process_file::{OneJob, ProcessFile};
use mpiscope_job::questions::variables::{LONGEST_NAME, Names, Variables, bound};
use mpiscope_job::questions::why::{self, Unexpected};
use mpiscope_job::sources::procfs;
use mpiscope_job::{Members, Process, Worlds};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// A process of the job.
struct Rank {
    /// Its index among those shown, and its place in the job.
    who: Who,
    process: Process,
    /// `None` if the process has ended.
    environment: Option<Environment>,
    /// The variables in its image.
    variables: Variables,
}

/// Shows the variables of a job.
pub fn vars(options: &Options) -> Result<ExitCode> {
    let (ranks, partial) = ranks(options)?;
    let mut list = List::default();
    for (who, items) in while_working("asking the MPI library", || helpers(&ranks)) {
        list.add(who, items);
    }
    for rank in &ranks {
        list.overlay(rank);
        list.overlay_objects(rank);
    }
    item::name_values(&mut list.items);
    let job = ranks.first().map(|rank| (rank.process.job.as_str(), headline(&ranks)));
    output::show(options, job, &list.items, partial)
}

fn headline(ranks: &[Rank]) -> String {
    let members: Members = ranks.iter().map(|rank| rank.who.1).collect();
    let Some(first) = ranks.first().map(|rank| &rank.process) else { return String::new() };
    let one_world = ranks.iter().all(|rank| rank.process.world == first.world);
    let of = first.size.filter(|_| one_world).map(|size| format!(" of {size}")).unwrap_or_default();
    format!("job {}: {}{of}, {}", first.job, members.named(), first.library)
}

/// Reads the ranks. Also returns whether some could not be read.
fn ranks(options: &Options) -> Result<(Vec<Rank>, bool)> {
    let (mut ranks, mut errors) = (Vec::new(), Vec::new());
    match selection::find(&options.targets)? {
        Target::Job(mut job) => {
            let elsewhere = options.host_scope.join(&mut job, Duration::ZERO, false);
            errors.extend(elsewhere.not_seen);
            let reader = live_process::Reader::default();
            for found in &job.images {
                // A process that has ended meanwhile has nothing to show.
                let read = reader.read(found);
                if read.is_err() && !found.held() {
                    continue;
                }
                match read.and_then(of_living) {
                    Ok(rank) => ranks.extend(rank),
                    Err(why) => errors.push(why.to_string()),
                }
            }
        }
        Target::Files(paths) => {
            let mut one_job = OneJob::default();
            for path in paths {
                match of_file(&path) {
                    Ok(rank) => {
                        errors.extend(one_job.other(&path, &rank.process));
                        ranks.push(rank);
                    }
                    Err(why) => errors.push(why.to_string()),
                }
            }
        }
        Target::Jobs(jobs) => {
            bail!(Refusal::several(names(&jobs), "mpiscope vars ", ""));
        }
    }
    if ranks.is_empty() && !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    if ranks.is_empty() {
        bail!("no process of the job has called MPI yet; try again");
    }
    place(&mut ranks);
    add_unexpected(&mut ranks);
    share_names(&mut ranks);
    errors.iter().for_each(|why| complain("vars", why));
    Ok((ranks, !errors.is_empty()))
}

/// Reads a living process; `None` if it has not called MPI yet.
fn of_living(living: Option<Living>) -> Result<Option<Rank>, mpiscope_job::Error> {
    let Some(Living { image, process, outer_pid, .. }) = living else { return Ok(None) };
    let variables = Variables::read(&image, &process, true)?;
    Ok(Some(Rank::new(process, variables, outer_pid.and_then(environment_of))))
}

/// Reads a saved image or a core file.
fn of_file(path: &Path) -> Result<Rank, mpiscope_job::Error> {
    let ProcessFile { image, process, .. } = ProcessFile::open(path)?;
    let variables = Variables::read(&image, &process, false)?;
    Ok(Rank::new(process, variables, None))
}

/// Numbers the worlds and sorts the ranks.
fn place(ranks: &mut [Rank]) {
    worlds::settle(&mut ranks.iter_mut().map(|rank| &mut rank.process).collect::<Vec<_>>());
    let worlds = Worlds::of(ranks.iter().map(|rank| &rank.process));
    for rank in ranks.iter_mut() {
        rank.who.1 = (worlds.number(&rank.process.world), rank.process.rank);
    }
    ranks
        .sort_by_key(|rank| (rank.who.1.0, rank.process.rank.is_none(), rank.process.rank, rank.process.pid));
    (0..).zip(ranks).for_each(|(at, rank)| rank.who.0 = at);
}

/// Gives shared objects the same name on all ranks.
fn share_names(ranks: &mut [Rank]) {
    let mut names = SharedNames::default();
    let objects = ranks.iter().flat_map(|rank| &rank.variables.bound).map(|value| &value.object);
    for object in objects.filter(|object| !object.predefined) {
        names.add(object.identity.0, object.name.as_deref().unwrap_or_default());
    }
    let objects = ranks.iter_mut().flat_map(|rank| &mut rank.variables.bound).map(|value| &mut value.object);
    objects.for_each(|object| names.give(object));
}

/// Adds the variables that depend on all processes together. A single process out of several cannot tell what
/// the others have sent.
fn add_unexpected(ranks: &mut [Rank]) {
    if ranks.len() == 1 && ranks.iter().any(|rank| rank.process.size.is_some_and(|size| size > 1)) {
        return;
    }
    let observations: Vec<Observation> =
        ranks.iter_mut().map(|r| std::mem::take(&mut r.variables.messages)).collect();
    let found = why::unexpected(&observations);
    for rank in ranks {
        let (host, pid) = (&rank.process.host, rank.process.pid);
        let is_it = |found: &&Unexpected| (&found.process.host, found.process.pid) == (host, pid);
        let counted = |comm| found.iter().filter(is_it).find(|found| found.comm == comm);
        let unexpected =
            bound::unexpected(&rank.variables.bound, |comm| counted(comm).map_or(0, |found| found.count));
        rank.variables.bound.extend(unexpected);
    }
}

impl Rank {
    fn new(process: Process, variables: Variables, environment: Option<Environment>) -> Self {
        Self { who: (0, (0, process.rank)), process, environment, variables }
    }

    /// Returns what distinguishes ranks whose libraries have different values: the library and its settings.
    fn settings(&self) -> Option<(&str, Vec<&(OsString, OsString)>)> {
        const PREFIXES: [&[u8]; 6] =
            [b"MPIR_", b"MPICH_", b"I_MPI_", b"OMPI_MCA_", b"PMIX_MCA_", b"PRTE_MCA_"];
        let environment = self.environment.as_ref()?;
        let is_setting =
            |(name, _): &&(OsString, OsString)| PREFIXES.iter().any(|p| name.as_bytes().starts_with(p));
        let mut settings: Vec<_> = environment.iter().filter(is_setting).collect();
        settings.sort();
        Some((&self.process.library_path, settings))
    }
}

/// Returns the initial environment of a living process.
fn environment_of(pid: u32) -> Option<Environment> {
    let environment = procfs::environment(pid).ok()?;
    Some(environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Returns the helpers' results for each rank, running one helper per processor at a time. A failure is
/// reported and loses the library's variables, but not those in the images.
fn helpers(ranks: &[Rank]) -> Vec<(Who, Vec<Item>)> {
    let mut groups: BTreeMap<_, Vec<&Rank>> = BTreeMap::new();
    for rank in ranks {
        if let Some(settings) = rank.settings() {
            groups.entry(settings).or_default().push(rank);
        }
    }
    let groups: Vec<Vec<&Rank>> = groups.into_values().collect();
    let mut described = Vec::new();
    let answers = parallel::work(&groups, |group| describe(group));
    for (group, answer) in groups.iter().zip(answers) {
        match answer {
            Ok(items) => described.extend(group.iter().map(|rank| (rank.who, items.clone()))),
            Err(error) => {
                complain("vars", &format!("the library's own variables are not shown: {error:#}"));
            }
        }
    }
    described.sort_by_key(|((at, _), _)| *at);
    described
}

fn describe(group: &[&Rank]) -> Result<Vec<Item>> {
    let Some((rank, environment)) = group.first().and_then(|rank| Some((rank, rank.environment.as_ref()?)))
    else {
        bail!("the process has ended");
    };
    query::describe(OsStr::new(&rank.process.library_path), environment)
}

/// All items of all ranks.
#[derive(Default)]
struct List {
    items: Vec<Item>,
    /// Index of an item by kind, name and class.
    places: HashMap<(String, String, String), usize>,
}

impl List {
    fn item(&mut self, new: Item) -> &mut Item {
        let key = (new.kind.clone(), new.name.clone(), new.class.clone());
        let items = &mut self.items;
        let place = *self.places.entry(key).or_insert_with(|| {
            items.push(new);
            items.len() - 1
        });
        &mut items[place]
    }

    /// Adds the results of a rank's helper. Values of performance variables are the helper's own and are
    /// dropped.
    fn add(&mut self, who: Who, items: Vec<Item>) {
        for mut new in items {
            let values = std::mem::take(&mut new.values);
            let is_pvar = new.kind == "pvar";
            if is_pvar && new.needs.is_empty() {
                new.needs = "a tool inside the process".to_owned();
                new.problem.clear();
            }
            let item = self.item(new);
            for held in values.into_iter().filter(|_| !is_pvar) {
                item.hold(held.value, &held.from, who);
            }
        }
    }

    /// Adds the values in the image of a rank.
    fn overlay(&mut self, rank: &Rank) {
        for recorded in &rank.variables.controls {
            let name = self.full_name(&recorded.name);
            let new = Item {
                kind: "cvar".to_owned(),
                name,
                desc: recorded.desc.clone(),
                environment: recorded.environment.clone(),
                ..Item::default()
            };
            let item = self.item(new);
            item.hold(recorded.value.clone(), recorded.from, rank.who);
            item.name_value(&recorded.value, recorded.named);
        }
        for own in &rank.variables.values {
            let (kind, name, class) = ("pvar".to_owned(), own.name.to_string(), own.class.to_owned());
            if own.if_there && !self.places.contains_key(&(kind.clone(), name.clone(), class.clone())) {
                continue;
            }
            let item = self.item(Item { kind, name, class, ..Item::default() });
            item.needs.clear();
            item.hold(own.value.clone(), "", rank.who);
            match &own.names {
                Names::Value(name) => item.name_value(&own.value, name),
                Names::Elements(names) => item.elements = Arc::clone(names),
                Names::Nothing => {}
            }
        }
    }

    /// Adds the values of individual objects in the image of a rank.
    fn overlay_objects(&mut self, rank: &Rank) {
        for own in &rank.variables.bound {
            let (kind, name, class) = ("pvar".to_owned(), own.name.to_owned(), own.class.to_owned());
            let item = self.item(Item { kind, name, class, ..Item::default() });
            item.needs.clear();
            item.problem.clear();
            item.hold_of(Some(&Object::of(own.object.clone())), own.value.clone(), "", rank.who);
        }
    }

    /// Completes a name: names in images are truncated.
    fn full_name(&self, name: &str) -> String {
        let is_it = |item: &&Item| item.kind == "cvar" && item.name.starts_with(name);
        let longer = (name.len() == LONGEST_NAME).then(|| self.items.iter().find(is_it)).flatten();
        longer.map_or_else(|| name.to_owned(), |item| item.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_name_is_found() {
        let long = "MPIR_CVAR_".to_owned() + &"A".repeat(80);
        let mut list = List::default();
        list.item(Item { kind: "cvar".into(), name: long.clone(), ..Item::default() });
        assert_eq!(list.full_name(&long[..63]), long);
        assert_eq!(list.full_name("MPIR_CVAR_A"), "MPIR_CVAR_A");
    }
}
