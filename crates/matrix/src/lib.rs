//! Every test program on every MPI library at hand, bare and under the layer: see `tests/matrix`.
//!
//! `cargo xtask test` builds what is tested and runs it. A plain `cargo test` lists the trials as ignored, since it
//! does not know whether the preload library and the command are built from the sources at hand.
