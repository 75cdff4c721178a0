//! The windows of a process and the locks it holds.

use super::communicators::Communicators;
use crate::model::rank::Rank;
use mpi_abi::ObjectKind;
use mpiscope_image::layout::{Loss, SectionKind, Words};
use mpiscope_image::objects::{self, Epoch, LOCK_EXCLUSIVE, Life};
use mpiscope_image::sites::{SEVERAL, Site};
use mpiscope_image::{Image, Source, W64};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of windows and of locks read per process.
const MOST: u64 = 1 << 12;
/// Maximum number of call-site records read.
const MOST_SITES: u64 = 1 << 14;
/// Maximum number of group members read.
const MOST_MEMBERS: usize = 1 << 20;

/// A window as seen by one of its members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Identity, the same on all members.
    pub identity: u64,
    /// Identity of its communicator.
    pub comm: u64,
    /// Name, as text for users.
    pub name: String,
    /// Locks this process holds or has requested: libraries may defer the request until the lock is needed.
    pub locks: Vec<Lock>,
    /// Whether it holds shared locks on all members.
    pub all: bool,
    /// World ranks whose memory it accesses, or has asked to, in the epoch of `MPI_Win_start`.
    #[serde(default)]
    pub start: Option<Group>,
    /// World ranks that may access its memory in the epoch of `MPI_Win_post`.
    #[serde(default)]
    pub post: Option<Group>,
    /// Whether it has ever completed an access epoch (`MPI_Win_complete`); `None` if that is not known.
    #[serde(default)]
    pub completed: Option<bool>,
    /// Source line of its last synchronization.
    pub place: Option<String>,
}

/// Processes by their ranks in the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// The entire world.
    World,
    /// These ranks.
    Ranks(Vec<u32>),
}

impl Group {
    /// Returns whether a rank is in the group.
    #[must_use]
    pub fn has(&self, rank: u32) -> bool {
        match self {
            Self::World => true,
            Self::Ranks(ranks) => ranks.contains(&rank),
        }
    }
}

/// A lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The locked member, as rank of the communicator.
    pub target: u32,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
}

impl Window {
    /// Returns the lock held on a member's memory.
    #[must_use]
    pub fn lock(&self, target: u32) -> Option<Lock> {
        let own = self.locks.iter().copied().find(|lock| lock.target == target);
        own.or(self.all.then_some(Lock { target, exclusive: false }))
    }
}

/// Reads windows that are live or being freed: other processes may be waiting for one in `MPI_Win_free`.
pub fn read<S: Source>(rank: &Rank<'_, S>, communicators: &Communicators) -> Vec<Window> {
    let image = rank.image();
    let Ok(table) = image.table::<objects::Window>(SectionKind::WINDOWS) else { return Vec::new() };
    let records =
        (0..table.len().min(MOST)).filter_map(|index| image.get::<objects::Window>(&table, index).ok());
    let there = |window: &objects::Window| [Life::LIVE, Life::MARKED].contains(&Life(window.head.life.get()));
    let live: Vec<objects::Window> = records.map(|record| record.value).filter(there).collect();
    let known = if live.is_empty() { None } else { Some(Completed::read(rank)) };
    let window = |window: objects::Window| {
        let locks = image.words(&window.locks, MOST as usize).unwrap_or_default();
        let lock = |word: u64| Lock { target: word as u32, exclusive: word & LOCK_EXCLUSIVE != 0 };
        let epochs = window.epochs.get();
        let locks = if epochs & Epoch::LOCK.0 == 0 { Vec::new() } else { locks };
        Window {
            identity: window.head.identity.get(),
            comm: communicators.identity(window.comm.get()),
            name: rank.object(ObjectKind::WIN, window.head.handle.get()),
            locks: locks.into_iter().map(lock).collect(),
            all: epochs & Epoch::LOCK_ALL.0 != 0,
            start: group(image, &window.start_group, &window.start_members),
            post: group(image, &window.post_group, &window.post_members),
            completed: known.as_ref().and_then(|known| known.on(window.head.uid.get())),
            place: Some(window.last_sync_from.get())
                .filter(|from| *from != 0)
                .and_then(|from| rank.place(from)),
        }
    };
    live.into_iter().map(window).collect()
}

/// The windows on which a process has completed an access epoch.
struct Completed {
    windows: BTreeSet<u64>,
    /// Whether its records are complete.
    all: bool,
}

impl Completed {
    fn read<S: Source>(rank: &Rank<'_, S>) -> Self {
        let image = rank.image();
        let table = image.table::<Site>(SectionKind::SITES).unwrap_or_default();
        let sites = (0..table.len().min(MOST_SITES)).map(|index| image.get::<Site>(&table, index));
        let mut windows = BTreeSet::new();
        let mut all = table.len() <= MOST_SITES
            && !Loss::SITES.name().is_some_and(|name| rank.process().losses.contains_key(name));
        for site in sites {
            let Ok(site) = site.map(|record| record.value) else {
                all = false;
                continue;
            };
            let known = site.function.get().checked_sub(1).and_then(|id| rank.process().functions.get(id));
            if site.count.get() > 0 && known.is_some_and(|known| known.base == "MPI_Win_complete") {
                let object = site.object.get();
                all &= object != SEVERAL;
                windows.insert(object);
            }
        }
        Self { windows, all }
    }

    fn on(&self, window: u64) -> Option<bool> {
        match self.windows.contains(&window) {
            true => Some(true),
            false => self.all.then_some(false),
        }
    }
}

/// The group of an epoch; `None` if there is no epoch or its group is unknown.
fn group<S: Source>(image: &Image<S>, uid: &W64, members: &Words) -> Option<Group> {
    if uid.get() == 0 {
        return None;
    }
    if members.offset.get() == 0 {
        return Some(Group::World);
    }
    let ranks = image.words(members, MOST_MEMBERS).ok()?;
    Some(Group::Ranks(ranks.into_iter().map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)).collect()))
}
