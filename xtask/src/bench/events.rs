//! Cost of events. Each figure is a difference that the program measures within one process, so there is only
//! one column.

use std::path::Path;

use anyhow::Result;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;

use super::{Case, Setting};
use crate::build;

pub fn cases(library: &Library, dir: &Path) -> Result<Vec<Case>> {
    let program = dir.join("bench_events");
    let source = paths::programs().join("bench_events.c");
    let include = format!("-I{}", paths::workspace().join("include").display());
    library.cc_with(&[&source], &program, &["-O2", &include])?;
    let case = |title: &str, arguments: &[&'static str]| Case {
        title: title.to_owned(),
        program: program.clone(),
        arguments: arguments.to_vec(),
        ranks: 1,
        settings: vec![Setting { name: "layer", record: Some(Some("calls,times")) }],
    };
    Ok(vec![
        case("an event without a callback, while another type has one, ns", &["elsewhere"]),
        case("an event with an empty callback and its timestamp, ns", &["empty"]),
        case("MPI_T_event_get_timestamp in the callback, added ns", &["stamp"]),
        case("MPI_T_event_read in the callback, added ns", &["element"]),
        case("MPI_T_event_copy in the callback, added ns", &["copy"]),
        case("events of one thread, million per second", &["rate", "1"]),
        case("events of two threads, million per second", &["rate", "2"]),
        case("speedup with two threads: events", &["factor", "events"]),
        case("speedup with two threads: a loop that shares nothing", &["factor", "loop"]),
    ])
}

/// The engine alone, without MPI, including an event without any registration.
pub fn engine() -> Result<()> {
    let mut bench = build::cargo();
    build::run(bench.args(["run", "--quiet", "--release", "--package", "mpit", "--example", "bench"]))
}
