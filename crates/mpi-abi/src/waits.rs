//! What the calls of a function may wait for.

/// What keeps a call from returning; unknown values may arrive from readers of a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Waits(pub u8);

impl Waits {
    /// Nothing but the call's own work: a local call, or the start of an operation.
    pub const NOTHING: Self = Self(0);
    /// The message's way into a buffer, or its receiver.
    pub const SEND: Self = Self(1);
    /// A message, received or probed for.
    pub const RECEIVE: Self = Self(2);
    /// Completion of requests.
    pub const REQUESTS: Self = Self(3);
    /// Other ranks of a communicator, in a collective operation or a constructor.
    pub const COLLECTIVE: Self = Self(4);
    /// One-sided synchronisation.
    pub const SYNCHRONIZATION: Self = Self(5);

    /// Of the function with this name, with or without the `_c` of large counts.
    pub fn of(function: &str) -> Self {
        let name = function.strip_prefix("MPI_").unwrap_or(function);
        let name = name.strip_suffix("_c").unwrap_or(name);
        let is = |names: &[&str]| names.contains(&name);
        if is(&SENDS) {
            Self::SEND
        } else if is(&RECEIVES) {
            Self::RECEIVE
        } else if is(&COMPLETIONS) {
            Self::REQUESTS
        } else if is(&SYNCHRONIZATIONS) {
            Self::SYNCHRONIZATION
        } else if is(&COLLECTIVES) || is_family(name) {
            Self::COLLECTIVE
        } else {
            Self::NOTHING
        }
    }
}

/// Whether the function with this name is collective over all members of the communicator that it is given: whoever has not
/// entered it may be waited for. Not those that only some of the members make, and not the neighbourhood's.
pub fn needs_all_members(function: &str) -> bool {
    let some = function.contains("Neighbor_") || function.ends_with("Comm_create_group");
    Waits::of(function) == Waits::COLLECTIVE && !some
}

const SENDS: [&str; 10] = [
    "Send",
    "Ssend",
    "Rsend",
    "Bsend",
    "Buffer_detach",
    "Buffer_flush",
    "Comm_detach_buffer",
    "Comm_flush_buffer",
    "Session_detach_buffer",
    "Session_flush_buffer",
];
const RECEIVES: [&str; 6] = ["Recv", "Mrecv", "Probe", "Mprobe", "Sendrecv", "Sendrecv_replace"];
const COMPLETIONS: [&str; 4] = ["Wait", "Waitall", "Waitany", "Waitsome"];
const SYNCHRONIZATIONS: [&str; 12] = [
    "Win_fence",
    "Win_start",
    "Win_complete",
    "Win_wait",
    "Win_lock",
    "Win_lock_all",
    "Win_unlock",
    "Win_unlock_all",
    "Win_flush",
    "Win_flush_all",
    "Win_flush_local",
    "Win_flush_local_all",
];
const COLLECTIVES: [&str; 48] = [
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
    "Cart_create",
    "Cart_sub",
    "Comm_accept",
    "Comm_connect",
    "Comm_create",
    "Comm_create_from_group",
    "Comm_create_group",
    "Comm_disconnect",
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_join",
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_split",
    "Comm_split_type",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "File_close",
    "File_open",
    "File_set_size",
    "File_set_view",
    "Finalize",
    "Graph_create",
    "Intercomm_create",
    "Intercomm_create_from_groups",
    "Intercomm_merge",
    "Win_allocate",
    "Win_allocate_shared",
    "Win_create",
    "Win_create_dynamic",
    "Win_free",
];

/// Collectives whose names are made by a rule.
fn is_family(name: &str) -> bool {
    let neighbors = name.starts_with("Neighbor_") && !name.ends_with("_init");
    let files = name.starts_with("File_") && !name.starts_with("File_i");
    let together = ["_all", "_at_all", "_ordered", "_all_end", "_ordered_end"];
    neighbors || files && together.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FUNCTIONS;

    #[test]
    fn every_name_of_the_lists_is_a_function() {
        let lists = [&SENDS[..], &RECEIVES, &COMPLETIONS, &SYNCHRONIZATIONS, &COLLECTIVES];
        for name in lists.into_iter().flatten() {
            let is_it = |function: &crate::Function| function.name.strip_prefix("MPI_") == Some(name);
            assert!(FUNCTIONS.iter().any(is_it), "{name}");
        }
    }

    #[test]
    fn members_that_a_collective_is_not_made_by_are_not_waited_for() {
        for name in ["MPI_Allreduce_c", "MPI_Comm_split", "MPI_Comm_spawn", "MPI_Win_create", "Barrier"] {
            assert!(needs_all_members(name), "{name}");
        }
        for name in ["MPI_Comm_create_group", "MPI_Neighbor_allgather", "MPI_Ibarrier", "MPI_Recv"] {
            assert!(!needs_all_members(name), "{name}");
        }
    }

    #[test]
    fn starting_an_operation_does_not_wait_and_finishing_it_does() {
        for (name, waits) in [
            ("MPI_Recv_c", Waits::RECEIVE),
            ("MPI_Allreduce", Waits::COLLECTIVE),
            ("MPI_Iallreduce", Waits::NOTHING),
            ("MPI_Allreduce_init_c", Waits::NOTHING),
            ("MPI_Waitsome", Waits::REQUESTS),
            ("MPI_Neighbor_alltoall", Waits::COLLECTIVE),
            ("MPI_Neighbor_alltoall_init", Waits::NOTHING),
            ("MPI_File_write_at_all_end", Waits::COLLECTIVE),
            ("MPI_File_iread_all", Waits::NOTHING),
            ("MPI_Win_flush_local_all", Waits::SYNCHRONIZATION),
            ("MPI_Comm_rank", Waits::NOTHING),
        ] {
            assert_eq!(Waits::of(name), waits, "{name}");
        }
    }
}
