//! Data access to files: how many calls, how many bytes, how long.
//!
//! What the program asked for is counted, when the library said that it succeeded: a split collective at its begin, a
//! nonblocking call at its start. How much of it was there is in a status that the program need not take.

use super::succeeded;
use crate::interpose::frame::Call;
use crate::record::bytes;
use crate::record::objects::tables;
use mpi_abi::Abi;
use mpiscope_image::W64;
use mpiscope_image::objects::File;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Threads may share a file.
fn add(word: &W64, amount: u64) {
    word.atomic().fetch_add(amount, Ordering::Relaxed);
}

/// The file's record, if the call succeeded, with the time of the call added.
fn spent<A: Abi>(call: &Call<A>, result: c_int, file: usize) -> Option<&'static File> {
    succeeded::<A>(result)?;
    let record = tables::file(file)?;
    if call.since != 0 {
        add(&record.ticks, call.returned().wrapping_sub(call.since));
    }
    Some(record)
}

/// `MPI_File_read` and all others that begin to read.
#[inline(never)]
pub fn read<A: Abi>(call: &Call<A>, result: c_int, file: usize, count: i64, datatype: A::Handle) {
    if let Some(record) = spent(call, result, file) {
        add(&record.reads, 1);
        add(&record.read_bytes, bytes::elements::<A>(count, datatype));
    }
}

/// `MPI_File_write` and all others that begin to write.
#[inline(never)]
pub fn write<A: Abi>(call: &Call<A>, result: c_int, file: usize, count: i64, datatype: A::Handle) {
    if let Some(record) = spent(call, result, file) {
        add(&record.writes, 1);
        add(&record.written_bytes, bytes::elements::<A>(count, datatype));
    }
}

/// The ends of split collectives, `MPI_File_sync`: only the time.
#[inline(never)]
pub fn time<A: Abi>(call: &Call<A>, result: c_int, file: usize) {
    spent(call, result, file);
}
