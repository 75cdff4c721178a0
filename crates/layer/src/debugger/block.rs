//! `MPI2DD_info` and `MPI2DD_breakpoint`, present in every rank.
#![allow(unsafe_code)]

use mpiscope_debug_interfaces::mpi2dd::{Info, Reason, mpi_flag};
use std::sync::atomic::Ordering;

/// The block that a debugger looks for in every rank. Valid from the first instruction on; `MPI_Init` adds
/// the tables.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static MPI2DD_info: Info = Info::new(0);

/// Function at which a debugger sets its breakpoint.
#[unsafe(no_mangle)]
#[inline(never)]
#[allow(non_snake_case)]
pub extern "C" fn MPI2DD_breakpoint() {
    // SAFETY: no instruction at all. As a statement with side effects it keeps the function and its calls
    // from being optimized away, and the memory clobber makes all stores before it visible.
    unsafe { std::arch::asm!("") };
}

/// Publishes the reason and stops in the debugger, if there is one.
pub fn stop(reason: Reason) {
    MPI2DD_info.debug_state.store(reason.0, Ordering::SeqCst);
    MPI2DD_breakpoint();
}

/// In a forked child: removes what makes its parent a rank and a directory.
pub fn forget() {
    let info = &MPI2DD_info;
    info.mpi_flags.fetch_and(!(mpi_flag::I_AM_DIR | mpi_flag::I_AM_METADIR), Ordering::SeqCst);
    for size in [&info.proctable_size, &info.directory_size, &info.metadirectory_size, &info.meta_pid] {
        size.store(0, Ordering::SeqCst);
    }
    let tables = [&info.proctable, &info.directory_table, &info.metadirectory_table];
    for address in tables.into_iter().chain([&info.meta_host_name, &info.meta_executable_name]) {
        address.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_begins_with_the_documents_magic_and_versions() {
        let bytes = std::ptr::from_ref(&MPI2DD_info).cast::<[u8; 7]>();
        // SAFETY: the first bytes of a static that is never modified here.
        assert_eq!(unsafe { *bytes }, *b"MPI2\x7f\x01\x01");
    }
}
