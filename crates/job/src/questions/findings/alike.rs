//! Errors that are repeated at one line, or at the same two lines: one finding, described by the first of them.

use super::{Finding, Kind};
use crate::jobs::worlds::Members;
use std::collections::BTreeMap;

/// Errors by what makes them alike, in the order of these keys.
pub(super) struct Alike<K>(BTreeMap<K, Repeated>);

struct Repeated {
    said: String,
    ranks: Members,
    times: u64,
}

impl<K: Ord> Alike<K> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds an error of these ranks, which occurred so many `times`; `said` describes it if it is the first of
    /// its key.
    pub(super) fn add(&mut self, key: K, ranks: Members, times: u64, said: impl FnOnce() -> String) {
        let new = || Repeated { said: said(), ranks: Members::default(), times: 0 };
        let repeated = self.0.entry(key).or_insert_with(new);
        repeated.ranks.join(ranks);
        repeated.times = repeated.times.saturating_add(times);
    }

    /// Returns one finding per key, which begins with its ranks. `line` returns the line of a key.
    pub(super) fn findings<'a>(self, kind: Kind, line: impl Fn(&K) -> Option<&'a str>) -> Vec<Finding> {
        self.described(kind, line, |ranks, said| format!("{}: {said}", ranks.named()))
    }

    /// Like [`findings`](Self::findings) for descriptions that name the ranks themselves.
    pub(super) fn naming_ranks<'a>(self, kind: Kind, line: impl Fn(&K) -> Option<&'a str>) -> Vec<Finding> {
        self.described(kind, line, |_, said| said.to_owned())
    }

    /// Like [`findings`](Self::findings) with a sentence made of the ranks and the description.
    pub(super) fn described<'a>(
        self,
        kind: Kind,
        line: impl Fn(&K) -> Option<&'a str>,
        sentence: impl Fn(&Members, &str) -> String,
    ) -> Vec<Finding> {
        let finding = |(key, Repeated { said, ranks, times }): (K, Repeated)| {
            let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
            let sentence = format!("{}{times}", sentence(&ranks, &said));
            Finding { kind, sentence, ranks, line: line(&key).map(str::to_owned) }
        };
        self.0.into_iter().map(finding).collect()
    }
}
