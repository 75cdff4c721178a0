//! `mpiscope gdb-script`: prints the embedded script that shows MPI objects in gdb.
//!
//! The script is not embedded in libmpiscope.so: gdb would warn whenever it loads the library from a folder
//! that it does not trust.

use crate::render::NOT_WRITTEN;
use anyhow::{Context, Result};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const TEXT: &str = include_str!("../../../share/mpiscope-gdb.py");

/// Print the script that shows MPI objects in gdb
///
/// `mpiscope attach` loads it automatically. For your own gdb: `mpiscope gdb-script > mpiscope-gdb.py`, then
/// `source mpiscope-gdb.py` in gdb or in ~/.config/gdb/gdbinit. Exit status: 0.
#[derive(clap::Args)]
pub struct Options {}

pub fn print(_: &Options) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    out.write_all(TEXT.as_bytes()).and_then(|()| out.flush()).context(NOT_WRITTEN)?;
    Ok(ExitCode::from(crate::exit::FINE))
}

/// Returns the gdb command that loads the script from this program; `None` if its path is not UTF-8.
pub fn loading(program: &Path) -> Option<String> {
    let program = program.to_str()?;
    // A Rust string literal also works in Python: both escape unprintable characters.
    let quoted = format!("{program:?}");
    let parts = [
        "import os, subprocess".to_owned(),
        format!("os.environ.setdefault('MPISCOPE', {quoted})"),
        format!(
            "exec(subprocess.check_output([{quoted}, 'gdb-script'], env={{**os.environ, 'LD_PRELOAD': ''}}))"
        ),
    ];
    Some(format!("python {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_command_is_a_python_string() {
        let line = loading(Path::new("/opt/a \"b\"/mpiscope")).unwrap();
        assert!(line.contains(r#"'MPISCOPE', "/opt/a \"b\"/mpiscope")"#), "{line}");
    }
}
