//! `mpiscope vars`: for a library, and for a job whose ranks have different settings.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Abi, Family, Library};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run, schema};
use serde_json::Value;

use crate::inspected::job::{Job, json, text};
use crate::subject::{LIMIT, Subject};
use crate::tool;

/// A variable of the library: its name, the environment variable that sets it, its default and another value.
struct Setting {
    name: &'static str,
    environment: &'static str,
    default: &'static str,
    other: &'static str,
}

/// One variable that may differ between ranks, and one that a tool may write.
fn settings(library: &Library) -> [Setting; 2] {
    let mpich = |name, default, other| Setting { name, environment: name, default, other };
    if library.abi != Abi::OpenMpi {
        return [
            mpich("MPIR_CVAR_BCAST_MIN_PROCS", "8", "16"),
            mpich("MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE", "2048", "77"),
        ];
    }
    [
        Setting {
            name: "coll_tuned_bcast_algorithm",
            environment: "OMPI_MCA_coll_tuned_bcast_algorithm",
            default: "0",
            other: "2",
        },
        Setting {
            name: "coll_base_verbose",
            environment: "OMPI_MCA_coll_base_verbose",
            default: "0",
            other: "3",
        },
    ]
}

type Check = fn(&Subject, &Library) -> Result<()>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let mut checks: Vec<(&str, Check)> = vec![
        ("lists_variables_with_values_from_the_library_and_the_environment", of_library),
        ("shows_on_which_ranks_of_a_running_job_they_differ", of_job),
    ];
    if library.family == Family::Intel {
        checks.push(("know_the_other_names_of_environment_variables", of_aliases));
    }
    let trial = |(name, check): (&str, Check)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::vars_{name}", library.name), move || check(&subject, &library))
    };
    checks.into_iter().map(trial).collect()
}

/// Targets that cannot be read: named with the reason, without any library.
pub fn refusals() -> Vec<Trial> {
    let refuse = || -> Result<()> {
        for (library, complaint) in [
            ("libm.so.6", "not an MPI library"),
            ("/nowhere/libmpi.so", "No such file"),
            ("no-such-launcher", "name a file such as"),
        ] {
            let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
            let outcome = run::bounded(Command::new(mpiscope).args(["vars", "--library", library]), LIMIT)?;
            ensure!(outcome.status.code() == Some(2), "{library}: {}", outcome.describe());
            ensure!(outcome.stderr.contains(library), "{}", outcome.describe());
            ensure!(outcome.stderr.contains(complaint), "{}", outcome.describe());
        }
        Ok(())
    };
    vec![checked("vars_rejects_files_that_are_not_mpi_libraries", refuse)]
}

fn items(report: &Value) -> Result<&Vec<Value>> {
    report["items"].as_array().with_context(|| format!("no items: {report}"))
}

fn named<'a>(items: &'a [Value], kind: &str, name: &str) -> Result<&'a Value> {
    let is_it = |item: &&Value| item["kind"] == kind && item["name"] == name;
    items.iter().find(is_it).with_context(|| format!("no {kind} {name}"))
}

/// Whether the item has this value, from this origin, on these ranks.
fn has(item: &Value, value: &str, from: &str, ranks: Option<&str>) -> Result<()> {
    let is_it =
        |held: &Value| held["value"] == value && held["from"] == from && held["ranks"].as_str() == ranks;
    let held = item["values"].as_array().is_some_and(|values| values.iter().any(is_it));
    ensure!(held, "no {value} from {from} on {ranks:?}: {item}");
    Ok(())
}

