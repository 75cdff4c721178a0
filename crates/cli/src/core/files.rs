//! Which core files the user means.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// `ET_CORE` of `e_type`.
const CORE: u16 = 4;

/// Files as they are, directories by the core files in them.
pub fn expand(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            files.extend(in_directory(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn in_directory(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("{}: cannot be listed", dir.display()))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|f| is_core(f)).collect();
    files.sort();
    if files.is_empty() {
        bail!(
            "{}: no core file in it; where the system writes them is in /proc/sys/kernel/core_pattern, and \
             `ulimit -c unlimited` before the job lets it write them (`coredumpctl` has those of systemd)",
            dir.display()
        );
    }
    Ok(files)
}

/// By the head of the file. A pipe or device in the directory is not opened.
fn is_core(path: &Path) -> bool {
    let mut head = [0; 18];
    let regular = fs::metadata(path).is_ok_and(|data| data.is_file());
    let read = regular && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    let [.., low, high] = head;
    let kind = if head.get(5) == Some(&2) { [high, low] } else { [low, high] };
    read && head.starts_with(b"\x7fELF") && u16::from_le_bytes(kind) == CORE
}
