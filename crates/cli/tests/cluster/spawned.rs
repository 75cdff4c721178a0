//! Worlds spawned on hosts without ranks of the first world.

use crate::common::{Hosts, Job, MPISCOPE, alone, compile, launcher_for, one, reaches};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::trials;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the world, rank and host of each process, in that order.
fn places(list: &Value, world: impl Fn(&Value) -> Option<usize>) -> Vec<(usize, u64, String)> {
    let place =
        |rank: &Value| Some((world(rank)?, rank["rank"].as_u64()?, rank["host"].as_str()?.to_owned()));
    let mut places: Vec<_> = list.as_array().into_iter().flatten().filter_map(place).collect();
    places.sort();
    places
}

fn reported(report: &Value) -> Vec<(usize, u64, String)> {
    let worlds = report["worlds"].as_array().unwrap();
    places(&report["ranks"], |rank| worlds.iter().position(|world| world["name"] == rank["world"]))
}

fn all() -> Vec<(usize, u64, String)> {
    let first = (0..4).map(|rank| (0, rank, format!("n{}", rank / 2 + 1)));
    first.chain((0..2).map(|rank| (1, rank, "n3".to_owned()))).collect()
}

/// How a spawned world is seen.
enum Seen {
    /// With all its ranks.
    Whole,
    /// Not at all: Open MPI's launcher does not pass the variables to spawned processes.
    Missed,
}

fn is_missed(text: &str) -> bool {
    text.contains("2 of the 2 processes that MPI_Comm_spawn started are not seen")
}

/// Asks until all processes are shown: hosts learn of each other once none has connected for a second.
fn seen_from(hosts: &Hosts, host: &str, library: &Library, wanted: &Seen) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let outcome = hosts.run(hosts.on(host, MPISCOPE, library).args(["ps", "--json"]));
        let ps: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
        let seen = places(&ps["ranks"], |rank| Some(rank["world_number"].as_u64()? as usize));
        let right = match wanted {
            Seen::Whole => seen == all() && ps["errors"] == Value::Array(Vec::new()),
            Seen::Missed => seen == all()[..4] && is_missed(&ps["errors"].to_string()),
        };
        if right {
            return;
        }
        assert!(Instant::now() < end, "{} from {host}: {}", library.name, outcome.describe());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Checks that the intercommunicator is one object for the processes of both worlds.
fn is_shared(hosts: &Hosts, host: &str, library: &Library) {
    let outcome = hosts.run(hosts.on(host, MPISCOPE, library).args(["inspect", "--kind", "comm", "--json"]));
    let seen: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
    let shared = seen["shared"].as_array().into_iter().flatten();
    let mut between = shared.filter(|one| one["merged"]["agreed"]["inter"] == true);
    let is_one =
        between.next().is_some_and(|one| one["ranks"] == "[0-3], 1.[0-1]") && between.next().is_none();
    assert!(is_one, "{} from {host}: {}", library.name, outcome.describe());
}

/// Checks that `procs` lists all processes with their parents, and a debugger reaches all of them.
fn listed_and_reached(hosts: &Hosts, host: &str, library: &Library) {
    let run = |words: &[&str]| hosts.run(hosts.on(host, MPISCOPE, library).args(words).arg("--json"));
    let outcome = run(&["procs"]);
    let procs: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
    let list = &procs["processes"];
    // Worlds have names; only the first world has a rank on the first host.
    let of_first = list.as_array().into_iter().flatten().find(|entry| entry["host"] == "n1");
    let first = of_first.map_or(Value::Null, |entry| entry["world"].clone());
    let listed = places(list, |entry| Some(usize::from(entry["world"] != first)));
    assert_eq!(listed, all(), "{} from {host}: {}", library.name, outcome.describe());
    assert_eq!(procs["problems"], Value::Array(Vec::new()), "{} from {host}: {procs:#}", library.name);
    for entry in list.as_array().into_iter().flatten() {
        let by = &entry["spawned"];
        match entry["world"] == first {
            true => assert!(by.is_null(), "{} from {host}: {procs:#}", library.name),
            false => assert!(
                by["world"] == first && by["rank"] == 0 && by["sequence"] == 0,
                "{} from {host}: {procs:#}",
                library.name
            ),
        }
    }
    let outcome = run(&["attach", "--batch", "bt 1"]);
    let answers: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
    let outputs = answers["outputs"].as_array().into_iter().flatten();
    let reached = outputs.filter(|output| output["error"].is_null() && output["text"].is_string());
    assert_eq!(reached.count(), 6, "{} from {host}: {}", library.name, outcome.describe());
}

