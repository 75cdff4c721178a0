//! What calls of a function can wait for, according to the function's properties.

use mpi_abi::{Class, Flags, FunctionId, Partners, Properties, f};

/// Whether calls of a function can wait for other ranks in a way that is analyzed: messages, collectives and
/// locks, except at the program's start and end.
#[must_use]
pub fn can_wait(function: &str) -> bool {
    can_wait_for_messages(function) || is_collective_that_waits(function) || can_wait_for_locks(function)
}

/// Whether calls of a function acquire or release locks of windows.
fn can_wait_for_locks(function: &str) -> bool {
    let locks = [f::MPI_Win_lock, f::MPI_Win_lock_all, f::MPI_Win_unlock, f::MPI_Win_unlock_all];
    FunctionId::from_name(function).is_some_and(|id| locks.contains(&id))
}

/// Whether calls of a function are collectives that wait for other ranks, except those at the program's start
/// and end.
#[must_use]
pub fn is_collective_that_waits(function: &str) -> bool {
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| is_collective(p) && p.class != Class::ENVIRONMENT)
}

/// Whether a call waits for all members; this includes `MPI_Win_fence`, for the members of the window.
fn is_collective(properties: Properties) -> bool {
    let fence = properties.waits == mpi_abi::Waits::SYNCHRONIZATION && properties.partners == Partners::ALL;
    properties.waits == mpi_abi::Waits::COLLECTIVE || fence
}

/// Whether calls of a function can wait for messages or requests.
#[must_use]
pub fn can_wait_for_messages(function: &str) -> bool {
    let kinds = [mpi_abi::Waits::SEND, mpi_abi::Waits::RECEIVE, mpi_abi::Waits::REQUESTS];
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| kinds.contains(&p.waits) && p.class != Class::ENVIRONMENT)
}

/// Whether waits in calls of a function, or in a loop of calls that poll for it, are found by sampling the
/// ranks. `recorded` is whether messages are recorded individually. Collectives on intercommunicators are
/// found this way, too.
#[must_use]
pub fn is_looked_at(function: &str, recorded: bool) -> bool {
    let Some(waits) = FunctionId::from_name(function).map(that_waits) else { return false };
    let properties = waits.properties();
    match properties.waits {
        mpi_abi::Waits::SYNCHRONIZATION => !can_wait_for_locks(waits.name()) && !is_collective(properties),
        _ => can_wait_for_messages(waits.name()) && !recorded,
    }
}

/// Whether a function only polls, so that programs call it repeatedly.
#[must_use]
pub fn asks(function: &str) -> bool {
    FunctionId::from_name(function).is_some_and(|function| function.properties().flags.has(Flags::POLLING))
}

/// Maps a polling function to the function that waits for the same thing, any other function to itself.
fn that_waits(function: FunctionId) -> FunctionId {
    let asks = function.properties().flags.has(Flags::POLLING);
    if asks { function.operation() } else { function }
}

/// Whether a function creates a persistent collective, whose starts have no number that identifies the
/// members' matching calls.
#[must_use]
pub fn makes_persistent_collective(function: &str) -> bool {
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| p.class == Class::COLLECTIVE && p.start == mpi_abi::Start::PERSISTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_functions_are_sampled_like_waiting_ones() {
        let looked_at = |name| (is_looked_at(name, false), is_looked_at(name, true));
        for pair in [["MPI_Test", "MPI_Wait"], ["MPI_Iprobe", "MPI_Probe"], ["MPI_Win_test", "MPI_Win_wait"]]
        {
            assert_eq!(looked_at(pair[0]), looked_at(pair[1]), "{pair:?}");
        }
        assert_eq!([looked_at("MPI_Test"), looked_at("MPI_Win_test")], [(true, false), (true, true)]);
        assert_eq!(looked_at("MPI_Comm_rank"), (false, false));
    }
}
