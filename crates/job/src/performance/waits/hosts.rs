//! Whose times can be compared: of one host, or of hosts whose clocks are known.

use crate::questions::why::{Joined, ProcessIndex};
use std::collections::HashMap;

/// The hosts of processes: each has a clock of its own, which may be known here.
pub struct Hosts<'a>(HashMap<ProcessIndex, (&'a str, Option<u64>)>);

impl<'a> Hosts<'a> {
    /// Of all processes that were seen.
    pub fn of(joined: &Joined<'a>) -> Self {
        Self(
            joined
                .processes()
                .map(|(me, _, _, seen)| (me, (seen.host.as_str(), seen.clock_error_ns)))
                .collect(),
        )
    }

    /// Whether all can be compared.
    pub fn have_one_clock(&self) -> bool {
        self.between(self.0.keys()).is_some()
    }

    /// Whether all of these read the same clock.
    pub fn are_on_one_host(&self, processes: [&ProcessIndex; 2]) -> bool {
        self.between(processes) == Some(0)
    }

    /// By how much times of two of them may be wrong against each other; none on one host, or where that is not known.
    pub fn error_ns(&self) -> Option<u64> {
        self.between(self.0.keys()).filter(|error| *error > 0)
    }

    /// The same of these: nothing on one host, none where they cannot be compared.
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
