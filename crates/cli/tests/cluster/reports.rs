//! One report for the whole job, with any launcher.

use crate::common::{
    Hosts, Job, LIMIT, MPISCOPE, alone, compile, launcher, launcher_of, libraries, one, reaches, srun,
};
use crate::live::until_all_have_come;
use mpiscope_testkit::mpi::Library;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns the rank and host of each process in a report.
fn places(report: &Value) -> Vec<(u64, String)> {
    let place = |rank: &Value| (rank["rank"].as_u64().unwrap(), rank["host"].as_str().unwrap().to_owned());
    report["ranks"].as_array().unwrap().iter().map(place).collect()
}

fn wanted() -> Vec<(u64, String)> {
    (0..6).map(|rank| (rank, format!("n{}", rank / 2 + 1))).collect()
}

/// Checks that all ranks are present once, and that the totals are the sums over them.
fn complete(report: &Value, all: &str) {
    assert_eq!(places(report), wanted(), "{all}");
    for function in report["functions"].as_array().unwrap() {
        let name = function["name"].as_str().unwrap();
        let count = |rank: &Value| rank["calls"][name]["count"].as_u64().unwrap_or(0);
        let sum: u64 = report["ranks"].as_array().unwrap().iter().map(count).sum();
        assert_eq!(function["total"]["count"].as_u64(), Some(sum), "{name}: {all}");
    }
    let init = report["functions"].as_array().unwrap().iter().find(|f| f["name"] == "MPI_Init").unwrap();
    assert_eq!(init["total"]["count"], 6, "{all}");
}

/// Runs a command on the head node, and checks its report and evidence file.
fn whole(hosts: &Hosts, library: &Library, words: &[String], out: &str) {
    let (program, arguments) = words.split_first().unwrap();
    let mut command = hosts.on("login", program, library);
    let outcome = hosts.run(command.args(arguments).current_dir("/"));
    let all = format!("{} {words:?}\n{}", library.name, outcome.describe());
    assert!(outcome.success(), "{all}");
    let report = hosts.report(out).unwrap_or_else(|| panic!("no report: {all}"));
    complete(&report, &all);
    assert_eq!(outcome.stderr.matches("mpiscope: ").count(), 1, "one report: {all}");
    let evidence = hosts.dir.path().join(out).join("evidence.mpiscope");
    let mut ps = hosts.on("login", MPISCOPE, library);
    let shown = hosts.run(ps.args(["ps", "--json"]).arg(evidence));
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{all}"));
    assert_eq!(places(&shown), wanted(), "{all}");
}

fn words(parts: &[&[String]]) -> Vec<String> {
    parts.concat()
}

fn run(out: &Path) -> Vec<String> {
    [MPISCOPE, "run", "--out", &out.display().to_string()].map(str::to_owned).to_vec()
}

pub fn every_launcher_gives_one_report_of_all_hosts() {
    let _turn = alone();
    let hosts = Hosts::new(false);
    for library in libraries() {
        let program = [compile(&library, "acquire/idle", hosts.dir.path()).display().to_string()];
        let out = format!("before-{}", library.name);
        let before = words(&[&run(&hosts.dir.path().join(&out)), &launcher(&library), &program]);
        whole(&hosts, &library, &before, &out);
    }
    let library = one();
    let program = [compile(&library, "acquire/idle", hosts.dir.path()).display().to_string()];
    let after = words(&[&launcher(&library), &run(&hosts.dir.path().join("after")), &program]);
    whole(&hosts, &library, &after, "after");
    differ(&hosts, &library, &format!("before-{}", library.name), "after");
}

