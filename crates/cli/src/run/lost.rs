//! Hosts that are lost while the launcher runs; the launcher may wait for them forever.

use super::hosts::gather::{Gather, SILENCE, Silent};
use crate::render::complain;
use mpiscope_job::RankSet;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Interval between two checks.
const PAUSE: Duration = Duration::from_secs(1);
/// The signals sent to a launcher, and when. Hydra with a lost host exits only if the signal comes twice
/// within a second.
const SIGNALS: [(Duration, libc::c_int); 4] = [
    (Duration::ZERO, libc::SIGTERM),
    (Duration::from_millis(5000), libc::SIGTERM),
    (Duration::from_millis(5500), libc::SIGTERM),
    (Duration::from_secs(10), libc::SIGKILL),
];

/// Reports lost hosts, and decides when the job must be ended because of them.
pub struct Lost<'a> {
    gather: Option<&'a Gather>,
    /// `--lost-after`.
    patience: Option<Duration>,
    said: BTreeSet<String>,
    end: End,
}

/// Signals sent to the launcher so far.
#[derive(Default)]
struct End {
    began: Option<Instant>,
    sent: usize,
}

impl<'a> Lost<'a> {
    /// Watches the hosts of `gather`. After `seconds` of silence the job is ended, unless that is 0.
    pub fn new(gather: Option<&'a Gather>, seconds: f64) -> Self {
        let patience = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds).max(SILENCE));
        Self { gather, patience, said: BTreeSet::new(), end: End::default() }
    }

    /// Returns how long to wait for other events at most.
    pub fn pause(&self, other: Option<Duration>) -> Option<Duration> {
        match self.gather {
            Some(_) => Some(other.map_or(PAUSE, |other| other.min(PAUSE))),
            None => other,
        }
    }

    /// Reports newly lost hosts. Returns the signal to send to the launcher now, if any.
    pub fn look(&mut self) -> Option<libc::c_int> {
        let silent = self.gather.map(Gather::silent).unwrap_or_default();
        for host in &silent {
            if self.said.insert(host.host.clone()) {
                complain("run", &sentence(host, self.patience));
            }
        }
        let over = |host: &Silent| self.patience.is_some_and(|patience| host.since > patience);
        self.end.next(silent.iter().any(over), Instant::now())
    }
}

impl End {
    fn next(&mut self, lost: bool, now: Instant) -> Option<libc::c_int> {
        if lost {
            self.began.get_or_insert(now);
        }
        // Once begun, this continues: hosts that are shut down are silent too.
        let began = self.began?;
        let (after, signal) = SIGNALS.get(self.sent)?;
        let due = now.saturating_duration_since(began) >= *after;
        self.sent += usize::from(due);
        due.then_some(*signal)
    }
}

fn sentence(host: &Silent, patience: Option<Duration>) -> String {
    let ranks: RankSet = host.ranks.iter().copied().collect();
    let whose = if ranks.0.is_empty() { String::new() } else { format!(" with {}", ranks.named()) };
    let then = match patience {
        Some(patience) => format!("after {} s the job is ended", patience.as_secs_f64()),
        None => {
            "the launcher may wait for it forever (use --lost-after SECONDS to end the job then)".to_owned()
        }
    };
    format!("host {}{whose} has not answered for {} s; {then}", host.host, host.since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_signaled_three_times_then_killed_only_if_a_host_is_lost() {
        let (mut end, now) = (End::default(), Instant::now());
        let at = |milliseconds| now + Duration::from_millis(milliseconds);
        assert_eq!(end.next(false, now), None);
        let sent: Vec<_> = [0, 1000, 5000, 5100, 5500, 9000, 10_000, 99_000]
            .into_iter()
            .map(|when| end.next(true, at(when)))
            .collect();
        let (term, kill) = (Some(libc::SIGTERM), Some(libc::SIGKILL));
        assert_eq!(sent, [term, None, term, None, term, None, kill, None]);
    }

    #[test]
    fn the_sentence_names_the_host_with_its_ranks_and_what_ends_the_wait() {
        let host = Silent { host: "n7".into(), ranks: vec![4, 5], since: Duration::from_secs(9) };
        let text = sentence(&host, Some(Duration::from_secs(30)));
        assert_eq!(text, "host n7 with ranks [4-5] has not answered for 9 s; after 30 s the job is ended");
        assert!(sentence(&host, None).contains("--lost-after"));
    }
}
