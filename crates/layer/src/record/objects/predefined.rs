//! Objects that every library has. They are entered with their names, so that a reader of the image knows
//! every handle.

use super::{datatypes, errhandlers, groups, infos, is_null, ops};
use crate::interpose::real;

use mpi_abi::{Abi, AbiKind, ObjectKind, PREDEFINED};
use mpiscope_image::Writer;
use std::sync::atomic::{AtomicBool, Ordering};

/// Indices of MPICH's built-in datatypes up to this one have the same meaning in all members of the family.
const LAST_COMMON_INDEX: u64 = 0x46;

/// Enters all except communicators. Only the first call has an effect.
pub fn enter<A: Abi>(writer: &'static Writer) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    for object in &PREDEFINED {
        let Some(raw) = real::predefined_raw::<A>(object.name) else { continue };
        if is_null(object.kind, raw) {
            continue;
        }
        match object.kind {
            ObjectKind::DATATYPE if has_meaning::<A>(raw) => {
                datatypes::predefined(writer, raw, object.name, object.size);
            }
            ObjectKind::OP => ops::predefined(writer, raw, object.name),
            ObjectKind::ERRHANDLER => errhandlers::predefined(writer, raw, object.name),
            ObjectKind::GROUP => groups::predefined(writer, raw, object.name),
            ObjectKind::INFO => infos::predefined::<A>(writer, raw, object.name),
            _ => {}
        }
    }
}

/// Whether the name of this datatype is valid in every library of the ABI.
fn has_meaning<A: Abi>(raw: u64) -> bool {
    A::CODE != AbiKind::MPICH || raw >> 24 != 0x4c || raw & 0xff <= LAST_COMMON_INDEX
}
