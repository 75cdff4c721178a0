//! Core files that the kernel writes into the directory of the program, whatever their name on this system.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The type of a core file in the ELF header, and its offset.
const ET_CORE: [u8; 2] = 4u16.to_ne_bytes();
const TYPE_AT: usize = 16;

/// Finds the core file in a directory by its content, since `core_pattern` may give it any name.
pub fn core_in(dir: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    files.into_iter().find(|path| is_core(path).unwrap_or(false))
}

fn is_core(path: &Path) -> std::io::Result<bool> {
    let mut header = [0; TYPE_AT + ET_CORE.len()];
    File::open(path)?.read_exact(&mut header)?;
    Ok(header.starts_with(b"\x7fELF") && header.ends_with(&ET_CORE))
}

/// A requirement: core files of a program are written into its working directory. This is tested in practice
/// rather than read from `core_pattern`, since the kernel may write none for other reasons.
pub fn written_where_the_program_runs() -> Option<String> {
    static WRITTEN: OnceLock<bool> = OnceLock::new();
    let written = || -> Option<bool> {
        let folder = tempfile::tempdir().ok()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -c unlimited; exec sh -c 'kill -SEGV $$'"]);
        shell.current_dir(folder.path()).output().ok()?;
        Some(core_in(folder.path()).is_some())
    };
    let lacks =
        || "this system writes core files elsewhere than into the directory of the program".to_owned();
    (!WRITTEN.get_or_init(|| written().unwrap_or(false))).then(lacks)
}
