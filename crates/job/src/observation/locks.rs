//! The last locks of a process in each of its windows: when they were asked for, granted and released.

use super::ledger::{Called, Waited};
use crate::model::process::Process;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{self, LOCK_EXCLUSIVE, LOCK_OF_ALL, LOCK_RING, LOCK_WORDS, Life, LockEpoch};
use mpiscope_image::{Image, Source};
use std::sync::Arc;

/// Windows of a process that are looked at.
const MOST: u64 = 1 << 10;

/// The locks in one window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Locks {
    /// Identity of the window, the same on all members.
    pub window: u64,
    /// How many there were.
    pub newest: u64,
    /// Those that are known, oldest first.
    pub list: Vec<Epoch>,
}

/// One lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Epoch {
    /// Counts the locks of the process in the window, from 1.
    pub number: u64,
    /// Whose memory was locked, as rank of the window's communicator; none for that of all.
    pub target: Option<u32>,
    /// Nobody else could lock it.
    pub exclusive: bool,
    /// The call that asked for it.
    pub asked: Waited,
    /// The call that released it.
    pub released: Option<Waited>,
}

impl Epoch {
    /// Whether only one of the two can hold its lock at a time.
    pub fn excludes(&self, other: &Self) -> bool {
        let same = self.target.is_none() || other.target.is_none() || self.target == other.target;
        same && (self.exclusive || other.exclusive)
    }
}

/// What was copied of a window: identity, how many locks, the locks.
pub type Copied = (u64, u64, Vec<LockEpoch>);

/// Copies the locks of all windows, living and freed.
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
    // Written meanwhile, or the number of another one.
    let whole = |epoch: &LockEpoch| LockEpoch::all(&second).any(|again| again.number == epoch.number);
    let mut all: Vec<LockEpoch> = LockEpoch::all(&first).filter(whole).collect();
    all.sort_by_key(|epoch| epoch.number);
    (window.head.identity.get(), window.locked.get(), all)
}

/// What a copy says; `place` gives words for an address.
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
