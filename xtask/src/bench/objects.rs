//! Cost of tracking objects: creating and freeing them, a million at once, and listing a million from
//! outside.

use std::path::Path;

use anyhow::Result;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;

use super::{Case, Setting};

pub fn cases(library: &Library, dir: &Path) -> Result<Vec<Case>> {
    let program = dir.join("bench_objects");
    library.cc_with(&[&paths::programs().join("bench_objects.c")], &program, &["-O2"])?;
    let case = |title: &str, argument, ranks, settings: &[Setting]| Case {
        title: title.to_owned(),
        program: program.clone(),
        arguments: vec![argument],
        ranks,
        settings: settings.to_vec(),
    };
    let timing = Setting { name: "timing", record: Some(Some("calls,times")) };
    let default = Setting { name: "default", record: Some(None) };
    let layers = [Setting { name: "bare", record: None }, timing, default];
    // The cost of a request is measured relative to the time stamps of its calls, which have their own
    // budget.
    let above = [timing, Setting { name: "objects", record: Some(Some("calls,times,objects")) }, default];
    Ok(vec![
        case("MPI_Comm_dup of one rank, ns", "dup", 1, &layers),
        case("MPI_Comm_dup of two ranks, ns", "dup", 2, &layers),
        case("MPI_Comm_dup and MPI_Comm_free of one rank, ns", "dup_free", 1, &layers),
        case("MPI_Comm_dup and MPI_Comm_free of two ranks, ns", "dup_free", 2, &layers),
        case("MPI_Type_vector and MPI_Type_free, ns", "type", 1, &layers),
        case("a request, started and completed, ns", "request", 1, &above),
        case("a datatype among a million live ones, ns", "types", 1, &layers),
        case("a request among a million live ones, ns", "requests", 1, &layers),
        case("mpiscope inspect: number of each kind, a million datatypes, s", "count", 1, &[default]),
        case("mpiscope inspect --kind datatype, a million, s", "list", 1, &[default]),
        case("mpiscope inspect --kind datatype --json, a million, s", "json", 1, &[default]),
    ])
}
