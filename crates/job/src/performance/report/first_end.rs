//! Determines which rank ended abnormally first.

use super::document::{FirstEnd, RankReport};
use crate::model::process::Ending;

/// Ends closer than this were observed together; their order is random.
const AT_ONCE_NS: u64 = 500_000;

pub(super) fn first_end(ranks: &[RankReport]) -> Option<FirstEnd> {
    let bad = |rank: &&RankReport| !rank.finalized || rank.ending.is_some_and(|end| end != Ending::Exit(0));
    let ended = ranks.iter().filter(bad).filter_map(|rank| Some((rank.ended_ns?, rank)));
    let mut ended: Vec<(u64, &RankReport)> = ended.collect();
    if ended.len() < 2 {
        return None;
    }
    // A launcher kills the others, and this may be observed before the kernel is done with the first one.
    if ended.iter().any(|(_, rank)| rank.failed_itself()) {
        ended.retain(|(_, rank)| rank.failed_itself());
    }
    ended.sort_by_key(|(at, _)| *at);
    let (first, rank) = ended.first()?;
    let before = ended.get(1).map(|(second, _)| second.saturating_sub(*first));
    before.is_none_or(|ns| ns >= AT_ONCE_NS).then(|| FirstEnd {
        rank: rank.rank,
        world_number: rank.world_number,
        before_s: before.map(|ns| ns as f64 / 1e9),
    })
}

impl RankReport {
    /// Whether it caused its own end, rather than being terminated by a signal from outside.
    fn failed_itself(&self) -> bool {
        let from_outside =
            [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGPIPE].map(Ending::Signal);
        self.abort_code.is_some() || self.ending.is_some_and(|ending| !from_outside.contains(&ending))
    }
}
