//! Jobs as Slurm knows them: steps, arrays, heterogeneous jobs, and jobs that do not run.

use crate::common::{Hosts, MPISCOPE, alone, compile, one, reaches};
use crate::live::{ask, places};
use mpiscope_testkit::mpi::Library;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A job submitted to Slurm; it is cancelled on drop.
struct Batch<'a> {
    hosts: &'a Hosts,
    library: &'a Library,
    number: String,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let _ended = self.hosts.run(self.hosts.on("login", "scancel", self.library).arg(&self.number));
    }
}

impl<'a> Batch<'a> {
    /// Submits shell commands with these options of `sbatch`.
    fn new(hosts: &'a Hosts, library: &'a Library, options: &str, lines: &str) -> Self {
        hosts.free();
        let script = hosts.dir.path().join("script");
        fs::write(&script, format!("#!/bin/bash\n{lines}\n")).unwrap();
        let mut sbatch = hosts.on("login", "sbatch", library);
        sbatch.arg("--parsable").arg("--chdir").arg(hosts.dir.path()).args(options.split(' ')).arg(script);
        let said = hosts.run(&mut sbatch);
        assert!(said.success(), "{}", said.describe());
        Self { hosts, library, number: said.stdout.trim().to_owned() }
    }
}

/// Returns the `srun` command of ranks that wait for a file in the test's folder `at`.
fn step(options: &str, program: &Path, at: &Path) -> String {
    let (program, at) = (program.display(), at.display());
    format!("mkdir -p {at}\nsrun --mpi=pmi2 {options} {MPISCOPE} run --quiet --hang-after 0 {program} {at}")
}

/// Waits until the ranks of that step are waiting.
fn waits(hosts: &Hosts, at: &Path) {
    reaches(&at.join("at.idle.1"), &hosts.dir.path().join("said"));
}

fn at(hosts: &Hosts, name: &str) -> PathBuf {
    hosts.dir.path().join(name)
}

/// Checks that exactly these ranks are shown without errors. An empty name means the only job.
fn whole(hosts: &Hosts, library: &Library, host: &str, name: &str, wanted: &[(u64, &str)]) {
    let words: Vec<&str> = ["ps", name].into_iter().filter(|word| !word.is_empty()).collect();
    let (ps, all) = ask(hosts, host, library, &words);
    let wanted: Vec<(u64, String)> = wanted.iter().map(|(rank, host)| (*rank, (*host).to_owned())).collect();
    assert_eq!(places(&ps["ranks"]), wanted, "{all}");
    assert_eq!(ps["errors"], Value::Array(Vec::new()), "{all}");
    assert!(all.contains("exit status: 0"), "{all}");
}

pub fn a_step_on_some_hosts_of_the_job_is_seen_completely_and_nothing_is_called_missing() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let (program, here) = (compile(&library, "acquire/idle", hosts.dir.path()), at(&hosts, "here"));
    let job = Batch::new(&hosts, &library, "-N 3 -n 12", &step("-N 2 -n 2 -w n1,n2", &program, &here));
    waits(&hosts, &here);
    let named = format!("slurm:{}", job.number);
    for host in ["login", "n1", "n3"] {
        for name in [named.clone(), format!("{named}.0"), format!("{}.0", job.number)] {
            whole(&hosts, &library, host, &name, &[(0, "n1"), (1, "n2")]);
        }
    }
    // The host's own answer counts, not Slurm's.
    let (none, all) = ask(&hosts, "login", &library, &["ps", &format!("{named}.7")]);
    assert!(none.is_null() && all.contains("none of its processes is on its hosts (n1, n2, n3)"), "{all}");
}

