//! `cargo xtask dist`: makes the packages for users.
//!
//! ```text
//! compile ──► tree (a prefix as `make install` would fill it) ──► archive, Debian package, wheel
//!     └─► debug information, separate
//! ```

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;
use mpiscope_testkit::paths;

use compile::{Architecture, How, Systems};

mod archive;
mod compile;
pub mod crates;
mod debian;
mod installed;
mod man;
mod notices;
mod pages;
mod reproducible;
mod tree;
mod wheel;

/// The package to make.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// Output folder (default: `target/dist`)
    #[arg(long, value_name = "DIR", global = true)]
    out: Option<PathBuf>,
    /// Build with this machine's compiler and C library instead of Zig's for old systems: faster, but the
    /// result only runs on systems like this one
    #[arg(long, global = true)]
    native: bool,
    /// Target processor (default: that of this machine); others need the distribution's binary utilities for
    /// that processor
    #[arg(long, global = true, value_enum, default_value_t = Architecture::HERE)]
    architecture: Architecture,
}

#[derive(Subcommand)]
enum What {
    /// Manual pages, generated from the command line definition
    Man,
    /// The archive to unpack anywhere, and one with debug information
    Archive,
    /// A Debian package with the same files
    Deb,
    /// The wheel for pip, with the same files and the Python module
    Wheel,
    /// Install the wheel and the archive into fresh folders, and use them
    Check,
    /// Run the commands on the pages for new users, from the wheel and the archive; part of `check`
    Pages,
    /// Pack the libraries for tool authors as for a registry, and build the packages
    Crates {
        /// Also check that the libraries' versions promise no more than holds since this revision, that of
        /// the last release (semantic versioning); needs cargo-semver-checks
        #[arg(long, value_name = "REV")]
        since: Option<String>,
    },
    /// Build the archive twice, in two folders, and compare the results
    Reproducible,
}

pub fn run(args: &Args) -> Result<()> {
    let out = args.out.clone().unwrap_or_else(|| paths::target_dir().join("dist"));
    fs::create_dir_all(&out)?;
    let out = out.canonicalize()?;
    let systems = if args.native { Systems::Native } else { Systems::Old };
    let how = How { systems, architecture: args.architecture };
    match &args.what {
        What::Man => man::run(&out.join("man")),
        What::Archive => archive::run(&out, how).map(|_| ()),
        What::Deb => debian::run(&out, how),
        What::Wheel => wheel::run(&out, how),
        What::Check => installed::run(&out, how),
        What::Pages => installed::run_pages(&out, how),
        What::Crates { since } => crates::run(since.as_deref()),
        What::Reproducible => reproducible::run(&out, how),
    }
}