fn of_library(_: &Subject, library: &Library) -> Result<()> {
    let [setting, _] = settings(library);
    let vars = |more: &[&str], value: Option<&str>| -> Result<String> {
        let mut command =
            Command::new(paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?);
        command.args(["vars", "--library"]).arg(&library.libmpi).args(more).env_remove(setting.environment);
        command.envs(value.map(|value| (setting.environment, value)));
        let outcome = run::bounded(&mut command, LIMIT)?;
        ensure!(outcome.success(), "{more:?}: {}", outcome.describe());
        Ok(outcome.stdout)
    };
    let plain: Value = serde_json::from_str(&vars(&["--json"], None)?)?;
    let all = items(&plain)?;
    for class in ["STATE", "LEVEL", "SIZE", "PERCENTAGE", "HIGHWATERMARK", "LOWWATERMARK", "COUNTER"] {
        ensure!(all.iter().any(|item| item["class"] == class), "no performance variable of class {class}");
    }
    let counted = all.iter().filter(|item| item["kind"] == "cvar").count();
    ensure!(counted > 300, "{counted} control variables");
    for item in all.iter().filter(|item| item["kind"] == "cvar" || item["kind"] == "pvar") {
        let output = ["values", "needs", "problem"].iter().filter(|key| !item[**key].is_null()).count();
        ensure!(output == 1, "not exactly one of a value, what it needs, and a reason: {item}");
    }
    has(named(all, "cvar", setting.name)?, setting.default, "default", None)?;
    named(all, "enumeration", "mpiscope_function")?;
    let changed = vars(&["--changed", "--search", setting.name], Some(setting.other))?;
    let line = format!("  {} = {}", setting.name, setting.other);
    ensure!(changed.contains(&line) && changed.contains("(environment)"), "{changed}");
    let unchanged = vars(&["--changed", "--search", setting.name], None)?;
    ensure!(!unchanged.contains(&line), "{unchanged}");
    let tree = vars(&["--categories"], None)?;
    ensure!(tree.contains("\nmpiscope: ") || tree.starts_with("mpiscope: "), "{tree}");
    ensure!(tree.contains("\n  mpiscope.calls: ") && tree.contains("\n    pvar mpiscope_calls "), "{tree}");
    ensure!(tree.contains(&format!("cvar {} = ", setting.name)), "{tree}");
    Ok(())
}

/// Intel MPI has its own environment variable names for many control variables of MPICH. The test sets two to
/// a value other than the default, one of them by a name that has little in common with the variable's; two
/// to the default itself; and one that the library shows but never sets from the environment.
fn of_aliases(_: &Subject, library: &Library) -> Result<()> {
    let set = [
        ("I_MPI_ADJUST_BCAST_NETWORK_KARY_RADIX", "3", "MPIR_CVAR_BCAST_NETWORK_KARY_RADIX", "3"),
        ("I_MPI_ASYNC_PROGRESS_THREADS", "3", "MPIR_CVAR_CH4_MAX_PROGRESS_THREADS", "3"),
        ("I_MPI_ADJUST_ALLTOALL_SCATTERED_THROTTLE", "32", "MPIR_CVAR_ALLTOALL_THROTTLE", "32"),
        ("I_MPI_HYDRA_PROXY_WAIT", "1", "I_MPI_HYDRA_PROXY_WAIT", "1"),
        ("I_MPI_OFFLOAD_CELL", "device", "I_MPI_OFFLOAD_CELL", "tile"),
    ];
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?);
    command.args(["vars", "--json", "--library"]).arg(&library.libmpi);
    command.envs(set.iter().map(|(name, value, _, _)| (name, value)));
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let report: Value = serde_json::from_str(&outcome.stdout)?;
    schema::check(&report)?;
    let all = items(&report)?;
    for (environment, text, name, value) in set {
        let item = named(all, "cvar", name)?;
        let from = if text == value { "environment" } else { "default" };
        has(item, value, from, None)?;
        ensure!(item["environment"] == environment, "{environment}: {item}");
    }
    has(named(all, "cvar", "MPIR_CVAR_BCAST_NODE_KARY_RADIX")?, "-1", "default", None)
}

