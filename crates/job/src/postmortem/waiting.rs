//! Whom an open call waits for, as far as its arguments tell.
//!
//! This is what the call may wait for, not proof that it does: a standard send may be complete in a moment, and a
//! broadcast lets its root go. [`Postmortem`](super::Postmortem) joins the sides.

use super::communication::PendingRequest;
use crate::objects::CommFacts;
use crate::process::Process;
use crate::rank::Rank;
use mpi_abi::{Completes, ObjectKind, Role, Waits};
use mpiscope_image::layout::{Call, SectionKind};
use mpiscope_image::objects::{Comm, Life};
use mpiscope_image::{Function, Source, W64};
use serde::Serialize;
use std::collections::HashMap;

/// More communicators than this are not looked at.
const MOST_COMMS: u64 = 1 << 16;
/// More ranks than this are not listed for one call.
const MOST_RANKS: u32 = 1 << 20;

/// What an open call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The function.
    pub function: String,
    /// What it waits for.
    pub what: WaitFor,
    /// The communicator, equal on all ranks that share it.
    pub comm: String,
    /// The communicator for people.
    pub comm_name: String,
    /// Which collective on the communicator this is, counted from 1, if that was recorded.
    pub number: Option<u64>,
    /// Root of a collective, as rank of the communicator; none where there is none, or the process has another part in it.
    pub root: Option<i64>,
    /// Ranks of the world that it may wait for.
    #[serde(skip)]
    pub ranks: Vec<u32>,
    /// Where the call was made.
    pub place: Option<String>,
}

/// Kinds of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitFor {
    /// A message from one rank.
    From,
    /// A message from any of several ranks.
    Any,
    /// That one rank takes a message.
    To,
    /// That the others enter the same collective.
    Others,
}

/// What the open calls of a process wait for; `pending` are its requests under way.
pub fn waits<S: Source>(names: &Rank<'_, S>, pending: &[PendingRequest]) -> Vec<Waiting> {
    let process = names.process();
    if process.finalized() {
        return Vec::new();
    }
    let calls = process.threads.iter().filter(|t| !t.torn).filter_map(|t| t.call.as_ref());
    let known = calls.filter_map(|call| Some((call, process.facts(call)?)));
    let each = known.flat_map(|(call, function)| match function.properties.waits {
        Waits::NOTHING => Vec::new(),
        Waits::REQUESTS => completion(process, names, call, function, pending),
        _ => direct(process, names, call, function).into_iter().collect(),
    });
    each.collect()
}

/// A call that waits by itself.
fn direct<S: Source>(
    process: &Process,
    names: &Rank<'_, S>,
    call: &Call,
    function: &Function,
) -> Option<Waiting> {
    let (set, properties) = (function.fields, function.properties);
    if set.object != Some(ObjectKind::COMM) {
        return None;
    }
    let handle = call.object.get();
    let comm = names.comm(handle);
    let comm = comm.as_deref();
    let peer = if set.receive { call.extra.first()?.get() } else { call.peer.get() } as i64;
    let special = names.peer(peer);
    let any = special.as_deref() == Some("MPI_ANY_SOURCE");
    let (what, ranks) = match set.peer {
        _ if properties.waits_for_all_members() => (WaitFor::Others, members(process, comm)),
        Some(Role::Source) if any => (WaitFor::Any, members(process, comm)),
        Some(Role::Source | Role::Destination) if set.receive && any => {
            (WaitFor::Any, members(process, comm))
        }
        Some(Role::Source) if special.is_none() => (WaitFor::From, world(process, comm, peer)),
        Some(Role::Destination) if special.is_none() => {
            (if set.receive { WaitFor::From } else { WaitFor::To }, world(process, comm, peer))
        }
        _ => return None,
    };
    let own = process.rank;
    let others = |r: &u32| !matches!(what, WaitFor::Others | WaitFor::Any) || Some(*r) != own;
    Some(Waiting {
        comm_name: names.object(ObjectKind::COMM, handle),
        comm: key(names, comm, handle),
        number: number(call, comm).filter(|_| what == WaitFor::Others),
        root: Some(peer).filter(|peer| set.peer == Some(Role::Root) && *peer >= 0),
        ranks: ranks.into_iter().filter(others).collect(),
        place: names.place(call.return_address.get()),
        what,
        function: function.name.clone(),
    })
}

