//! Ranks on other hosts that have not called MPI.

use crate::common::{Hosts, Job, LIMIT, MPISCOPE, alone, compile, launcher, libraries, one, reaches, srun};
use mpiscope_testkit::mpi::{Family, Library};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

const SILENT: &str = "has not called MPI";

/// Returns the JSON output of a verb on a host, or its complete output if that is not JSON.
fn try_to_ask(hosts: &Hosts, host: &str, library: &Library, words: &[&str]) -> Result<Value, String> {
    let outcome = hosts.run(hosts.on(host, MPISCOPE, library).args(words).arg("--json"));
    serde_json::from_str(outcome.stdout.trim())
        .map_err(|_| format!("{words:?} on {host}\n{}", outcome.describe()))
}

fn ask(hosts: &Hosts, host: &str, library: &Library, words: &[&str]) -> Value {
    try_to_ask(hosts, host, library, words).unwrap_or_else(|said| panic!("{said}"))
}

/// Returns the rank and host of the silent ranks in the output of `ps`, if it shows all six ranks.
fn silent(ps: &Value) -> Option<Vec<(u64, String)>> {
    let ranks = ps["ranks"].as_array()?;
    let place = |rank: &Value| Some((rank["rank"].as_u64()?, rank["host"].as_str()?.to_owned()));
    let all: Vec<_> = ranks.iter().map(place).collect::<Option<_>>()?;
    let six = all.iter().map(|(rank, _)| *rank).eq(0..6) && ps["silent"] == 0;
    let said = ranks.iter().zip(all).filter(|(rank, _)| rank["state"] == SILENT);
    six.then(|| said.map(|(_, place)| place).collect())
}

/// Asks until `right` is satisfied. A rank runs before its host has told the others about it, so at first the
/// job may not be visible.
fn until(what: &str, ask: impl Fn() -> Result<Value, String>, right: impl Fn(&Value) -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let seen = ask();
        if seen.as_ref().is_ok_and(&right) {
            return;
        }
        assert!(Instant::now() < end, "{what}: {seen:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether `why` reports that these ranks hold up all others.
fn blamed(why: &Value, ranks: &[(u64, String)]) -> bool {
    let culprits = why["culprits"].as_array().into_iter().flatten();
    let named = culprits.filter_map(|culprit| {
        let late = culprit["what"].as_str()?.starts_with("has not called MPI_Init yet: ");
        culprit["ranks"].as_str()?.parse::<u64>().ok().filter(|_| late)
    });
    why["kind"] == "slow" && named.eq(ranks.iter().map(|(rank, _)| *rank)) && why["unseen"] == ""
}

/// Returns the rank and host of the silent processes in the output of `procs`, if it lists six ranks.
fn listed_silent(procs: &Value) -> Option<Vec<(u64, String)>> {
    let processes = procs["processes"].as_array()?;
    let place = |entry: &Value| Some((entry["rank"].as_u64()?, entry["host"].as_str()?.to_owned()));
    let mut all: Vec<_> = processes.iter().map(|entry| (place(entry), entry["silent"] == true)).collect();
    all.sort();
    let six = all.iter().map(|(place, _)| place.as_ref().map(|place| place.0)).eq((0..6).map(Some));
    six.then(|| all.into_iter().filter(|(_, silent)| *silent).filter_map(|(place, _)| place).collect())
}

/// Starts six ranks, of which the `late` ones do not call MPI_Init yet.
fn start(hosts: &Hosts, library: &Library, launcher: &[String], late: &[&str]) -> Job {
    let dir = hosts.dir.path();
    let program = compile(library, "late_start", dir);
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, library);
    command.args(["run", "--quiet", "--hang-after", "0", "--out"]).arg(dir.join("out"));
    command.args(launcher).arg(program).args(late).arg(dir);
    let job = Job::start(&mut command, &said);
    (0..6).for_each(|rank| reaches(&dir.join(format!("ready.{rank}")), &said));
    job
}

/// Checks all views of the running job and of its evidence.
fn seen_everywhere(hosts: &Hosts, library: &Library, wanted: &[(u64, String)]) {
    for host in ["login", "n1", "n3"] {
        let ps = || try_to_ask(hosts, host, library, &["ps"]);
        until(&format!("ps on {host}"), ps, |ps| silent(ps).is_some_and(|silent| silent == wanted));
        let why = || try_to_ask(hosts, host, library, &["why", "--for", "0.2"]);
        until(&format!("why on {host}"), why, |why| blamed(why, wanted));
    }
    let file = hosts.dir.path().join("kept.mpiscope").display().to_string();
    let save = hosts.run(hosts.on("login", MPISCOPE, library).args(["save", &file]));
    assert!(save.success(), "{}", save.describe());
    is_kept(hosts, library, &file, wanted);
    std::fs::remove_file(Path::new(&file)).unwrap();
}

fn is_kept(hosts: &Hosts, library: &Library, file: &str, wanted: &[(u64, String)]) {
    let ps = ask(hosts, "login", library, &["ps", file]);
    assert_eq!(silent(&ps).as_deref(), Some(wanted), "{ps:#}");
    let why = ask(hosts, "login", library, &["why", file]);
    assert!(blamed(&why, wanted), "{why:#}");
}

pub fn ranks_of_another_host_that_have_not_called_mpi_are_seen_from_each_host_and_saved() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let on_n3 =
        |ranks: &[u64]| -> Vec<(u64, String)> { ranks.iter().map(|r| (*r, "n3".to_owned())).collect() };
    // One of the host's two ranks, then both.
    for (late, wanted) in [(&["5"][..], on_n3(&[5])), (&["4", "5"], on_n3(&[4, 5]))] {
        let mut job = start(&hosts, &library, &launcher(&library), late);
        seen_everywhere(&hosts, &library, &wanted);
        job.is_ended(Duration::from_secs(30), LIMIT);
        drop(job);
        let report = hosts.report("out").expect("a report");
        let named = report["silent"].as_array().into_iter().flatten();
        let named: Vec<_> =
            named.filter_map(|s| Some((s["rank"].as_u64()?, s["host"].as_str()?.to_owned()))).collect();
        assert_eq!(named, wanted, "{report:#}");
        // The name that a process gives its world during MPI_Init differs between hosts.
        let tracks: Vec<_> = report["windows"]["ranks"].as_array().into_iter().flatten().collect();
        let numbers: Vec<String> = (0..6 - wanted.len()).map(|rank| rank.to_string()).collect();
        assert_eq!(tracks, numbers.iter().collect::<Vec<_>>(), "{report:#}");
        (0..6).for_each(|rank| std::fs::remove_file(hosts.dir.path().join(format!("ready.{rank}"))).unwrap());
    }
}

