//! Which functions' calls were timed.

use mpi_abi::{Flags, Properties};

/// Ticks spent in `count` calls of a function; `None` if they were counted but not timed, which is the
/// default for functions that only look something up. Time spent in these counts as time outside of MPI.
#[must_use]
pub fn ticks(function: Properties, count: u64, ticks: u64) -> Option<u64> {
    let untimed = ticks == 0 && count != 0 && function.flags.has(Flags::LOOKUP);
    (!untimed).then_some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::f;

    #[test]
    fn lookups_have_no_time_unless_it_was_measured() {
        let of = |function: mpi_abi::FunctionId, count, given| ticks(function.properties(), count, given);
        assert_eq!(of(f::MPI_Comm_rank, 3, 0), None);
        assert_eq!(of(f::MPI_Comm_rank, 3, 70), Some(70));
        assert_eq!(of(f::MPI_Comm_rank, 0, 0), Some(0), "never called: no time was spent");
        assert_eq!(of(f::MPI_Barrier, 3, 0), Some(0));
    }
}
