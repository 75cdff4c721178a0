//! The expected answers, equal for every library.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mpiscope_target::{Core, Live};
use mpiscope_testkit::mpi::{Abi, Library};
use mpiscope_testkit::trials;
use serde_json::{Value, json};

use crate::ask::{self, Plugins};
use crate::inspected;
use crate::items::{self, Answers};
use crate::program::Running;

/// How long the other thread may take to enter its call.
const PATIENCE: Duration = Duration::from_secs(30);

/// The answers of the plug-ins, with the program's own notes.
struct Said<'a> {
    answers: Value,
    running: &'a Running,
    abi: Abi,
}

/// Queries the living process, checks every answer, then queries its core file and compares.
pub fn everything(library: &Library, running: &mut Running, plugins: &Plugins) -> Result<()> {
    let pid = running.pid()?;
    all_inside(running, plugins)?;
    let live = ask::everything(Arc::new(Live::open(pid)?), running, plugins)?;
    let said = Said { answers: live, running, abi: library.abi };
    let mut wrong = Vec::new();
    type Check = fn(&Said<'_>) -> Result<()>;
    let checks: [(&str, Check); 11] = [
        ("communicators", communicators),
        ("topologies", topologies),
        ("datatypes", datatypes),
        ("type maps", type_maps),
        ("small objects", small),
        ("files", files),
        ("windows", windows),
        ("requests", requests),
        ("codes", codes),
        ("fortran", fortran),
        ("queues", queues),
    ];
    for (name, check) in checks {
        if let Err(error) = check(&said) {
            wrong.push(format!("{name}: {error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}\n{:#}", wrong.join("\n"), said.answers);
    let live = said.answers;
    let output = inspected::inspect(&pid.to_string(), running)?;
    // Checks skipped here and below are separate ignored trials, see `main`.
    let gdb = match trials::gdb() {
        None => Some(inspected::gdb(&["-p".into(), pid.to_string().into()], running)?),
        Some(_) => None,
    };
    let Some(core) = running.die()? else { return Ok(()) };
    let dead = same(&core, &live, running, plugins)?;
    let files = [running.binary().into(), core.clone().into()];
    // For the other libraries the matrix uses gdb on core files.
    let also_dead = gdb.is_some() && ["mpich-5.0", "openmpi-5.0"].contains(&library.name.as_str());
    let dead_gdb = if also_dead { Some(inspected::gdb(&files, running)?) } else { None };
    let gdb: Vec<_> = gdb.into_iter().chain(dead_gdb).collect();
    let inspect = [output, inspected::inspect(&core.display().to_string(), running)?];
    items::check(library, running, &Answers { inspect, plugin: [live, dead], gdb })
}

/// Waits until the program's other thread is in its call.
fn all_inside(running: &Running, plugins: &Plugins) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while running.has_threads() {
        let answers = ask::everything(Arc::new(Live::open(running.pid()?)?), running, plugins)?;
        if answers["busy"]["calls"] != json!([]) {
            break;
        }
        ensure!(Instant::now() < end, "no thread is seen inside a call: {}", answers["busy"]);
    }
    Ok(())
}

impl Said<'_> {
    /// Returns a part of an answer.
    fn at(&self, path: &str) -> Result<&Value> {
        self.answers.pointer(path).with_context(|| format!("nothing at {path}"))
    }

    fn is(&self, path: &str, expected: Value) -> Result<()> {
        let found = self.at(path)?;
        ensure!(*found == expected, "{path} is {found}, not {expected}");
        Ok(())
    }

    /// Checks fields of one answer.
    fn fields(&self, path: &str, expected: Value) -> Result<()> {
        for (name, value) in expected.as_object().context("fields")? {
            self.is(&format!("{path}/{name}"), value.clone())?;
        }
        Ok(())
    }

    fn has(&self, path: &str, word: &str, wanted: bool) -> Result<()> {
        let list = self.at(path)?.as_array().context("no list")?;
        ensure!(list.contains(&json!(word)) == wanted, "{path} is {list:?}; {word:?}: wanted {wanted}");
        Ok(())
    }

    fn handle(&self, name: &str, kind: &str) -> Result<String> {
        Ok(format!("{:#x}", self.running.value(name, kind)?))
    }

    /// Checks that a list of references contains this object.
    fn refers(&self, path: &str, name: &str, kind: &str) -> Result<()> {
        let handle = self.handle(name, kind)?;
        let list = self.at(path)?;
        let has = |of: &Value| of.pointer("/handle") == Some(&json!(handle));
        ensure!(
            list.as_array().is_some_and(|list| list.iter().any(has)) || has(list),
            "{path} has no {name}: {list}"
        );
        Ok(())
    }
}

const C: &str = "mpidbg_comm_query";
const X: &str = "mpidbg_comm_extra_query";

fn communicators(said: &Said<'_>) -> Result<()> {
    said.fields(
        &format!("/mine/{C}"),
        json!({
            "name": "my own communicator", "rank": 0, "size": 2, "local_procs": [0, 1], "remote_procs": [],
            "handle": said.handle("mine", "comm")?, "cart_dims": [], "graph_index": [],
        }),
    )?;
    said.is(&format!("/mine/{C}/bitflags"), json!(0))?;
    said.is(&format!("/mine/{X}/created/function"), json!("MPI_Comm_dup"))?;
    said.refers(&format!("/mine/{X}/parent"), "world", "comm")?;
    said.refers(&format!("/mine/{X}/errhandler"), "errors", "errhandler")?;
    said.refers(&format!("/mine/{X}/groups"), "group", "group")?;
    said.refers(&format!("/mine/{X}/requests"), "pending", "request")?;
    said.refers(&format!("/mine/{X}/requests"), "alias", "request")?;
    said.refers(&format!("/mine/{X}/windows"), "locked", "win")?;
    said.is(&format!("/mine/{X}/attributes/0/value"), json!("0x1234"))?;
    said.is(&format!("/mine/{C}/attributes/0/value"), json!("0x1234"))?;
    said.fields(
        &format!("/world/{C}"),
        json!({ "name": "MPI_COMM_WORLD", "rank": 0, "size": 2, "bitflags": 1, "local_procs": [0, 1] }),
    )?;
    said.is(&format!("/null/{C}/bitflags"), json!(0x81))?;
    said.fields(
        &format!("/inter/{C}"),
        json!({ "bitflags": 0x10, "rank": 0, "size": 1, "local_procs": [0], "remote_procs": [1] }),
    )?;
    said.is(&format!("/inter/{X}/remote_size"), json!(1))?;
    said.is(&format!("/half/{C}/local_procs"), json!([0]))?;
    said.is(&format!("/half/{X}/created/function"), json!("MPI_Comm_split"))?;
    said.is(&format!("/gone/{C}/bitflags"), json!(0x60))?;
    said.is(&format!("/gone/{X}/freed/function"), json!("MPI_Comm_free"))
}

fn topologies(said: &Said<'_>) -> Result<()> {
    said.fields(
        &format!("/cart/{C}"),
        json!({ "cart_dims": [2, 1], "cart_periods": [1, 0], "bitflags": 2 }),
    )?;
    said.is(&format!("/cart/{X}/cart_coords"), json!([0, 0]))?;
    said.fields(
        &format!("/graph/{C}"),
        json!({ "graph_index": [1, 2], "graph_edges": [1, 0], "bitflags": 4 }),
    )?;
    said.is(&format!("/dist/{C}/bitflags"), json!(0x400))?;
    said.fields(
        &format!("/dist/{X}"),
        json!({
            "has_dist_graph": true, "sources": [1], "destinations": [1], "source_weights": [7],
            "destination_weights": [7],
        }),
    )
}

const D: &str = "mpidbg_datatype_query";

fn datatypes(said: &Said<'_>) -> Result<()> {
    said.fields(
        &format!("/int/{D}"),
        json!({ "name": "MPI_INT", "size": 4, "extent": 4, "meaning": "int", "combiner": "named" }),
    )?;
    said.fields(
        &format!("/vector/{D}"),
        json!({
            "name": "three pairs", "combiner": "vector", "size": 24, "lb": 0, "extent": 40,
            "arguments": { "count": 3, "blocklength": 2, "stride": 4 }, "holes": [[8, 8], [24, 8]],
        }),
    )?;
    said.has(&format!("/vector/{D}/flags"), "committed", true)?;
    said.has(&format!("/raw/{D}/flags"), "committed", false)?;
    said.is(&format!("/vector/{D}/created/function"), json!("MPI_Type_vector"))?;
    said.refers(&format!("/vector/{D}/datatypes"), "int", "datatype")?;
    said.refers(&format!("/vector/{D}/used_by"), "struct", "datatype")?;
    said.refers(&format!("/vector/{D}/used_by"), "raw", "datatype")?;
    said.refers(&format!("/vector/{D}/requests"), "pending", "request")?;
    said.fields(
        &format!("/struct/{D}"),
        json!({
            "combiner": "struct", "size": 41,
            "arguments": { "count": 3, "blocklengths": [1, 2, 1], "displacements": [0, 16, 128] },
        }),
    )?;
    said.refers(&format!("/struct/{D}/datatypes"), "vector", "datatype")?;
    said.fields(
        &format!("/resized/{D}"),
        json!({ "lb": -4, "extent": 16, "size": 4, "holes": [[-4, 4], [4, 8]] }),
    )?;
    said.fields(&format!("/subarray/{D}"), json!({ "extent": 96, "size": 24, "lb": 0 }))?;
    said.has(&format!("/gone_type/{D}/flags"), "freed object", true)
}

fn type_maps(said: &Said<'_>) -> Result<()> {
    let map = |name: &str, runs: Value| said.is(&format!("/{name}/{D}/type_map"), runs);
    map("contiguous", json!([["MPI_INT", 0, 1_000_000, 4]]))?;
    map("vector", json!([["MPI_INT", 0, 2, 4], ["MPI_INT", 16, 2, 4], ["MPI_INT", 32, 2, 4]]))?;
    map("raw", json!([["MPI_INT", 0, 2, 4], ["MPI_INT", 16, 2, 4], ["MPI_INT", 32, 2, 4]]))?;
    map(
        "struct",
        json!([
            ["MPI_CHAR", 0, 1, 1],
            ["MPI_DOUBLE", 16, 2, 8],
            ["MPI_INT", 128, 2, 4],
            ["MPI_INT", 144, 2, 4],
            ["MPI_INT", 160, 2, 4],
        ]),
    )?;
    map("double_int", json!([["MPI_DOUBLE", 0, 1, 8], ["MPI_INT", 8, 1, 4]]))?;
    map("subarray", json!([["MPI_INT", 32, 3, 4], ["MPI_INT", 56, 3, 4]]))?;
    // Rank 1 of a 2 by 2 grid has rows 0 to 3 and columns 2 and 3 of 6.
    map(
        "darray",
        json!([
            ["MPI_DOUBLE", 16, 2, 8],
            ["MPI_DOUBLE", 64, 2, 8],
            ["MPI_DOUBLE", 112, 2, 8],
            ["MPI_DOUBLE", 160, 2, 8],
        ]),
    )?;
    map("indexed", json!([["MPI_INT", 36, 1, 4], ["MPI_INT", 0, 2, 4], ["MPI_INT", 16, 1, 4]]))?;
    map("block", json!([["MPI_SHORT", 18, 2, 2], ["MPI_SHORT", 0, 2, 2], ["MPI_SHORT", 8, 2, 2]]))
}

fn small(said: &Said<'_>) -> Result<()> {
    said.fields("/group/mpidbg_group_query", json!({ "rank": 0, "size": 2, "procs": [0, 1] }))?;
    said.refers("/group/mpidbg_group_query/comms", "mine", "comm")?;
    said.fields("/first/mpidbg_group_query", json!({ "rank": 0, "size": 1, "procs": [0] }))?;
    said.fields("/empty/mpidbg_group_query", json!({ "size": 0, "name": "MPI_GROUP_EMPTY", "rank": -1 }))?;
    said.has("/gone_group/mpidbg_group_query/flags", "freed handle", true)?;
    said.is("/op/mpidbg_op_query/function", json!(said.handle("operation", "address")?))?;
    said.has("/op/mpidbg_op_query/flags", "commutative", true)?;
    said.has("/other/mpidbg_op_query/flags", "commutative", false)?;
    said.fields("/sum/mpidbg_op_query", json!({ "name": "MPI_SUM", "function": "0x0" }))?;
    said.has("/sum/mpidbg_op_query/flags", "commutative", true)?;
    // Predefined 1, communicator 2, a C callback 16.
    said.fields(
        "/errors/mpidbg_errhandler_query",
        json!({ "bitflags": 0x12, "function": said.handle("handler", "address")? }),
    )?;
    said.refers("/errors/mpidbg_errhandler_extra_query/attached", "mine", "comm")?;
    said.fields("/return/mpidbg_errhandler_query", json!({ "name": "MPI_ERRORS_RETURN", "bitflags": 0xf }))?;
    said.is(
        "/info/mpidbg_info_query/pairs",
        json!([["first key", "value one"], ["third", "3"], ["fourth", "too late"]]),
    )?;
    said.refers("/info/mpidbg_info_query/used_by", "file", "file")?;
    said.refers("/info/mpidbg_info_query/used_by", "locked", "win")?;
    said.fields("/key/mpidbg_keyval_query", json!({ "of": "comm", "extra_state": "0x77" }))
}

fn files(said: &Said<'_>) -> Result<()> {
    let f = "/file/mpidbg_file_query";
    said.fields(
        f,
        json!({
            "path": "data", "mode": "MPI_MODE_CREATE|MPI_MODE_RDWR", "view_displacement": 64,
            "view_datarep": "native", "info_pairs": [["first key", "value one"], ["third", "3"]],
        }),
    )?;
    said.is(&format!("{f}/comm/kind"), json!("comm"))?;
    said.refers(&format!("{f}/view_etype"), "int", "datatype")?;
    said.refers(&format!("{f}/info"), "info", "info")?;
    said.has("/gone_file/mpidbg_file_query/flags", "freed handle", true)
}

fn windows(said: &Said<'_>) -> Result<()> {
    let w = "mpidbg_window_query";
    said.fields(
        &format!("/locked/{w}"),
        json!({
            "name": "locked one", "base": said.handle("memory", "address")?, "size": 128, "displacement_unit": 8,
            "flavour": "create", "epochs": 8, "last_sync": "MPI_Win_lock", "locks": [[0, true]],
            "info_pairs": [["first key", "value one"], ["third", "3"]],
        }),
    )?;
    said.refers(&format!("/locked/{w}/comm"), "mine", "comm")?;
    said.fields(&format!("/fenced/{w}"), json!({ "epochs": 1, "last_sync": "MPI_Win_fence", "size": 32 }))?;
    said.fields(
        &format!("/posted/{w}"),
        json!({ "epochs": 2, "last_sync": "MPI_Win_start", "start_procs": [1], "post_procs": [] }),
    )
}

const R: &str = "mpidbg_request_extra_query";

fn requests(said: &Said<'_>) -> Result<()> {
    said.fields(
        &format!("/pending/{R}"),
        json!({
            "class": "point-to-point", "operation": "receive", "tag": 7, "count": 8, "bytes": 0,
            "buffer": said.handle("buffer", "address")?,
        }),
    )?;
    said.is(&format!("/pending/{R}/created/function"), json!("MPI_Irecv"))?;
    said.refers(&format!("/pending/{R}/of"), "mine", "comm")?;
    said.refers(&format!("/pending/{R}/datatype"), "vector", "datatype")?;
    for (flag, wanted) in [("active", true), ("complete", false), ("any source", true), ("persistent", false)]
    {
        said.has(&format!("/pending/{R}/flags"), flag, wanted)?;
    }
    said.fields(&format!("/persistent/{R}"), json!({ "peer": 1, "tag": 9, "count": 4, "starts": 0 }))?;
    said.is(&format!("/persistent/{R}/created/function"), json!("MPI_Send_init"))?;
    for (flag, wanted) in [("active", false), ("started", false), ("persistent", true)] {
        said.has(&format!("/persistent/{R}/flags"), flag, wanted)?;
    }
    said.is(&format!("/general/{R}/class"), json!("generalised"))?;
    // The other handle of a request that was freed while active: marked, not complete, still existing.
    for (flag, wanted) in [("freed handle", true), ("freed object", false), ("complete", false)] {
        said.has(&format!("/alias/{R}/flags"), flag, wanted)?;
    }
    said.has(&format!("/no_request/{R}/flags"), "null", true)?;
    said.is("/no_request/mpidbg_request_query/bitflags", json!(1))?;
    said.fields("/message/mpidbg_message_query", json!({ "source": 1, "tag": 55, "bytes": 12 }))?;
    said.fields("/status/mpidbg_status_extra_query", json!({ "source": 1, "tag": 66 }))?;
    said.is("/status/mpidbg_status_extra_query/bytes", json!(20))
}

fn codes(said: &Said<'_>) -> Result<()> {
    let says = |path: &str, code: &str| {
        let text = said.at(path)?.as_str().unwrap_or_default();
        ensure!(text.ends_with(code), "{path}: {text}, not {code}");
        Ok(())
    };
    says("/garbage", "MPIDBG_ERR_NOT_FOUND")?;
    says("/other kind", "MPIDBG_ERR_OUT_OF_RANGE")?;
    says("/no address", "MPIDBG_ERR_NOT_FOUND")?;
    says("/no number", "MPIDBG_ERR_NOT_FOUND")?;
    let length = if said.abi == Abi::OpenMpi { 64 } else { 128 };
    said.fields(
        "/about",
        json!({ "comm_capabilities": 0x7f, "errhandler_capabilities": 0x1f, "object_name_length": length }),
    )?;
    said.is("/about/comm_names/MPI_COMM_WORLD", json!(said.handle("world", "comm")?))
}

fn fortran(said: &Said<'_>) -> Result<()> {
    for (name, kind) in said.running.handles.keys() {
        let Some(kind) = kind.strip_prefix("fortran-") else { continue };
        let path = format!("/{name} from fortran");
        let c = if kind == "window" { "win" } else { kind };
        said.is(&path, json!(said.handle(name, c)?))?;
    }
    Ok(())
}

fn queues(said: &Said<'_>) -> Result<()> {
    let all = said.at("/queues/communicators")?.as_array().context("no list")?;
    let mine = all.iter().find(|q| q["name"] == "my own communicator").context("no queue of mine")?;
    ensure!(mine["group"] == json!([0, 1]) && mine["size"] == 2, "{mine}");
    let receives = mine["receives"].as_array().context("no receives")?;
    let pending = receives.iter().find(|r| r["tag"] == 7).with_context(|| format!("{mine}"))?;
    ensure!(pending["peer"] == -1 && pending["bytes"] == 192, "{pending}");
    let alias = receives.iter().find(|r| r["tag"] == 8).with_context(|| format!("{mine}"))?;
    ensure!(alias["peer"] == 1 && alias["peer_in_world"] == 1, "{alias}");
    ensure!(mine["unexpected"][0]["actual_tag"] == 55 && mine["unexpected"][0]["status"] == 1, "{mine}");
    ensure!(mine["sends"] == json!([]), "{mine}");
    Ok(())
}

/// Queues without the unexpected messages that only their senders know: those are available only while the
/// job runs.
fn of_the_process(queues: &Value) -> Value {
    let mut queues = queues.clone();
    for queue in queues["communicators"].as_array_mut().into_iter().flatten() {
        let known = queue["unexpected"].as_array().cloned().unwrap_or_default();
        let mut matched: Vec<Value> = known.into_iter().filter(|message| message["status"] == 1).collect();
        // Each message's text tells whether the list is complete, which differs.
        matched.iter_mut().for_each(|message| message["text"] = Value::Null);
        queue["unexpected"] = json!(matched);
    }
    queues
}

/// Checks that the core file gives the same answers, and returns them.
fn same(core: &std::path::Path, live: &Value, running: &Running, plugins: &Plugins) -> Result<Value> {
    let dead = ask::everything(Arc::new(Core::open(core)?), running, plugins)?;
    for (name, answer) in live.as_object().context("answers")? {
        let other = dead.get(name).unwrap_or(&Value::Null);
        let (answer, other) = match name.as_str() {
            "queues" => (&of_the_process(answer), &of_the_process(other)),
            _ => (answer, other),
        };
        ensure!(answer == other, "{name} differs\nlive: {answer}\ncore: {other}");
    }
    Ok(dead)
}