/// Checks that two reports of the same hosts are compared rank by rank.
fn differ(hosts: &Hosts, library: &Library, before: &str, after: &str) {
    let mut diff = hosts.on("login", MPISCOPE, library);
    let dirs = [before, after].map(|out| hosts.dir.path().join(out));
    let outcome = hosts.run(diff.args(["diff", "--json"]).args(dirs));
    let found: Value =
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{}", outcome.describe()));
    let [before, after] = [before, after].map(|out| hosts.report(out).unwrap());
    let useful = |report: &Value, rank: usize| {
        let rank = &report["ranks"][rank];
        rank["wall_s"].as_f64().unwrap() * rank["useful_share"].as_f64().unwrap()
    };
    let ranks = found["ranks"].as_array().unwrap();
    let mut names: Vec<&str> = ranks.iter().map(|rank| rank["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["rank 0", "rank 1", "rank 2", "rank 3", "rank 4", "rank 5"], "{found:#}");
    for rank in ranks {
        let number: usize = rank["name"].as_str().unwrap()[5..].parse().unwrap();
        let near =
            |name: &str, report: &Value| (rank[name].as_f64().unwrap() - useful(report, number)).abs() < 1e-3;
        assert!(near("before", &before) && near("after", &after), "{rank:#}");
    }
    let unlike: Vec<&str> = found["unlike"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(unlike.iter().all(|why| why.starts_with("command: ")), "{unlike:?}");
}

/// What `waits.c` reports for each part: kind, line, late rank, seconds.
struct Known<'a> {
    kind: &'a str,
    line: String,
    culprit: &'a str,
    seconds: f64,
}

fn known(line: &str) -> Known<'_> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kind, line, culprit, seconds] = words[..] else { panic!("not understood: {line}") };
    Known { kind, line: format!("waits.c:{line}"), culprit, seconds: seconds.parse().unwrap() }
}

/// How long a launcher may take to end when asked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Tolerance in addition to 5 %: a process may be descheduled between reading the clock and the call.
const SLACK: f64 = 0.03;

pub fn waits_between_hosts_with_different_clocks_are_measured_correctly() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    // With two ranks per host messages stay on one host; with one rank they cross hosts.
    for each in [2, 1] {
        waits_are_known(&hosts, &library, each);
    }
}

fn waits_are_known(hosts: &Hosts, library: &Library, each: usize) {
    let (program, out) =
        (compile(library, "waits", hosts.dir.path()).display().to_string(), format!("out{each}"));
    let all = words(&[&run(&hosts.dir.path().join(&out)), &launcher_of(library, each), &[program]]);
    let mut command = hosts.on("login", MPISCOPE, library);
    command.args(&all[1..]).args(["0.15", "of-the-day"]).env("MPISCOPE_RECORD_MESSAGES", "1");
    let outcome = hosts.run(&mut command);
    let said = outcome.describe();
    assert!(outcome.success(), "{said}");
    let report = hosts.report(&out).unwrap_or_else(|| panic!("no report: {said}"));
    let waits = &report["waits"];
    assert_eq!(waits["one_clock"], true, "{waits:#}");
    let error = waits["clocks_error_s"].as_f64().unwrap();
    for host in report["hosts"].as_array().unwrap() {
        // Each host has been up for that much longer than the head node.
        let number: f64 = host["host"].as_str().unwrap()[1..].parse().unwrap();
        let (later, off) = (host["clock_later_s"].as_f64().unwrap(), host["clock_error_s"].as_f64().unwrap());
        assert!((later + 1000.0 * number).abs() <= off && off <= error, "{host:#}");
    }
    let list = waits["list"].as_array().unwrap();
    let seconds = |wait: &&Value| wait["seconds"].as_f64().unwrap();
    for part in outcome.stdout.lines().map(known) {
        let here =
            list.iter().filter(|wait| wait["line"].as_str().is_some_and(|at| at.ends_with(&part.line)));
        let right = |wait: &&Value| wait["kind"] == part.kind && wait["culprit"] == part.culprit;
        let (right, wrong): (Vec<&Value>, Vec<&Value>) = here.partition(right);
        let found: f64 = right.iter().map(seconds).sum();
        // Each waiting rank may be off by the clock error.
        let allowed = 0.05 * part.seconds + SLACK + (3 * each - 1) as f64 * error;
        assert!((found - part.seconds).abs() <= allowed, "{} s at {}: {list:#?}", part.seconds, part.line);
        assert!(
            wrong.iter().map(seconds).sum::<f64>() <= allowed,
            "others are named at {}: {list:#?}",
            part.line
        );
    }
    let windows = &report["windows"];
    let ranks: Vec<&str> = windows["ranks"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(ranks, ["0", "1", "2", "3", "4", "5"][..3 * each], "{windows:#}");
    let there =
        |window: &Value| window["mpi"].as_array().unwrap().iter().filter(|share| !share.is_null()).count();
    let list = windows["list"].as_array().unwrap();
    assert!(list.len() > 4 && list.iter().any(|window| there(window) == 3 * each), "{windows:#}");
    // With unsynchronized clocks the ranks of one host would appear a thousand seconds later.
    let wall = report["wall_s"].as_f64().unwrap();
    let last = list.last().unwrap()["from_s"].as_f64().unwrap();
    assert!(last <= wall + 1.0, "{last} s of {wall} s: {windows:#}");
}

pub fn srun_gives_one_report_in_both_forms() {
    let _turn = alone();
    let hosts = Hosts::new(true);
    let srun = srun();
    for library in libraries().into_iter().filter(|library| library.name.starts_with("mpich")) {
        let program = [compile(&library, "acquire/idle", hosts.dir.path()).display().to_string()];
        for (form, before) in [("before", true), ("after", false)] {
            let out = format!("{form}-{}", library.name);
            let run = run(&hosts.dir.path().join(&out));
            let all = if before { words(&[&run, &srun, &program]) } else { words(&[&srun, &run, &program]) };
            whole(&hosts, &library, &all, &out);
        }
    }
}

pub fn a_rank_killed_on_another_host_is_in_the_report() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let program =
        [compile(&library, "ending", hosts.dir.path()).display().to_string(), "kill-one".to_owned()];
    let srun: Vec<String> = "srun -K -N 3 -n 6 --mpi=pmi2".split(' ').map(str::to_owned).collect();
    for (out, launcher) in [("ssh", launcher(&library)), ("slurm", srun)] {
        let all = words(&[&run(&hosts.dir.path().join(out)), &launcher, &program]);
        let mut command = hosts.on("login", MPISCOPE, &library);
        let outcome = hosts.run(command.args(&all[1..]));
        let said = format!("{out}\n{}", outcome.describe());
        assert!(!outcome.success() && !outcome.timed_out, "{said}");
        let report = hosts.report(out).unwrap_or_else(|| panic!("no report: {said}"));
        assert_eq!(places(&report), wanted(), "{said}");
        assert_eq!(report["ranks"][5]["ending"]["signal"], 9, "{said}");
        assert!(report["ranks"].as_array().unwrap().iter().all(|rank| rank["finalized"] == false), "{said}");
    }
}

pub fn a_job_ended_by_mpi_abort_under_slurm_and_one_whose_mpiscope_run_is_killed_are_reported() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let start = |out: &str, program: &str| {
        let dir = hosts.dir.path().join(out);
        std::fs::create_dir(&dir).unwrap();
        let program = compile(&library, program, hosts.dir.path()).display().to_string();
        let all = words(&[&run(&dir), &srun(), &[program, dir.display().to_string()]]);
        let mut command = hosts.on("login", MPISCOPE, &library);
        let job = Job::start(command.args(&all[1..]), &dir.join("said"));
        reaches(&dir.join("at.idle.1"), &dir.join("said"));
        until_all_have_come(&hosts, &library);
        (job, dir)
    };
    let text = |dir: &Path| std::fs::read_to_string(dir.join("said")).unwrap();

    let (mut job, dir) = start("all", "acquire/abort");
    // The first snapshot is taken after two seconds.
    std::thread::sleep(Duration::from_secs(4));
    std::fs::write(dir.join("go.1"), "").unwrap();
    job.ends(LIMIT);
    let report = hosts.report("all").unwrap_or_else(|| panic!("no report: {}", text(&dir)));
    assert_eq!(places(&report), wanted(), "{}", text(&dir));
    // Slurm may kill a host's ranks and what would send its part: then it is represented by its last snapshot, and nobody
    // knows that its ranks still run.
    let said = text(&dir);
    assert_eq!(said.contains("what is shown of ranks ["), said.contains("end not seen"), "{said}");
    assert!(!said.contains("still running"), "{said}");

    let (job, dir) = start("first", "acquire/idle");
    job.signal(rustix::process::Signal::KILL);
    std::fs::write(dir.join("go.1"), "").unwrap();
    reaches(&dir.join("report.json"), &dir.join("said"));
    let all = text(&dir);
    complete(&hosts.report("first").unwrap(), &all);
    assert!(!all.contains("missing") && !all.contains("cannot be sent"), "{all}");
}

