//! A job that hangs on many hosts gets one verdict, from one of them.

use crate::common::{Hosts, Job, LIMIT, MPISCOPE, alone, compile, launcher, libraries, one, reaches, srun};
use mpiscope_testkit::mpi::Library;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a launcher may take to end after losing its ranks.
const PATIENCE: Duration = Duration::from_secs(5);
const RING: &str = "deadlock: 0 -> 5 -> 4 -> 3 -> 2 -> 1 -> 0";

/// Six ranks on three hosts, in a separate folder.
struct Hanging<'a> {
    hosts: &'a Hosts,
    library: &'a Library,
    folder: PathBuf,
    job: Job,
}

impl<'a> Hanging<'a> {
    /// Starts `mpiscope run` with these options, before the launcher or before the program.
    fn start(
        (hosts, library): (&'a Hosts, &'a Library),
        name: &str,
        (options, before): (&str, bool),
        launcher: &[String],
        scenario: &str,
    ) -> Self {
        let folder = hosts.dir.path().join(format!("{name}-{}", library.name));
        std::fs::create_dir(&folder).unwrap();
        let program = compile(library, "hang", hosts.dir.path()).display().to_string();
        let run = format!("{MPISCOPE} run {options} --out {}", folder.join("out").display());
        let run: Vec<String> = run.split(' ').map(str::to_owned).collect();
        let (first, then) = if before { (run.as_slice(), launcher) } else { (launcher, run.as_slice()) };
        let words = [first, then, &[program, scenario.to_owned()]].concat();
        let (word, others) = words.split_first().unwrap();
        let mut command = hosts.on("login", word, library);
        let job = Job::start(command.args(others).current_dir(&folder), &folder.join("said"));
        Self { hosts, library, folder, job }
    }

    fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Waits until the verdict and the evidence file have been written.
    fn is_judged(&self) {
        reaches(&self.out().join("why.json"), &self.folder.join("said"));
        reaches(&self.out().join("hang.mpiscope"), &self.folder.join("said"));
    }

    /// Terminates the job and returns its output.
    fn end(mut self) -> String {
        self.job.is_ended(PATIENCE, LIMIT);
        self.said()
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.folder.join("said")).unwrap()
    }

    /// Returns the output of `why` for the saved evidence.
    fn saved(&self) -> (Value, String) {
        let mut why = self.hosts.on("login", MPISCOPE, self.library);
        let outcome = self.hosts.run(why.args(["why", "--json"]).arg(self.out().join("hang.mpiscope")));
        (serde_json::from_str(&outcome.stdout).unwrap_or_default(), outcome.describe())
    }
}

/// Checks that the verdict covers all ranks and agrees with the evidence file.
fn is_whole(hanging: &Hanging<'_>) {
    let (saved, all) = hanging.saved();
    let verdict = saved["verdict"].as_str().unwrap_or_default().to_owned();
    assert!(verdict.starts_with(RING), "{all}");
    assert_eq!((&saved["kind"], &saved["partial"]), (&"deadlock".into(), &false.into()), "{all}");
    let said: Value =
        serde_json::from_slice(&std::fs::read(hanging.out().join("why.json")).unwrap()).unwrap();
    assert_eq!(said["verdict"], saved["verdict"], "{all}");
}

/// Checks that exactly one process reported the verdict.
fn is_said_once(said: &str) {
    assert_eq!(said.matches("deadlock: ").count(), 1, "{said}");
    assert!(said.contains(RING), "{said}");
}

pub fn a_job_hanging_on_many_hosts_gets_one_verdict_from_one_host() {
    let _turn = alone();
    let hosts = Hosts::new(false);
    let judge = |library: &Library, name, before| {
        let parts = (&hosts, library);
        let hanging =
            Hanging::start(parts, name, ("--hang-after 2", before), &launcher(library), "ring_of_receives");
        hanging.is_judged();
        is_whole(&hanging);
        is_said_once(&hanging.end());
    };
    libraries().iter().for_each(|library| judge(library, "before", true));
    judge(&one(), "after", false);
}

pub fn ranks_of_several_hosts_that_can_never_continue_are_reported_while_others_work() {
    let _turn = alone();
    let hosts = Hosts::new(false);
    libraries().iter().for_each(|library| {
        reports_some(&hosts, library, ("pair", true), "a_pair_hangs_while_others_exchange", &[1, 3]);
    });
    // None of these ranks is on the host that reports.
    reports_some(&hosts, &one(), ("after", false), "another_pair_hangs_while_others_exchange", &[3, 5]);
}

