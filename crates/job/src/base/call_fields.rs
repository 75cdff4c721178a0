//! Which fields of a request's record mean something: it follows from the function that made it.

use mpi_abi::Fields;
pub use mpi_abi::Role;
use mpiscope_image::Function;
use mpiscope_image::traffic::RequestKind;

/// The fields of a request that `function` has made: the others hold what another request left in its record.
pub fn of_request(kind: RequestKind, function: Option<&Function>) -> Fields {
    // A message has them all, also one that was matched before and names no source.
    if kind.is_point_to_point() {
        let peer = Some(if kind.receives() { Role::Source } else { Role::Destination });
        return Fields { peer, count: true, datatype: true, ..Fields::NONE };
    }
    function.map(|function| function.fields).unwrap_or_default()
}
