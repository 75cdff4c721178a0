//! How names are resolved: jobs, processes, files, several files; and files that are partly
//! unreadable.

mod fake_job;

use fake_job::{FOUR_IN_RECV, Job, MPISCOPE, text};
use mpiscope_job::test_image::TestImage;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Handles of MPICH's ABI.
const WORLD: u64 = 0x4400_0000;
const DOUBLE: u64 = 0x4c00_080b;

/// Makes an evidence file in which the second process's image cannot be decompressed.
fn damaged(dir: &Path) -> PathBuf {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let file = dir.join("damaged.mpiscope");
    let mut save = Command::new(MPISCOPE);
    save.args(["save", "--here", "--for", "0", &job.child.id().to_string()]).arg(&file);
    assert!(save.output().unwrap().status.success());
    let mut bytes = std::fs::read(&file).unwrap();
    let name = b"process/1.image";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    // The local header gives the length of the field after the name.
    let more = usize::from(u16::from_le_bytes([bytes[at - 2], bytes[at - 1]]));
    bytes[at + name.len() + more + 16..][..64].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn every_verb_reports_unreadable_parts_of_a_file_and_never_succeeds() {
    let dir = TempDir::new().unwrap();
    let file = damaged(dir.path());
    let file = file.to_str().unwrap();
    for verb in ["ps", "why", "queues", "core", "report", "vars", "procs"] {
        let output = Command::new(MPISCOPE).env("COLUMNS", "400").args([verb, file]).output().unwrap();
        let (said, shown) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(output.status.code(), Some(1), "{verb}: {said}");
        assert!((said + &shown).contains("process/1.image"), "{verb}: {shown}");
        assert!(!shown.is_empty(), "{verb}");
    }
    let copy = dir.path().join("copy.mpiscope");
    std::fs::copy(file, &copy).unwrap();
    let output = Command::new(MPISCOPE).args(["diff", file]).arg(&copy).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// Runs a verb in a folder.
fn in_folder(dir: &Path, words: &[&std::ffi::OsStr]) -> (String, String, Option<i32>) {
    let output = Command::new(MPISCOPE).env("COLUMNS", "400").current_dir(dir).args(words).output().unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn a_number_is_a_process_and_is_ambiguous_if_also_a_file() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let (dir, id) = (TempDir::new().unwrap(), job.child.id().to_string());
    let run = |words: &[&str]| in_folder(dir.path(), &words.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    let (printed, said, status) = run(&["save", "--here", "--for=0", &id]);
    assert_eq!(status, Some(0), "{said}");
    let names: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let wanted = |name: &String| name.starts_with(&format!("mpiscope-{id}-")) && name.ends_with(".mpiscope");
    assert!(matches!(names.as_slice(), [only] if wanted(only)), "{names:?}");
    assert!(printed.starts_with(&format!("{}: 4 ranks", names[0])), "{printed}");
    let (_, said, status) = run(&["save", "4294967295"]);
    assert!(status == Some(2) && said.contains("process 4294967295"), "{said}");
    std::fs::copy(dir.path().join(&names[0]), dir.path().join(&id)).unwrap();
    for verb in ["ps", "why", "queues", "report", "vars", "inspect"] {
        let (_, said, status) = run(&[verb, &id]);
        assert_eq!(status, Some(2), "{verb}");
        assert!(
            said.contains(&format!("{id} is a file here")) && said.contains(&format!("./{id}")),
            "{said}"
        );
        assert!(!run(&[verb, &format!("./{id}")]).0.is_empty(), "{verb}");
    }
}

#[test]
fn save_writes_into_pipes_and_devices_without_replacing_them() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let (dir, id) = (TempDir::new().unwrap(), job.child.id().to_string());
    let save =
        |file: &str| Command::new(MPISCOPE).args(["save", "--here", "--for=0", &id, file]).output().unwrap();
    let saved = save("/dev/stdout");
    assert!(saved.status.success() && saved.stdout.starts_with(b"PK"), "{}", text(&saved.stderr));
    assert!(save("/dev/null").status.success());
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    std::fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(save(link.to_str().unwrap()).status.success());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read(&file).unwrap().starts_with(b"PK"));
}

#[test]
fn save_replaces_only_evidence_files() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]"));
    let (dir, id) = (TempDir::new().unwrap(), job.child.id().to_string());
    let save =
        |file: &str| in_folder(dir.path(), &["save", "--here", "--for=0", &id, file].map(AsRef::as_ref));
    std::fs::write(dir.path().join("app.c"), "int main(void)").unwrap();
    let (_, said, status) = save("app.c");
    assert!(status == Some(2) && said.contains("app.c: not a file that `mpiscope save` wrote"), "{said}");
    assert_eq!(std::fs::read(dir.path().join("app.c")).unwrap(), b"int main(void)");
    for _ in 0..2 {
        assert_eq!(save("job.mpiscope").2, Some(0));
    }
}

