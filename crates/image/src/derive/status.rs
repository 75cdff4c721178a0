//! A process's progress, and what its main thread is doing.

use super::ThreadView;
use crate::layout::{Call, Process, State, codes};
use mpi_abi::{Properties, Waits};

codes! {
    /// What the main thread of a rank is doing: the values of `mpiscope_state`.
    Activity {
        NOT_INITIALIZED = 0 => "not initialized",
        COMPUTING = 1 => "computing",
        IN_CALL = 2 => "in an MPI call that does not wait",
        IN_SEND = 3 => "blocked in a send",
        IN_RECEIVE = 4 => "blocked in a receive or probe",
        IN_COMPLETION = 5 => "blocked completing requests",
        IN_COLLECTIVE = 6 => "blocked in a collective",
        IN_SYNCHRONIZATION = 7 => "blocked in one-sided synchronization",
        FINALIZED = 8 => "finalized",
        POLLING = 9 => "polling",
        IN_CONNECTION = 10 => "blocked connecting to other jobs",
        IN_FILE = 11 => "in file input or output",
    }
}

/// The value of `mpiscope_function` outside of MPI, and its name.
pub const NO_FUNCTION: (i32, &str) = (-1, "none");

impl Activity {
    /// The activity inside a function that waits for this.
    pub const fn inside(waits: Waits) -> Self {
        match waits {
            Waits::SEND => Self::IN_SEND,
            Waits::RECEIVE => Self::IN_RECEIVE,
            Waits::REQUESTS => Self::IN_COMPLETION,
            Waits::COLLECTIVE => Self::IN_COLLECTIVE,
            Waits::SYNCHRONIZATION => Self::IN_SYNCHRONIZATION,
            Waits::CONNECTION => Self::IN_CONNECTION,
            Waits::FILE => Self::IN_FILE,
            _ => Self::IN_CALL,
        }
    }
}

/// Whether `MPI_Finalize` has returned, so that only sessions can be in use.
pub fn left_world(process: &Process, state: State) -> bool {
    process.finalize_enter.get() != 0 && !matches!(state, State::FINALIZING | State::ABORTED)
}

/// What the main thread is doing at `now`; `spacing` is [`SPACING_NS`](super::polling::SPACING_NS) in ticks,
/// and `class` returns the properties of a function, given its number.
pub fn activity(
    state: State,
    main: Option<ThreadView<'_>>,
    (now, spacing): (u64, u64),
    class: impl Fn(u32) -> Properties,
) -> Activity {
    match state {
        State::UNCLAIMED | State::STARTED => return Activity::NOT_INITIALIZED,
        State::FINALIZED => return Activity::FINALIZED,
        _ => {}
    }
    let Some(main) = main else { return Activity::COMPUTING };
    if polling_since(main, (now, spacing), &class).is_some() {
        return Activity::POLLING;
    }
    let open = main.open().and_then(Call::open);
    open.map_or(Activity::COMPUTING, |function| Activity::inside(class(function).waits))
}

/// When the thread began polling, in ticks, if it is polling at `now`.
pub fn polling_since(
    thread: ThreadView<'_>,
    (now, spacing): (u64, u64),
    class: impl Fn(u32) -> Properties,
) -> Option<u64> {
    thread.polling.began(|function| class(function).may_find_nothing(), now, spacing)
}

/// Describes the process's progress. `init_enter` is when `MPI_Init` was entered, or zero.
pub fn stage(state: State, init_enter: u64) -> Option<&'static str> {
    match state {
        State::STARTED if init_enter != 0 => Some("in MPI_Init"),
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Polling;
    use super::*;
    use mpi_abi::Flags;

    fn class(function: u32) -> Properties {
        let flags = if function == 0 { Flags::POLLING } else { Flags::NONE };
        Properties { waits: Waits(function as u8), flags, ..Properties::default() }
    }

    fn view(call: &Call, polling: Polling) -> ThreadView<'_> {
        ThreadView { index: 0, tid: 1, mpi_ticks: 0, attached: 0, lived: 0, polling, call: Some(call) }
    }

    #[test]
    fn the_state_of_a_rank_is_that_of_its_main_thread() {
        let call = Call::default();
        let of = |state| activity(state, Some(view(&call, Polling::default())), (9, 9), class);
        assert_eq!(of(State::STARTED), Activity::NOT_INITIALIZED);
        assert_eq!(of(State::INITIALIZED), Activity::COMPUTING);
        call.begin(2);
        assert_eq!(of(State::INITIALIZED), Activity::IN_RECEIVE);
        assert_eq!(of(State::FINALIZED), Activity::FINALIZED);
        call.end(2);
        assert_eq!(of(State::INITIALIZED), Activity::COMPUTING);
    }

    #[test]
    fn a_loop_over_a_polling_function_is_polling_inside_and_between_calls() {
        let call = Call::default();
        call.completed.set(100);
        let polling =
            Polling { since: 5, latest: 990, polls: 100, polled: 100, completed: 100, ..Polling::default() };
        let of = |function| {
            let polling = Polling { function: Some(function), ..polling };
            activity(State::INITIALIZED, Some(view(&call, polling)), (1000, 50), class)
        };
        call.begin(0);
        assert_eq!(of(0), Activity::POLLING);
        call.end(0);
        assert_eq!(of(0), Activity::POLLING);
        call.begin(4);
        assert_eq!(of(4), Activity::IN_COLLECTIVE);
    }

    #[test]
    fn a_process_is_in_mpi_init_once_it_has_entered_it() {
        assert_eq!(stage(State::STARTED, 0), Some("before MPI_Init"));
        assert_eq!(stage(State::STARTED, 7), Some("in MPI_Init"));
        assert_eq!(stage(State::INITIALIZED, 7), Some("running"));
    }
}
