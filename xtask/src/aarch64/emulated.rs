//! Runs AArch64 programs as ranks of a job on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::Program;
use mpiscope_testkit::run::{Outcome as Ended, bounded};
use mpiscope_testkit::{paths, report};
use tempfile::TempDir;

use super::system::{CC, EMULATOR, Family};

const LIMIT: Duration = Duration::from_secs(90);

/// The result of a comparison that did not fail.
pub enum Outcome {
    /// Output and exit status are the same, and so is this number of calls.
    Same(u64),
    /// The program cannot be run under the emulator, for this reason.
    NotFor(String),
}

/// The tested files, for AArch64.
#[derive(Debug, Clone)]
pub struct Tested {
    pub layer: PathBuf,
    pub command: PathBuf,
}

/// A library, and everything needed to run programs on it.
pub struct Subject<'a> {
    pub family: Family,
    native: &'a Library,
    root: PathBuf,
    mpiscope: PathBuf,
    tested: Tested,
    dir: TempDir,
}

impl<'a> Subject<'a> {
    pub fn new(
        root: &Path,
        tested: &Tested,
        family: Family,
        native: &'a Library,
        mpiscope: &Path,
    ) -> Result<Self> {
        for file in [&tested.layer, &tested.command] {
            ensure!(file.is_file(), "{} does not exist", file.display());
        }
        Ok(Self {
            family,
            native,
            root: root.to_owned(),
            mpiscope: mpiscope.to_owned(),
            tested: tested.clone(),
            dir: tempfile::tempdir()?,
        })
    }

    /// Builds a program.
    pub fn build(&self, source: &Path) -> Result<PathBuf> {
        let name = source.file_stem().context("the source has no name")?;
        let out = self.dir.path().join(name);
        let mut cc = Command::new(CC);
        cc.arg(format!("--sysroot={}", self.root.display())).args(["-g", "-O1", "-pthread", "-w"]);
        cc.arg("-I").arg(self.root.join(self.family.include)).arg("-I").arg(paths::programs());
        cc.arg("-I").arg(paths::workspace().join("include")).arg(source).arg("-o").arg(&out);
        cc.arg(self.root.join(self.family.library)).args(["-Wl,--allow-shlib-undefined", "-lm", "-ldl"]);
        let outcome = bounded(&mut cc, LIMIT)?;
        ensure!(outcome.success(), "{}", outcome.describe());
        Ok(out)
    }

    /// The launch command, with or without the layer for AArch64.
    fn launch(&self, ranks: usize, layer: bool, program: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.native.mpirun.clone().into()];
        words.extend(self.native.launch_arguments(ranks));
        // The layer preloaded on this machine must not reach the emulator, which is a native program.
        words.extend(["env", "-u", "LD_PRELOAD"].map(OsString::from));
        words.extend(self.family.prefix.map(|name| format!("{name}={}/usr", self.root.display()).into()));
        words.extend([EMULATOR.into(), "-L".into(), self.root.clone().into_os_string()]);
        if layer {
            words.extend(["-E".into(), format!("LD_PRELOAD={}", self.tested.layer.display()).into()]);
        }
        words.push(program.into());
        words
    }

    /// A command that runs the job under mpiscope, with its report in `out`.
    pub fn under(&self, ranks: usize, program: &Path, out: &Path) -> Command {
        let mut command = Command::new(&self.mpiscope);
        command.args(["run", "--quiet", "--out"]).arg(out).args(self.launch(ranks, true, program));
        self.native.set_environment(&mut command);
        command
    }

    fn bare(&self, ranks: usize, program: &Path) -> Command {
        let words = self.launch(ranks, false, program);
        let (launcher, rest) =
            words.split_first().map_or_else(Default::default, |(a, b)| (a.clone(), b.to_vec()));
        let mut command = Command::new(launcher);
        command.args(rest);
        self.native.set_environment(&mut command);
        command
    }

    /// The native `mpiscope` command.
    pub fn mpiscope(&self) -> Command {
        Command::new(&self.mpiscope)
    }

    /// The `mpiscope` command for AArch64.
    pub fn command(&self) -> Command {
        let mut command = Command::new(EMULATOR);
        command.arg("-L").arg(&self.root).arg(&self.tested.command);
        command
    }

    /// Runs a program with and without the layer, and checks that output and status are the same and that the
    /// recorded counts equal those of the program itself.
    pub fn counts(&self, program: &Program) -> Result<Outcome> {
        let ranks = program.ranks;
        let binary = self.build(&program.source())?;
        let work = tempfile::tempdir_in(self.dir.path())?;
        let set = |mut command: Command, name: &str| -> Result<(Ended, PathBuf)> {
            let expected = work.path().join(name);
            std::fs::create_dir(&expected)?;
            command
                .envs(program.environment(self.native).iter().copied())
                .env("MPISCOPE_EXPECT_DIR", &expected);
            command.env("MPISCOPE_TEST_TMP", &expected);
            Ok((bounded(&mut command, LIMIT)?, expected))
        };
        let (bare, _) = set(self.bare(ranks, &binary), "bare")?;
        if !bare.success() {
            let why = bare.describe().lines().next().unwrap_or_default().to_owned();
            return Ok(Outcome::NotFor(format!("it fails under the emulator even without the layer: {why}")));
        }
        let out = work.path().join("out");
        let (seen, expected) = set(self.under(ranks, &binary, &out), "seen")?;
        ensure!(
            bare.code() == seen.code(),
            "exit status {} became {}: {}",
            bare.code(),
            seen.code(),
            seen.describe()
        );
        if sorted(&bare.stdout) != sorted(&seen.stdout) {
            bail!("standard output changed: {}\n--- under the layer\n{}", bare.describe(), seen.describe());
        }
        let expected = report::expectations(&expected)?;
        ensure!(expected.len() == ranks, "{} of {ranks} processes wrote their calls", expected.len());
        let report = report::read(&out)?;
        let wrong = report::differences(&report, &expected);
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(Outcome::Same(
            report.ranks.iter().flat_map(|rank| rank.calls.values()).map(|calls| calls.count).sum(),
        ))
    }
}

/// The order of the ranks' output is arbitrary.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}
