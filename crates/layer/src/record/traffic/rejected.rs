//! Which errors mean that a collective call was rejected before it did anything.
//!
//! A rejected call is not one of the communicator's collectives: the other members, whose calls may have been
//! rejected too or not, number theirs as if it had not been made. A call that fails later on, such as one whose
//! message was too long, has taken part and keeps its number.

use crate::interpose::real;
use mpi_abi::Abi;
use mpiscope_image::layout::SectionKind;
use std::ffi::c_int;

/// Returns whether a call that returned this code was rejected because of its arguments. `on` is the kind of
/// the object that it is collective over.
#[cold]
pub fn rejected<A: Abi>(code: c_int, on: SectionKind) -> bool {
    let class = real::class_of::<A>(code);
    // A member whose argument differs from the others' is also told this, after they have compared them.
    let compared = class == A::ERR_ARG && on == SectionKind::FILES;
    checked_first::<A>(class) && !compared
}

/// Whether libraries detect errors of this class before a call communicates. `MPI_ERR_GROUP` is not among
/// them: MPICH's `MPI_Comm_create` finds it after the members have agreed on a context.
fn checked_first<A: Abi>(class: c_int) -> bool {
    let classes = [
        A::ERR_ARG,
        A::ERR_ASSERT,
        A::ERR_BASE,
        A::ERR_BUFFER,
        A::ERR_COMM,
        A::ERR_COUNT,
        A::ERR_DIMS,
        A::ERR_DISP,
        A::ERR_OP,
        A::ERR_RANK,
        A::ERR_ROOT,
        A::ERR_SIZE,
        A::ERR_TAG,
        A::ERR_TOPOLOGY,
        A::ERR_TYPE,
    ];
    classes.contains(&class)
}
