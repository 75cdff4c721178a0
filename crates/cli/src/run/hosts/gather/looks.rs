//! Queries to the hosts while their ranks run: the progress of the ranks, and looks, for each of which every
//! host takes two snapshots.

use super::{Known, SILENCE, Shared, busy_or_silent};
use crate::run::hosts::FromHost;
use mpiscope_job::jobs::evidence::Evidence;
use mpiscope_job::questions::live::Progress;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A request to the hosts, and the number that identifies the answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    pub number: u64,
    pub pause: Duration,
    pub stacks: bool,
}

/// A host's latest answer.
pub struct Seen {
    pub number: u64,
    pub evidence: Result<Evidence, String>,
}

/// The hosts of a job, as known to the gatherer.
#[derive(Clone)]
pub struct Hosts(pub(super) Arc<Shared>);

impl Hosts {
    /// Returns the latest progress of the ranks of all hosts; `None` before the first host has reported any.
    pub fn progress(&self) -> Option<Progress> {
        let hosts = self.0.hosts();
        let of_one = |known: &Known| {
            let ended = matches!(known.outcome, Some(Ok(_)));
            let said = known.progress.clone()?;
            // A host that has sent its final file has no living ranks.
            Some(if ended { Progress { living: Default::default(), ..said } } else { said })
        };
        latest(&hosts).filter_map(of_one).reduce(Progress::and)
    }

    /// Asks all hosts for two snapshots, `pause` apart, and returns each host's result or the reason for its
    /// absence. A host whose ranks have ended has already sent everything. Waits at most `limit` beyond the
    /// pause.
    pub fn look(&self, pause: Duration, stacks: bool, limit: Duration) -> Vec<FromHost> {
        let until = Instant::now() + pause + limit;
        let number = self.ask(pause, stacks);
        let mut hosts = self.0.hosts();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let awaited = |known: &Known| {
                let seen = known.seen.as_ref().is_some_and(|seen| seen.number == number);
                known.outcome.is_none() && !seen && known.heard.elapsed() <= SILENCE
            };
            if left.is_zero() || !latest(&hosts).any(awaited) {
                break;
            }
            let wait = left.min(Duration::from_millis(200));
            hosts = self.0.news.wait_timeout(hosts, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        latest(&hosts).map(|known| given(known, number)).collect()
    }

    fn ask(&self, pause: Duration, stacks: bool) -> u64 {
        let mut asked = self.0.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = Asked { number: asked.number + 1, pause, stacks };
        asked.number
    }
}

/// Returns the connections that count: for each host the latest one, and earlier ones that delivered all
/// their data.
fn latest(hosts: &[Known]) -> impl Iterator<Item = &Known> {
    let again = |at: usize, id: &str| hosts.iter().skip(at + 1).any(|later| later.id == id);
    let counts =
        move |(at, known): &(usize, &Known)| matches!(known.outcome, Some(Ok(_))) || !again(*at, &known.id);
    hosts.iter().enumerate().filter(counts).map(|(_, known)| known)
}

fn given(known: &Known, number: u64) -> FromHost {
    let seen = known.seen.as_ref().filter(|seen| seen.number == number);
    let evidence = match (&known.outcome, seen) {
        (Some(Ok(last)), _) => Ok(last.part()),
        (_, Some(Seen { evidence: Ok(seen), .. })) => Ok(seen.part()),
        (Some(Err(why)), _) | (_, Some(Seen { evidence: Err(why), .. })) => Err(why.clone()),
        (None, None) => Err(busy_or_silent(known)),
    };
    let (host, ranks, clock) = (known.host.clone(), known.ranks.clone(), Some(known.clock));
    FromHost { host, ranks, clock, evidence, earlier: None, is_snapshot: false }
}
