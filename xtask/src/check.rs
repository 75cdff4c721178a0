//! `cargo xtask check`: all checks of the sources that need no job.
//!
//! Formatting, lints, generated files, the lock-free parts under loom's model checker, fuzz targets, the
//! minimum supported Rust version together with the other architecture, whether the libraries can be packed, and
//! licenses and sources of dependencies. Checks that this machine cannot run are reported as skipped, with the
//! reason and the remedy.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{build, dist, fuzz, r#gen};

/// The architecture for which the code is only compiled.
const OTHER_TARGET: &str = "aarch64-unknown-linux-gnu";

/// Duration of each fuzz target in seconds.
const FUZZ_SECONDS: u32 = 4;

/// The checks to run.
#[derive(clap::Args)]
pub struct Args {
    /// Only checks whose name begins with one of these words
    only: Vec<String>,
    /// All checks except those whose name begins with this word
    #[arg(long, value_name = "WORD")]
    without: Vec<String>,
}

impl Args {
    fn wants(&self, name: &str) -> bool {
        let named = |words: &[String]| words.iter().any(|word| name.starts_with(word.as_str()));
        (self.only.is_empty() || named(&self.only)) && !named(&self.without)
    }
}

/// A check: its name and its function, which reports whether it passed or was skipped.
type Check = (&'static str, fn() -> Result<Outcome>);

/// The result of a check that did not fail.
enum Outcome {
    Passed,
    Skipped(String),
}

const CHECKS: [Check; 8] = [
    ("format", format),
    ("lints", lints),
    ("generated files", generated),
    ("models (loom)", models),
    ("fuzz targets", fuzz_targets),
    ("oldest Rust, for the other architecture", oldest_rust_for_the_other_architecture),
    ("packages", packages),
    ("dependencies", dependencies),
];

pub fn run(args: &Args) -> Result<()> {
    let chosen: Vec<&Check> = CHECKS.iter().filter(|(name, _)| args.wants(name)).collect();
    if chosen.is_empty() {
        bail!("no such check; the checks are: {}", CHECKS.map(|(name, _)| name).join(", "));
    }
    let mut failed = Vec::new();
    for (name, check) in chosen {
        let begun = Instant::now();
        let outcome = check();
        let took = begun.elapsed().as_secs();
        match outcome {
            Ok(Outcome::Passed) => println!("check: {name}: passed ({took} s)"),
            Ok(Outcome::Skipped(why)) => println!("check: {name}: skipped: {why}"),
            Err(error) => {
                println!("check: {name}: failed ({took} s): {error:#}");
                failed.push(*name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn passed(mut command: Command) -> Result<Outcome> {
    build::run(&mut command).map(|()| Outcome::Passed)
}

fn format() -> Result<Outcome> {
    let mut command = build::cargo();
    command.args(["fmt", "--all", "--check"]);
    passed(command)
}

fn lints() -> Result<Outcome> {
    let mut command = build::cargo();
    command.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
    passed(command)
}

fn generated() -> Result<Outcome> {
    r#gen::run(&r#gen::Args::check()).map(|()| Outcome::Passed)
}

/// The engine's lock-free parts, in every order that the memory model allows.
fn models() -> Result<Outcome> {
    let mut command = build::cargo();
    command.args(["test", "--quiet", "--package", "mpit", "--lib", "--release"]);
    command.args(["--target-dir", "target/loom"]).env("RUSTFLAGS", "--cfg loom");
    passed(command)
}

/// A few seconds each, enough to find known failures again and any others that are easy to find.
fn fuzz_targets() -> Result<Outcome> {
    Ok(fuzz::short(FUZZ_SECONDS)?.map_or(Outcome::Passed, Outcome::Skipped))
}

/// Both in one build: few files differ on the other architecture, so that a separate build with a newer compiler
/// would add nothing.
fn oldest_rust_for_the_other_architecture() -> Result<Outcome> {
    let oldest = oldest_version()?;
    let install = ["toolchain", "install", &oldest, "--profile", "minimal", "--no-self-update"];
    if !rustup(&[&install[..], &["--target", OTHER_TARGET]].concat())? {
        let command = format!("rustup {} --target {OTHER_TARGET}", install.join(" "));
        return Ok(Outcome::Skipped(format!("`{command}` does not work on this machine")));
    }
    let mut command = Command::new("rustup");
    command.current_dir(mpiscope_testkit::paths::workspace());
    command.args(["run", &oldest, "cargo", "check", "--quiet", "--workspace"]);
    command.args(["--target", OTHER_TARGET, "--target-dir", "target/oldest"]);
    passed(command)
}

/// The workspace's `rust-version`.
fn oldest_version() -> Result<String> {
    let manifest = mpiscope_testkit::paths::workspace().join("Cargo.toml");
    let text =
        std::fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    Ok(line.context("Cargo.toml has no rust-version")?.trim_matches('"').to_owned())
}

/// A library that depends on a crate that is not published cannot be published.
fn packages() -> Result<Outcome> {
    passed(dist::crates::pack())
}

/// Licenses, sources and duplicates. Advisories need a database that is not fetched here.
fn dependencies() -> Result<Outcome> {
    let mut asked = Command::new("cargo");
    asked.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !asked.status().is_ok_and(|status| status.success()) {
        return Ok(Outcome::Skipped("cargo-deny is not installed (cargo install cargo-deny)".into()));
    }
    let mut command = build::cargo();
    command.args(["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]);
    passed(command)
}

/// Whether rustup is installed and succeeds.
fn rustup(args: &[&str]) -> Result<bool> {
    let mut command = Command::new("rustup");
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().is_ok_and(|status| status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_selected_by_the_beginning_of_their_names() {
        let chosen = |only: &[&str], without: &[&str]| {
            let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let args = Args { only: words(only), without: words(without) };
            CHECKS.iter().filter(|(name, _)| args.wants(name)).count()
        };
        assert_eq!(chosen(&[], &[]), CHECKS.len());
        assert_eq!(chosen(&[], &["fuzz"]), CHECKS.len() - 1);
        assert_eq!((chosen(&["fuzz", "format"], &[]), chosen(&["nothing"], &[])), (2, 0));
    }
}
