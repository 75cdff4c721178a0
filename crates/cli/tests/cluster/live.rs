//! Verbs on a running job, from each host.

use crate::common::{Hosts, Job, MPISCOPE, alone, compile, launcher, one, reaches, srun};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::run::Outcome;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub fn wanted() -> Vec<(u64, String)> {
    (0..6).map(|rank| (rank, format!("n{}", rank / 2 + 1))).collect()
}

pub fn places(list: &Value) -> Vec<(u64, String)> {
    let place = |rank: &Value| (rank["rank"].as_u64().unwrap(), rank["host"].as_str().unwrap().to_owned());
    list.as_array().map(|list| list.iter().map(place).collect()).unwrap_or_default()
}

/// Returns the JSON output of a verb on a host.
pub fn ask(hosts: &Hosts, host: &str, library: &Library, words: &[&str]) -> (Value, String) {
    ask_with(hosts, host, library, words, |_| {})
}

/// Like [`ask`], with a modified command.
pub fn ask_with(
    hosts: &Hosts,
    host: &str,
    library: &Library,
    words: &[&str],
    change: impl Fn(&mut Command),
) -> (Value, String) {
    let mut command = hosts.on(host, MPISCOPE, library);
    change(&mut command);
    let outcome = hosts.run(command.args(words).arg("--json").env("MPISCOPE_HOST_SECONDS", "20"));
    let all = format!("{words:?} on {host}\n{}", outcome.describe());
    (serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null), all)
}

/// Starts a job of six ranks that wait for a file.
fn start(hosts: &Hosts, library: &Library, launcher: &[String]) -> Job {
    start_with(hosts, library, launcher, |_| {})
}

/// Like [`start`], with a modified command.
pub fn start_with(
    hosts: &Hosts,
    library: &Library,
    launcher: &[String],
    change: impl Fn(&mut Command),
) -> Job {
    let dir = hosts.dir.path();
    let program = compile(library, "acquire/idle", dir);
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, library);
    change(&mut command);
    command.args(["run", "--quiet", "--hang-after", "0"]).args(launcher).arg(program).arg(dir);
    let job = Job::start(&mut command, &said);
    reaches(&dir.join("at.idle.1"), &said);
    job
}

pub fn ends(mut job: Job, dir: &Path) {
    fs::write(dir.join("go.1"), "").unwrap();
    job.ends(Duration::from_secs(60));
}

