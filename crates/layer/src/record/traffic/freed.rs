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
        sign_all::<A>(&call.aside(), [datatype]);
    }
}

/// The same for all datatypes of a call, while messages are recorded.
#[inline(never)]
pub fn sign_all<A: Abi>(call: &Call<A>, datatypes: impl IntoIterator<Item = u64>) {
    // Each signature is stored in its record.
    if datatypes.into_iter().filter(|datatype| !sign_one::<A>(*datatype)).count() != 0 {
        faults::freed_handle(call, SectionKind::DATATYPES);
    }
}

/// Computes the signature of a datatype. Returns false if it has been freed.
#[inline(never)]
pub fn sign_one<A: Abi>(datatype: u64) -> bool {
    datatypes::signed::<A>(datatype).is_some() || !freed::is_freed(&tables::DATATYPES, datatype)
}
