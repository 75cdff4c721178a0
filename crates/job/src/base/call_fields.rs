//! Which fields of a request record are meaningful, given the function that created the request.

use mpi_abi::Fields;
pub use mpi_abi::Role;
use mpiscope_image::Function;
use mpiscope_image::traffic::RequestKind;

/// Returns the meaningful fields of a request created by `function`; the other fields still hold values of an
/// earlier request in the same record.
pub fn of_request(kind: RequestKind, function: Option<&Function>) -> Fields {
    // Messages have all fields, even a matched message that names no source.
    if kind.is_point_to_point() {
        let peer = Some(if kind.receives() { Role::Source } else { Role::Destination });
        return Fields { peer, count: true, datatype: true, ..Fields::NONE };
    }
    function.map(|function| function.fields).unwrap_or_default()
}