pub fn an_array_task_and_a_heterogeneous_job_are_seen_completely_by_their_slurm_names() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let program = compile(&library, "acquire/idle", hosts.dir.path());
    let each = at(&hosts, "task$SLURM_ARRAY_TASK_ID");
    let tasks = Batch::new(&hosts, &library, "--array=4-5 -N 1 -n 2", &step("-n 2", &program, &each));
    [4, 5].iter().for_each(|task| waits(&hosts, &at(&hosts, &format!("task{task}"))));
    let number = &tasks.number;
    let place = |task: u64| {
        let name = format!("slurm:{number}_{task}");
        let (ps, all) = ask(&hosts, "login", &library, &["ps", &name]);
        places(&ps["ranks"]).first().unwrap_or_else(|| panic!("{all}")).1.clone()
    };
    let (four, five) = (place(4), place(5));
    assert_ne!(four, five);
    for host in ["login", &four, &five] {
        whole(&hosts, &library, host, &format!("slurm:{number}_4"), &[(0, &four), (1, &four)]);
        whole(&hosts, &library, host, &format!("{number}_5.0"), &[(0, &five), (1, &five)]);
        // The number of the array does not mean the task that has the same number.
        let (none, all) = ask(&hosts, host, &library, &["ps", &format!("slurm:{number}")]);
        let names = format!("name one: slurm:{number}_4, slurm:{number}_5");
        assert!(none.is_null() && all.contains(&names), "{all}");
    }
    drop(tasks);

    let here = at(&hosts, "here");
    let two = step("--het-group=0,1", &program, &here);
    let both = Batch::new(&hosts, &library, "-N 1 -n 1 -w n1 : -N 2 -n 2 -w n2,n3", &two);
    waits(&hosts, &here);
    for host in ["login", "n1", "n3"] {
        for part in ["", "+1", ".0"] {
            let name = format!("slurm:{}{part}", both.number);
            whole(&hosts, &library, host, &name, &[(0, "n1"), (1, "n2"), (2, "n3")]);
        }
    }
    whole(&hosts, &library, "n2", "", &[(0, "n1"), (1, "n2"), (2, "n3")]);
    drop(both);

    let later = Batch::new(&hosts, &library, "--begin=now+1hour -n 1", "true");
    let (none, all) = ask(&hosts, "login", &library, &["ps", &format!("slurm:{}", later.number)]);
    assert!(none.is_null() && all.contains("Slurm has not started it yet"), "{all}");
}

pub fn two_steps_of_one_job_are_two_jobs_and_each_is_seen_completely_by_its_name() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(true), one());
    let program = compile(&library, "acquire/idle", hosts.dir.path());
    let (first, second) = (at(&hosts, "first"), at(&hosts, "second"));
    let first_step = step("--overlap -N 1 -n 1 -w n1", &program, &first);
    let second_step = step("--overlap -N 2 -n 2 -w n2,n3", &program, &second);
    let job = Batch::new(&hosts, &library, "-N 3 -n 12", &format!("{first_step} &\n{second_step} &\nwait"));
    [&first, &second].into_iter().for_each(|at| waits(&hosts, at));
    let number = format!("slurm:{}", job.number);
    let name = |host| ask(&hosts, host, &library, &["ps", "--here"]).0["job"].as_str().unwrap().to_owned();
    let both = [format!("{number}:{}", name("n1")), format!("{number}:{}", name("n3"))];
    for host in ["login", "n1", "n3"] {
        for words in [&["ps"][..], &["why", "--for", "0.2"], &["top", "--once", "--interval", "0.2"]] {
            let (none, all) = ask(&hosts, host, &library, &[words, &[&number]].concat());
            assert!(none.is_null() && both.iter().all(|name| all.contains(name)), "{all}");
        }
        whole(&hosts, &library, host, &both[0], &[(0, "n1")]);
        whole(&hosts, &library, host, &both[1], &[(0, "n2"), (1, "n3")]);
        // `procs` lists processes with their worlds, so several jobs are allowed.
        let (procs, all) = ask(&hosts, host, &library, &["procs", &number]);
        assert_eq!(procs["processes"].as_array().map(Vec::len), Some(3), "{all}");
        assert_eq!(procs["problems"], Value::Array(Vec::new()), "{all}");
    }
    fs::write(first.join("go.1"), "").unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !ask(&hosts, "n1", &library, &["ps", "--here"]).0.is_null() {
        assert!(Instant::now() < until, "the first step does not end");
        std::thread::sleep(Duration::from_millis(100));
    }
    for host in ["login", "n1", "n3"] {
        whole(&hosts, &library, host, &number, &[(0, "n2"), (1, "n3")]);
    }
}
