//! `cargo xtask fuzz`: fuzzes the readers of untrusted data (images, core files, evidence files, tables,
//! answers of hosts) with libFuzzer, guided by coverage.
//!
//! The targets are a separate workspace in `fuzz/`. Coverage comes from the compiler's pass, which every
//! toolchain includes. Curated inputs are in `fuzz/corpus`, those of this machine in `target/fuzz/corpus`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use mpiscope_testkit::paths;

use crate::build;

/// The targets. The inputs of `image` are images in the format that the tests keep.
const TARGETS: [&str; 5] = ["image", "core_file", "evidence", "tables", "answers"];

/// The platform that libFuzzer is built for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Compiler flags for instrumentation: counters for each edge, and tracing of comparisons.
const INSTRUMENT: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                          -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                          -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// Maximum input size: an image of the tests plus room to grow.
const LONGEST: usize = 1 << 17;

/// The options of the run.
#[derive(clap::Args)]
pub struct Args {
    /// Only this target
    #[arg(value_parser = TARGETS)]
    target: Option<String>,
    /// Seconds per target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Add the inputs found on this machine to the corpus of the repository, reduced to a minimal set with
    /// the same coverage
    #[arg(long)]
    keep: bool,
}

pub fn run(args: &Args) -> Result<()> {
    if let Some(why) = missing() {
        println!("fuzz: skipped: {why}");
        return Ok(());
    }
    compile()?;
    let mut failed = Vec::new();
    for target in TARGETS.iter().filter(|name| args.target.as_deref().is_none_or(|only| only == **name)) {
        if args.keep {
            keep(target)?;
        } else if !fuzz(target, args.seconds)? {
            failed.push(*target);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}; the inputs are in {}", failed.join(", "), home().join("artifacts").display());
    }
    Ok(())
}

/// Runs each target briefly, for `cargo xtask check`. Returns the reason if that is not possible here.
///
/// # Errors
/// If a target does not compile, or an input makes it fail.
pub fn short(seconds: u32) -> Result<Option<String>> {
    match missing() {
        Some(why) => Ok(Some(why)),
        None => run(&Args { target: None, seconds, keep: false }).map(|()| None),
    }
}

fn home() -> PathBuf {
    paths::workspace().join("target/fuzz")
}

fn manifest() -> PathBuf {
    paths::workspace().join("fuzz/Cargo.toml")
}

/// The reason why fuzzing is not possible here, if any.
fn missing() -> Option<String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("it needs x86-64 Linux".into());
    }
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if !quiet(Command::new(compiler).arg("--version")) {
        return Some("libFuzzer needs a C++ compiler (c++ or CXX)".into());
    }
    let fetched = quiet(build::cargo().args(["fetch", "--locked", "--manifest-path"]).arg(manifest()));
    (!fetched).then(|| "libfuzzer-sys cannot be fetched".into())
}

fn compile() -> Result<()> {
    let mut command = build::cargo();
    command.args(["build", "--quiet", "--release", "--locked", "--target", PLATFORM, "--manifest-path"]);
    command.arg(manifest()).arg("--target-dir").arg(home()).env("RUSTFLAGS", INSTRUMENT);
    build::run(&mut command)
}

fn program(target: &str) -> Command {
    let mut command = Command::new(home().join(PLATFORM).join("release").join(target));
    command.arg(format!("-max_len={LONGEST}")).args(["-timeout=20", "-rss_limit_mb=2048"]);
    command.stdin(Stdio::null());
    command
}

/// The curated inputs of a target.
fn kept(target: &str) -> PathBuf {
    paths::workspace().join("fuzz/corpus").join(target)
}

/// Folders with the initial inputs.
fn seeds(target: &str) -> Vec<PathBuf> {
    let images = paths::workspace().join("crates/job/tests/corpus");
    let kept = Some(kept(target)).filter(|folder| folder.is_dir());
    kept.into_iter().chain((target == "image").then_some(images)).collect()
}

/// Fuzzes a target; returns whether no input failed.
fn fuzz(target: &str, seconds: u32) -> Result<bool> {
    let (found, artifacts) = (home().join("corpus").join(target), home().join("artifacts"));
    [&found, &artifacts].into_iter().try_for_each(fs::create_dir_all)?;
    let mut command = program(target);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/{target}-", artifacts.display()));
    command.arg(&found).args(seeds(target));
    let log = home().join(format!("{target}.log"));
    command.stdout(Stdio::null()).stderr(fs::File::create(&log)?);
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    println!("fuzz: {target}: {}", last(&text));
    if !status.success() {
        let tail: Vec<&str> = text.lines().rev().take(40).collect();
        tail.iter().rev().for_each(|line| println!("  {line}"));
        println!("fuzz: {target}: {status}; the complete output is in {}", log.display());
    }
    Ok(status.success())
}

/// libFuzzer's last progress report.
fn last(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| line.starts_with("#") && line.contains("cov:"))
        .unwrap_or("no progress")
        .trim()
}

fn keep(target: &str) -> Result<()> {
    let (into, found) = (kept(target), home().join("corpus").join(target));
    fs::create_dir_all(&into)?;
    let mut command = program(target);
    command.arg("-merge=1").arg(&into);
    command.args([found].iter().filter(|folder: &&PathBuf| Path::is_dir(folder)));
    build::run(&mut command)
}