/// Rank 2 is started with other settings; in rank 1 a tool writes variables, both ours and the library's.
fn of_job(subject: &Subject, library: &Library) -> Result<()> {
    let [set, written] = settings(library);
    let dir = tempfile::tempdir()?;
    let source = paths::programs().join("mpi_t/write_cvars.c");
    let tool = tool::shared(library, &source, dir.path())?;
    let script = dir.path().join("wrapper.sh");
    let text_of_script = format!(
        "case $PMI_RANK$OMPI_COMM_WORLD_RANK in\n\
         1) export LD_PRELOAD=$LD_PRELOAD:{} WRITE_CVARS='mpiscope_record_messages=1 mpiscope_tombstones=7 {}={}';;\n\
         2) export {}={} MPISCOPE_RECORD_TIMES=0 MPISCOPE_TOMBSTONES=5;;\nesac\nexec \"$@\"\n",
        tool.display(),
        written.name,
        written.other,
        set.environment,
        set.other
    );
    fs::write(&script, text_of_script)?;
    let script = script.to_str().context("the directory's name is not UTF-8")?;
    let mut job = Job::start(subject, library, "wait", &["sh", script])?;
    job.all_ready()?;
    let target = job.target();
    let report = json(&["vars", &target, "--json"])?;
    let all = items(&report)?;
    has(named(all, "cvar", "mpiscope_record_times")?, "1", "default", Some("[0-1,3]"))?;
    has(named(all, "cvar", "mpiscope_record_times")?, "0", "environment", Some("2"))?;
    has(named(all, "cvar", "mpiscope_record_messages")?, "1", "written", Some("1"))?;
    for (value, from, ranks) in
        [("1024", "default", "[0,3]"), ("7", "written", "1"), ("5", "environment", "2")]
    {
        has(named(all, "cvar", "mpiscope_tombstones")?, value, from, Some(ranks))?;
    }
    has(named(all, "cvar", set.name)?, set.default, "default", Some("[0-1,3]"))?;
    has(named(all, "cvar", set.name)?, set.other, "environment", Some("2"))?;
    has(named(all, "cvar", written.name)?, written.default, "default", Some("[0,2-3]"))?;
    has(named(all, "cvar", written.name)?, written.other, "written", Some("1"))?;
    let state = &named(all, "pvar", "mpiscope_state")?["values"][0];
    ensure!(state["named"] == "computing" && state["ranks"] == "[0-3]", "{state}");
    let calls = &named(all, "pvar", "mpiscope_calls_total")?["values"][0]["value"];
    ensure!(calls.as_str().and_then(|n| n.parse::<u64>().ok()) > Some(20), "{calls} calls");
    of_objects(all)?;
    let lines = text(&["vars", &target, "--changed", "--search", set.name])?;
    let expected = [set.name, "differs on rank 2: ", set.other, "(environment)"];
    ensure!(expected.iter().all(|part| lines.contains(part)), "{lines}");
    job.signal("go")?;
    job.finish()
}

/// The objects that the processes created, as shown by their images: the job's program creates the same
/// everywhere.
fn of_objects(all: &[Value]) -> Result<()> {
    let of_class = |name: &str, class: &str| -> Result<&Value> {
        let is_it = |item: &&Value| item["name"] == name && item["class"] == class;
        all.iter().find(is_it).with_context(|| format!("no {name} of class {class}"))
    };
    let live = &of_class("mpiscope_live_objects", "LEVEL")?["values"][0]["value"];
    let live: Vec<u64> =
        live.as_str().unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
    // Communicators (solver, half, grid, graph, ring), a group, three datatypes, an operation, two requests, no message,
    // a window, a file, an info, an error handler, no session, no keyval.
    ensure!(live == [5, 1, 3, 1, 2, 0, 1, 1, 1, 1, 0, 0], "{live:?} live objects");
    for (name, class, value) in [
        ("mpiscope_pending_requests", "LEVEL", "1"),
        ("mpiscope_pending_requests_high", "HIGHWATERMARK", "1"),
        ("mpiscope_posted_receives_high", "HIGHWATERMARK", "1"),
        ("mpiscope_posted_receives_low", "LOWWATERMARK", "0"),
        ("mpiscope_version", "GENERIC", env!("CARGO_PKG_VERSION")),
        ("mpiscope_MPI_Irecv", "COUNTER", "1"),
    ] {
        let item = of_class(name, class)?;
        ensure!(item["values"][0]["value"] == value && item["values"][0]["ranks"] == "[0-3]", "{item}");
    }
    let inside = "a tool inside the process";
    let blind: Vec<_> =
        all.iter().filter(|item| item["needs"] == inside && is_own(item)).map(|item| &item["name"]).collect();
    ensure!(
        blind.len() == 1 && blind[0] == "mpiscope_live_objects_high",
        "cannot be seen from outside: {blind:?}"
    );
    Ok(())
}

fn is_own(item: &Value) -> bool {
    item["name"].as_str().is_some_and(|name| name.starts_with("mpiscope"))
}
