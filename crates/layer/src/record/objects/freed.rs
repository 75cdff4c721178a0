//! Handles of freed objects that the program uses again. A library may accept them, or not notice.
//!
//! Only of kinds of which every function that returns a handle is hooked, [those of extensions](crate::record::extensions)
//! included: another object may have got the handle.
//! Infos also come from functions that are not, such as `MPI_Abi_get_info`.

use super::recorder;
use super::table::{Object, Table};
use mpiscope_image::layout::SectionKind;

/// The kinds.
const KNOWN: [SectionKind; 5] =
    [SectionKind::COMMS, SectionKind::GROUPS, SectionKind::DATATYPES, SectionKind::OPS, SectionKind::WINDOWS];
/// Number of records that are searched.
const MOST: u64 = 1 << 14;

/// Whether a handle that no object has now belonged to one that was freed, as far as its record is kept.
#[cold]
#[inline(never)]
pub fn is_freed<T: Object>(table: &'static Table<T>, handle: u64) -> bool {
    let writer = recorder().filter(|_| KNOWN.contains(&table.kind()));
    writer.is_some_and(|writer| table.tombstones(writer, MOST).any(|head| head.handle.get() == handle))
}