/// Whether the library can spawn there without mpiscope: on some machines Intel's children fail in
/// `MPI_Init`.
fn spawns_by_itself(hosts: &Hosts, library: &Library, program: &Path, dir: &Path) -> bool {
    let bare = dir.join("bare");
    std::fs::create_dir(&bare).unwrap();
    let launcher: Vec<String> = launcher_for(library, 2, 4);
    let (first, rest) = launcher.split_first().unwrap();
    let mut command = hosts.on("login", first, library);
    command.args(rest).arg(program).arg(&bare).arg("n3");
    let _job = Job::start(&mut command, &bare.join("said"));
    let (child, until) = (bare.join("at.child.1"), Instant::now() + Duration::from_secs(20));
    while !child.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(bare.join("go.1"), "").unwrap();
    child.exists()
}

pub fn a_world_spawned_on_a_new_host_is_in_all_views_and_the_report_or_reported_missing() {
    let _turn = alone();
    let hosts = Hosts::new(false);
    // MPICH 4.0 cannot spawn on a host without ranks; Open MPI 5.0's daemons occasionally crash when they do.
    let can = |library: &&Library| ["mpich-5.0", "openmpi-4.1", "intel"].contains(&library.name.as_str());
    let mut tried = 0;
    for library in trials::survey().0.iter().filter(can).cloned() {
        let (dir, out) = (hosts.dir.path().join(&library.name), format!("{}/out", library.name));
        std::fs::create_dir(&dir).unwrap();
        let program = compile(&library, "acquire/elsewhere", hosts.dir.path());
        let said = dir.join("said");
        if !spawns_by_itself(&hosts, &library, &program, &dir) {
            eprintln!("{} does not spawn to another host here, without mpiscope either", library.name);
            continue;
        }
        tried += 1;
        let seen = if library.family == Family::OpenMpi { Seen::Missed } else { Seen::Whole };
        let mut command = hosts.on("login", MPISCOPE, &library);
        command.args(["run", "--hang-after", "0", "--out"]).arg(dir.join("out"));
        command.args(launcher_for(&library, 2, 4)).arg(program).arg(&dir).arg("n3");
        let mut job = Job::start(&mut command, &said);
        reaches(&dir.join("at.child.1"), &said);
        ["login", "n1"].iter().for_each(|host| seen_from(&hosts, host, &library, &seen));
        if let Seen::Whole = seen {
            seen_from(&hosts, "n3", &library, &seen);
            for host in ["n1", "n3"] {
                listed_and_reached(&hosts, host, &library);
                is_shared(&hosts, host, &library);
            }
        }
        std::fs::write(dir.join("go.1"), "").unwrap();
        job.ends(Duration::from_secs(60));
        let text = std::fs::read_to_string(&said).unwrap();
        let report = hosts.report(&out).unwrap_or_else(|| panic!("{}: no report: {text}", library.name));
        match seen {
            Seen::Whole => {
                assert_eq!(reported(&report), all(), "{}: {text}", library.name);
                assert!(!text.contains("missing") && !text.contains("not seen"), "{}: {text}", library.name);
            }
            Seen::Missed => {
                assert_eq!(reported(&report), all()[..4], "{}: {text}", library.name);
                assert!(is_missed(&text), "{}: {text}", library.name);
            }
        }
        assert!(!text.contains("handed"), "{}: {text}", library.name);
    }
    assert!(tried > 0, "no library spawns to another host here");
}

pub fn a_world_spawned_under_slurm_is_in_all_views_and_the_report() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let dir = hosts.dir.path();
    let program = compile(&library, "acquire/elsewhere", dir);
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, &library);
    // Slurm's library starts a separate step alongside the spawning one.
    command.env("SLURM_OVERLAP", "1").args(["run", "--hang-after", "0", "--out"]).arg(dir.join("out"));
    command.args("srun --overlap -N 2 -n 4 --mpi=pmi2".split(' ')).arg(program).arg(dir).arg("n2");
    let mut job = Job::start(&mut command, &said);
    reaches(&dir.join("at.child.1"), &said);
    let wanted: Vec<_> = (0..4).map(|rank| (0, rank)).chain((0..2).map(|rank| (1, rank))).collect();
    let ranks = |places: Vec<(usize, u64, String)>| places.into_iter().map(|(world, rank, _)| (world, rank));
    let end = Instant::now() + Duration::from_secs(30);
    for host in ["n1", "n2", "login"] {
        loop {
            let outcome = hosts.run(hosts.on(host, MPISCOPE, &library).args(["ps", "--json"]));
            let ps: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
            let seen = places(&ps["ranks"], |rank| Some(rank["world_number"].as_u64()? as usize));
            if ranks(seen).eq(wanted.iter().copied()) && ps["errors"] == Value::Array(Vec::new()) {
                break;
            }
            assert!(Instant::now() < end, "from {host}: {}", outcome.describe());
        }
    }
    std::fs::write(dir.join("go.1"), "").unwrap();
    job.ends(Duration::from_secs(60));
    let text = std::fs::read_to_string(&said).unwrap();
    let report = hosts.report("out").unwrap_or_else(|| panic!("no report: {text}"));
    assert!(ranks(reported(&report)).eq(wanted) && !text.contains("not seen"), "{text}");
}