pub fn ranks_that_have_not_called_mpi_are_seen_and_listed_with_each_launcher() {
    let _turn = alone();
    let (hosts, wanted) = (Hosts::new(true), [4, 5].map(|rank| (rank, "n3".to_owned())));
    let of_others = libraries().into_iter().filter(|library| library.family != Family::Mpich);
    let by_ssh = of_others.map(|library| (launcher(&library), library));
    for (launcher, library) in by_ssh.chain([(srun(), one())]) {
        let what = format!("{} of {}", launcher[0], library.name);
        let mut job = start(&hosts, &library, &launcher, &["4", "5"]);
        for host in ["login", "n1"] {
            let ps = || try_to_ask(&hosts, host, &library, &["ps"]);
            until(&format!("{what}: ps on {host}"), ps, |ps| {
                silent(ps).is_some_and(|silent| silent == wanted)
            });
            let procs = ask(&hosts, host, &library, &["procs"]);
            assert_eq!(listed_silent(&procs).as_deref(), Some(&wanted[..]), "{what}: {procs:#}");
            assert_eq!(procs["problems"], Value::Array(Vec::new()), "{what}: {procs:#}");
        }
        let why = hosts.run(hosts.on("n1", MPISCOPE, &library).args(["why", "--for", "0.2"]));
        assert!(why.stdout.starts_with("ranks [0-3] wait for ranks [4-5]"), "{what}: {}", why.describe());
        // Their activity in the sleeping loop may differ at this moment; then each has its own line.
        let both = why.stdout.contains("  ranks [4-5]: have not called MPI_Init yet: ");
        let each = || {
            [4, 5]
                .iter()
                .all(|rank| why.stdout.contains(&format!("  rank {rank}: has not called MPI_Init yet: ")))
        };
        assert!(both || each(), "{}", why.describe());
        job.is_ended(Duration::from_secs(30), LIMIT);
        drop(job);
        (0..6).for_each(|rank| std::fs::remove_file(hosts.dir.path().join(format!("ready.{rank}"))).unwrap());
    }
}
