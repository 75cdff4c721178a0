//! The `[vdso]` mapping of a process.

use mpiscope_target::procfs;

/// Returns its start address.
pub fn vdso(pid: u32) -> Option<u64> {
    let maps = procfs::maps(pid).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    u64::from_str_radix(line.split('-').next()?, 16).ok()
}
