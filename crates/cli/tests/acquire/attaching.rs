//! `attach`: equal stacks folded, ranks chosen, the gate opened, and sentences where it is not possible.

use crate::common::{self, Job, compile, folder, go, mpiscope, pids};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn one_command_in_all_ranks_shows_equal_stacks_once() {
    let _turn = common::alone();
    let (Some(layer), Some(library)) = (common::layer(), common::one()) else { return };
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 4, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = pids(dir.path(), 4).first().unwrap().to_string();
    // Where each thread stands in the polling loop is chance; the bottom of the stack is not.
    let output = mpiscope(&["attach", &pid, "--batch", "bt -2"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", text(&output.stderr));
    assert!(told.contains("ranks [0-3] (4 processes)"), "{told}");
    assert!(told.contains("0x… in main ("), "{told}");
    let output = mpiscope(&["attach", &pid, "--ranks", "1,3", "--batch", "info inferiors", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut ranks: Vec<u64> =
        report["outputs"].as_array().unwrap().iter().map(|o| o["rank"].as_u64().unwrap()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [1, 3]);
    let output = mpiscope(&["attach", &pid, "--ranks", "9", "--batch", "bt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("ranks [0-3] run"), "{}", text(&output.stderr));
    go(dir.path(), 1);
    job.ends();
}

#[test]
fn ranks_are_held_in_mpi_init_until_somebody_opens_the_gate() {
    let _turn = common::alone();
    let Some(layer) = common::layer() else { return };
    for library in common::libraries() {
        let dir = folder();
        let program = compile(&library, "idle", dir.path());
        let mut job = Job::start(&library, &layer, 2, &["--hold"], &program, &[dir.path().to_str().unwrap()]);
        // `procs` finds them as soon as all are in MPI_Init.
        let until = Instant::now() + common::LIMIT;
        let starter = job.child.id().to_string();
        let found = loop {
            let output = mpiscope(&["procs", "--json", &starter]);
            let report = serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_default();
            let found = report["processes"].as_array().map_or(0, Vec::len);
            if found == 2 {
                break common::found(&report);
            }
            assert!(Instant::now() < until, "{}: {}", library.name, text(&output.stderr));
            std::thread::sleep(Duration::from_millis(50));
        };
        std::thread::sleep(Duration::from_millis(300));
        assert!(!dir.path().join("at.idle.1").exists(), "{}: not held", library.name);
        let pid = found.first().unwrap().to_string();
        let output = mpiscope(&["attach", &pid, "--release"]);
        assert_eq!(output.status.code(), Some(0), "{}: {}", library.name, text(&output.stderr));
        job.reaches(&dir.path().join("at.idle.1"));
        go(dir.path(), 1);
        job.ends();
    }
}

#[test]
fn a_process_that_is_in_a_debugger_already_is_named_with_it() {
    let _turn = common::alone();
    let (Some(layer), Some(library)) = (common::layer(), common::one()) else { return };
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 1, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = *pids(dir.path(), 1).first().unwrap();
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", "-p", &pid.to_string(), "-ex", "shell sleep 60"]);
    let mut gdb = gdb.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let traced = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        !status.contains("TracerPid:\t0")
    };
    let until = Instant::now() + common::LIMIT;
    while !traced() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = mpiscope(&["attach", &pid.to_string(), "--batch", "bt"]);
    mpiscope_testkit::run::end(&mut gdb).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has a debugger already"), "{}", text(&output.stderr));
    go(dir.path(), 1);
    job.ends();
}

#[test]
fn what_is_no_process_of_a_job_is_told_with_the_next_thing_to_try() {
    let own = std::process::id().to_string();
    for (target, says) in
        [("999999999", "no process"), (own.as_str(), "belongs to no MPI job"), ("x", "process ids")]
    {
        let output = mpiscope(&["procs", target]);
        assert_eq!(output.status.code(), Some(2), "{target}");
        assert!(text(&output.stderr).contains(says), "{target}: {}", text(&output.stderr));
    }
}

#[test]
fn a_process_of_another_user_is_told_with_both_users_and_the_way_out() {
    let (Some(layer), Some(library)) = (common::layer(), common::one()) else { return };
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return eprintln!("skipped: only root can be another user");
    }
    let _turn = common::alone();
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 1, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = pids(dir.path(), 1).first().unwrap().to_string();
    // Where the other user may come.
    let open = folder();
    let copy = open.path().join("mpiscope");
    std::fs::copy(common::MPISCOPE, &copy).unwrap();
    std::fs::set_permissions(open.path(), Permissions::from_mode(0o755)).unwrap();
    for verb in
        [["procs", &pid].as_slice(), &["attach", &pid, "--batch", "bt"], &["ps", &pid], &["inspect", &pid]]
    {
        let output = Command::new(&copy).args(verb).current_dir("/").uid(65534).gid(65534).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {}", text(&output.stdout));
        let told = text(&output.stderr);
        assert!(
            told.contains("belongs to user 0 and you are user 65534") && told.contains("sudo"),
            "{verb:?}: {told}"
        );
    }
    go(dir.path(), 1);
    job.ends();
}