/// Checks that two ranks that wait for each other are reported once, while the others exchange.
fn reports_some(
    hosts: &Hosts,
    library: &Library,
    (name, before): (&str, bool),
    scenario: &str,
    [first, second]: &[u32; 2],
) {
    let options = ("--hang-after 2", before);
    let hanging = Hanging::start((hosts, library), name, options, &launcher(library), scenario);
    hanging.is_judged();
    let (saved, all) = hanging.saved();
    assert_eq!((&saved["kind"], &saved["partial"]), (&"deadlock".into(), &false.into()), "{all}");
    let said = hanging.end();
    let when = format!("mpiscope: ranks [{first},{second}] have completed no MPI call for ");
    assert_eq!(said.matches(&format!("deadlock: {first} -> {second} -> {first}")).count(), 1, "{said}");
    assert!(said.contains(&when) && said.contains("and never can"), "{said}");
}

pub fn a_hanging_slurm_job_gets_one_verdict_in_both_forms_and_when_cancelled() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    for (name, before) in [("slurm-before", true), ("slurm-after", false)] {
        let options = ("--hang-after 2", before);
        let hanging = Hanging::start((&hosts, &library), name, options, &srun(), "ring_of_receives");
        hanging.is_judged();
        is_whole(&hanging);
        is_said_once(&cancelled(hanging));
    }
    let options = ("--hang-after 60", true);
    let hanging = Hanging::start((&hosts, &library), "cancelled", options, &srun(), "ring_of_receives");
    hangs_unsaid(&hanging);
    let out = hanging.out();
    let said = cancelled(hanging);
    is_said_once(&said);
    assert!(said.contains("before the end: deadlock"), "{said}");
    assert!(out.join("hang.mpiscope").is_file(), "{said}");
}

pub fn ending_a_job_that_hangs_on_many_hosts_explains_the_hang() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let options = ("--hang-after 60", true);
    let parts = (&hosts, &library);
    let hanging = Hanging::start(parts, "ended", options, &launcher(&library), "ring_of_receives");
    hangs_unsaid(&hanging);
    let out = hanging.out();
    let said = hanging.end();
    is_said_once(&said);
    assert!(said.contains("before the end: deadlock"), "{said}");
    assert!(out.join("hang.mpiscope").is_file(), "{said}");
}

pub fn a_job_on_many_hosts_that_waits_for_a_computing_rank_is_not_called_hanging() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    for (name, before) in [("slow-before", true), ("slow-after", false)] {
        let options = ("--hang-after 1", before);
        let slow = Hanging::start((&hosts, &library), name, options, &launcher(&library), "one_computes");
        hangs_unsaid(&slow);
        std::thread::sleep(Duration::from_secs(6));
        let out = slow.out();
        assert!(!out.join("why.json").exists() && !out.join("hang.mpiscope").exists());
        let said = slow.end();
        assert!(!said.contains("no rank has completed") && !said.contains("before the end"), "{said}");
        assert!(
            !before || said.contains("when it was ended, no rank had completed an MPI call for"),
            "{said}"
        );
    }
}

/// Waits until `ps` on a host sees the ranks wait.
fn hangs_unsaid(hanging: &Hanging<'_>) {
    let until = Instant::now() + LIMIT;
    loop {
        let mut ps = hanging.hosts.on("n1", MPISCOPE, hanging.library);
        let outcome = hanging.hosts.run(ps.args(["ps", "--json"]));
        let seen: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        let long = |thread: &Value| thread["age_s"].as_f64().is_some_and(|age| age > 0.5);
        let waits = |rank: &&Value| rank["threads"][0]["call"].is_object() && long(&rank["threads"][0]);
        let ranks = seen["ranks"].as_array().map_or(0, |ranks| ranks.iter().filter(waits).count());
        if ranks >= 5 {
            // Readings of the progress are a second apart.
            return std::thread::sleep(Duration::from_secs(3));
        }
        assert!(Instant::now() < until, "{}\n{}", outcome.describe(), hanging.said());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Cancels the job through Slurm.
fn cancelled(mut hanging: Hanging<'_>) -> String {
    let squeue = |hosts: &Hosts, library: &Library| {
        hosts.run(hosts.on("login", "squeue", library).args(["--noheader", "--format", "%i"])).stdout
    };
    let jobs = squeue(hanging.hosts, hanging.library);
    let mut scancel = hanging.hosts.on("login", "scancel", hanging.library);
    let outcome = hanging.hosts.run(scancel.args(jobs.split_whitespace()));
    assert!(outcome.success(), "{}", outcome.describe());
    hanging.job.ends(LIMIT);
    report_is_there(&hanging.out(), &hanging);
    hanging.said()
}

/// Waits for the report, which in the second form may come after the launcher has ended.
fn report_is_there(out: &Path, hanging: &Hanging<'_>) {
    reaches(&out.join("report.json"), &hanging.folder.join("said"));
}
