//! What one record says of other objects, where more than its own model wants to know it.

use super::kind::Kind;
use super::reader::Reader;
use crate::base::call_fields::of_request;
use mpi_abi::Fields;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Comm};
use mpiscope_image::traffic::{Request, RequestKind};

/// Handle and uid of the error handler attached to a communicator, or to the nearest ancestor that has one.
pub(super) fn error_handler_in_force<S: Source>(reader: &Reader<'_, S>, record: &Comm) -> Option<(u64, u64)> {
    const LONGEST_LINE: usize = 64;
    let own = |record: &Comm| {
        Some((record.errhandler.get(), record.errhandler_uid.get())).filter(|own| *own != (0, 0))
    };
    let mut found = own(record);
    let mut parent = record.head.parent.get();
    for _ in 0..LONGEST_LINE {
        if found.is_some() || objects::kind_of(parent) != Kind::Communicator.section() {
            break;
        }
        let entry = reader.entry_of(parent).ok()??;
        let next = reader.record::<Comm>(Kind::Communicator, entry.index).ok()?.value;
        found = own(&next);
        parent = next.head.parent.get();
    }
    found
}

/// Uids of the types that a structure was made from.
pub(super) fn parts_of_structure<S: Source>(
    reader: &Reader<'_, S>,
    record: &objects::Datatype,
) -> Option<Vec<u64>> {
    let n = usize::try_from(record.args.first()?.get()).ok()?;
    let words = reader.words(&record.array);
    Some(words.get(n.checked_mul(3)?..n.checked_mul(4)?)?.to_vec())
}

/// Which fields of a request mean something.
pub(super) fn significant<S: Source>(reader: &Reader<'_, S>, record: &Request) -> Fields {
    of_request(kind_of(record), reader.facts(record.head.made_by.get().into()))
}

/// The handle of a request's operation, if the function that made it has one.
pub(super) fn reduction<S: Source>(reader: &Reader<'_, S>, record: &Request) -> Option<u64> {
    let code = kind_of(record);
    let may = matches!(code, RequestKind::COLLECTIVE | RequestKind::RMA);
    (may && significant(reader, record).op).then(|| record.entry.get())
}

/// Whether a request has a datatype: the field may be another request's.
pub(super) fn has_datatype<S: Source>(reader: &Reader<'_, S>, record: &Request) -> bool {
    significant(reader, record).datatype
}

/// What a request stands for.
pub(super) fn kind_of(record: &Request) -> RequestKind {
    RequestKind(record.kind.get())
}
