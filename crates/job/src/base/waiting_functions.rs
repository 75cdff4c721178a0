//! What calls of a function can wait for, by the properties of the function.

use mpi_abi::{Class, FunctionId, Partners, Properties, f};

/// Whether calls of a function can wait for other ranks in a way that is looked at: messages, collectives and locks, but for the beginning
/// and the end of the program.
#[must_use]
pub fn can_wait(function: &str) -> bool {
    can_wait_for_messages(function) || is_collective_that_waits(function) || can_wait_for_locks(function)
}

/// Whether calls of a function ask for locks of windows or release them.
fn can_wait_for_locks(function: &str) -> bool {
    let locks = [f::MPI_Win_lock, f::MPI_Win_lock_all, f::MPI_Win_unlock, f::MPI_Win_unlock_all];
    FunctionId::from_name(function).is_some_and(|id| locks.contains(&id))
}

/// Whether calls of a function are collectives that wait for other ranks, but for the beginning and the end of the program.
#[must_use]
pub fn is_collective_that_waits(function: &str) -> bool {
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| is_collective(p) && p.class != Class::ENVIRONMENT)
}

/// Whether a call waits for all members: those of a window in `MPI_Win_fence`, too.
fn is_collective(properties: Properties) -> bool {
    let fence = properties.waits == mpi_abi::Waits::SYNCHRONIZATION && properties.partners == Partners::ALL;
    properties.waits == mpi_abi::Waits::COLLECTIVE || fence
}

/// Whether calls of a function can wait for messages, or for requests.
#[must_use]
pub fn can_wait_for_messages(function: &str) -> bool {
    let kinds = [mpi_abi::Waits::SEND, mpi_abi::Waits::RECEIVE, mpi_abi::Waits::REQUESTS];
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| kinds.contains(&p.waits) && p.class != Class::ENVIRONMENT)
}

/// Whether looks at the ranks are what finds the waits in calls of a function; `recorded`: messages are recorded one by one. Collectives on
/// intercommunicators are found so too.
#[must_use]
pub fn is_looked_at(function: &str, recorded: bool) -> bool {
    let Some(properties) = FunctionId::from_name(function).map(FunctionId::properties) else { return false };
    match properties.waits {
        mpi_abi::Waits::SYNCHRONIZATION => !can_wait_for_locks(function) && !is_collective(properties),
        _ => can_wait_for_messages(function) && !recorded,
    }
}

/// Whether a function makes a persistent collective: starts of these have no number by which members are found.
#[must_use]
pub fn makes_persistent_collective(function: &str) -> bool {
    let properties = FunctionId::from_name(function).map(FunctionId::properties);
    properties.is_some_and(|p| p.class == Class::COLLECTIVE && p.start == mpi_abi::Start::PERSISTENT)
}