pub fn a_report_that_a_launcher_passes_on_to_nobody_is_in_a_file() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let dir = hosts.dir.path();
    let (here, said) = (dir.display().to_string(), dir.join("said"));
    let program = compile(&library, "acquire/abort", dir).display().to_string();
    let all = words(&[&launcher(&library), &[MPISCOPE, "run", &program, &here].map(str::to_owned)]);
    let mut command = hosts.on("login", "env", &library);
    let mut job = Job::start(command.args(["-C", &here]).args(&all), &said);
    reaches(&dir.join("at.idle.1"), &said);
    std::fs::write(dir.join("go.1"), "").unwrap();
    job.ends(LIMIT);
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        (name.starts_with("mpiscope-report-") && name.ends_with(".txt")).then(|| entry.path())
    };
    let until = Instant::now() + LIMIT;
    let report = loop {
        match std::fs::read_dir(dir).unwrap().flatten().find_map(file) {
            Some(report) => break std::fs::read_to_string(report).unwrap(),
            None => assert!(Instant::now() < until, "{}", std::fs::read_to_string(&said).unwrap()),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(report.contains("6 ranks on 3 hosts: n1 [0-1], n2 [2-3], n3 [4-5]"), "{report}");
    assert!(report.contains("rank 2: called MPI_Abort with code 7"), "{report}");
}

pub fn lost_hosts_are_named_in_bounded_time() {
    let _turn = alone();
    let library = one();
    for (what, lost) in [("killed", "n3"), ("cut", "n2")] {
        let hosts = Hosts::new(false);
        let dir = hosts.dir.path();
        let program = compile(&library, "acquire/idle", dir).display().to_string();
        let all =
            words(&[&run(&dir.join("out")), &launcher(&library), &[program, dir.display().to_string()]]);
        let said = dir.join("said");
        let mut command = hosts.on("login", MPISCOPE, &library);
        command.env("MPISCOPE_HOST_SECONDS", "15");
        let of_itself = what == "cut";
        command.arg("run").args(of_itself.then_some(["--lost-after", "9"]).into_iter().flatten());
        let mut job = Job::start(command.args(&all[2..]), &said);
        reaches(&dir.join("at.idle.1"), &said);
        until_all_have_come(&hosts, &library);
        match what {
            "killed" => hosts.kill(lost),
            _ => hosts.cut(lost),
        }
        // The launcher may wait forever for what it has lost; then the job is terminated.
        if of_itself {
            job.ends(LIMIT);
        } else {
            job.is_ended(PATIENCE, LIMIT);
        }
        let text = std::fs::read_to_string(&said).unwrap();
        let report = hosts.report("out").unwrap_or_else(|| panic!("{what}: no report: {text}"));
        let here: Vec<_> = wanted().into_iter().filter(|(_, host)| host != lost).collect();
        let ranks = if lost == "n3" { "[4-5]" } else { "[2-3]" };
        // The first snapshot of a host is taken after two seconds.
        let earlier = text.contains(&format!("what is shown of ranks {ranks} was seen "));
        assert_eq!(places(&report), if earlier { wanted() } else { here }, "{what}: {text}");
        assert!(
            text.contains(&format!("host {lost} "))
                && earlier != text.contains(&format!("ranks {ranks} missing")),
            "{what}: {text}"
        );
        let output = format!("host {lost} with ranks {ranks} has not answered for ");
        assert!(
            !of_itself || text.contains(&output) && text.contains("after 9 s the job is ended"),
            "{text}"
        );
    }
}

/// Disconnects a host from the network or reconnects it.
fn link(hosts: &Hosts, library: &Library, host: &str, state: &str) {
    let set = hosts.run(hosts.on(host, "ip", library).args(["link", "set", "eth0", state]));
    assert!(set.success(), "{}", set.describe());
}

pub fn a_temporarily_disconnected_host_is_in_the_report_and_not_called_lost() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let dir = hosts.dir.path();
    let program = compile(&library, "acquire/idle", dir).display().to_string();
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, &library);
    // Without `--out`, the connection is the only way between the hosts.
    command.arg("run").args(launcher(&library)).arg(program).arg(dir).env("MPISCOPE_HOST_SECONDS", "10");
    let mut job = Job::start(&mut command, &said);
    reaches(&dir.join("at.idle.1"), &said);
    until_all_have_come(&hosts, &library);
    link(&hosts, &library, "n3", "down");
    // Long enough for its connection to be given up.
    std::thread::sleep(Duration::from_secs(20));
    let text = std::fs::read_to_string(&said).unwrap();
    assert!(text.contains("host n3 with ranks [4-5] has not answered for 8 s"), "{text}");
    link(&hosts, &library, "n3", "up");
    std::thread::sleep(Duration::from_secs(12));
    std::fs::write(dir.join("go.1"), "").unwrap();
    job.ends(LIMIT);
    let text = std::fs::read_to_string(&said).unwrap();
    assert!(text.contains("6 ranks on 3 hosts: n1 [0-1], n2 [2-3], n3 [4-5]"), "{text}");
    assert!(!text.contains("missing") && !text.contains("cannot be sent"), "{text}");
}

pub fn a_host_with_a_failed_connection_sends_through_the_folder_and_is_not_called_missing() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let dir = hosts.dir.path();
    let program = compile(&library, "acquire/idle", dir).display().to_string();
    let all = words(&[&run(&dir.join("out")), &launcher(&library), &[program, dir.display().to_string()]]);
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, &library);
    let mut job = Job::start(command.args(&all[1..]).env("MPISCOPE_HOST_SECONDS", "10"), &said);
    reaches(&dir.join("at.idle.1"), &said);
    until_all_have_come(&hosts, &library);
    link(&hosts, &library, "n3", "down");
    std::thread::sleep(Duration::from_secs(20));
    // Its ranks end before it has reconnected.
    std::fs::write(dir.join("go.1"), "").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    link(&hosts, &library, "n3", "up");
    job.ends(LIMIT);
    let text = std::fs::read_to_string(&said).unwrap();
    complete(&hosts.report("out").unwrap_or_else(|| panic!("no report: {text}")), &text);
    assert!(!text.contains("missing"), "{text}");
}
