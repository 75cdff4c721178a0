//! Ranks in separate pid namespaces, as with containers on one host: each calls itself process 1.

use crate::common::{Job, LIMIT, MPISCOPE, alone, compile, layer, libraries, prepare};
use mpiscope_testkit::mpi::{Family, Library};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Returns the reason why no process can be put into a separate namespace here, if any.
pub fn no_name_space() -> Option<String> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
    let may = command.status().is_ok_and(|status| status.success());
    (!may).then(|| "needs namespaces of processes (unshare, root)".to_owned())
}

/// Returns the JSON output of a verb.
fn ask(library: &Library, words: &[&str]) -> Value {
    let mut command = Command::new(MPISCOPE);
    prepare(&mut command, library, &layer());
    let outcome = mpiscope_testkit::run::bounded(command.args(words).arg("--json"), LIMIT).unwrap();
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|_| panic!("{words:?}: {}", outcome.describe()))
}

/// Returns the pids on this host of the processes that run a program.
fn running(program: &Path) -> Vec<u64> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let mut found: Vec<u64> = all
        .filter(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the ranks, and the pids, of a list of processes.
fn numbers(list: &Value) -> (Vec<u64>, Vec<u64>) {
    let pair = |one: &Value| (one["rank"].as_u64().unwrap(), one["pid"].as_u64().unwrap());
    let mut pairs: Vec<(u64, u64)> = list.as_array().unwrap().iter().map(pair).collect();
    pairs.sort_unstable();
    let mut pids: Vec<u64> = pairs.iter().map(|(_, pid)| *pid).collect();
    pids.sort_unstable();
    (pairs.into_iter().map(|(rank, _)| rank).collect(), pids)
}

/// Returns a command that starts four ranks, two of them in separate namespaces, through `mpiscope` with
/// these words, if any.
fn launch(library: &Library, words: &[&str], program: &Path, folder: &str) -> Command {
    let mut command =
        Command::new(if words.is_empty() { library.mpirun.as_path() } else { Path::new(MPISCOPE) });
    prepare(&mut command, library, &layer());
    // Libraries copy between processes by pid, which would identify the wrong process here.
    command.env("MPIR_CVAR_NOLOCAL", "1").env("OMPI_MCA_btl", "tcp,self").env("OMPI_MCA_pml", "ob1");
    command.env("I_MPI_FABRICS", "ofi");
    if !words.is_empty() {
        command.args(words).arg(&library.mpirun);
    }
    let own = if library.family == Family::OpenMpi { "-np" } else { "-n" };
    command.args(library.launch_arguments(2)).arg(program).arg(folder).args([":", own, "2"]);
    command.args(["unshare", "--pid", "--fork", "--mount-proc"]).arg(program).arg(folder);
    command
}

/// Whether the library works in this setting at all.
fn runs_by_itself(library: &Library, program: &Path) -> bool {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("go.1"), "").unwrap();
    let mut command = launch(library, &[], program, &dir.path().display().to_string());
    mpiscope_testkit::run::bounded(&mut command, LIMIT).unwrap().success()
}

pub fn ranks_in_their_own_pid_namespaces_are_each_shown_once_with_the_hosts_pids() {
    let _turn = alone();
    for library in libraries() {
        let dir = TempDir::new().unwrap();
        let program = compile(&library, "idle", dir.path()).canonicalize().unwrap();
        let (folder, out) = (dir.path().display().to_string(), dir.path().join("out").display().to_string());
        if !runs_by_itself(&library, &program) {
            eprintln!("{}: such a job does not run without the layer either", library.name);
            continue;
        }
        let mut command = launch(&library, &["run", "--hang-after", "0", "--out", &out], &program, &folder);
        use std::os::unix::process::CommandExt;
        let said = std::fs::File::create(dir.path().join("said")).unwrap();
        command.process_group(0).stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said);
        let mut job = Job { child: command.spawn().unwrap() };
        job.reaches(&dir.path().join("at.idle.1"));
        let (wanted, run) = ((vec![0, 1, 2, 3], running(&program)), job.child.id().to_string());
        // Until `mpiscope run` has its own table, the launcher's is read, which lists `unshare`.
        let mut looks = (0..20).map(|_| {
            let procs = ask(&library, &["procs", &run]);
            (numbers(&procs["processes"]) == wanted).then_some(()).ok_or(procs)
        });
        assert!(looks.any(|seen| seen.is_ok()), "{}: {:#}", library.name, ask(&library, &["procs", &run]));
        let name = job_of(&library, &run);
        // They sleep in a loop, so a sample may catch one awake.
        let asleep = |rank: &Value| rank["world_number"] == 0 && rank.to_string().contains("nanosleep");
        let all_asleep = |ps: &Value| ps["ranks"].as_array().unwrap().iter().all(asleep);
        let mut looks = (0..50).map(|_| ask(&library, &["ps", &name]));
        let ps = looks.find(all_asleep).unwrap_or_else(|| panic!("{}: not all sleep", library.name));
        assert_eq!(numbers(&ps["ranks"]), wanted, "{}: {ps:#}", library.name);
        let why = ask(&library, &["why", "--for", "0.2", &name]);
        assert_eq!(why["unseen"], "", "{}: {why:#}", library.name);
        std::fs::write(dir.path().join("go.1"), "").unwrap();
        job.succeeds();
        let report = std::fs::read(dir.path().join("out/report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(numbers(&report["ranks"]), wanted, "{}: {report:#}", library.name);
        assert_eq!(report["worlds"].as_array().unwrap().len(), 1, "{}: {report:#}", library.name);
    }
}

/// Returns the job that a process has started.
fn job_of(library: &Library, run: &str) -> String {
    let ps = ask(library, &["ps"]);
    let all = ps["jobs"].as_array().into_iter().flatten().map(|job| &job["job"]).chain([&ps["job"]]);
    let mut names = all.filter_map(Value::as_str).map(str::to_owned);
    names.find(|name| name.starts_with(&format!("{run}-"))).expect("the job")
}
