//! Running jobs of fake ranks (`examples/fake_rank.rs`), for tests of the verbs' output.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");

/// Runs `ps --here`: the fake ranks name a host that does not exist.
pub fn ps(args: &[&str]) -> Output {
    Command::new(MPISCOPE).env("COLUMNS", "400").args(["ps", "--here"]).args(args).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running job whose ranks are started by `script`; killed with all its descendants on drop.
pub struct Job {
    pub child: Child,
    _dir: TempDir,
}

impl Job {
    /// Waits until `ranks` ranks have reported that they run.
    pub fn start(script: &str, ranks: usize) -> Self {
        let dir = TempDir::new().unwrap();
        let (layer, source) = (dir.path().join("libmpiscope.so"), dir.path().join("empty.c"));
        std::fs::write(&source, "int nothing;\n").unwrap();
        let gcc = Command::new("gcc").args(["-shared", "-o"]).arg(&layer).arg(&source).status().unwrap();
        assert!(gcc.success());
        let mut command = Command::new(MPISCOPE);
        command.env("COLUMNS", "400");
        command.args(["run", "--quiet", "sh", "-c", script]).env("MPISCOPE_LAYER", &layer);
        command.env("RANK", Path::new(MPISCOPE).with_file_name("examples").join("fake_rank"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.take(ranks).filter(Result::is_ok).count(), ranks);
        Self { child, _dir: dir }
    }

    /// Returns the output of `ps` for this job once it is as wanted.
    pub fn shows(&self, wanted: impl Fn(&str) -> bool) -> (String, Option<i32>) {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let output = ps(&[&self.child.id().to_string()]);
            let printed = text(&output.stdout);
            if wanted(&printed) {
                return (printed, output.status.code());
            }
            assert!(Instant::now() < until, "never shown; last:\n{printed}{}", text(&output.stderr));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _gone = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        let _gone = self.child.wait();
    }
}

/// Ranks in a receive, until the shell above them is terminated.
pub const FOUR_IN_RECV: &str = "trap 'kill $p' TERM
    for r in 0 1 2 3; do FAKE_RANK=$r FAKE_SIZE=4 $RANK recv & p=\"$p $!\"; done; wait; wait";
