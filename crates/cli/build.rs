//! Linker settings of the command: debuggers look for MPIR's symbols in it, which must survive `strip`. Also
//! records the commit that `--version` prints.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Symbols of a starter process: see `src/run/starter/symbols.rs`.
const EXPORTED: &[&str] = &[
    "MPI2DD_info",
    "MPI2DD_breakpoint",
    "MPIR_Breakpoint",
    "MPIR_being_debugged",
    "MPIR_debug_abort_string",
    "MPIR_debug_state",
    "MPIR_i_am_starter",
    "MPIR_partial_attach_ok",
    "MPIR_proctable",
    "MPIR_proctable_size",
];

fn main() {
    match zig() {
        Some(linker) => println!("cargo:rustc-link-arg-bins={}", reference(&linker)),
        None => EXPORTED.iter().for_each(|symbol| {
            println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
            // Keeps the symbol although nothing in the program refers to it.
            println!("cargo:rustc-link-arg-bins=-Wl,--undefined={symbol}");
        }),
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=MPISCOPE_COMMIT={}", commit());
}

/// Returns the linker if it is `zig cc`, which supports neither option.
fn zig() -> Option<PathBuf> {
    let linker = PathBuf::from(std::env::var_os("RUSTC_LINKER")?);
    linker.file_name()?.to_str()?.starts_with("zigcc").then_some(linker)
}

/// Builds a shared library that refers to the symbols, so that the linker exports and keeps them. Since it
/// resolves nothing, the program does not need it at run time.
fn reference(linker: &Path) -> String {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let (source, library) = (folder.join("exported.c"), folder.join("libexported.so"));
    let declared: String = EXPORTED.iter().map(|symbol| format!("extern char {symbol}[];\n")).collect();
    let text = format!("{declared}char *exported[] = {{{}}};\n", EXPORTED.join(", "));
    assert!(std::fs::write(&source, text).is_ok(), "cannot write {}", source.display());
    let mut command = Command::new(linker);
    command.args(["-shared", "-fPIC", "-Wl,--as-needed", "-o"]).arg(&library).arg(&source);
    assert!(command.status().is_ok_and(|status| status.success()), "{command:?} failed");
    library.display().to_string()
}

/// Returns the commit given by the environment, or else by git. Debug builds have none: they would be
/// relinked for every commit.
fn commit() -> String {
    println!("cargo:rerun-if-env-changed=MPISCOPE_COMMIT");
    if let Ok(named) = std::env::var("MPISCOPE_COMMIT") {
        return named;
    }
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return String::new();
    }
    // Git appends to this file whenever HEAD moves.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default()
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
