//! `mpiscope run mpirun …` as a starter process for debuggers. With any launcher, the ranks of the first
//! world appear in `MPIR_proctable` as soon as all of them are known, and an attached debugger stops there.
//!
//! Ranks of this host hand over their images. If there are ranks elsewhere, rank 0 knows them: it is the
//! directory of its world in the MPI2 debugger interface, and its table is read as a debugger would read it.
//!
//! Ranks are held in `MPI_Init` if a debugger has set `MPIR_being_debugged` before they are started, or with
//! `--hold`. A debugger releases the ranks it has attached to; the remaining ones are released here when it
//! continues from `MPIR_Breakpoint` (`MPIR_partial_attach_ok`).

mod symbols;

use super::peers::Peer;
use crate::attach::tmux::Session;
use crate::render::complain;
use crate::{attach, procs};
use mpiscope_job::jobs::acquire::{Entry, LastStage, WhoIs, mpi2dd};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use symbols::being_debugged;

/// Polling interval for ranks that are not known yet, at first and after [`ATTEMPTS_AT_SHORT_INTERVAL`]
/// attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const LATER_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Number of attempts at the short interval.
const ATTEMPTS_AT_SHORT_INTERVAL: u32 = 100;
/// Every `DIRECTORY`th attempt also reads the directory, which takes longer.
const DIRECTORY: u32 = 5;

/// What the starter knows of the first world.
#[derive(Debug)]
pub struct Starter {
    /// Whether to open a debugger on each rank.
    debug: bool,
    /// The session of these debuggers.
    debuggers: Option<Session>,
    published: bool,
    looks: u32,
    aborting: bool,
    /// Peers whose end has been handled, by index.
    ended: BTreeSet<usize>,
}

/// A rank, as described by its image.
struct Known {
    world: String,
    number: u32,
    size: u32,
    started: bool,
    aborted: bool,
    rank: Entry,
}

impl Starter {
    /// Creates a starter that knows no ranks yet. With `debug` it opens a debugger on each rank once all are
    /// known.
    pub fn new(debug: bool) -> Self {
        Self { debug, debuggers: None, published: false, looks: 0, aborting: false, ended: BTreeSet::new() }
    }

    /// Returns the maximum time to wait before the next [`look`](Self::look): there is no notification when a
    /// rank learns its number.
    pub fn patience(&self, peers: &[Peer]) -> Option<Duration> {
        let pause = if self.looks < ATTEMPTS_AT_SHORT_INTERVAL { POLL_INTERVAL } else { LATER_POLL_INTERVAL };
        (!self.published && !peers.is_empty()).then_some(pause)
    }

    /// Reads the ranks. Once all ranks of the first world are known, publishes them and stops for the
    /// debugger.
    pub fn look(&mut self, peers: &[Peer]) {
        if self.published || peers.is_empty() {
            return;
        }
        self.looks = self.looks.saturating_add(1);
        let known: Vec<Known> = peers.iter().filter_map(known).collect();
        let ask = || if self.looks.is_multiple_of(DIRECTORY) { directory(&known) } else { None };
        let Some(ranks) = first_world(&known).or_else(ask) else { return };
        self.published = true;
        symbols::publish(&ranks);
        if self.debug {
            match attach::debug(&ranks) {
                Ok(session) => self.debuggers = session,
                Err(error) => complain("run", &format!("{error:#}")),
            }
        } else if being_debugged() {
            // The debugger has continued us, so it has already stopped the ranks that it wants.
            attach::release(&ranks, &procs::system_of(&ranks))
                .iter()
                .for_each(|problem| complain("run", problem));
        }
    }

    /// Closes the debuggers of a job that has ended.
    pub fn close(&self) {
        self.debuggers.iter().for_each(Session::close);
    }

    /// Handles the ranks that have ended since the last call, or all of them if `all` (after the launcher's
    /// end). If one called `MPI_Abort`, tells the debugger once.
    pub fn record_ends(&mut self, peers: &[Peer], all: bool) {
        for (index, peer) in peers.iter().enumerate() {
            let new = peer.watched().is_none() && self.ended.insert(index);
            if self.aborting || !(new || all) {
                continue;
            }
            if let Some(known) = known(peer).filter(|known| known.aborted) {
                self.aborting = true;
                symbols::abort(&format!("rank {} of world {} called MPI_Abort", known.number, known.world));
            }
        }
    }
}

/// Returns all ranks of the first peer's world, in order; `None` while one is missing.
fn first_world(known: &[Known]) -> Option<Vec<Entry>> {
    let first = known.first()?;
    let members = known.iter().filter(|k| k.world == first.world && k.started);
    complete(members.map(|k| (k.number, k.rank.clone())), first.size)
}

/// Returns the ranks in order without duplicates; `None` unless all are present.
fn complete(ranks: impl Iterator<Item = (u32, Entry)>, size: u32) -> Option<Vec<Entry>> {
    let ranks: BTreeMap<u32, Entry> = ranks.collect();
    let complete = size > 0 && ranks.len() == size as usize && ranks.keys().all(|rank| *rank < size);
    complete.then(|| ranks.into_values().collect())
}

/// Returns all ranks of the world of the first peer with rank 0, according to that rank's table.
fn directory(known: &[Known]) -> Option<Vec<Entry>> {
    let zero = known.iter().find(|k| k.number == 0 && k.started)?;
    let block = mpi2dd::read_process(zero.rank.place.pid)?;
    let ranks = block.processes.into_iter().filter_map(|rank| {
        let number = u32::try_from(rank.rank).ok()?;
        let entry = Entry {
            world: rank.world,
            rank: Some(number),
            place: rank.process.place,
            executable: rank.process.executable,
            spawned: None,
            gone: false,
            silent: false,
        };
        Some((number, entry))
    });
    complete(ranks, zero.size)
}

fn known(peer: &Peer) -> Option<Known> {
    let WhoIs { stage, size, mut entry } = WhoIs::of_descriptor(peer.image()?)?;
    entry.place.pid = peer.writer().unwrap_or(entry.place.pid);
    Some(Known {
        world: entry.world.clone(),
        number: entry.rank?,
        size,
        started: !matches!(stage, LastStage::Silent | LastStage::Starting),
        aborted: stage == LastStage::Aborted,
        rank: entry,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::jobs::acquire::ProcessLocation;

    fn rank(world: &str, number: u32, size: u32, started: bool) -> Known {
        let rank = Entry {
            world: world.into(),
            rank: Some(number),
            place: ProcessLocation { host: "h".into(), pid: 100 + number },
            executable: "/a".into(),
            spawned: None,
            gone: false,
            silent: false,
        };
        Known { world: world.into(), number, size, started, aborted: false, rank }
    }

    #[test]
    fn the_first_world_is_complete_and_sorted_once_every_rank_has_started() {
        let pids = |known: Vec<Known>| {
            first_world(&known).map(|ranks| ranks.iter().map(|r| r.place.pid).collect::<Vec<_>>())
        };
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("w", 0, 2, true)]), Some(vec![100, 101]));
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("w", 0, 2, false)]), None);
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("v", 0, 2, true)]), None);
        assert_eq!(pids(vec![rank("w", 0, 1, true), rank("child", 0, 2, true)]), Some(vec![100]));
        assert_eq!(pids(vec![]), None);
        assert_eq!(pids(vec![rank("w", 0, 0, true)]), None);
    }
}
