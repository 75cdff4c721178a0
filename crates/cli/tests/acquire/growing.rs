//! After every step of a growing job, every process leads to the same set.

use crate::common::{self, Job, compile, folder, go, libraries, pids, same_from_each};
use mpiscope_testkit::mpi::{Family, Library};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub fn a_job_that_spawns_twice_and_disconnects_is_found_completely_from_each_process() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in libraries().iter().filter(|library| common::can_spawn(library)) {
        eprintln!("spawning: {}", library.name);
        grows(library, &layer);
    }
}

fn grows(library: &Library, layer: &Path) {
    let dir = folder();
    let program = compile(library, "grow", dir.path());
    let other = program.with_file_name(format!("grow.{}.other", library.name));
    mpiscope_testkit::run::copy_program(&program, &other).unwrap();
    let mut job = Job::start(library, layer, 2, &[], &program, &[dir.path().to_str().unwrap()]);
    for (step, n) in [(1, 2), (2, 4), (3, 7), (4, 7)] {
        job.reaches(&dir.path().join(format!("at.grow.{step}")));
        let pids = pids(dir.path(), n);
        let report = same_from_each(&pids, &format!("{}, step {step}", library.name));
        // The starter and the launcher also lead there.
        let mut from = vec![job.child.id()];
        from.extend(children(job.child.id()));
        for pid in from {
            assert_eq!(common::found(&common::procs(pid)), pids, "{} from {pid}", library.name);
        }
        if step == 3 {
            check_spawned(&report, &other);
            let mut shared = shared(&[job.child.id()]);
            shared.sort();
            assert_eq!(shared, COMMUNICATORS, "{}", library.name);
        }
        go(dir.path(), step);
    }
    job.ends();
}

/// The members of the communicators of parents and children: the two intercommunicators, the merged second
/// one, its even and odd ranks, and the two that it was split into.
const COMMUNICATORS: [&str; 7] =
    ["0, 2.0", "0, 2.[0,2]", "1, 2.1", "1, 2.[1-2]", "[0-1], 1.[0-1]", "[0-1], 2.[0-2]", "[0-1], 2.[0-2]"];

/// Returns the members of each communicator of these jobs that is not predefined.
fn shared(jobs: &[u32]) -> Vec<String> {
    let jobs: Vec<String> = jobs.iter().map(u32::to_string).collect();
    let arguments: Vec<&str> = ["inspect", "--kind", "comm", "--json"].into_iter().collect();
    let output = common::mpiscope(&[arguments, jobs.iter().map(String::as_str).collect()].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["errors"], Value::Array(Vec::new()));
    let shared = report["shared"].as_array().unwrap().iter();
    let own =
        shared.filter(|object| !object["name"].as_str().is_some_and(|name| name.starts_with("MPI_COMM_")));
    own.map(|object| object["ranks"].as_str().unwrap().to_owned()).collect()
}

/// Checks the worlds, their parents and their programs.
fn check_spawned(report: &Value, other: &Path) {
    let processes = report["processes"].as_array().unwrap();
    let parent = processes[0]["world"].as_str().unwrap();
    assert!(processes[..2].iter().all(|p| p["world"] == parent && p["spawned"].is_null()), "{report}");
    let first = &processes[2..4];
    assert!(first.iter().all(|p| p["spawned"]["world"] == parent && p["spawned"]["rank"] == 0), "{report}");
    let second = &processes[4..];
    assert!(second.iter().all(|p| p["spawned"]["world"] == parent && p["spawned"]["rank"] == 1), "{report}");
    assert!(processes[2..].iter().all(|p| p["spawned"]["sequence"] == 0), "{report}");
    let ranks: Vec<u64> = processes.iter().map(|p| p["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [0, 1, 0, 1, 0, 1, 2]);
    let others = second.iter().filter(|p| p["executable"] == other.to_str().unwrap()).count();
    assert_eq!(others, 2, "{report}");
}

fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Runs two jobs, of `n` ranks each, that connect and disconnect.
fn meet(library: &Library, layer: &Path, roles: [&str; 2], n: usize) {
    let dir = folder();
    let program = compile(library, "meet", dir.path());
    let path = dir.path().to_str().unwrap();
    let mut jobs = roles.map(|role| Job::start(library, layer, n, &[], &program, &[role, path]));
    let at = |jobs: &mut [Job; 2], step: u32| {
        for (job, role) in jobs.iter_mut().zip(roles) {
            job.reaches(&dir.path().join(format!("at.{role}.{step}")));
        }
    };
    at(&mut jobs, 1);
    let all = pids(dir.path(), 2 * n);
    let one = common::found(&common::procs(*all.first().unwrap()));
    assert_eq!(one.len(), n, "{}: before they meet", library.name);
    go(dir.path(), 1);
    at(&mut jobs, 2);
    same_from_each(&all, &format!("{}, {roles:?}, met", library.name));
    let both = if n == 1 { "0, 1.0" } else { "[0-1], 1.[0-1]" };
    let shared = shared(&[jobs[0].child.id(), jobs[1].child.id()]);
    assert_eq!(shared, [both], "{}, {roles:?}", library.name);
    go(dir.path(), 2);
    at(&mut jobs, 3);
    for side in [one.clone(), &all - &one] {
        same_from_each(&side, &format!("{}, {roles:?}, parted", library.name));
    }
    go(dir.path(), 3);
    jobs.iter_mut().for_each(Job::ends);
}

pub fn jobs_that_connect_are_one_until_they_disconnect() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in libraries().iter().filter(|library| common::can_connect(library)) {
        eprintln!("connecting: {}", library.name);
        meet(library, &layer, ["accept", "connect"], 2);
    }
}

pub fn processes_that_join_over_a_socket_are_one_job_until_they_disconnect() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in libraries().iter().filter(|library| common::can_connect(library)) {
        eprintln!("joining: {}", library.name);
        meet(library, &layer, ["join-a", "join-b"], 1);
    }
}

