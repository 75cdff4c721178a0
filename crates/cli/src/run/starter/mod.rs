//! `mpiscope run mpirun …` as a starter that debuggers know: whatever the launcher, the ranks of the first world are
//! in `MPIR_proctable` as soon as all of them have been heard of, and a debugger that is attached stops there.
//!
//! Ranks are held in `MPI_Init` when a debugger has set `MPIR_being_debugged` before they are started, or with
//! `--hold`. A debugger lets go the ranks it has attached to; those that it did not want are let go here when it
//! continues from `MPIR_Breakpoint` (`MPIR_partial_attach_ok`).

mod symbols;

use super::peers::Peer;
use mpiscope_image::layout::{Process, SectionKind, State};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use symbols::Rank;

pub use symbols::being_debugged;

/// How often ranks that are not known yet are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What the starter knows of the first world.
#[derive(Debug)]
pub struct Starter {
    /// Open a debugger on each rank.
    debug: bool,
    published: bool,
    aborting: bool,
    /// Peers whose end has been looked at, by their place in the list.
    ended: BTreeSet<usize>,
}

/// One rank, as its image says.
struct Known {
    world: String,
    number: u32,
    size: u32,
    started: bool,
    aborted: bool,
    rank: Rank,
}

impl Starter {
    /// Knows nothing yet. With `debug` it opens a debugger on each rank as soon as it knows them.
    pub fn new(debug: bool) -> Self {
        Self { debug, published: false, aborting: false, ended: BTreeSet::new() }
    }

    /// How long to wait for news at most: nobody tells when a rank has found out who it is.
    pub fn patience(&self, peers: &[Peer]) -> Option<Duration> {
        (!self.published && !peers.is_empty()).then_some(LOOK)
    }

    /// Looks at the ranks. When all of the first world are known: publishes them and stops for the debugger.
    pub fn look(&mut self, peers: &[Peer]) {
        if self.published || peers.is_empty() {
            return;
        }
        let Some(ranks) = first_world(peers.iter().filter_map(known)) else { return };
        self.published = true;
        symbols::publish(&ranks);
        let pids: Vec<u32> = ranks.iter().map(|rank| rank.pid).collect();
        if self.debug {
            if let Err(error) = crate::attach::debug(&pids) {
                eprintln!("mpiscope run: {error:#}");
            }
        } else if being_debugged() {
            pids.iter().for_each(|pid| let_go(*pid));
        }
    }

    /// Looks at the ranks that have ended since the last time (at `all` when the launcher has ended): if one called
    /// `MPI_Abort`, tells the debugger, once.
    pub fn bury(&mut self, peers: &[Peer], all: bool) {
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

/// The debugger has continued us: ranks that it wants it has stopped itself by now.
fn let_go(pid: u32) {
    if let Err(error) = mpiscope_job::acquire::release(pid) {
        eprintln!("mpiscope run: {error}");
    }
}

/// All ranks of the world of the first peer, in order; nothing while one is missing.
fn first_world(known: impl Iterator<Item = Known>) -> Option<Vec<Rank>> {
    let known: Vec<Known> = known.collect();
    let first = known.first()?;
    let (world, size) = (first.world.clone(), first.size);
    let ranks: BTreeMap<u32, Rank> =
        known.into_iter().filter(|k| k.world == world && k.started).map(|k| (k.number, k.rank)).collect();
    let complete = size > 0 && ranks.len() == size as usize && ranks.keys().all(|rank| *rank < size);
    complete.then(|| ranks.into_values().collect())
}

fn known(peer: &Peer) -> Option<Known> {
    let image = mpiscope_job::source::open_fd(peer.image()?, "image").ok()?;
    let state = State(image.header().ok()?.state.get());
    let table = image.table::<Process>(SectionKind::PROCESS).ok()?;
    let facts = image.get::<Process>(&table, 0).ok()?.value;
    Some(Known {
        world: facts.world.text().into_owned(),
        number: facts.rank.get(),
        size: facts.size.get(),
        // Before that the world has the launcher's name, which may be another on each host.
        started: state != State::UNCLAIMED && state != State::STARTED,
        aborted: state == State::ABORTED,
        rank: Rank {
            host: facts.host.text().into_owned(),
            executable: facts.executable.text().into_owned(),
            pid: facts.pid.get(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(world: &str, number: u32, size: u32, started: bool) -> Known {
        let rank = Rank { host: "h".into(), executable: "/a".into(), pid: 100 + number };
        Known { world: world.into(), number, size, started, aborted: false, rank }
    }

    #[test]
    fn the_first_world_is_complete_when_every_rank_has_started_and_comes_in_order() {
        let pids = |known: Vec<Known>| {
            first_world(known.into_iter()).map(|ranks| ranks.iter().map(|r| r.pid).collect::<Vec<_>>())
        };
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("w", 0, 2, true)]), Some(vec![100, 101]));
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("w", 0, 2, false)]), None);
        assert_eq!(pids(vec![rank("w", 1, 2, true), rank("v", 0, 2, true)]), None);
        assert_eq!(pids(vec![rank("w", 0, 1, true), rank("child", 0, 2, true)]), Some(vec![100]));
        assert_eq!(pids(vec![]), None);
        assert_eq!(pids(vec![rank("w", 0, 0, true)]), None);
    }
}
