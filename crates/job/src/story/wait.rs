//! Whom an open call waits for, as far as its arguments tell.
//!
//! This is what the call may wait for, not proof that it does: a standard send may be complete in a moment, and a
//! broadcast lets its root go. [`Story`](super::Story) joins the sides.

use super::traffic::Pending;
use crate::names::{CommFacts, Names};
use crate::process::Process;
use crate::significant::{Role, fields};
use mpi_abi::{FunctionId, ObjectKind, needs_all_members};
use mpiscope_image::layout::Call;
use serde::Serialize;

/// More ranks than this are not listed for one call.
const MOST_RANKS: u32 = 1 << 20;

/// What an open call waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The function.
    pub function: String,
    /// What it waits for.
    pub what: What,
    /// The communicator, equal on all ranks that share it.
    pub comm: String,
    /// The communicator for people.
    pub comm_name: String,
    /// Which collective on the communicator this is, counted from 1, if that was recorded.
    pub number: Option<u64>,
    /// Ranks of the world that it may wait for.
    #[serde(skip)]
    pub ranks: Vec<u32>,
    /// Where the call was made.
    pub place: Option<String>,
}

/// Kinds of waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
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
pub fn waits(process: &Process, names: &Names<'_>, pending: &[Pending]) -> Vec<Waiting> {
    if process.finalized() {
        return Vec::new();
    }
    let calls = process.threads.iter().filter(|t| !t.torn).filter_map(|t| t.call.as_ref());
    let each = calls.flat_map(|call| {
        let function = process.called(call);
        let base = function.trim_start_matches("MPI_").trim_end_matches("_c").to_owned();
        if base.starts_with("Wait") {
            return completion(process, names, call, &base, pending);
        }
        direct(process, names, call, &base).into_iter().collect()
    });
    each.collect()
}

/// A call that waits by itself.
fn direct(process: &Process, names: &Names<'_>, call: &Call, base: &str) -> Option<Waiting> {
    let function = process.called(call);
    let set = FunctionId::from_name(&function).and_then(FunctionId::function).map(fields)?;
    if set.object != Some(ObjectKind::COMM) {
        return None;
    }
    let handle = call.object.get();
    let comm = names.comm(handle);
    let peer = if set.receive { call.extra.first()?.get() } else { call.peer.get() } as i64;
    let special = names.rank(peer);
    let any = special.as_deref() == Some("MPI_ANY_SOURCE");
    let (what, ranks) = match set.peer {
        _ if needs_all_members(base) => (What::Others, members(process, comm)),
        Some(Role::Source) if any => (What::Any, members(process, comm)),
        Some(Role::Source | Role::Destination) if set.receive && any => (What::Any, members(process, comm)),
        Some(Role::Source) if special.is_none() => (What::From, world(process, comm, peer)),
        Some(Role::Destination) if special.is_none() && blocks(base) => {
            (if set.receive { What::From } else { What::To }, world(process, comm, peer))
        }
        _ => return None,
    };
    let own = process.rank;
    let others = |r: &u32| !matches!(what, What::Others | What::Any) || Some(*r) != own;
    Some(Waiting {
        comm_name: names.object(ObjectKind::COMM, handle),
        comm: key(names, comm, handle),
        number: comm.map(|c| c.collectives).filter(|n| *n != 0 && what == What::Others),
        ranks: ranks.into_iter().filter(others).collect(),
        place: names.place(call.return_address.get()),
        what,
        function,
    })
}

/// `MPI_Wait` and its like: what the requests wait for. The array of a `MPI_Waitall` is not in the image, so all
/// requests under way are taken to be in it.
fn completion(
    process: &Process,
    names: &Names<'_>,
    call: &Call,
    base: &str,
    pending: &[Pending],
) -> Vec<Waiting> {
    let function = format!("MPI_{base}");
    let one = base == "Wait";
    let meant = pending.iter().filter(|p| p.role.is_some() && (!one || p.handle == call.request.get()));
    let some = base == "Waitany" || base == "Waitsome";
    let mut waits: Vec<Waiting> = Vec::new();
    for request in meant {
        let what = match request.role {
            Some(Role::Source) if some || request.ranks.len() > 1 => What::Any,
            Some(Role::Source) => What::From,
            _ => What::To,
        };
        let own = process.rank;
        let ranks = request.ranks.iter().copied().filter(|r| what != What::Any || Some(*r) != own);
        let waiting = Waiting {
            function: function.clone(),
            what,
            comm: request.on.clone().unwrap_or_default(),
            comm_name: request.on.clone().unwrap_or_default(),
            number: None,
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

/// Sends and probes that may have to wait for the other side; starting one does not.
fn blocks(base: &str) -> bool {
    matches!(base, "Send" | "Ssend" | "Rsend" | "Sendrecv" | "Sendrecv_replace")
}

/// What tells the communicator on every rank: its identity, or its name and size where that is not known.
fn key(names: &Names<'_>, comm: Option<&CommFacts>, handle: u64) -> String {
    match comm {
        Some(comm) if comm.identity != 0 => format!("{:016x}", comm.identity),
        _ => names.object(ObjectKind::COMM, handle),
    }
}

/// All members, as ranks of the world.
pub fn members(process: &Process, comm: Option<&CommFacts>) -> Vec<u32> {
    match comm {
        Some(comm) if !comm.members.is_empty() => {
            comm.members.iter().filter_map(|m| (*m).try_into().ok()).collect()
        }
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
