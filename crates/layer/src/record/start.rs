//! Start of recording: when the MPI library has been found, and when the process can communicate.

use crate::base::settings;
use crate::record::attach;
use crate::record::objects::{self, comms, datatypes, lock, predefined, recorder, table, windows};
use crate::record::{call_path, fortran_call_site, python_call_site, sites, trace};
use mpi_abi::Abi;

/// The MPI library was found: learns its properties, locates bindings of other languages, and reads the
/// settings.
pub fn found<A: Abi>() {
    attach::start();
    objects::learn_null_handles::<A>();
    fortran_call_site::bindings::start();
    python_call_site::start();
    call_path::start();
    sites::start();
    trace::start();
    datatypes::built_in::start::<A>();
    lock::start();
    windows::start::<A>();
    if let Some(count) = settings::number(c"MPISCOPE_TOMBSTONES") {
        table::keep_tombstones(count);
    }
    comms::start::<A>();
}

/// The process can communicate: enters the objects that exist from the beginning.
pub fn initialized<A: Abi>() {
    if let Some(writer) = recorder() {
        comms::initialized::<A>(writer);
        predefined::enter::<A>(writer);
    }
}
