//! Careless command lines, and outputs that cannot be written: every one is refused with its reason, destroys
//! nothing, and leaves nothing behind.

mod fake_job;

use fake_job::{FOUR_IN_RECV, Job, MPISCOPE, text};
use mpiscope_job::test_image::TestImage;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

fn mpiscope(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(MPISCOPE);
    command.env("COLUMNS", "400").current_dir(dir).args(words).output().unwrap()
}

/// Runs a shell script in which `$MPISCOPE` is the command.
fn shell(dir: &Path, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(dir).env("COLUMNS", "400").env("MPISCOPE", MPISCOPE);
    command.output().unwrap()
}

/// Returns what a command said when it failed; nothing must be shown.
fn refused(output: &Output) -> String {
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{said}");
    said
}

/// Saves the image of a rank that has called MPI.
fn image(dir: &Path) -> PathBuf {
    let path = dir.join("rank.image");
    let sample = TestImage::new("careless", 0, 1);
    sample.called("MPI_Init", 1, 1000, 0);
    std::fs::write(&path, sample.bytes()).unwrap();
    path
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    let dir = TempDir::new().unwrap();
    let day = "write 0 to 86400 seconds";
    for (words, range) in [
        (["why", "--for", "nan"], day),
        (["save", "--for", "1e300"], day),
        (["doctor", "--for", "nan"], "write 1 to 86400 seconds"),
        (["doctor", "--for", "-1"], "write 1 to 86400 seconds"),
        (["run", "--hang-after=1e300", "true"], "write 0 to 1000000000 seconds"),
        (["metrics", "--file=x", "--every=0"], "write 1 to 86400 seconds"),
        (["diff", "a", "--chance=0"], "greater than 0 and less than 1"),
    ] {
        let said = refused(&mpiscope(dir.path(), &words));
        assert!(said.contains(range), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn an_evidence_file_is_not_replaced_by_another_output() {
    let dir = TempDir::new().unwrap();
    image(dir.path());
    let content = b"PK\x03\x04 all that is left of a job";
    std::fs::write(dir.path().join("evidence"), content).unwrap();
    for words in [
        ["report", "rank.image", "--html", "evidence"].as_slice(),
        &["trace", "evidence", "--output", "evidence"],
        &["metrics", "--file", "evidence"],
    ] {
        let said = refused(&mpiscope(dir.path(), words));
        assert!(said.contains("evidence: an evidence file, which is not replaced"), "{words:?}: {said}");
        assert_eq!(std::fs::read(dir.path().join("evidence")).unwrap(), content, "{words:?}");
    }
}

#[test]
fn a_page_that_exceeds_the_limit_on_files_is_an_error_and_leaves_no_file() {
    let dir = TempDir::new().unwrap();
    image(dir.path());
    let said = refused(&shell(dir.path(), "ulimit -f 1; exec $MPISCOPE report rank.image --html page"));
    assert!(said.contains("--html: page: File too large"), "{said}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "only the image");
}

#[test]
fn an_output_that_is_full_is_named_in_the_error() {
    let dir = TempDir::new().unwrap();
    image(dir.path());
    for verb in ["ps", "why", "report", "report --json", "inspect", "vars"] {
        let said = refused(&shell(dir.path(), &format!("$MPISCOPE {verb} rank.image >/dev/full")));
        assert!(said.contains("the output cannot be written: No space left on device"), "{verb}: {said}");
    }
    for verb in ["help run", "completions bash", "gdb-script"] {
        let said = refused(&shell(dir.path(), &format!("$MPISCOPE {verb} >/dev/full")));
        assert!(said.contains("the output cannot be written: No space left on device"), "{verb}: {said}");
    }
    // The launcher of `mpiscope doctor` reads this.
    refused(&shell(dir.path(), "$MPISCOPE doctor --as-rank >/dev/full"));
}

#[test]
fn words_in_the_wrong_place_are_refused_with_the_right_command() {
    let dir = TempDir::new().unwrap();
    for (words, right) in [
        ("mpirun -n 2 ./app", "to run a program: mpiscope run mpirun -n 2 ./app"),
        ("sh -c true", "to run a program: mpiscope run sh -c true"),
        ("why --for 2 mpirun -n 2 ./app", "to start it: mpiscope run mpirun -n 2 ./app"),
        ("run -n 2 ./app", "mpiscope run mpirun -n 2 ./app"),
        ("doctor -n 2 ./app", "mpiscope doctor mpirun -n 2 ./app"),
        ("doctor --nosuch", "has no option --nosuch"),
        ("run --trace 64M mpirun ./app", "mpiscope run --trace=64M mpirun ./app"),
        ("why /bin/sh", "start the program with `mpiscope run`"),
    ] {
        let said = refused(&mpiscope(dir.path(), &words.split(' ').collect::<Vec<_>>()));
        assert!(said.contains(right), "{words}: {said}");
    }
    let said = refused(&mpiscope(dir.path(), &["why", "--nosuch"]));
    assert!(said.contains("--nosuch") && !said.contains("-- --nosuch"), "{said}");
}

#[test]
fn a_command_to_copy_is_quoted() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let (dir, name) = (TempDir::new().unwrap(), job.child.id().to_string());
    let saved = mpiscope(dir.path(), &["save", "--here", "--for", "0.1", &name, "a file"]);
    let said = text(&saved.stdout);
    assert!(said.contains("read it with `mpiscope why 'a file'`"), "{said} {}", text(&saved.stderr));
}

#[test]
fn a_reader_that_leaves_early_does_not_hide_that_something_could_not_be_read() {
    let dir = TempDir::new().unwrap();
    image(dir.path());
    std::fs::write(dir.path().join("garbage"), "x").unwrap();
    for verb in ["ps", "report", "vars", "inspect", "inspect --json", "report --json"] {
        let words: Vec<&str> = verb.split(' ').chain(["rank.image", "garbage"]).collect();
        let mut command = Command::new(MPISCOPE);
        command.current_dir(dir.path()).args(&words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let read = mpiscope(dir.path(), &words).status.code();
        assert!(read != Some(0) && output.status.code() == read, "{verb}: {}", text(&output.stderr));
    }
}

#[test]
fn a_program_without_a_name_is_refused() {
    let dir = TempDir::new().unwrap();
    assert!(refused(&mpiscope(dir.path(), &["run", ""])).contains("the program's name is empty"));
}

#[test]
fn ranks_are_not_held_for_debuggers_that_cannot_be_shown() {
    let dir = TempDir::new().unwrap();
    let mut command = Command::new(MPISCOPE);
    let output = command.env("PATH", dir.path()).args(["run", "--debug", "/bin/echo", "x"]).output().unwrap();
    assert!(refused(&output).contains("tmux"));
}

#[test]
fn debuggers_are_attached_only_where_they_can_be_seen() {
    let dir = TempDir::new().unwrap();
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let said = refused(&mpiscope(dir.path(), &["attach", "--here", &job.child.id().to_string()]));
    assert!(said.contains("several debuggers need a terminal"), "{said}");
    std::fs::write(dir.path().join("evidence"), b"PK\x03\x04").unwrap();
    let said = refused(&mpiscope(dir.path(), &["attach", "evidence"]));
    assert!(said.contains("without processes to attach to"), "{said}");
}