#[test]
fn several_files_of_one_job_are_one_job_and_those_of_two_are_distinguished() {
    let dir = TempDir::new().unwrap();
    let image = |name: &str, job: &str, rank: u32| {
        let sample = TestImage::new(job, rank, 2);
        sample.enters("MPI_Recv", [WORLD, DOUBLE, 8], 1, 7);
        std::fs::write(dir.path().join(name), sample.bytes()).unwrap();
    };
    image("a0", "a", 0);
    image("a1", "a", 1);
    image("b1", "b", 1);
    let run = |words: &[&str]| in_folder(dir.path(), &words.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    let (printed, said, _) = run(&["ps", "a0", "a1"]);
    assert!(printed.contains("[0-1]"), "{printed}{said}");
    let (printed, said, status) = run(&["vars", "a0", "a1"]);
    assert!(status == Some(0) && printed.contains("ranks [0-1] of 2"), "{printed}{said}");
    for verb in ["ps", "vars", "why", "queues", "report"] {
        let (printed, said, status) = run(&[verb, "a0", "b1"]);
        assert_eq!(status, Some(1), "{verb}: {said}");
        assert!((printed + &said).contains("b1 belongs to job b, a0 to job a"), "{verb}: {said}");
    }
}

#[test]
fn evidence_of_two_jobs_is_never_merged() {
    let dir = TempDir::new().unwrap();
    for name in ["one.mpiscope", "other.mpiscope"] {
        let job = Job::start(FOUR_IN_RECV, 4);
        job.shows(|printed| printed.contains("[0-3]"));
        let id = job.child.id().to_string();
        let mut save = Command::new(MPISCOPE);
        save.args(["save", "--here", "--for=0", &id]).arg(dir.path().join(name));
        assert!(save.output().unwrap().status.success());
    }
    let run = |words: &[&str]| in_folder(dir.path(), &words.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    for verb in ["ps", "why", "queues", "report", "vars", "procs"] {
        let (_, said, status) = run(&[verb, "one.mpiscope", "other.mpiscope"]);
        assert!(
            status == Some(2) && said.contains("other.mpiscope: it belongs to a different job"),
            "{verb}: {said}"
        );
        let (_, said, status) = run(&[verb, "one.mpiscope", "one.mpiscope"]);
        assert_ne!(status, Some(2), "{verb}: {said}");
    }
    std::fs::write(dir.path().join("report.json"), "{}").unwrap();
    for verb in ["ps", "why", "queues", "report", "vars", "inspect", "core", "trace"] {
        let (_, said, status) = run(&[verb, "report.json"]);
        assert!(status == Some(2) && said.contains("name the directory"), "{verb}: {said}");
    }
}

#[test]
fn file_names_need_not_be_valid_text() {
    use std::os::unix::ffi::OsStrExt;
    let dir = TempDir::new().unwrap();
    let sample = TestImage::new("saved", 0, 1);
    sample.enters("MPI_Recv", [WORLD, DOUBLE, 8], 1, 7);
    let name = std::ffi::OsStr::from_bytes(b"image\xff");
    std::fs::write(dir.path().join(name), sample.bytes()).unwrap();
    for verb in ["ps", "why", "queues", "report", "vars"] {
        let (printed, said, _) = in_folder(dir.path(), &[verb.as_ref(), name]);
        assert!(!printed.is_empty(), "{verb}: {said}");
    }
}

#[test]
fn invalid_seconds_are_rejected_with_the_valid_range() {
    for words in [
        ["why", "--for"],
        ["save", "--for"],
        ["top", "--for"],
        ["top", "--interval"],
        ["run", "--hang-after"],
    ] {
        let output = Command::new(MPISCOPE).args(words).args(["-1", "x"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("0") && !said.contains("tip") && said.contains("second"), "{words:?}: {said}");
    }
}
