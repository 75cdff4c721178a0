//! The most recent locks of a process on each of its windows: when they were requested, granted and released.

use super::ledger::{Called, Waited};
use crate::model::process::Process;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{self, LOCK_EXCLUSIVE, LOCK_OF_ALL, LOCK_RING, LOCK_WORDS, Life, LockEpoch};
use mpiscope_image::{Image, Source};
use std::sync::Arc;

/// Maximum number of windows read per process.
const MOST: u64 = 1 << 10;

/// The locks on one window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Locks {
    /// Identity of the window, the same on all members.
    pub window: u64,
    /// Total number of locks taken.
    pub newest: u64,
    /// The known locks, oldest first.
    pub list: Vec<Epoch>,
}

/// A lock epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Number of the lock among the process's locks on the window, counted from 1.
    pub number: u64,
    /// The locked member, as rank of the window's communicator; `None` if all were locked.
    pub target: Option<u32>,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
    /// The call that requested it.
    pub asked: Waited,
    /// The call that released it.
    pub released: Option<Waited>,
}

impl Epoch {
    /// Returns whether the two locks cannot be held at the same time.
    pub fn excludes(&self, other: &Self) -> bool {
        let same = self.target.is_none() || other.target.is_none() || self.target == other.target;
        same && (self.exclusive || other.exclusive)
    }
}

/// Locks copied from a window: its identity, the total number of locks, the locks.
pub type Copied = (u64, u64, Vec<LockEpoch>);

/// Copies the locks of all windows, live and freed.
pub fn copy<S: Source>(image: &Image<S>) -> Vec<Copied> {
    let Ok(table) = image.table::<objects::Window>(SectionKind::WINDOWS) else { return Vec::new() };
    let records =
        (0..table.len().min(MOST)).filter_map(|index| image.get::<objects::Window>(&table, index).ok());
    let used = records.map(|record| record.value).filter(|window| window.head.life.get() != Life::EMPTY.0);
    used.filter(|window| window.locked.get() != 0).map(|window| of_window(image, &window)).collect()
}

fn of_window<S: Source>(image: &Image<S>, window: &objects::Window) -> Copied {
    let words = || image.words(&window.lock_epochs, LOCK_RING * LOCK_WORDS).unwrap_or_default();
    let (first, second) = (words(), words());
    // Skips locks overwritten or renumbered between the two reads.
    let whole = |epoch: &LockEpoch| LockEpoch::all(&second).any(|again| again.number == epoch.number);
    let mut all: Vec<LockEpoch> = LockEpoch::all(&first).filter(whole).collect();
    all.sort_by_key(|epoch| epoch.number);
    (window.head.identity.get(), window.locked.get(), all)
}

/// Decodes a copy; `place` resolves an address.
pub fn read(
    copied: &[Copied],
    process: &Process,
    place: &mut dyn FnMut(u64) -> Option<String>,
) -> Vec<Locks> {
    let mut call = |function: &str, from, since, until| Waited {
        from_ns: process.clock.ns_at(since),
        until_ns: process.clock.ns_at(until),
        call: Arc::new(Called { function: function.to_owned(), place: place(from) }),
    };
    let mut epoch = |known: &LockEpoch| {
        let of_all = known.target == LOCK_OF_ALL;
        let (lock, unlock) = if of_all {
            ("MPI_Win_lock_all", "MPI_Win_unlock_all")
        } else {
            ("MPI_Win_lock", "MPI_Win_unlock")
        };
        let released = known.releasing != 0 && known.released != 0;
        Epoch {
            number: known.number,
            target: (!of_all).then_some(known.target as u32),
            exclusive: known.target & LOCK_EXCLUSIVE != 0,
            asked: call(lock, known.from, known.asked, known.granted),
            released: released.then(|| call(unlock, known.released_from, known.releasing, known.released)),
        }
    };
    let window = |(window, newest, epochs): &Copied| Locks {
        window: *window,
        newest: *newest,
        list: epochs.iter().map(&mut epoch).collect(),
    };
    copied.iter().map(window).collect()
}