pub fn a_slurm_job_is_seen_completely_by_its_id_from_the_login_node_and_each_host() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let srun = srun();
    let job = start(&hosts, &library, &srun);
    let queue = hosts.run(hosts.on("login", "squeue", &library).args(["-h", "-o", "%i"]));
    let (number, named) = (queue.stdout.trim().to_owned(), format!("slurm:{}", queue.stdout.trim()));
    for host in ["login", "n1", "n3"] {
        let (ps, all) = ask(&hosts, host, &library, &["ps", &named]);
        assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
        assert_eq!(ps["errors"], Value::Array(Vec::new()), "{all}");
    }
    let (ps, all) = ask(&hosts, "login", &library, &["ps", &number]);
    assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
    let (why, all) = ask(&hosts, "login", &library, &["why", "--for", "0.2", &named]);
    assert_eq!(why["not_seen"], Value::Array(Vec::new()), "{all}");
    let (inspect, all) = ask(&hosts, "login", &library, &["inspect", &named]);
    assert_eq!(places(&inspect["ranks"]), wanted(), "{all}");
    let (report, all) = ask(&hosts, "n2", &library, &["report", &named]);
    assert_eq!(places(&report["ranks"]), wanted(), "{all}");
    let (top, all) = ask(&hosts, "login", &library, &["top", "--once", "--interval", "0.5", &named]);
    let ranks = top["ranks"].as_array().into_iter().flatten().filter_map(|rank| rank["rank"].as_str());
    assert_eq!(ranks.collect::<Vec<_>>(), ["0", "1", "2", "3", "4", "5"], "{all}");
    let metrics = hosts.run(hosts.on("n1", MPISCOPE, &library).args(["metrics", &named]));
    let line = metrics.stdout.lines().find(|line| line.starts_with("mpiscope_ranks{")).unwrap_or_default();
    assert!(line.ends_with(" 6") || line.ends_with(" 6.0"), "{}", metrics.describe());
    let (queues, all) = ask(&hosts, "login", &library, &["queues", &named]);
    assert_eq!(queues["not_seen"], Value::Array(Vec::new()), "{all}");
    let (vars, all) = ask(&hosts, "login", &library, &["vars", &named]);
    assert!(all.contains("exit status: 0") && !vars.is_null(), "{all}");
    let saved = hosts.dir.path().join("saved.mpiscope");
    let save = hosts.run(hosts.on("login", MPISCOPE, &library).arg("save").arg(&named).arg(&saved));
    assert!(save.success(), "{}", save.describe());
    let (ps, all) = ask(&hosts, "login", &library, &["ps", &saved.display().to_string()]);
    assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
    // Through Slurm, like the other verbs: `ssh` reaches no host.
    let mut attach = hosts.on("login", MPISCOPE, &library);
    attach.args(["attach", "--batch", "bt 1", "--json", &named]);
    without_ssh(&mut attach, hosts.dir.path());
    let attach = hosts.run(&mut attach);
    let answers: Value = serde_json::from_str(attach.stdout.trim()).unwrap_or_default();
    let of =
        answers["outputs"].as_array().into_iter().flatten().filter(|one| one["text"].is_string()).count();
    assert!(attach.success() && of == 6, "{}", attach.describe());
    let (none, all) = ask(&hosts, "login", &library, &["ps", "slurm:99999"]);
    assert!(none.is_null() && all.contains("Slurm has no job with this id"), "{all}");
    ends(job, hosts.dir.path());
}

/// Puts an `ssh` that fails first in the path.
pub fn without_ssh(command: &mut Command, dir: &Path) {
    let fails = dir.join("no-ssh");
    fs::create_dir_all(&fails).unwrap();
    let _there = std::os::unix::fs::symlink("/bin/false", fails.join("ssh"));
    let path = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value)).flatten();
    let path = path.map_or_else(|| std::env::var_os("PATH").unwrap_or_default(), ToOwned::to_owned);
    let paths = std::iter::once(fails).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(paths).unwrap());
}

/// Where the starting process announces the hosts that have connected.
const ANNOUNCED: &str = "/dev/shm/mpiscope-*/*.hosts";

/// How long a connected host may take to report its ranks.
const SAYS_ITS_RANKS: Duration = Duration::from_secs(3);

