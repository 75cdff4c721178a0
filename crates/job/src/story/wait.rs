//! Whom an open call waits for, as far as its arguments tell.
//!
//! This is what the call may wait for, not proof that it does: a standard send may be complete in a moment, and a
//! broadcast lets its root go. [`Story`](super::Story) joins the sides.

use crate::names::{CommFacts, Names};
use crate::process::Process;
use crate::significant::{Role, fields};
use mpi_abi::{FunctionId, ObjectKind};
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

/// Calls that return only when all members have entered.
const COLLECTIVE: &[&str] = &[
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Barrier",
    "Bcast",
    "Exscan",
    "Gather",
    "Gatherv",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Scatter",
    "Scatterv",
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_create",
    "Comm_split",
    "Comm_split_type",
    "Comm_disconnect",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "File_open",
    "Win_create",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create_dynamic",
    "Intercomm_merge",
];

/// What the open calls of a process wait for.
pub fn waits(process: &Process, names: &Names<'_>) -> Vec<Waiting> {
    if process.finalized() {
        return Vec::new();
    }
    let calls = process.threads.iter().filter(|t| !t.torn).filter_map(|t| t.call.as_ref());
    calls
        .filter_map(|call| {
            let function = process.function((call.function.get() as usize).wrapping_sub(1));
            let set = FunctionId::from_name(&function).and_then(FunctionId::function).map(fields)?;
            if set.object != Some(ObjectKind::COMM) {
                return None;
            }
            let handle = call.object.get();
            let comm = names.comm(handle);
            let base = function.trim_start_matches("MPI_").trim_end_matches("_c");
            let peer = if set.receive { call.extra.first()?.get() } else { call.peer.get() } as i64;
            let special = names.rank(peer);
            let any = special.as_deref() == Some("MPI_ANY_SOURCE");
            let (what, ranks) = match set.peer {
                _ if COLLECTIVE.contains(&base) => (What::Others, members(process, comm)),
                Some(Role::Source) if any => (What::Any, members(process, comm)),
                Some(Role::Source | Role::Destination) if set.receive && any => {
                    (What::Any, members(process, comm))
                }
                Some(Role::Source) if special.is_none() => (What::From, world(process, comm, peer)),
                Some(Role::Destination) if special.is_none() && blocks(base) => {
                    (if set.receive { What::From } else { What::To }, world(process, comm, peer))
                }
                _ => return None,
            };
            let own = process.rank;
            Some(Waiting {
                comm_name: names.object(ObjectKind::COMM, handle),
                comm: key(names, comm, handle),
                number: comm.map(|c| c.collectives).filter(|n| *n != 0 && what == What::Others),
                ranks: ranks
                    .into_iter()
                    .filter(|r| what != What::Others && what != What::Any || Some(*r) != own)
                    .collect(),
                place: names.place(call.return_address.get()),
                what,
                function,
            })
        })
        .collect()
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
fn members(process: &Process, comm: Option<&CommFacts>) -> Vec<u32> {
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
fn world(process: &Process, comm: Option<&CommFacts>, peer: i64) -> Vec<u32> {
    let member = usize::try_from(peer).ok().and_then(|i| members(process, comm).get(i).copied());
    member.into_iter().collect()
}
