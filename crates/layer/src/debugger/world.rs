//! Identifies the ranks of this world: through the meeting on this host and, if the job may be acquired,
//! through messages between the hosts.

use super::gate;
use super::process_descriptor::{self, ProcessDescriptor};
use super::rendezvous::{self, Meeting};
use super::wire::{self, Pending};
use crate::interpose::real;
use mpi_abi::Abi;
use std::ffi::c_int;
use std::time::Duration;

/// How long ranks of other hosts may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the first of them may take. All ranks leave the library's `MPI_Init` at about the same time: if
/// none has answered by then, they run without this library, and there is no point in waiting longer.
const FIRST: Duration = Duration::from_secs(3);

/// The descriptors of the ranks that this process knows.
pub struct Members {
    /// Rank 0.
    pub first: Option<ProcessDescriptor>,
    /// All known descriptors; complete in rank 0 only.
    pub descriptors: Vec<ProcessDescriptor>,
}

/// Collects the descriptors. Called inside `MPI_Init`, by all ranks.
pub fn members<A: Abi>(meeting: Option<&Meeting>, own: ProcessDescriptor, size: c_int) -> Members {
    let rank = own.rank;
    // If the launcher's numbering differs from the library's, its information on other ranks cannot be
    // trusted.
    let meeting = meeting.filter(|m| m.rank == rank);
    let here = |r: c_int| if r == rank { Some(own) } else { meeting?.descriptor(r) };
    let elsewhere = gate::acquirable() && rendezvous::local_size() != Some(size);
    if rank != 0 {
        let first = here(0).or_else(|| elsewhere.then(|| ask_first::<A>(&own))?);
        return Members { first, descriptors: vec![own] };
    }
    let mut descriptors: Vec<Option<ProcessDescriptor>> = (0..size.max(1)).map(here).collect();
    if elsewhere {
        hear_others::<A>(&mut descriptors, &own);
    }
    Members { first: Some(own), descriptors: descriptors.into_iter().flatten().collect() }
}

/// Introduces a rank on another host to rank 0 and receives rank 0's descriptor.
fn ask_first<A: Abi>(own: &ProcessDescriptor) -> Option<ProcessDescriptor> {
    let world = real::comm_world::<A>()?;
    let mut both = [
        Pending::<A>::receive(world, 0, process_descriptor::SIZE)?,
        Pending::<A>::send(world, 0, own.as_bytes().to_vec())?,
    ];
    wire::finish(&mut both, PATIENCE);
    let [answer, _] = both;
    ProcessDescriptor::from_bytes(answer.bytes()?.first_chunk()?)
}

/// In rank 0: receives the descriptors of ranks on other hosts, and answers them.
fn hear_others<A: Abi>(descriptors: &mut [Option<ProcessDescriptor>], own: &ProcessDescriptor) {
    let Some(world) = real::comm_world::<A>() else { return };
    let missing =
        (0..).zip(descriptors.iter()).filter(|(_, descriptor)| descriptor.is_none()).map(|(rank, _)| rank);
    let mut messages: Vec<Pending<A>> =
        missing.filter_map(|rank: c_int| Pending::receive(world, rank, process_descriptor::SIZE)).collect();
    if wire::first(&mut messages, FIRST) {
        wire::finish(&mut messages, PATIENCE);
    }
    let mut answers = Vec::new();
    for message in &messages {
        let descriptor = message.bytes().and_then(|b| ProcessDescriptor::from_bytes(b.first_chunk()?));
        let place = usize::try_from(message.source).ok().and_then(|r| descriptors.get_mut(r));
        if let (Some(descriptor), Some(place)) = (descriptor.filter(|c| c.rank == message.source), place) {
            *place = Some(descriptor);
            answers.extend(Pending::<A>::send(world, message.source, own.as_bytes().to_vec()));
        }
    }
    wire::finish(&mut answers, PATIENCE);
}
