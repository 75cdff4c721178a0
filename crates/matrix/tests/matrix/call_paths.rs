//! Programs that call MPI through libraries: the place in the library is followed by the program's line.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use crate::subject::{Form, Subject, word};
use crate::tool::build;

const RANKS: usize = 2;

/// Code with and without frame pointers, and with debug information only in the program.
const WAYS: [(&str, &[&str]); 2] = [
    ("without_optimization", &["-O0", "-fno-omit-frame-pointer"]),
    ("with_optimization", &["-O2", "-fomit-frame-pointer", "-fno-inline"]),
];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let trial = |(name, options): (&str, &'static [&'static str])| {
        let name = format!("{}::calls_by_a_library_have_the_line_of_the_program_{name}", library.name);
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, options))
    };
    let loaded = {
        let name =
            format!("{}::calls_by_a_library_loaded_after_init_are_named_without_finalize", library.name);
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check_loaded(&subject, &library))
    };
    WAYS.into_iter().map(trial).chain([loaded]).collect()
}

fn check(subject: &Subject, library: &Library, options: &[&str]) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = made(library, dir.path(), options)?;
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &[word(&program)], &|_| {})?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let report: Value = serde_json::from_slice(&fs::read(ran.out().join("report.json"))?)?;
    let wanted = wanted("program.c")?;
    ensure!(wanted.len() > 8, "{wanted:?}");
    for (function, place, count) in &wanted {
        let sites = report["sites"].as_array().into_iter().flatten();
        let here =
            sites.filter(|site| site["function"] == function.as_str() && site["place"] == place.as_str());
        let calls: u64 = here.filter_map(|site| site["calls"].as_u64()).sum();
        ensure!(calls == count * RANKS as u64, "{function} at {place}: {calls} calls\n{:#}", report["sites"]);
    }
    let dup = &wanted.iter().find(|(function, ..)| function == "MPI_Comm_dup").context("no MPI_Comm_dup")?.1;
    ensure!(report["leaks"].to_string().contains(dup.as_str()), "{}", report["leaks"]);
    Ok(())
}

/// The library is loaded by the program itself, which then ends without `MPI_Finalize`.
fn check_loaded(subject: &Subject, library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let source = |name: &str| paths::programs().join("call_paths").join(name);
    let (plugin, program) = (dir.path().join("plugin.so"), dir.path().join("loaded"));
    build(library, &source("kernels.c"), &plugin, &["-g", "-shared", "-fPIC"])?;
    build(library, &source("loaded.c"), &program, &["-g", "-ldl"])?;
    // Some launchers regard the end of a process without MPI_Finalize as an error.
    let words = [word(&program), word(&plugin)];
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &words, &|_| {})?;
    let report: Value = serde_json::from_slice(&fs::read(ran.out().join("report.json"))?)?;
    let (_, place, _) = wanted("loaded.c")?.into_iter().next().context("no call")?;
    let (site, _) = place.split_once(' ').context("not called by a library")?;
    ensure!(report["sites"].to_string().contains(site), "{site}\n{:#}", report["sites"]);
    Ok(())
}

/// Builds the program and its two libraries.
fn made(library: &Library, dir: &Path, options: &[&str]) -> Result<PathBuf> {
    let source = |name: &str| paths::programs().join("call_paths").join(name).with_extension("c");
    let shared: Vec<&str> = options.iter().copied().chain(["-g", "-shared", "-fPIC"]).collect();
    for name in ["kernels", "model"] {
        build(library, &source(name), &dir.join(format!("lib{name}.so")), &shared)?;
    }
    let (search, found) = (format!("-L{}", dir.display()), format!("-Wl,-rpath,{}", dir.display()));
    let mut linked: Vec<&str> = options.to_vec();
    linked.extend(["-g", "-pthread", &search, &found, "-Wl,--no-as-needed", "-lmodel", "-lkernels"]);
    let program = dir.join("program");
    build(library, &source("program"), &program, &linked)?;
    Ok(program)
}

/// Function, place and count of the calls of a program, from the comments in the sources.
fn wanted(program: &str) -> Result<Vec<(String, String, u64)>> {
    let noted = |name: &str| -> Result<Vec<(usize, String)>> {
        let text = fs::read_to_string(paths::programs().join("call_paths").join(name))?;
        let lines = text.lines().enumerate().filter_map(|(at, line)| {
            Some((at + 1, line.split_once("; /* ")?.1.strip_suffix(" */")?.to_owned()))
        });
        Ok(lines.collect())
    };
    let in_library = noted("kernels.c")?;
    let wanted = noted(program)?.into_iter().map(|(line, said)| {
        let words: Vec<&str> = said.split(' ').collect();
        Ok(match words.as_slice() {
            ["itself", function, count] => {
                (function.to_string(), format!("{program}:{line}"), count.parse()?)
            }
            [function, count] => {
                let (at, _) =
                    in_library.iter().find(|(_, name)| name == function).context("it is never called")?;
                (function.to_string(), format!("kernels.c:{at} (from {program}:{line})"), count.parse()?)
            }
            _ => anyhow::bail!("{said}"),
        })
    });
    wanted.collect()
}
