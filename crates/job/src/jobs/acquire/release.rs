//! Releases a process from `MPI_Init`.
#![allow(unsafe_code)]

use super::Error;
use super::mpi2dd;
use mpiscope_target::{Live, Target};

/// Bit of `debugger_flags`: the process may leave `MPI_Init`.
const GATE: u32 = 1;

/// Opens the gates of a process: `MPI2DD_FLAG_GATE` and `MPIR_debug_gate`. Returns false if it has
/// neither.
pub fn release(pid: u32) -> Result<bool, Error> {
    let live = Live::open(pid)?;
    let mut opened = false;
    if let Some(block) = live.symbol(mpi2dd::SYMBOL)? {
        let mut magic = [0; 5];
        live.read(block, &mut magic)?;
        if &magic == b"MPI2\x7f" {
            let at = block + 8;
            let flags = live.read_u32(at)? | GATE;
            opened = write(pid, at, flags)?;
        }
    }
    if let Some(gate) = live.symbol("MPIR_debug_gate")? {
        opened |= write(pid, gate, 1)?;
    }
    Ok(opened)
}

/// Writes four bytes into another process of this host.
fn write(pid: u32, address: u64, value: u32) -> Result<bool, Error> {
    let bytes = value.to_ne_bytes();
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the local buffer is only read; the kernel checks the remote one and our permissions.
    let written = unsafe { libc::process_vm_writev(pid as libc::pid_t, &local, 1, &remote, 1, 0) };
    if written == bytes.len() as isize {
        return Ok(true);
    }
    let why = std::io::Error::last_os_error();
    Err(Error::Block { pid, address, what: format!("the gate cannot be opened ({why})") })
}
