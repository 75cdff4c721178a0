//! Fuzzes process tables in the memory of a process: MPI2DD in either width and byte order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpiscope_job::jobs::acquire::mpi2dd;
use mpiscope_target::{ByteOrder, InMemory};

/// The start address of the memory, as in the tests, so that addresses in a table can point into it.
const BASE: u64 = 0x10_0000;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, memory)) = bytes.split_first() else { return };
    let width = if first & 1 == 0 { 8 } else { 4 };
    let order = if first & 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let target = InMemory::new(width, order).segment(BASE, memory.to_vec());
    let _ = mpi2dd::read_at(&target, BASE);
});