/// Which collective on its communicator an open call is. Where the layer did not note it, the last one entered.
fn number(call: &Call, comm: Option<&CommFacts>) -> Option<u64> {
    let entered = comm.map(|comm| comm.collectives);
    let noted = call.extra.last().map(W64::get).filter(|noted| Some(*noted) <= entered);
    noted.filter(|noted| *noted != 0).or(entered).filter(|number| *number != 0)
}

/// How many collectives the process has entered on each communicator, living or freed, by what tells it on every rank.
pub fn entered<S: Source>(names: &Rank<'_, S>) -> HashMap<String, u64> {
    let image = names.image();
    let mut entered = HashMap::new();
    let Ok(table) = image.table::<Comm>(SectionKind::COMMS) else { return entered };
    for record in (0..table.len().min(MOST_COMMS)).filter_map(|i| image.get::<Comm>(&table, i).ok()) {
        let (comm, life) = (&record.value, Life(record.value.head.life.get()));
        let identity = comm.head.identity.get();
        let key = match identity {
            // Nothing but its handle tells it, and only while that is its own.
            0 if life == Life::LIVE => names.object(ObjectKind::COMM, comm.head.handle.get()),
            0 => continue,
            _ if life == Life::EMPTY => continue,
            identity => format!("{identity:016x}"),
        };
        entered.insert(key, comm.collectives.get());
    }
    entered
}

/// `MPI_Wait` and its like: what the requests wait for. The array of a `MPI_Waitall` is not in the image, so all
/// requests under way are taken to be in it.
fn completion<S: Source>(
    process: &Process,
    names: &Rank<'_, S>,
    call: &Call,
    function: &Function,
    pending: &[PendingRequest],
) -> Vec<Waiting> {
    let completes = function.properties.completes;
    let one = completes == Completes::ONE;
    let meant = pending.iter().filter(|p| p.role.is_some() && (!one || p.handle == call.request.get()));
    let some = matches!(completes, Completes::ANY | Completes::SOME);
    let mut waits: Vec<Waiting> = Vec::new();
    for request in meant {
        let what = match request.role {
            Some(Role::Source) if some || request.ranks.len() > 1 => WaitFor::Any,
            Some(Role::Source) => WaitFor::From,
            _ => WaitFor::To,
        };
        let own = process.rank;
        let ranks = request.ranks.iter().copied().filter(|r| what != WaitFor::Any || Some(*r) != own);
        let waiting = Waiting {
            function: function.name.clone(),
            what,
            comm: request.on.clone().unwrap_or_default(),
            comm_name: request.on.clone().unwrap_or_default(),
            number: None,
            root: None,
            ranks: ranks.collect(),
            place: names.place(call.return_address.get()),
        };
        let same = |known: &&mut Waiting| (known.what, &known.comm) == (what, &waiting.comm);
        match waits.iter_mut().find(same) {
            Some(known) => {
                known.ranks.extend(waiting.ranks);
                known.ranks.sort_unstable();
                known.ranks.dedup();
            }
            None => waits.push(waiting),
        }
    }
    waits
}

/// What tells the communicator on every rank: its identity, or its name and size where that is not known.
fn key<S: Source>(names: &Rank<'_, S>, comm: Option<&CommFacts>, handle: u64) -> String {
    match comm {
        Some(comm) if comm.identity != 0 => format!("{:016x}", comm.identity),
        _ => names.object(ObjectKind::COMM, handle),
    }
}

/// All members, as ranks of the world.
pub fn members(process: &Process, comm: Option<&CommFacts>) -> Vec<u32> {
    match comm {
        Some(comm) if comm.renumbers() => comm.world_ranks().collect(),
        // Members that are not known are none; those of the world are left out of the image.
        Some(comm) if Some(comm.size) != process.size => Vec::new(),
        _ => (0..process.size.unwrap_or(0).min(MOST_RANKS)).collect(),
    }
}

/// One member, as a rank of the world.
pub fn world(process: &Process, comm: Option<&CommFacts>, peer: i64) -> Vec<u32> {
    let member = usize::try_from(peer).ok().and_then(|i| members(process, comm).get(i).copied());
    member.into_iter().collect()
}
