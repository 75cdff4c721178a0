//! Reduction operations. Memory: a record and an index entry.

use super::table::Object;
use super::{Site, arena, facts, free, language, new_handle, output, succeeded};
use crate::interpose::callbacks::target;
use crate::interpose::frame::Call;
use crate::record::objects::tables::OPS;
use mpi_abi::{Abi, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Head, Op};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

impl Object for Op {
    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.name);
    }
}

/// The handle of `MPI_NO_OP`; zero until it is known.
static NO_OP: AtomicU64 = AtomicU64::new(0);

/// Whether this is `MPI_NO_OP`.
#[inline(always)]
pub fn is_no_op(raw: u64) -> bool {
    raw != 0 && raw == NO_OP.load(Ordering::Relaxed)
}

/// Enters a predefined operation. Only `MPI_REPLACE` is not commutative; `MPI_NO_OP` combines nothing.
pub fn predefined(writer: &'static Writer, raw: u64, name: &str) {
    if OPS.find(raw).is_some() {
        return;
    }
    if name == "MPI_NO_OP" {
        NO_OP.store(raw, Ordering::Relaxed);
    }
    let commutes = !matches!(name, "MPI_REPLACE" | "MPI_NO_OP");
    let record = OPS.insert(writer, raw, Site::NONE, |record| {
        record.head.flags.set(Flag::PREDEFINED.0 | if commutes { Flag::COMMUTATIVE.0 } else { 0 });
        arena::put_text(writer, &record.name, name.as_bytes());
    });
    if let Some(record) = record {
        facts::created(SectionKind::OPS, &record.head);
    }
}

/// `MPI_Op_create`, `MPI_Op_create_c`.
pub fn create<A: Abi>(
    call: &Call<A>,
    result: c_int,
    function: *const c_void,
    commute: c_int,
    op: *mut A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::OP, op) else { return };
    let fortran = if language::is_fortran(call.return_address()) { Flag::FORTRAN.0 } else { 0 };
    let record = OPS.insert(writer, raw, Site::of(call), |record| {
        record.head.flags.set(fortran | if commute != 0 { Flag::COMMUTATIVE.0 } else { 0 });
        record.function.set(target(function.addr()) as u64);
    });
    if let Some(record) = record {
        facts::created(SectionKind::OPS, &record.head);
    }
}

/// Enters an operation of which nothing but the handle is known.
pub fn found(writer: &'static Writer, raw: u64) {
    if let Some(record) = OPS.insert(writer, raw, Site::NONE, |_| {}) {
        facts::created(SectionKind::OPS, &record.head);
    }
}

/// `MPI_Op_free`.
pub fn before_free<A: Abi>(call: &Call<A>, op: &mut *mut A::Handle) {
    free::before(call, &OPS, output(*op));
}

/// `MPI_Op_free`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::OP, place), &OPS, |_, _| {});
}
