//! Determines which rank ended abnormally first.

use super::document::{FirstEnd, RankReport};
use crate::model::process_end::{BadEnd, first};

pub(super) fn first_end(ranks: &[RankReport]) -> Option<FirstEnd> {
    let end = |rank: &RankReport| {
        let ends_job = rank.abort_code.is_some() || rank.erred;
        BadEnd::of(rank.finalized, ends_job, rank.ending, rank.began_to_end_ns?)
    };
    let first = first(ranks.iter().filter_map(|rank| Some((rank, end(rank)?))))?;
    Some(FirstEnd {
        rank: first.who.rank,
        world_number: first.who.world_number,
        before_s: first.before_ns.map(|ns| ns as f64 / 1e9),
    })
}
