//! Linker settings of the command: debuggers look for MPIR's symbols in it, which must survive `strip`.

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
}