/// Waits until the starting process knows all hosts: a host lost earlier cannot be named.
pub fn until_all_have_come(hosts: &Hosts, library: &Library) {
    let end = Instant::now() + Duration::from_secs(60);
    let read = format!("cat {ANNOUNCED}");
    loop {
        let said = hosts.run(hosts.on("login", "sh", library).args(["-c", &read])).stdout;
        if ["n1", "n2", "n3"].iter().all(|host| said.contains(&format!("\"{host}\""))) {
            return thread::sleep(SAYS_ITS_RANKS);
        }
        assert!(Instant::now() < end, "{said}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Changes the announcement to these hosts.
fn announce(hosts: &Hosts, library: &Library, come: &str) {
    let write = format!("sed -i 's/\"hosts\":\\[[^]]*\\]/\"hosts\":[\"{come}\"]/' {ANNOUNCED}");
    let outcome = hosts.run(hosts.on("login", "sh", library).args(["-c", &write]));
    assert!(outcome.success(), "{}", outcome.describe());
}

pub fn a_job_started_by_ssh_is_seen_completely_and_a_disconnected_host_costs_only_its_own_ranks() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let job = start(&hosts, &library, &launcher(&library));
    // On this host only the starting process runs.
    let (ps, all) = ask(&hosts, "login", &library, &["ps"]);
    assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
    let (ps, all) = ask(&hosts, "n2", &library, &["ps"]);
    assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
    // While hosts are still connecting, those that have connected know of the others.
    until_all_have_come(&hosts, &library);
    for come in ["n3", "n1", "n1\",\"n2\",\"n3"] {
        announce(&hosts, &library, come);
        let (ps, all) = ask(&hosts, "login", &library, &["ps"]);
        assert_eq!(places(&ps["ranks"]), wanted(), "{all}");
        assert_eq!(ps["errors"], Value::Array(Vec::new()), "{all}");
    }
    hosts.cut("n3");
    let began = Instant::now();
    let mut command = hosts.on("login", MPISCOPE, &library);
    let outcome = hosts.run(command.args(["ps", "--json"]).env("MPISCOPE_HOST_SECONDS", "3"));
    let took = began.elapsed();
    let ps: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
    assert_eq!(places(&ps["ranks"]), wanted()[..4], "{}", outcome.describe());
    assert!(ps["errors"].to_string().contains("n3"), "{}", outcome.describe());
    assert!(took < Duration::from_secs(20), "{took:?}");
    // The remaining part may be fine, but that is not an answer for the whole job.
    let mut command = hosts.on("login", MPISCOPE, &library);
    let outcome = hosts.run(command.args(["vars"]).env("MPISCOPE_HOST_SECONDS", "3"));
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.describe());
    let mut command = hosts.on("login", MPISCOPE, &library);
    let outcome = hosts.run(command.args(["why", "--json"]).env("MPISCOPE_HOST_SECONDS", "3"));
    let why: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or(Value::Null);
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.describe());
    assert!(why["partial"] == Value::Bool(true) && why["not_seen"].to_string().contains("n3"), "{why:#}");
    // Only the ranks that answer are listed, but the missing ones are named.
    let mut command = hosts.on("login", MPISCOPE, &library);
    let outcome = hosts.run(command.arg("procs").env("MPISCOPE_HOST_SECONDS", "3"));
    assert!(outcome.stderr.contains("host n3: ranks [4-5] not seen"), "{}", outcome.describe());
    job.terminate();
    drop(job);
}

pub fn top_shows_the_ranks_of_all_hosts_and_says_which_host_does_not_answer() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let job = start(&hosts, &library, &launcher(&library));
    until_all_have_come(&hosts, &library);
    let top = |host: &str, more: &[&str]| {
        let mut command = hosts.on(host, MPISCOPE, &library);
        command.args(["top", "--once", "--interval", "0.5"]).args(more).env("MPISCOPE_HOST_SECONDS", "3");
        hosts.run(&mut command)
    };
    let ranks = |outcome: &Outcome| {
        let line: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or_default();
        let place = |rank: &Value| {
            let number = rank["rank"].as_str().and_then(|number| number.parse::<u64>().ok());
            (number.unwrap(), rank["host"].as_str().unwrap().to_owned())
        };
        line["ranks"].as_array().map_or_else(Vec::new, |all| all.iter().map(place).collect())
    };
    for host in ["login", "n2"] {
        let outcome = top(host, &["--json"]);
        assert_eq!(ranks(&outcome), wanted(), "{}", outcome.describe());
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.describe());
        let text = top(host, &[]);
        assert!(text.stdout.contains("6 ranks on 3 hosts"), "{}", text.describe());
        let rows = text.stdout.lines().skip_while(|line| !line.starts_with("RANK")).skip(1);
        assert_eq!(rows.count(), 6, "{}", text.describe());
    }
    let here = top("n2", &["--here", "--json"]);
    assert_eq!(ranks(&here), wanted()[2..4], "{}", here.describe());
    hosts.cut("n3");
    let outcome = top("login", &["--json"]);
    assert_eq!(ranks(&outcome), wanted()[..4], "{}", outcome.describe());
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.describe());
    let text = top("login", &[]);
    assert!(text.stdout.contains("not seen") && text.stdout.contains("n3"), "{}", text.describe());
    job.terminate();
    drop(job);
}
