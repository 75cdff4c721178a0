//! `mpiscope gdb-script`: the script that shows MPI objects in gdb, which this command carries.
//!
//! It is not in libmpiscope.so: gdb would warn of it whenever it loads the library and does not trust its folder.

use anyhow::Result;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The script.
const TEXT: &str = include_str!("../../../share/mpiscope-gdb.py");

/// Print the script that shows MPI objects in gdb
///
/// `mpiscope attach` loads it by itself. For a gdb of your own: `mpiscope gdb-script > mpiscope-gdb.py`, then
/// `source mpiscope-gdb.py` in gdb or in ~/.config/gdb/gdbinit. Exit status: 0.
#[derive(clap::Args)]
pub struct Options {}

/// Prints it.
pub fn print(_: &Options) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    out.write_all(TEXT.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::from(crate::exit::FINE))
}

/// The command of gdb that loads the script from this program; none if its path cannot be given to gdb.
pub fn loading(program: &Path) -> Option<String> {
    let program = program.to_str()?;
    // A string of Python as one of Rust: both escape what is not printable.
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
    fn the_path_of_the_command_is_a_string_of_python() {
        let line = loading(Path::new("/opt/a \"b\"/mpiscope")).unwrap();
        assert!(line.contains(r#"'MPISCOPE', "/opt/a \"b\"/mpiscope")"#), "{line}");
    }
}
