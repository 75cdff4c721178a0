//! Reads MPIR's process table from a starter.
//!
//! A process is a starter if its table is filled, not if it has the symbols: every rank of Open MPI 4 has
//! them, too.

use super::mpi2dd::Process;
use super::{Error, ProcessLocation};
use mpiscope_debug_interfaces::mpir::{BREAKPOINT, Layout, PROCTABLE, PROCTABLE_SIZE};
use mpiscope_target::{Cached, Target};

/// Tables with more ranks than this are rejected.
const MOST: i32 = 1 << 20;
/// Number of pages cached while the table is read.
const PAGES: usize = 1024;
/// Maximum length of a string.
const LONGEST: usize = 4096;

/// Returns the processes that a starter has started, in rank order; empty if the process is no starter or its
/// table is empty (Open MPI 4 fills its table only under a debugger).
pub fn read(target: &dyn Target) -> Result<Vec<Process>, Error> {
    if target.symbol(BREAKPOINT)?.is_none() {
        return Ok(Vec::new());
    }
    let (Some(table), Some(size)) = (target.symbol(PROCTABLE)?, target.symbol(PROCTABLE_SIZE)?) else {
        return Ok(Vec::new());
    };
    let size = target.read_i32(size)?;
    let table = target.read_pointer(table)?;
    if size == 0 || table == 0 {
        return Ok(Vec::new());
    }
    let pid = target.pid().unwrap_or(0);
    if !(0..=MOST).contains(&size) {
        return Err(Error::Table { pid, what: format!("MPIR_proctable_size is {size}") });
    }
    let cached = Cached::new(target, PAGES);
    let stride = Layout { width: target.width() }.proc_desc() as u64;
    (0..size as u64).map(|index| entry(&cached, pid, table.wrapping_add(index * stride))).collect()
}

fn entry(target: &dyn Target, starter: u32, at: u64) -> Result<Process, Error> {
    let layout = Layout { width: target.width() };
    let text = |at: u64| -> Result<String, Error> {
        let address = target.read_pointer(at)?;
        Ok(mpiscope_image::text(&target.read_c_string(address, LONGEST)?).into_owned())
    };
    let pid = target.read_i32(at.wrapping_add(layout.pid() as u64))?;
    let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid > 0) else {
        return Err(Error::Table { pid: starter, what: format!("MPIR_proctable contains process id {pid}") });
    };
    let executable = text(at.wrapping_add(layout.executable_name() as u64))?.into();
    Ok(Process { place: ProcessLocation { host: text(at)?, pid }, executable })
}
