//! The collectives that an image counts per communicator: those that debuggers ask for
//! (`mqs_get_comm_coll_state`).

use crate::function::FunctionId;
use crate::generated::functions::{COUNT, FUNCTIONS, f};
use crate::properties::Start;

/// The counted collectives, indexed by their number in that interface.
pub const COUNTED: [FunctionId; 14] = [
    f::MPI_Barrier,
    f::MPI_Bcast,
    f::MPI_Allgather,
    f::MPI_Allgatherv,
    f::MPI_Allreduce,
    f::MPI_Alltoall,
    f::MPI_Alltoallv,
    f::MPI_Reduce_scatter,
    f::MPI_Reduce,
    f::MPI_Gather,
    f::MPI_Gatherv,
    f::MPI_Scan,
    f::MPI_Scatter,
    f::MPI_Scatterv,
];

/// The number of a function that is not counted.
const NONE: u8 = u8::MAX;

/// For each function, the number of the counted collective that it enters, directly, non-blocking or with
/// large counts.
static NUMBERS: [u8; COUNT] = numbers();

const fn numbers() -> [u8; COUNT] {
    let mut numbers = [NONE; COUNT];
    let mut id = 0;
    while id < COUNT {
        let mut number = 0;
        while number < COUNTED.len() {
            let persistent = FUNCTIONS[id].properties.start.0 == Start::PERSISTENT.0;
            if FUNCTIONS[id].operation.0 == COUNTED[number].0 && !persistent {
                numbers[id] = number as u8;
            }
            number += 1;
        }
        id += 1;
    }
    numbers
}

impl FunctionId {
    /// The index in [`COUNTED`] of the collective that a call of the function enters.
    #[inline(always)]
    pub fn counted(self) -> Option<usize> {
        NUMBERS.get(usize::from(self.0)).copied().filter(|number| *number != NONE).map(usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_is_counted_in_all_its_forms_and_its_persistent_request_is_not() {
        for function in [f::MPI_Bcast, f::MPI_Ibcast, f::MPI_Bcast_c, f::MPI_Ibcast_c] {
            assert_eq!(function.counted(), Some(1));
        }
        assert_eq!(f::MPI_Iscatterv.counted(), Some(13));
        for function in [f::MPI_Bcast_init, f::MPI_Recv, f::MPI_Comm_dup, f::MPI_Exscan] {
            assert_eq!(function.counted(), None);
        }
    }
}
