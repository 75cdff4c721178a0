//! Runs every test program on every installed MPI library, with and without the layer: see `tests/matrix`.
//!
//! `cargo xtask test` builds the tested files and runs the matrix. A plain `cargo test` lists the trials as
//! ignored, since it does not know whether the preload library and the command are built from the current
//! sources.
