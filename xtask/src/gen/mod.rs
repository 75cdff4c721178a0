//! `cargo xtask gen`: generates the checked-in Rust from the checked-in tables.
//!
//! The tables in `crates/mpi-abi/spec` are the source: they are small, reviewed, and need no network. Each
//! row of `properties.tsv` is joined to its function and also serves the large-count variant.
//! `--from-standard` refreshes `functions.tsv` from the machine-readable description of MPI 5.0. `--check`
//! writes nothing and fails if the checked-in Rust differs from the tables.

mod constants;
mod functions;
mod headers;
mod hooks;
mod notes;
mod output;
mod overlay;
mod properties;
mod sharing;
mod standard;
mod table;

use std::path::PathBuf;

use anyhow::Result;

use output::Output;
use table::{Kinds, Row};

/// Options of `cargo xtask gen`.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail if a checked-in file does not match the tables
    #[arg(long)]
    check: bool,
    /// First refresh functions.tsv from the standard's apis.json (needs pip and the network)
    #[arg(long)]
    from_standard: bool,
    /// First refresh constants.tsv from the headers in target/mpi (needs `cargo xtask mpi` and gcc)
    #[arg(long)]
    from_headers: bool,
}

impl Args {
    /// Options that only compare.
    pub fn check() -> Self {
        Self { check: true, from_standard: false, from_headers: false }
    }
}

/// Runs the generator.
pub fn run(args: &Args) -> Result<()> {
    let root = root();
    let spec = root.join("crates/mpi-abi/spec");
    let kinds = Kinds::read(&spec.join("kinds.tsv"))?;
    let mut output = Output::new(&root, args.check);
    let functions = if args.from_standard {
        let json = standard::fetch(&root.join("target"))?;
        let rows = standard::rows(&json)?;
        output.put("crates/mpi-abi/spec/functions.tsv", &functions::tsv(&rows))?;
        rows
    } else {
        table::read(&spec.join("functions.tsv"))?
    };
    if args.from_headers {
        output.put("crates/mpi-abi/spec/constants.tsv", &headers::tsv(&root.join("target"))?)?;
    }
    let mut rows = all(functions, table::read(&spec.join("extra.tsv"))?);
    properties::Table::read(&spec.join("properties.tsv"))?.join(&mut rows)?;
    let overlay = overlay::read(&root.join("crates/layer/hooks"))?;
    overlay.check(&rows)?;
    output.put("crates/mpi-abi/src/generated/functions.rs", &functions::rust(&rows, &kinds, &overlay)?)?;
    output.put("crates/mpi-abi/src/generated/constants.rs", &constants::constants(&spec)?)?;
    output.put("crates/mpi-abi/src/generated/predefined.rs", &constants::predefined(&spec)?)?;
    output.put("crates/layer/src/generated/hooks.rs", &hooks::hooks(&rows, &kinds, &overlay)?)?;
    output.put("crates/layer/src/generated/stubs.rs", &hooks::stubs(&rows))?;
    output.finish()
}

/// Standard and extra rows sorted by name, which is the order of the function numbers.
fn all(mut rows: Vec<Row>, extra: Vec<Row>) -> Vec<Row> {
    rows.extend(extra);
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

fn root() -> PathBuf {
    mpiscope_testkit::paths::workspace()
}

#[cfg(test)]
mod tests {
    use super::{Args, run};

    #[test]
    fn the_checked_in_rust_code_matches_the_tables() {
        run(&Args { check: true, from_standard: false, from_headers: false }).unwrap();
    }
}
