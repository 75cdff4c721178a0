//! A running job, and its report.

use anyhow::{Result, ensure};
use mpiscope_testkit::mpi::{Abi, Family, Library};
use serde_json::Value;

use super::job::{Job, json, mpiscope, text, words};
use crate::subject::Subject;

/// A kind, and the expected line of an object that is the same on all ranks.
const LISTED: [(&str, &str); 12] = [
    ("comm", "\"solver\": 4 processes, ranks [0-3]"),
    ("comm", "2 processes, ranks (3,1)"),
    ("comm", "4 processes, ranks [0-3], Cartesian 2 x 2"),
    ("comm", "4 processes, ranks [0-3], graph of 4 nodes"),
    ("comm", "4 processes, ranks [0-3], distributed graph"),
    ("datatype", "\"particle\": struct of MPI_INT, MPI_DOUBLE, MPI_CHAR, 29 bytes in 40"),
    ("datatype", "vector of \"particle\", 232 bytes in 680, not committed"),
    ("datatype", "subarray of MPI_FLOAT, 16 bytes in 128"),
    ("info", "first_key=1, second_key=two words"),
    ("win", "\"halo\": allocate on \"solver\", 80 bytes, unit 8, open: lock"),
    ("op", "first_of_two at inspected.c:"),
    ("errhandler", "on_error at inspected.c:"),
];

/// The expected output for single objects, on rank 1 alone.
const SHOWN: [(&str, &[&str]); 6] = [
    (
        "solver",
        &[
            "made by           MPI_Comm_dup at inspected.c:",
            "from MPI_COMM_WORLD",
            "own rank          1",
            "error handler     errhandler ",
            "\"halo\" (",
            "hosts ",
        ],
    ),
    (
        "particle",
        &[
            "struct(count 3, blocklengths 1 3 1, displacements 0 8 32)",
            "11 bytes in 2 holes (28 % of the extent)",
            "0  Iiii....DdddddddDdddddddDddddddd\n",
            "32  C.......\n",
            "used by           \"red \\x1b[31m\" (",
        ],
    ),
    (
        "halo",
        &[
            "80 bytes at 0x",
            "epochs            lock",
            "exclusive, on rank 1 of the communicator",
            "last synchronized MPI_Win_lock at inspected.c:",
        ],
    ),
    ("MPI_DOUBLE_INT", &["predefined", "struct { double; int }", "12 bytes; extent 16"]),
    ("MPI_COMM_WORLD", &["predefined", "size              4", "ranks of the world: [0-3]"]),
    ("MPI_COMM_NULL", &["null"]),
];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start(subject, library, "wait", &[])?;
    job.all_ready()?;
    let target = job.target();
    for (kind, wanted) in LISTED {
        let output = text(&["inspect", &target, "--kind", kind])?;
        let found = output.lines().find(|line| line.contains(wanted));
        ensure!(found.is_some(), "no {wanted:?} in the list of {kind}:\n{output}");
        // Other commands name an unnamed communicator by its identity.
        let is_identified =
            kind != "comm" || wanted.contains('"') || found.is_some_and(|line| line.contains("id:"));
        ensure!(is_identified, "{wanted:?} without its identity in the list of {kind}:\n{output}");
    }
    for (name, wanted) in SHOWN {
        let output = text(&["inspect", &target, "--rank", "1", "--handle", name])?;
        for part in wanted {
            ensure!(output.contains(part), "{name}: no {part:?} in\n{output}");
        }
    }
    requests(&target)?;
    file(&target, &job, library)?;
    topologies(&target)?;
    handles(&target)?;
    freed(&target)?;
    leaks_so_far(&target)?;
    job.signal("go")?;
    job.finish()?;
    report(&job)
}

