//! Snapshots of a host's ranks in case its final evidence never comes: a host may be lost, and a scheduler may
//! kill everything on it at once, as Slurm does after `MPI_Abort`.
//!
//! The pause between two snapshots doubles, so that after the first one at least a third of a run is known
//! (less if snapshots take long), at the cost of a few snapshots per run.

use crate::run::hosts::message::Message;
use std::time::{Duration, Instant};

/// The pause before the first snapshot.
const FIRST: Duration = Duration::from_secs(2);
/// A pause is at least this many times as long as the snapshot before it took.
const SPARING: u32 = 1000;

/// What a host takes a look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// It was asked for.
    Asked,
    Snapshot,
}

/// When the next snapshot of a host is due.
#[derive(Debug)]
pub struct Snapshots {
    began: Instant,
    next: Instant,
    pause: Duration,
}

impl Snapshots {
    pub fn new() -> Self {
        let now = Instant::now();
        Self { began: now, next: now + FIRST, pause: FIRST }
    }

    /// Returns the answer to a host's sign of life, and records in `looks` that it takes a snapshot.
    pub fn next(&mut self, looks: &mut Option<For>) -> Message {
        let now = Instant::now();
        if now < self.next {
            return Message::Go;
        }
        self.began = now;
        *looks = Some(For::Snapshot);
        Message::Look { milliseconds: 0, stacks: false }
    }

    /// Called when a snapshot has arrived.
    pub fn taken(&mut self) {
        self.pause = (self.pause * 2).max(self.began.elapsed() * SPARING);
        self.next = Instant::now() + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_between_snapshots_doubles() {
        let (mut snapshots, mut looks) = (Snapshots::new(), None);
        assert!(snapshots.next(&mut looks) == Message::Go && looks.is_none());
        snapshots.next = Instant::now();
        assert!(matches!(snapshots.next(&mut looks), Message::Look { .. }) && looks == Some(For::Snapshot));
        snapshots.taken();
        assert!(snapshots.pause >= 2 * FIRST && snapshots.next > Instant::now() + FIRST);
    }
}
