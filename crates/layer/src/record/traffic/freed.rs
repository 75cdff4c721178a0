//! Calls that are given the handle of a freed object: see [`objects::freed`](crate::record::objects::freed).

use super::faults;
use super::ledger;
use crate::interpose::frame::Call;
use crate::record::objects::free::AGAIN;
use crate::record::objects::{datatypes, freed, tables};
use mpi_abi::Abi;
use mpiscope_image::layout::SectionKind;
use std::ffi::c_int;

/// After a function that frees an object of this kind, and that the library has carried out: the object had been freed
/// before.
#[inline(always)]
pub fn again<A: Abi>(call: &Call<A>, result: c_int, kind: SectionKind) {
    if call.stash.get() == AGAIN && result == A::SUCCESS {
        faults::freed_handle(&call.aside(), kind);
    }
}

/// Computes the signature of a datatype before a message with it is recorded. The state must not be held,
/// since the library may be queried.
#[inline(always)]
pub fn sign<A: Abi>(call: &Call<A>, datatype: u64) {
    if ledger::recorded() {
        sign_now::<A>(&call.aside(), datatype);
    }
}

#[inline(never)]
fn sign_now<A: Abi>(call: &Call<A>, datatype: u64) {
    // The signature is stored in the record.
    let known = datatypes::signed::<A>(datatype).is_some();
    if !known && freed::is_freed(&tables::DATATYPES, datatype) {
        faults::freed_handle(call, SectionKind::DATATYPES);
    }
}
