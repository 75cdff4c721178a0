//! Number of calls a process has made that send and receive, by source line.
//!
//! Only for a process in a collective: it is compared with the others in that collective, and a line it has
//! executed less often than they have is the call it has skipped.

use super::communicators::Communicators;
use super::{Need, Thread};
use crate::model::rank::Rank;
use mpi_abi::{Class, Moves};
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::sites::Site;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum numbers of call-site records read and of places kept.
const MOST_RECORDS: u64 = 1 << 14;
const MOST_PLACES: usize = 1 << 8;

/// The calls of one function at one line on one communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCalls {
    /// Identity of the communicator.
    pub comm: u64,
    /// The function.
    pub function: String,
    /// Source line in user code.
    pub place: String,
    /// Number of completed calls.
    pub count: u64,
    /// Whether they send.
    pub sends: bool,
    /// Whether they receive.
    pub receives: bool,
}

/// Reads the calls of a process with a thread waiting in a collective; returns nothing for other processes.
pub fn read<S: Source>(
    rank: &Rank<'_, S>,
    communicators: &Communicators,
    threads: &[Thread],
) -> Box<[MessageCalls]> {
    let needs = threads.iter().filter_map(|thread| thread.call.as_ref()).flat_map(|call| &call.needs);
    if !needs.into_iter().any(|need| matches!(need, Need::Collective(_))) {
        return Box::default();
    }
    let mut counts: BTreeMap<(u64, u32, u64), u64> = BTreeMap::new();
    let image = rank.image();
    let table = image.table::<Site>(SectionKind::SITES).unwrap_or_default();
    for index in 0..table.len().min(MOST_RECORDS) {
        let Ok(site) = image.get::<Site>(&table, index).map(|record| record.value) else { continue };
        let Some(function) = site.function.get().checked_sub(1) else { continue };
        // Each thread has its own records.
        let count = counts.entry((site.from.get(), function, site.object.get())).or_default();
        *count = count.saturating_add(site.count.get());
    }
    let mut found: Vec<MessageCalls> = Vec::new();
    for ((from, function, object), count) in counts {
        let Some(known) = rank.process().functions.get(function) else { continue };
        let moves = known.properties.moves;
        let is = |one: Moves| moves == one || moves == Moves::EXCHANGE;
        let (sends, receives) = (is(Moves::SEND), is(Moves::RECEIVE));
        if known.properties.class != Class::POINT_TO_POINT || !(sends || receives) {
            continue;
        }
        let Some(comm) = communicators.with_uid(object).map(|comm| comm.identity) else { continue };
        let Some(place) = rank.place(from) else { continue };
        let function = known.base.clone();
        let same = |other: &&mut MessageCalls| {
            (other.comm, &other.function, &other.place) == (comm, &function, &place)
        };
        let room = found.len() < MOST_PLACES;
        match found.iter_mut().find(same) {
            Some(other) => other.count = other.count.saturating_add(count),
            None if room => found.push(MessageCalls { comm, function, place, count, sends, receives }),
            None => {}
        }
    }
    found.into()
}
