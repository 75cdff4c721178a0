//! What a process had under way when it died, and the messages that it exchanged last.

use super::waiting::{members, world};
use crate::call_fields::{Role, of_request};
use crate::rank::Rank;
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{Entry, Request, RequestKind, Traffic};
use serde::Serialize;
use std::collections::HashMap;

/// Records of requests that are looked at.
const MOST_RECORDS: u64 = 1 << 22;
/// Requests that are listed.
const MOST_PENDING: usize = 1000;
/// Messages of each direction that are listed.
const LAST: u64 = 5;

/// A request that was started and not complete.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PendingRequest {
    /// Its handle.
    pub handle: u64,
    /// What it stands for.
    pub operation: String,
    /// It receives a message.
    #[serde(skip)]
    pub role: Option<Role>,
    /// The other side, as the program gave it.
    pub peer: Option<String>,
    /// That is the root of a collective.
    pub root: bool,
    /// Ranks of the world that it may wait for.
    #[serde(skip)]
    pub ranks: Vec<u32>,
    /// Its tag.
    pub tag: Option<String>,
    /// Elements.
    pub count: u64,
    /// Their type.
    pub datatype: Option<String>,
    /// Communicator, file or window; a generalised request has none.
    pub on: Option<String>,
    /// Where it was started.
    pub place: Option<String>,
    /// How long before the death of the process, in seconds.
    pub age_s: Option<f64>,
    /// When it was started, in ticks.
    #[serde(skip)]
    pub since: u64,
}

/// A message of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastMessage {
    /// It was sent; else it was received.
    pub sent: bool,
    /// The other side, in its communicator.
    pub peer: i32,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
    /// The communicator, if it still lives.
    pub comm: Option<String>,
    /// Whether the program knew of its completion.
    pub complete: bool,
    /// When it was sent or its receive posted, in seconds after the begin of the image.
    pub seconds: f64,
}

/// The requests under way, oldest first.
pub fn pending<S: Source>(rank: &Rank<'_, S>) -> Vec<PendingRequest> {
    let image = rank.image();
    let Ok(table) = image.table::<Request>(SectionKind::REQUESTS) else { return Vec::new() };
    let mut found = Vec::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        let Ok(record) = image.get::<Request>(&table, index) else { continue };
        let request = record.value;
        let life = Life(request.head.life.get());
        let open = request.is(Flag::ACTIVE) && !request.is(Flag::COMPLETE);
        let known = life == Life::LIVE || life == Life::MARKED;
        if open && known && !is_with_nobody(&request, rank) && found.len() < MOST_PENDING {
            found.push(one(&request, rank));
        }
    }
    found.sort_by_key(|pending| pending.since);
    found
}

/// Whether a message goes to nobody and comes from nobody: its completion was not yet seen, but nothing is waited for.
fn is_with_nobody<S: Source>(request: &Request, names: &Rank<'_, S>) -> bool {
    let kind = RequestKind(request.kind.get());
    let nobody = |rank: u32| names.peer(i64::from(rank.cast_signed())).as_deref() == Some("MPI_PROC_NULL");
    let sent_to_nobody = || kind != RequestKind::SENDRECV || nobody(request.dest.get());
    kind.is_point_to_point() && nobody(request.peer.get()) && sent_to_nobody()
}

fn one<S: Source>(request: &Request, names: &Rank<'_, S>) -> PendingRequest {
    let process = names.process();
    let kind = RequestKind(request.kind.get());
    let object = match kind {
        RequestKind::RMA => mpi_abi::ObjectKind::WIN,
        kind if kind.is_file() => mpi_abi::ObjectKind::FILE,
        _ => mpi_abi::ObjectKind::COMM,
    };
    let handle = request.object.get();
    let peer = i64::from(request.peer.get().cast_signed());
    let message = kind.is_point_to_point();
    let special = names.peer(peer);
    let comm = names.comm(handle);
    let any = special.as_deref() == Some("MPI_ANY_SOURCE");
    let ranks = match (message, any, &special) {
        (true, true, _) => members(process, comm.as_deref()),
        (true, false, None) => world(process, comm.as_deref(), peer),
        _ => Vec::new(),
    };
    let made_by = u32::from(request.head.made_by.get()).wrapping_sub(1);
    let function = process.function(made_by as usize);
    let has = of_request(kind, process.functions.get(made_by));
    let from = request.called_from();
    let root = has.peer == Some(Role::Root);
    PendingRequest {
        handle: request.head.handle.get(),
        operation: operation(kind, function),
        role: message.then_some(if kind.receives() { Role::Source } else { Role::Destination }),
        peer: has.peer.map(|_| special.unwrap_or_else(|| peer.to_string())),
        root,
        ranks,
        tag: message.then(|| names.tag(i64::from(request.tag.get().cast_signed()))),
        count: if has.count { request.count.get() } else { 0 },
        datatype: has.datatype.then(|| names.object(mpi_abi::ObjectKind::DATATYPE, request.datatype.get())),
        on: (handle != 0).then(|| names.object(object, handle)),
        place: names.place(from),
        age_s: None,
        since: request.started(),
    }
}

/// A message by its kind, anything else by the function that made it.
fn operation(kind: RequestKind, function: String) -> String {
    let told = kind.is_point_to_point() || kind == RequestKind::GENERALIZED || function.is_empty();
    if told { kind.name().unwrap_or("operation that is not known").to_owned() } else { function }
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
                bytes: entry.bytes.get(),
                comm: comms.get(&entry.comm.get()).cloned(),
                complete: entry.completed.get() != 0,
                seconds: began.saturating_sub(process.clock.start_ns()) as f64 / 1e9,
            });
        }
    }
    messages.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Some(messages)
}
