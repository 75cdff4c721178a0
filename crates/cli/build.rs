//! Linker settings of the command: debuggers look for MPIR's symbols in it, which must survive `strip`. And the commit that
//! `--version` names.

use std::process::Command;

/// Symbols of a starter: see `src/run/starter/symbols.rs`.
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
    for symbol in EXPORTED {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
        // Kept although nothing in the program refers to it.
        println!("cargo:rustc-link-arg-bins=-Wl,--undefined={symbol}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=MPISCOPE_COMMIT={}", commit());
}

/// What whoever builds says it is, else what git says. Debug builds have none: they would be linked anew for every commit.
fn commit() -> String {
    println!("cargo:rerun-if-env-changed=MPISCOPE_COMMIT");
    if let Ok(named) = std::env::var("MPISCOPE_COMMIT") {
        return named;
    }
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return String::new();
    }
    // What git appends to whenever another commit is looked at.
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
