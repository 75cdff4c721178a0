//! `mpiscope top` in a real terminal, provided by tmux: what it shows, its keys, and that it restores the
//! terminal.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use mpiscope_testkit::trials::{self, trial};

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");

fn main() -> ExitCode {
    trials::run(vec![
        trial!(top_shows_a_job_obeys_keys_and_gives_the_terminal_back_however_it_ends, needs trials::tmux),
        trial!(top_ends_with_its_terminal, needs trials::tmux),
        trial!(once_and_json_need_no_terminal),
        trial!(the_exit_status_says_whether_all_is_well_also_after_the_job_has_ended),
    ])
}

/// A terminal of 80 columns with a shell, on a separate tmux server.
struct Tmux {
    socket: tempfile::TempDir,
}

impl Tmux {
    fn new() -> Self {
        let tmux = Self { socket: tempfile::tempdir().unwrap() };
        tmux.call(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "env PS1='$ ' sh"]);
        tmux
    }

    fn call(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(self.socket.path().join("socket"));
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn types(&self, keys: &str) {
        self.call(&["send-keys", keys]);
    }

    fn line(&self, line: &str) {
        self.call(&["send-keys", "-l", line]);
        self.types("Enter");
    }

    /// Waits until the screen is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.call(&["capture-pane", "-p"]);
            if wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{what} was not seen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }
}

impl Tmux {
    fn end(&self) {
        let _gone =
            Command::new("tmux").arg("-S").arg(self.socket.path().join("socket")).arg("kill-server").status();
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.end();
    }
}

