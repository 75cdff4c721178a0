//! File accesses: number of calls, bytes and time.
//!
//! The requested amounts are counted, once the library reports success: a split collective when it begins, a
//! nonblocking call when it starts. So are the events. The actual amount is in a status that the program need not retrieve.

use super::succeeded;
use crate::interpose::frame::Call;
use crate::record::bytes;
use crate::record::objects::tables;
use crate::record::observe;
use mpi_abi::Abi;
use mpiscope_image::W64;
use mpiscope_image::objects::File;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Atomic, since threads may share a file.
fn add(word: &W64, amount: u64) {
    word.atomic().fetch_add(amount, Ordering::Relaxed);
}

/// Adds the call's time and returns the file's record, if the call succeeded.
fn spent<A: Abi>(call: &Call<A>, result: c_int, file: usize) -> Option<&'static File> {
    succeeded::<A>(result)?;
    let record = tables::file(file)?;
    if call.since != 0 {
        add(&record.ticks, call.returned().wrapping_sub(call.since));
    }
    Some(record)
}

/// `MPI_File_read` and all others that start reading.
#[inline(never)]
pub fn read<A: Abi>(call: &Call<A>, result: c_int, file: usize, count: i64, datatype: A::Handle) {
    if let Some(record) = spent(call, result, file) {
        let bytes = bytes::elements::<A>(count, datatype);
        add(&record.reads, 1);
        add(&record.read_bytes, bytes);
        observe::file_read(call, record.head.uid.get(), bytes);
    }
}

/// `MPI_File_write` and all others that start writing.
#[inline(never)]
pub fn write<A: Abi>(call: &Call<A>, result: c_int, file: usize, count: i64, datatype: A::Handle) {
    if let Some(record) = spent(call, result, file) {
        let bytes = bytes::elements::<A>(count, datatype);
        add(&record.writes, 1);
        add(&record.written_bytes, bytes);
        observe::file_written(call, record.head.uid.get(), bytes);
    }
}

/// The ends of split collectives and `MPI_File_sync`: only the time is counted.
#[inline(never)]
pub fn time<A: Abi>(call: &Call<A>, result: c_int, file: usize) {
    spent(call, result, file);
}
