//! Resolves the core files that the user names.

use crate::render::complain;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// `ET_CORE` of `e_type`.
const CORE: u16 = 4;

/// Keeps files as they are, and replaces directories by the core files in them.
pub fn expand(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    no_documents(named)?;
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

/// Rejects JSON files that `mpiscope run --out` writes for other programs: their directory must be named
/// instead.
pub fn no_documents(named: &[PathBuf]) -> Result<()> {
    let is_document = |path: &&PathBuf| path.extension().is_some_and(|end| end == "json") && path.is_file();
    let Some(path) = named.iter().find(is_document) else { return Ok(()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    bail!(
        "{}: a file for other programs; name the directory of `mpiscope run --out` instead, which has everything: {}",
        path.display(),
        folder.display()
    )
}

/// Maximum depth. Jobs have a folder per rank, or per host and rank; scanning a whole file system is not
/// intended.
const DEEPEST: usize = 4;
/// Maximum number of directory entries examined.
const MOST_ENTRIES: usize = 1 << 20;

fn in_directory(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut left = MOST_ENTRIES;
    let mut files = Vec::new();
    collect(dir, DEEPEST, &mut left, &mut files)
        .with_context(|| format!("{}: cannot list the directory", dir.display()))?;
    if left == 0 {
        let skipped = format!("{}: more than {MOST_ENTRIES} entries; the rest were skipped", dir.display());
        complain("", &skipped);
    }
    files.sort();
    if files.is_empty() {
        bail!(
            "{}: no evidence.mpiscope in it (`mpiscope run --out DIR` writes one), and no core file there or in the \
             folders below it; /proc/sys/kernel/core_pattern says where the system writes them, and `ulimit -c \
             unlimited` before the job enables them (with systemd, see `coredumpctl`)",
            dir.display()
        );
    }
    Ok(files)
}

/// Collects core files in a folder and its subfolders. Links to folders are not followed; unreadable folders
/// are skipped.
fn collect(dir: &Path, deeper: usize, left: &mut usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if deeper > 0 {
                let _unreadable = collect(&path, deeper - 1, left, files);
            }
        } else if is_core(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether the file begins like a core file. Pipes and devices are not opened.
fn is_core(path: &Path) -> bool {
    let mut head = [0; 18];
    let regular = fs::metadata(path).is_ok_and(|data| data.is_file());
    let read = regular && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok();
    let [.., low, high] = head;
    let kind = if head.get(5) == Some(&2) { [high, low] } else { [low, high] };
    read && head.starts_with(b"\x7fELF") && u16::from_le_bytes(kind) == CORE
}