/// Two ranks that receive from each other.
struct Job {
    child: Child,
    dir: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        Self::of("recv", "recv")
    }

    /// Starts a job from the arguments of rank 0 and rank 1.
    fn of(one: &str, other: &str) -> Self {
        Self::with(one, other, |_, _| {})
    }

    /// Like [`Self::of`]; the ranks begin once there is a file `go` in the job's folder.
    fn waiting(one: &str, other: &str) -> Self {
        Self::with(one, other, |command, dir| {
            command.env("FAKE_WAIT", dir.join("go"));
        })
    }

    fn with(one: &str, other: &str, change: impl Fn(&mut Command, &Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("empty.c");
        std::fs::write(&source, "int nothing;\n").unwrap();
        let layer = dir.path().join("libmpiscope.so");
        assert!(
            Command::new("gcc").args(["-shared", "-o"]).arg(&layer).arg(&source).status().unwrap().success()
        );
        let script = format!(
            "FAKE_RANK=0 FAKE_SIZE=2 $RANK {one} & a=$!; FAKE_RANK=1 FAKE_SIZE=2 $RANK {other} & b=$!; \
             trap \"kill $a $b\" TERM; wait"
        );
        let mut command = Command::new(MPISCOPE);
        command
            .args(["run", "-q", "--hang-after", "0", "sh", "-c", &script])
            .env("MPISCOPE_LAYER", &layer)
            .env("RANK", Path::new(MPISCOPE).with_file_name("examples").join("fake_rank"))
            .stdout(Stdio::null());
        change(&mut command, dir.path());
        let child = command.spawn().unwrap();
        Self { child, dir }
    }

    /// Returns the job's name, once both ranks are visible.
    fn name(&self) -> String {
        let begun = Instant::now();
        loop {
            let output = Command::new(MPISCOPE)
                .args(["ps", "--json"])
                .arg(self.child.id().to_string())
                .output()
                .unwrap();
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            if report["ranks"].as_array().is_some_and(|ranks| ranks.len() == 2) {
                return report["job"].as_str().unwrap().to_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{output:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(&mut self) {
        let _gone = Command::new("kill").arg(self.child.id().to_string()).status();
        let _status = self.child.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
        let _kept = &self.dir;
    }
}

fn top_shows_a_job_obeys_keys_and_gives_the_terminal_back_however_it_ends() {
    let tmux = Tmux::new();
    let given_back = |status: &str| {
        let screen = tmux.until("the shell again", |screen| screen.contains("same\n"));
        assert!(screen.contains(status) && !screen.contains("q quit"), "{screen}");
    };

    let (_job, name) = begun(&tmux);
    let screen = tmux.until("both ranks", |screen| screen.contains("\nrr\n"));
    assert!(screen.contains(&name) && screen.contains("2 ranks on 1 host"), "{screen}");
    tmux.types("?");
    tmux.shows("show only ranks whose");
    tmux.types("?");
    let listed = |screen: &str| screen.lines().any(|line| line.starts_with("0 ") || line.starts_with("1 "));
    tmux.until("the ranks", listed);
    tmux.line("/nobody is called so");
    tmux.until("no rank", |screen| !listed(screen) && screen.contains("filter nobody"));
    tmux.types("Escape");
    tmux.until("the ranks", listed);
    tmux.types("Enter");
    tmux.shows("rank 0 on");
    tmux.types("q");
    given_back("status ");

    let (_job, name) = begun(&tmux);
    let killed =
        Command::new("kill").args(["-TERM", &pid_of_top(&name).expect("top runs")]).status().unwrap();
    assert!(killed.success());
    given_back("status 143");

    let (mut job, _) = begun(&tmux);
    job.end();
    given_back("status ");
}

/// Closing a window or losing a connection must not leave `top` running forever.
fn top_ends_with_its_terminal() {
    let tmux = Tmux::new();
    let (_job, name) = begun(&tmux);
    assert!(pid_of_top(&name).is_some());
    tmux.end();
    let begun = Instant::now();
    while let Some(pid) = pid_of_top(&name) {
        if begun.elapsed() > Duration::from_secs(20) {
            let _killed = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("process {pid} goes on without its terminal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn pid_of_top(name: &str) -> Option<String> {
    let mut pgrep = Command::new("pgrep");
    let found = pgrep.args(["-f", &format!("^[^ ]*mpiscope top --here --interval 0.2 {name}$")]);
    let found = String::from_utf8(found.output().unwrap().stdout).unwrap();
    found.lines().next().map(str::to_owned)
}

/// Starts a job, and `top` in the terminal.
fn begun(tmux: &Tmux) -> (Job, String) {
    let job = Job::new();
    let name = job.name();
    let dir = job.dir.path().display();
    tmux.line(&format!(
        "clear; cd {dir}; stty -g > before; {MPISCOPE} top --here --interval 0.2 {name}; echo status $?; \
         stty -g > after; cmp before after && echo same"
    ));
    tmux.shows("q quit");
    (job, name)
}

fn once_and_json_need_no_terminal() {
    let job = Job::new();
    let name = job.name();
    let top = |more: &[&str]| {
        let output = Command::new(MPISCOPE)
            .args(["top", "--here", "--interval", "0.2"])
            .args(more)
            .arg(&name)
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = top(&["--once"]);
    assert!(text.contains("2 ranks on 1 host") && text.contains("MPI_Recv"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let line: serde_json::Value = serde_json::from_str(&top(&["--once", "--json"])).unwrap();
    assert_eq!(line["schema"], "mpiscope.top/1");
    mpiscope_testkit::schema::check(&line).unwrap();
    let letters: Vec<&str> =
        line["ranks"].as_array().unwrap().iter().filter_map(|r| r["letter"].as_str()).collect();
    assert_eq!(letters, ["r", "r"]);
    let several = top(&["--for", "4"]);
    assert!(several.matches("2 ranks on 1 host").count() > 1, "{several}");
    let hangs = Job::of("collective=MPI_Barrier", "collective=MPI_Bcast");
    let output = Command::new(MPISCOPE).args(["top", "--here", "--once", &hangs.name()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("collective mismatch"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    let mut command = Command::new(MPISCOPE);
    command.args(["top", "--here", "--interval", "0.2", "--json", "--for", "60", &name]);
    let mut streaming = command.stdout(Stdio::piped()).spawn().unwrap();
    let stream: Vec<String> =
        BufReader::new(streaming.stdout.take().unwrap()).lines().take(2).map(Result::unwrap).collect();
    streaming.kill().unwrap();
    streaming.wait().unwrap();
    assert_eq!(stream.len(), 2, "{stream:?}");
}

fn the_exit_status_says_whether_all_is_well_also_after_the_job_has_ended() {
    let top = |more: &[&str], name: &str| {
        let mut command = Command::new(MPISCOPE);
        command.args(["top", "--here", "--interval", "0.2"]).args(more).arg(name);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let job = Job::of("works", "works");
    let output = top(&["--once"], &job.name()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    // A job that ends as it should while it is watched; the ranks wait until `top` has shown something.
    let job = Job::waiting("finalize", "finalize");
    let mut watching = top(&["--for", "60"], &job.name()).spawn().unwrap();
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    shown.read_line(&mut String::new()).unwrap();
    std::fs::write(job.dir.path().join("go"), "").unwrap();
    std::io::copy(&mut shown, &mut std::io::sink()).unwrap();
    let output = watching.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has ended"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");

    // One rank is gone, the other one works on.
    let job = Job::of("works", "kill=9");
    let name = job.name();
    let begun = Instant::now();
    loop {
        let output = top(&["--once"], &name).output().unwrap();
        if output.status.code() == Some(1) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{output:?}");
    }

    let output = top(&["--once"], "no-such-job").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}
