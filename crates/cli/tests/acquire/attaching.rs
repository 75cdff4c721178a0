//! `attach`: equal stacks are grouped, ranks selected, the gate opened, and failures explained.

use crate::common::{self, Job, compile, folder, go, mpiscope, pids};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn one_command_in_all_ranks_shows_equal_stacks_once() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 4, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = pids(dir.path(), 4).first().unwrap().to_string();
    // The threads' positions in the polling loop vary; the bottom of the stack does not.
    let output = mpiscope(&["attach", &pid, "--batch", "bt -2"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}{}", text(&output.stderr));
    assert!(printed.contains("ranks [0-3] (4 processes)"), "{printed}");
    assert!(printed.contains("0x... in main ("), "{printed}");
    // The script is loaded, gdb prints no warnings, and no stack contains the layer.
    let output =
        mpiscope(&["attach", &pid, "--batch", "python print('filter', 'mpiscope' in gdb.frame_filters)"]);
    assert!(text(&output.stdout).contains("filter True"), "{}", text(&output.stdout));
    let output = mpiscope(&["attach", &pid, "--batch", "bt"]);
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(
        printed.contains("in main (") && !printed.contains("libmpiscope") && !printed.contains("auto-load"),
        "{printed}"
    );
    let output = mpiscope(&["attach", &pid, "--ranks", "1,3", "--batch", "info inferiors", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    mpiscope_testkit::schema::check(&report).unwrap();
    let mut ranks: Vec<u64> =
        report["outputs"].as_array().unwrap().iter().map(|o| o["rank"].as_u64().unwrap()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [1, 3]);
    let output = mpiscope(&["attach", &pid, "--ranks", "9", "--batch", "bt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("ranks [0-3] are running"), "{}", text(&output.stderr));
    go(dir.path(), 1);
    job.ends();
}

pub fn lldb_runs_in_all_ranks_like_gdb() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 2, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = pids(dir.path(), 2).first().unwrap().to_string();
    let ask = |command: &str| {
        let output = mpiscope(&["attach", &pid, "--batch", command, "--", "lldb"]);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, printed, said) = ask("expression -- 40 + 2");
    assert_eq!(status, Some(0), "{printed}{said}");
    assert!(printed.contains("ranks [0-1] (2 processes)\n  (int) $0 = 42"), "{printed}{said}");
    let (status, printed, said) = ask("bt");
    assert!(status == Some(0) && printed.contains("`main("), "{printed}{said}");
    // A command without output succeeds; an unknown command fails.
    let (status, printed, said) = ask("settings set auto-confirm true");
    assert!(status == Some(0) && printed.contains("(no output)"), "{printed}{said}");
    let (status, _, said) = ask("nonsense");
    assert!(status == Some(2) && said.contains("is not a"), "{said}");
    go(dir.path(), 1);
    job.ends();
}

pub fn ranks_are_held_in_mpi_init_until_released() {
    let _turn = common::alone();
    let layer = common::layer();
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

pub fn a_process_that_already_has_a_debugger_is_reported_with_it() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
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
    assert!(text(&output.stderr).contains("already has a debugger"), "{}", text(&output.stderr));
    go(dir.path(), 1);
    job.ends();
}

pub fn a_process_of_no_job_is_reported_with_the_next_thing_to_try() {
    // This process has descendants in the jobs of other trials.
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let pid = other.id().to_string();
    for (target, says) in [
        ("999999999", "no process"),
        (pid.as_str(), "does not belong to any MPI job"),
        ("x", "no such job, process or file"),
    ] {
        let output = mpiscope(&["procs", target]);
        assert_eq!(output.status.code(), Some(2), "{target}");
        assert!(text(&output.stderr).contains(says), "{target}: {}", text(&output.stderr));
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

pub fn a_process_of_another_user_is_reported_with_both_users_and_a_remedy() {
    let (layer, library) = (common::layer(), common::one());
    let _turn = common::alone();
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let mut job = Job::start(&library, &layer, 1, &[], &program, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pid = pids(dir.path(), 1).first().unwrap().to_string();
    // A folder that the other user may enter.
    let open = folder();
    let copy = open.path().join("mpiscope");
    mpiscope_testkit::run::copy_program(std::path::Path::new(common::MPISCOPE), &copy).unwrap();
    std::fs::set_permissions(open.path(), Permissions::from_mode(0o755)).unwrap();
    for verb in
        [["procs", &pid].as_slice(), &["attach", &pid, "--batch", "bt"], &["ps", &pid], &["inspect", &pid]]
    {
        let mut command = Command::new(&copy);
        command.args(verb).current_dir("/").env("COLUMNS", "400").uid(65534).gid(65534);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {}", text(&output.stdout));
        let printed = text(&output.stderr);
        assert!(
            printed.contains("belongs to user 0 and you are user 65534") && printed.contains("sudo"),
            "{verb:?}: {printed}"
        );
    }
    go(dir.path(), 1);
    job.ends();
}

pub fn a_path_with_a_newline_and_invalid_text_is_shown_escaped() {
    use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    let dir = folder();
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"odd\nn\xffme\x1b[31m"));
    std::fs::create_dir(&odd).unwrap();
    mpiscope_testkit::run::copy_program(&compile(&library, "idle", dir.path()), &odd.join("idle")).unwrap();
    // Launchers would reject the name; a shell finds it by its prefix.
    let script = dir.path().join("start");
    std::fs::write(&script, format!("#!/bin/sh\nexec {}/odd*/idle \"$@\"\n", dir.path().display())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let mut job = Job::start(&library, &layer, 2, &[], &script, &[dir.path().to_str().unwrap()]);
    job.reaches(&dir.path().join("at.idle.1"));
    let pids = pids(dir.path(), 2);
    let pid = pids.first().unwrap().to_string();
    let output = mpiscope(&["procs", &pid]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    assert!(!shown.contains(['\x1b', '\u{fffd}']), "{shown:?}");
    assert!(shown.lines().any(|line| line.contains("odd") && line.contains("idle")), "{shown:?}");
    assert_eq!(common::found(&common::procs(*pids.first().unwrap())), pids);
    go(dir.path(), 1);
    job.succeeds();
}
