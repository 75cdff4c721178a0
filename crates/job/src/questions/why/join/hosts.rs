//! Which times can be compared: those on one host, or on hosts whose clocks are known.

use super::Joined;
use crate::questions::why::snapshot::ProcessIndex;
use std::collections::HashMap;

/// The hosts of processes: each has its own clock, whose offset may be known.
pub struct Hosts<'a>(HashMap<ProcessIndex, (&'a str, Option<u64>)>);

impl<'a> Hosts<'a> {
    /// Collects the hosts of all observed processes.
    pub fn of(joined: &Joined<'a>) -> Self {
        Self(
            joined
                .processes()
                .map(|(me, _, _, seen)| (me, (seen.host.as_str(), seen.clock_error_ns)))
                .collect(),
        )
    }

    /// Returns whether all times can be compared.
    pub fn have_one_clock(&self) -> bool {
        self.between(self.0.keys()).is_some()
    }

    /// Returns whether these processes read the same clock.
    pub fn are_on_one_host(&self, processes: [&ProcessIndex; 2]) -> bool {
        self.between(processes) == Some(0)
    }

    /// Returns the maximum error between the times of two hosts; `None` on one host or if unknown.
    pub fn error_ns(&self) -> Option<u64> {
        self.between(self.0.keys()).filter(|error| *error > 0)
    }

    /// Returns the maximum error between these processes: zero on one host, `None` if they cannot be
    /// compared.
    pub fn between<'p>(&self, processes: impl IntoIterator<Item = &'p ProcessIndex>) -> Option<u64> {
        let all: Vec<_> = processes.into_iter().filter_map(|process| self.0.get(process)).collect();
        let Some((first, _)) = all.first() else { return Some(0) };
        if all.iter().all(|(host, _)| host == first) {
            return Some(0);
        }
        let worst = all.iter().map(|(_, error)| *error).collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        Some(worst.saturating_mul(2).max(1))
    }
}
