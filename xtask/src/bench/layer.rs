//! Cost of a call: bare, through the stub alone, counted, timed, and with default settings.

use std::path::Path;

use anyhow::Result;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;

use super::{Case, Setting};

pub fn cases(library: &Library, dir: &Path) -> Result<Vec<Case>> {
    let build = |name: &str| {
        let out = dir.join(name);
        library.cc_with(&[&paths::programs().join(format!("{name}.c"))], &out, &["-O2"]).map(|()| out)
    };
    let calls = build("bench_calls")?;
    let case = |title: &str, argument| Case {
        title: title.to_owned(),
        program: calls.clone(),
        arguments: vec![argument],
        ranks: 1,
        settings: settings(),
    };
    Ok(vec![
        case("MPI_Comm_rank, ns per call", "rank"),
        case("MPI_Irecv, MPI_Isend, MPI_Waitall to itself, 8 bytes, ns per call", "p2p"),
        Case {
            title: "ping-pong of two ranks, 8 bytes, µs one way".to_owned(),
            program: build("bench_pingpong")?,
            arguments: Vec::new(),
            ranks: 2,
            settings: settings(),
        },
    ])
}

fn settings() -> Vec<Setting> {
    vec![
        Setting { name: "bare", record: None },
        Setting { name: "stub", record: Some(Some("off")) },
        Setting { name: "counting", record: Some(Some("calls")) },
        Setting { name: "timing", record: Some(Some("calls,times")) },
        Setting { name: "default", record: Some(None) },
    ]
}
