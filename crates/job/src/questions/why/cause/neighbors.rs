//! Topology neighbors known to only one side.

use super::{Case, Reason};
use crate::questions::why::verdict::Kind;

impl Case<'_> {
    /// A member waits in a collective of a topology that a neighbor knows differently.
    pub(super) fn neighbors(&self) -> Option<Reason> {
        let stands = |knows: u32| !self.acts.get(knows as usize).copied().unwrap_or(true);
        let mut one_sided = self.snapshot.one_sided.iter().filter(|one| stands(one.knows));
        let first = one_sided.clone().find(|one| one.gets).or_else(|| one_sided.next())?;
        let (knows, of) = (self.words.rank(first.knows), self.words.rank(first.of));
        let (its, others) = match first.gets {
            true => ("source", "destination"),
            false => ("destination", "source"),
        };
        let lists = match (first.times, first.back) {
            (_, 0) => format!("has rank {of} as a {its}; rank {of} does not have rank {knows} as a {others}"),
            (more, fewer) => format!(
                "has rank {of} as a {its} {}; rank {of} has rank {knows} as a {others} {}",
                times(more),
                times(fewer)
            ),
        };
        let verdict = format!(
            "collective mismatch (neighbors) on {}: rank {knows} is {}, and {lists}",
            self.words.comm(first.comm),
            self.words.activity(first.knows),
        );
        let next = "compare what both passed when the topology was created: each source of a rank must list it as a \
                    destination";
        let about = vec![first.knows, first.of];
        let reason = Reason { about, ..Reason::new(Kind::COLLECTIVE_MISMATCH, verdict, next) };
        Some(reason.blaming(self.culprit(first.knows)).blaming(self.culprit(first.of)))
    }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}