/// Runs two jobs that connect and disconnect, of which only those with `true` run under the layer. All must
/// end successfully.
fn meets_strangers(library: &Library, layer: &Path, sides: [(&str, bool); 2]) {
    let dir = folder();
    let program = compile(library, "meet", dir.path());
    (1..=3).for_each(|step| go(dir.path(), step));
    let arguments = |role| [role, dir.path().to_str().unwrap()];
    let jobs = sides.map(|(role, seen)| match seen {
        true => Job::start(library, layer, 2, &[], &program, &arguments(role)),
        false => Job::bare(library, layer, 2, &program, &arguments(role)),
    });
    for mut job in jobs {
        job.succeeds();
    }
}

pub fn jobs_send_nothing_to_connected_jobs_without_the_layer() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in libraries().iter().filter(|library| common::can_connect(library)) {
        eprintln!("meeting strangers: {}", library.name);
        meets_strangers(library, &layer, [("accept", true), ("connect", false)]);
        meets_strangers(library, &layer, [("accept", false), ("connect", true)]);
    }
}

pub fn parents_send_nothing_to_children_without_the_layer() {
    let _turn = common::alone();
    let layer = common::layer();
    // Parents wait some seconds for children that never appear, so one library per family is enough.
    let mut families: Vec<Family> = Vec::new();
    for library in libraries().iter().filter(|library| common::can_spawn(library)) {
        if families.contains(&library.family) {
            continue;
        }
        families.push(library.family);
        eprintln!("spawning strangers: {}", library.name);
        let dir = folder();
        let program = compile(library, "grow", dir.path());
        // The spawned program is a script of the same name, which removes the layer.
        let real = program.with_extension("real");
        std::fs::rename(&program, &real).unwrap();
        let script = format!("#!/bin/sh\nunset LD_PRELOAD\nexec {} \"$@\"\n", real.display());
        for name in [program.clone(), PathBuf::from(format!("{}.other", program.display()))] {
            std::fs::write(&name, &script).unwrap();
            std::fs::set_permissions(&name, Permissions::from_mode(0o755)).unwrap();
        }
        let parent = dir.path().join("parent");
        std::fs::write(
            &parent,
            format!("#!/bin/bash\nexec -a {} {} \"$@\"\n", program.display(), real.display()),
        )
        .unwrap();
        std::fs::set_permissions(&parent, Permissions::from_mode(0o755)).unwrap();
        (1..=4).for_each(|step| go(dir.path(), step));
        Job::start(library, &layer, 2, &[], &parent, &[dir.path().to_str().unwrap()]).succeeds();
        assert_eq!(pids(dir.path(), 7).len(), 7, "{}", library.name);
    }
}

pub fn a_rank_that_crashed_is_listed_as_gone_from_every_survivor() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    for victim in [0, 2] {
        let dir = folder();
        let program = compile(&library, "idle", dir.path());
        let mut job = Job::start(&library, &layer, 3, &[], &program, &[dir.path().to_str().unwrap()]);
        job.reaches(&dir.path().join("at.idle.1"));
        let all = pids(dir.path(), 3);
        let report = same_from_each(&all, "before");
        let rank = |p: &&Value| p["rank"] == victim;
        let found = report["processes"].as_array().unwrap().iter().find(rank).unwrap();
        let pid = found["pid"].as_u64().unwrap() as u32;
        // Stop the launcher, which would kill the survivors before they can be examined.
        let launcher = parent(pid);
        signal("-STOP", launcher);
        signal("-KILL", pid);
        while !gone(pid) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for survivor in all.iter().filter(|p| **p != pid) {
            let report = common::procs(*survivor);
            assert_eq!(common::found(&report), all, "from {survivor}: {report}");
            let processes = report["processes"].as_array().unwrap();
            let lost: Vec<u64> =
                processes.iter().filter(|p| p["gone"] == true).map(|p| p["pid"].as_u64().unwrap()).collect();
            assert_eq!(lost, [u64::from(pid)], "from {survivor}: {report}");
            assert!(processes.iter().all(|p| p["world"] == processes[0]["world"]), "{report}");
        }
        signal("-CONT", launcher);
    }
}

fn signal(signal: &str, pid: u32) {
    let sent = std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn parent(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap()
}

fn gone(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}
