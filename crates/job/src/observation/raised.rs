//! Errors that the library detected in calls that have not returned: their error handler ends the process, or is
//! the program's own and still runs.

use super::faults;
use crate::model::process::ThreadFacts;
use crate::model::rank::Rank;
use mpiscope_image::Source;
use serde::{Deserialize, Serialize};

/// An error in a call that has not returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    /// The function.
    pub function: String,
    /// The line of the user's code.
    pub place: Option<String>,
    /// The class of the error.
    pub error: String,
    /// When it was detected, in nanoseconds of the clock of the process's collectives.
    pub at_ns: u64,
}

/// Formats `MPI_Put at a.c:9 failed with MPI_ERR_OP, and did not return`. A program that calls an error handler
/// reports an error of its own.
pub fn did_not_return(function: &str, place: Option<&str>, error: &str) -> String {
    let at = place.map_or_else(String::new, |place| format!(" at {place}"));
    let how = if function.ends_with("_call_errhandler") { "reported" } else { "failed with" };
    format!("{function}{at} {how} {error}, and did not return")
}

/// Reads the error of a thread.
pub(super) fn read<S: Source>(rank: &Rank<'_, S>, thread: &ThreadFacts) -> Option<Box<Raised>> {
    let (raised, process) = (thread.raised.as_ref()?, rank.process());
    Some(Box::new(Raised {
        function: process.function((raised.function.get() as usize).wrapping_sub(1)),
        place: rank.place(raised.from.get()),
        error: faults::class(rank, u64::from(raised.class.get())),
        at_ns: process.clock.ns_at(raised.at.get()),
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::base::clock::Moment;
    use crate::model::locate::NoSymbols;
    use crate::model::process::Process;
    use crate::model::rank::{Rank, SymbolContext};
    use crate::sources::image_source::open_fd;
    use crate::test_image::TestImage;

    /// Returns the errors of a rank whose library detected one in `MPI_Reduce` and that then did `then`.
    fn found(then: impl FnOnce(&TestImage)) -> Vec<(String, String)> {
        let sample = TestImage::new("raised", 0, 2);
        sample.has_comm(1, "MPI_COMM_WORLD", 2);
        sample.enters("MPI_Reduce", [1, 2, 3], 0, 0);
        let raised = &sample.thread.raised;
        raised.class.set(9);
        raised.at.set(Moment::now().monotonic_ns);
        raised.completed.set(sample.thread.call.completed.get());
        raised.function.set(sample.number("MPI_Reduce") as u32 + 1);
        then(&sample);
        let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
        let process = Process::read(&image, Some(Moment::now())).unwrap();
        let context = SymbolContext::new(&process, &NoSymbols);
        let rank = Rank::new(&image, &process, &context);
        let raised = process.threads.iter().filter_map(|thread| super::read(&rank, thread));
        raised.map(|raised| (raised.function, raised.error)).collect()
    }

    #[test]
    fn an_error_is_known_while_its_call_is_open_even_during_calls_of_its_error_handler() {
        let reduce = [("MPI_Reduce".to_owned(), "MPI_ERR_OP".to_owned())];
        assert_eq!(found(|_| ()), reduce);
        let in_handler = |sample: &TestImage| {
            sample.called("MPI_Error_string", 1, 5, 0);
            sample.enters("MPI_Abort", [1, 0, 0], 0, 0);
            sample.thread.call.seq.write(|| sample.thread.call.nested.set(1));
        };
        assert_eq!(found(in_handler), reduce);
    }

    #[test]
    fn an_error_is_forgotten_at_the_next_call_after_its_handler_has_returned() {
        let next = |sample: &TestImage| {
            sample.leaves();
            sample.enters("MPI_Barrier", [1, 0, 0], 0, 0);
        };
        assert_eq!(found(next), []);
        assert_eq!(found(TestImage::leaves), []);
        assert_eq!(found(|sample| sample.thread.raised.function.set(0)), [], "its handler has returned");
    }

    #[test]
    fn an_error_that_the_program_reports_is_not_called_a_failure() {
        let said = |function| super::did_not_return(function, Some("a.c:9"), "MPI_ERR_OP");
        assert_eq!(said("MPI_Put"), "MPI_Put at a.c:9 failed with MPI_ERR_OP, and did not return");
        let reported = "MPI_Win_call_errhandler at a.c:9 reported MPI_ERR_OP, and did not return";
        assert_eq!(said("MPI_Win_call_errhandler"), reported);
    }
}