fn rank(answer: &Value, rank: u64) -> &Value {
    let ranks = answer["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
    ranks.iter().find(|r| r["rank"].as_u64() == Some(rank)).unwrap_or(&Value::Null)
}

fn requests(target: &str) -> Result<()> {
    let output = text(&["inspect", target, "--kind", "request"])?;
    for rank in 0..4 {
        let peer = (rank + 1) % 4;
        for wanted in [
            format!("receive from {peer} tag 42 on \"solver\" 10 x MPI_INT, completion not yet seen"),
            format!("standard send to {peer} tag 43 on \"solver\" 3 x MPI_INT, persistent, not started"),
        ] {
            ensure!(output.contains(&wanted), "no {wanted:?} in\n{output}");
        }
    }
    Ok(())
}

fn file(target: &str, job: &Job, library: &Library) -> Result<()> {
    let answer = json(&["inspect", target, "--kind", "file", "--json"])?;
    let file = &rank(&answer, 2)["objects"][0];
    let path = job.path().join("data.2");
    ensure!(file["path"].as_str() == path.to_str(), "{file}");
    ensure!(file["mode"] == serde_json::json!(["MPI_MODE_CREATE", "MPI_MODE_RDWR"]), "{file}");
    let view = &file["view"];
    // See the program: it sets no view on this library.
    let without = (library.family, library.abi) == (Family::Intel, Abi::Standard);
    ensure!(without || view["displacement"] == 16 && view["etype"]["name"] == "MPI_FLOAT", "{file}");
    // Without a request for it, ROMIO has assigned no number; Open MPI numbers every file.
    let numbered = library.family == Family::OpenMpi;
    ensure!(file["fortran_unasked"] == !numbered && file["fortran"].is_null() != numbered, "{file}");
    let handle = file["handle"].as_str().unwrap_or_default();
    let output = text(&["inspect", target, "--rank", "2", "--kind", "file", "--handle", handle])?;
    ensure!(
        output.contains("in Fortran        none yet: the library was never asked") != numbered,
        "{output}"
    );
    ensure!(output.contains("data access       0 reads of 0 bytes, 0 writes of 0 bytes"), "{output}");
    Ok(())
}

fn topologies(target: &str) -> Result<()> {
    let answer = json(&["inspect", target, "--kind", "comm", "--json"])?;
    let comms = rank(&answer, 3)["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let find = |kind: &str| comms.iter().find(|comm| comm["topology"]["type"] == kind);
    let grid = find("cartesian").map(|comm| &comm["topology"]);
    let grid = grid.is_some_and(|t| t["coords"] == serde_json::json!([1, 1]));
    let graph = find("graph").map(|comm| &comm["topology"]);
    let graph = graph.is_some_and(|t| t["edges"] == serde_json::json!([1, 0, 2, 1, 3, 2]));
    let ring = find("dist_graph").map(|comm| &comm["topology"]);
    let ring = ring.is_some_and(|t| {
        t["sources"] == serde_json::json!([2]) && t["destination_weights"] == serde_json::json!([7])
    });
    ensure!(grid && graph && ring, "{comms:#?}");
    // The dup is the same object on all ranks, the split two objects.
    let shared = answer["shared"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ranks = |name: Option<&str>, ranks: &str| {
        shared.iter().any(|s| s["name"].as_str() == name && s["ranks"] == ranks)
    };
    ensure!(ranks(Some("solver"), "[0-3]") && ranks(None, "[1,3]"), "{shared:#?}");
    Ok(())
}

/// A handle from one inspection identifies the object in the next one; an invalid handle is
/// reported as such.
fn handles(target: &str) -> Result<()> {
    let listed = json(&["inspect", target, "--kind", "comm", "--rank", "0", "--json"])?;
    let comms = rank(&listed, 0)["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let solver = comms.iter().find(|comm| comm["name"] == "solver").unwrap_or(&Value::Null);
    let handle = solver["handle"].as_str().unwrap_or_default();
    let output = text(&["inspect", target, "--rank", "0", "--kind", "comm", "--handle", handle])?;
    ensure!(output.starts_with("MPI_Comm \"solver\""), "{output}");
    let wrong = mpiscope(&words(&["inspect", target, "--kind", "datatype", "--handle", handle]))?;
    let said = wrong.stdout.contains("is the handle of a comm, not of a datatype");
    ensure!(wrong.code() == 2 && said, "{}", wrong.describe());
    let garbage = mpiscope(&words(&["inspect", target, "--kind", "comm", "--handle", "0x123456789"]))?;
    ensure!(
        garbage.code() == 2 && garbage.stdout.contains("no comm has the handle"),
        "{}",
        garbage.describe()
    );
    Ok(())
}

fn freed(target: &str) -> Result<()> {
    let output = text(&["inspect", target, "--kind", "comm", "--freed", "--rank", "0"])?;
    ensure!(
        output.lines().any(|line| line.contains("freed  ")),
        "the freed communicator is missing:\n{output}"
    );
    Ok(())
}

fn leaks_so_far(target: &str) -> Result<()> {
    let outcome = mpiscope(&words(&["inspect", target, "--leaks", "--kind", "win"]))?;
    let wanted = "4 windows, MPI_Win_allocate at inspected.c:";
    ensure!(outcome.code() == 1 && outcome.stdout.contains(wanted), "{}", outcome.describe());
    Ok(())
}

/// Windows and files were freed before the end, other objects were not.
fn report(job: &Job) -> Result<()> {
    let lines = job.stderr().lines().filter(|line| line.contains("not freed: ")).count();
    ensure!((1..=3).contains(&lines), "{lines} lines about leaks:\n{}", job.stderr());
    let report: Value = serde_json::from_slice(&std::fs::read(job.path().join("out/report.json"))?)?;
    let leaks = report["leaks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let leak = |function: &str| leaks.iter().find(|leak| leak["function"] == function);
    for function in ["MPI_Comm_dup", "MPI_Type_vector", "MPI_Info_create", "MPI_Op_create", "MPI_Send_init"] {
        let found = leak(function);
        let right = found.is_some_and(|leak| {
            let place = leak["place"].as_str().unwrap_or_default();
            leak["count"] == 4 && leak["ranks"] == "[0-3]" && place.starts_with("inspected.c:")
        });
        ensure!(right, "{function}: {leaks:#?}");
    }
    for function in ["MPI_Win_allocate", "MPI_File_open", "MPI_Irecv"] {
        ensure!(leak(function).is_none(), "{function} is no leak: {leaks:#?}");
    }
    Ok(())
}
