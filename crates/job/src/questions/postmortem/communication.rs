//! What a process had under way when it died, and the messages that it exchanged last.

use crate::model::objects::Request;
use crate::model::rank::Rank;
use crate::questions::process_file::Dead;
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Head, Life};
use mpiscope_image::traffic::{Entry, Traffic, UNKNOWN_SIZE};
use serde::Serialize;
use std::collections::HashMap;

/// Requests that are listed.
const MOST_PENDING: usize = 1000;
/// Messages of each direction that are listed.
const LAST: u64 = 5;

/// A request that was started and not complete.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingRequest {
    /// The request, as `inspect` has it.
    #[serde(flatten)]
    pub request: Request,
    /// How long before the death of the process it was started, in seconds.
    pub age_s: Option<f64>,
}

/// A message of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastMessage {
    /// It was sent; else it was received.
    pub sent: bool,
    /// The other side, in its communicator.
    pub peer: i32,
    /// Its tag.
    pub tag: i32,
    /// Its bytes, if they are known.
    pub bytes: Option<u64>,
    /// The communicator, if it still lives.
    pub comm: Option<String>,
    /// Whether the program knew of its completion.
    pub complete: bool,
    /// When it was sent or its receive posted, in seconds after the begin of the image.
    pub seconds: f64,
}

/// The requests under way, oldest first.
pub fn pending<S: Source>(rank: &Rank<'_, S>, dead: &Dead) -> Vec<PendingRequest> {
    let has = |head: &Head, flag: Flag| head.flags.get() & flag.0 != 0;
    let open = |head: &Head| {
        let known = [Life::LIVE, Life::MARKED].contains(&Life(head.life.get()));
        known && has(head, Flag::ACTIVE) && !has(head, Flag::COMPLETE)
    };
    let mut found = Vec::new();
    let each = rank.objects().each::<Request>(&mut |head| open(head), &mut |request| {
        if found.len() < MOST_PENDING && !request.is_with_nobody() {
            found.push(request);
        }
    });
    // What a damaged table still gives is shown.
    let _damaged = each;
    let began = |request: &Request| request.start.as_ref().map_or(0.0, |start| start.seconds);
    found.sort_by(|a, b| began(a).total_cmp(&began(b)));
    let process = rank.process();
    // Of a process that records no times, all moments are zero.
    let age = |request: &Request| {
        let start = request.start.as_ref().filter(|start| start.seconds != 0.0)?;
        dead.age_after_start(process, start.seconds)
    };
    found.into_iter().map(|request| PendingRequest { age_s: age(&request), request }).collect()
}
/// The newest messages of the ledger, newest first.
pub fn last<S: Source>(rank: &Rank<'_, S>) -> Vec<LastMessage> {
    read(rank).unwrap_or_default()
}

fn read<S: Source>(rank: &Rank<'_, S>) -> Option<Vec<LastMessage>> {
    let (image, process) = (rank.image(), rank.process());
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC).ok()?;
    let totals = image.get::<Traffic>(&totals, 0).ok()?.value;
    let capacity = totals.ledger_capacity.get();
    let table = image.table::<Entry>(SectionKind::LEDGER).ok()?;
    let comms: HashMap<u64, String> = rank.identities();
    let first = totals.ledger_first.get();
    let mut messages = Vec::new();
    for (sent, written, ring) in
        [(true, totals.ledger_sent.get(), 0), (false, totals.ledger_received.get(), capacity)]
    {
        for back in 1..=LAST.min(written).min(capacity) {
            let place = (written - back).checked_rem(capacity)?;
            let index = first.checked_add(ring)?.checked_add(place)?;
            let Ok(entry) = image.get::<Entry>(&table, index) else { continue };
            if entry.torn {
                continue;
            }
            let entry = entry.value;
            let began = process.clock.ns_at(entry.posted.get());
            messages.push(LastMessage {
                sent,
                peer: entry.peer.get().cast_signed(),
                tag: entry.tag.get().cast_signed(),
                bytes: Some(entry.bytes.get()).filter(|bytes| *bytes != UNKNOWN_SIZE),
                comm: comms.get(&entry.comm.get()).cloned(),
                complete: entry.completed.get() != 0,
                seconds: began.saturating_sub(process.clock.start_ns()) as f64 / 1e9,
            });
        }
    }
    messages.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Some(messages)
}
