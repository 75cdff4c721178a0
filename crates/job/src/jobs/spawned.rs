//! Processes that `MPI_Comm_spawn` has started and that nobody sees: they run without the layer, or where nobody looks.
//!
//! Those who spawned know how many there are. Each host says it of its own processes, so that no image is read for this that came
//! from another one.

use crate::jobs::acquire::images::WhoIs;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Comm, Flag, Life};
use mpiscope_image::{Functions, Image, Source};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The functions that start processes.
const STARTERS: [&str; 2] = ["MPI_Comm_spawn", "MPI_Comm_spawn_multiple"];

/// One call that has started processes: the same on all who took part in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spawned {
    /// The world of those who called it.
    pub world: String,
    /// The identity of the intercommunicator.
    pub identity: u64,
    /// How many it has started.
    pub processes: u32,
}

/// Which intercommunicators count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that are there: who was started has not parted.
    Live,
    /// Also those that were freed, of a job whose processes are all kept.
    All,
}

/// What the process of an image has started.
pub fn of_image<S: Source>(image: &Image<S>, world: &str, which: Which) -> Vec<Spawned> {
    let spawned = intercommunicators(image, &STARTERS, which)
        .into_iter()
        .map(|(_, identity, processes)| Spawned { world: world.to_owned(), identity, processes });
    spawned.collect()
}

/// The intercommunicators that one of these functions has made: which function, the identity, and how many are on the other side.
pub(crate) fn intercommunicators<S: Source>(
    image: &Image<S>,
    makers: &[&str],
    which: Which,
) -> Vec<(String, u64, u32)> {
    let wanted = |comm: &Comm| {
        let life = comm.head.life.get();
        comm.head.flags.get() & Flag::INTER.0 != 0
            && comm.remote_size.get() > 0
            && (life == Life::LIVE.0 || which == Which::All && life == Life::FREED.0)
    };
    let comms = image.all::<Comm>(SectionKind::COMMS).unwrap_or_default();
    let comms: Vec<Comm> = comms.into_iter().map(|comm| comm.value).filter(wanted).collect();
    if comms.is_empty() {
        return Vec::new();
    }
    let functions = Functions::read(image).unwrap_or_default();
    let made = |comm: &Comm| {
        let made_by = u32::from(comm.head.made_by.get()).checked_sub(1);
        let name = &made_by.and_then(|number| functions.get(number))?.name;
        let maker = makers.iter().find(|maker| **maker == name.as_str())?;
        Some(((*maker).to_owned(), comm.head.identity.get(), comm.remote_size.get()))
    };
    comms.iter().filter_map(made).collect()
}

/// What the processes of this host have started that are still connected to it.
#[must_use]
pub fn of_job(job: &Job) -> BTreeSet<Spawned> {
    let here = job.images.iter().filter(|found| found.about().is_none());
    let each = |found: &JobImage| {
        let image = found.open().ok()?;
        let who = WhoIs::of(&image)?;
        Some(of_image(&image, &who.entry.world, Which::Live))
    };
    here.filter_map(each).flatten().collect()
}

/// Says so if fewer processes were seen beside those who spawned than were started. `worlds` has the world of each process that was
/// seen.
pub fn unseen<'a>(spawned: &BTreeSet<Spawned>, worlds: impl Iterator<Item = &'a str>) -> Option<String> {
    let started: u64 = spawned.iter().map(|one| u64::from(one.processes)).sum();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    worlds.for_each(|world| *seen.entry(world).or_default() += 1);
    let all: u64 = seen.values().sum();
    // Of several worlds that spawned, one was started by the launcher. The smallest is taken for it: nobody is missed who is there.
    let spawners = spawned.iter().map(|one| seen.get(one.world.as_str()).copied().unwrap_or(0)).min()?;
    let missing = started.saturating_sub(all.saturating_sub(spawners));
    let are = if missing == 1 { "is" } else { "are" };
    (missing > 0).then(|| {
        format!(
            "{missing} of the {started} processes that MPI_Comm_spawn started {are} not seen: they have ended, run without \
             libmpiscope.so, or are on a host that is not known"
        )
    })
}

/// The same of a running job, of which all parts are here.
#[must_use]
pub fn unseen_of_job(job: &Job) -> Option<String> {
    if job.spawned.is_empty() {
        return None;
    }
    let worlds = job.images.iter().map(|found| found.who().map_or_else(String::new, |who| who.entry.world));
    let worlds: Vec<String> = worlds.collect();
    unseen(&job.spawned, worlds.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(world: &str, identity: u64, processes: u32) -> Spawned {
        Spawned { world: world.to_owned(), identity, processes }
    }

    #[test]
    fn processes_that_were_started_and_are_not_there_are_counted() {
        let spawned = [one("w", 1, 2), one("w", 2, 3)].into_iter().collect();
        let said = |worlds: &[&str]| unseen(&spawned, worlds.iter().copied());
        assert!(said(&["w", "w", "v", "v", "u", "u", "u"]).is_none());
        assert!(said(&["w", "w", "v", "v"]).is_some_and(|why| why.starts_with("3 of the 5 processes ")));
        assert!(said(&["w"]).is_some_and(|why| why.starts_with("5 of the 5 processes ")));
        // In MPI_Init they have no world yet.
        assert!(said(&["w", "w", "", "", "", "", ""]).is_none());
    }

    #[test]
    fn children_that_spawn_are_children_themselves() {
        let spawned = [one("w", 1, 2), one("v", 2, 1)].into_iter().collect();
        assert!(unseen(&spawned, ["w", "w", "v", "v", "u"].into_iter()).is_none());
        assert!(unseen(&spawned, ["w", "v", "v"].into_iter()).is_some());
    }

    #[test]
    fn who_has_spawned_nothing_misses_nobody() {
        assert!(unseen(&BTreeSet::new(), ["w"].into_iter()).is_none());
    }
}
