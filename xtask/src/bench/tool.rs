//! Cost of the tool information interface: our variables compared with the library's own.

use std::path::Path;

use anyhow::Result;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;

use super::{Case, Setting};

pub fn cases(library: &Library, dir: &Path) -> Result<Vec<Case>> {
    let program = dir.join("bench_mpi_t");
    let source = paths::programs().join("bench_mpi_t.c");
    let include = format!("-I{}", paths::workspace().join("include").display());
    library.cc_with(&[&source], &program, &["-O2", &include])?;
    let case = |title: &str, argument: &'static str, settings: Vec<Setting>| Case {
        title: format!("{title}, ns"),
        program: program.clone(),
        arguments: vec![argument],
        ranks: 1,
        settings,
    };
    // NaN: the library has no such variable, or its function does not work.
    let both =
        || vec![Setting { name: "library's", record: None }, Setting { name: "ours", record: Some(None) }];
    Ok(vec![
        case("MPI_T_pvar_read of a scalar", "read", both()),
        case("MPI_T_pvar_read of a scalar, four threads have called MPI", "read4", both()),
        case("MPI_T_pvar_readreset of a scalar", "readreset", both()),
        case("MPI_T_pvar_stop and MPI_T_pvar_start", "startstop", both()),
        case("MPI_T_pvar_get_info", "info", both()),
        case("MPI_T_pvar_get_index of the first variable", "index", both()),
        case("MPI_T_pvar_get_index of the last variable", "last", both()),
        case("MPI_T_cvar_read", "cvar", both()),
    ])
}
