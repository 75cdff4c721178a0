//! What a record tells about other objects, where more than one model needs it.

use super::kind::Kind;
use super::reader::Reader;
use crate::base::call_fields::of_request;
use mpi_abi::Fields;
use mpiscope_image::Source;
use mpiscope_image::derive::live;
use mpiscope_image::objects::{self, Comm};
use mpiscope_image::traffic::{Request, RequestKind};

/// Returns handle and uid of the error handler attached to a communicator, or to its nearest ancestor that
/// has one.
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

/// Returns the uids of the types from which a structure was created.
pub(super) fn parts_of_structure<S: Source>(
    reader: &Reader<'_, S>,
    record: &objects::Datatype,
) -> Option<Vec<u64>> {
    let n = usize::try_from(record.args.first()?.get()).ok()?;
    let words = reader.words(&record.array);
    Some(words.get(n.checked_mul(3)?..n.checked_mul(4)?)?.to_vec())
}

/// Returns which fields of a request are meaningful.
pub(super) fn significant<S: Source>(reader: &Reader<'_, S>, record: &Request) -> Fields {
    of_request(kind_of(record), reader.facts(record.head.made_by.get().into()))
}

/// Returns the handle of a request's operation, if the function that created it has one.
pub(super) fn reduction<S: Source>(reader: &Reader<'_, S>, record: &Request) -> Option<u64> {
    let code = kind_of(record);
    let own = !live::is_shared(&record.head);
    let may = own && matches!(code, RequestKind::COLLECTIVE | RequestKind::RMA);
    (may && significant(reader, record).op).then(|| record.entry.get())
}

/// Whether a request has a datatype; otherwise the field still holds that of an earlier request.
pub(super) fn has_datatype<S: Source>(reader: &Reader<'_, S>, record: &Request) -> bool {
    significant(reader, record).datatype
}

/// Returns the kind of a request.
pub(super) fn kind_of(record: &Request) -> RequestKind {
    RequestKind(record.kind.get())
}
