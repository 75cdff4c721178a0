//! `cargo xtask sanitize`: the tests of the tool interface's engine under AddressSanitizer.
//!
//! The engine provides slots that threads read while others free them. Its tests exercise that at full
//! speed, and a use after free without visible effects shows only here. The compiler's own sanitizer is used,
//! so no other toolchain is needed. (Which interleavings are possible is model-checked:
//! `crates/mpit/Cargo.toml`.)

use anyhow::Result;

use crate::build;

/// There are no options.
#[derive(clap::Args)]
pub struct Args {}

/// A target with the sanitizer's runtime.
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn run(_: &Args) -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        println!("sanitize: skipped: it needs x86-64 Linux");
        return Ok(());
    }
    let mut tests = build::cargo();
    tests.args(["test", "--quiet", "--package", "mpit", "--lib", "--target", TARGET]);
    tests.args(["--target-dir", "target/sanitize"]);
    // The option is unstable in name only; the instrumentation is released with every toolchain.
    tests.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    // Registries of tests live forever, as those of programs do.
    tests.env("ASAN_OPTIONS", "detect_leaks=0");
    build::run(&mut tests)
}
