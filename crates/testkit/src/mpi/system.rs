//! Libraries that the distribution installed side by side, as Debian does: `mpicc.mpich`, `mpicc.openmpi`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Abi, Family, Fortran, Library, Skipped};
use crate::{paths, run};

pub(super) fn candidates() -> Vec<Result<Library, Skipped>> {
    [("mpich", Family::Mpich, Abi::Mpich), ("openmpi", Family::OpenMpi, Abi::OpenMpi)]
        .into_iter()
        .map(|(name, family, abi)| {
            candidate(name, family, abi)
                .map_err(|reason| Skipped { name: format!("{name} of the distribution"), reason })
        })
        .collect()
}

fn candidate(name: &str, family: Family, abi: Abi) -> Result<Library, String> {
    let tool = |stem: &str| {
        let file = format!("{stem}.{name}");
        paths::in_path(&file)
            .ok_or_else(|| format!("no {file} in PATH; install lib{name}-dev and its launcher"))
    };
    let compiler = tool("mpicc")?;
    let mpirun = tool("mpirun")?;
    let libmpi = linked_library(&compiler)
        .ok_or_else(|| format!("{} -show names no existing MPI library", compiler.display()))?;
    let fortran = tool("mpif90").ok().map(|compiler| Fortran { compiler, f08: false });
    Ok(Library {
        name: name.to_owned(),
        family,
        abi,
        version: String::new(),
        standard: (0, 0),
        libmpi,
        mpirun,
        compiler,
        cflags: Vec::new(),
        ldflags: Vec::new(),
        fortran,
        bin: None,
    })
}

/// The file of the first `-lmpi…` in the wrapper's command line.
fn linked_library(wrapper: &Path) -> Option<PathBuf> {
    let shown = run::bounded(Command::new(wrapper).arg("-show"), Duration::from_secs(20)).ok()?;
    let words: Vec<&str> = shown.stdout.split_whitespace().collect();
    let name = words.iter().find_map(|word| word.strip_prefix("-l").filter(|lib| lib.starts_with("mpi")))?;
    words
        .iter()
        .filter_map(|word| word.strip_prefix("-L"))
        .map(|dir| Path::new(dir).join(format!("lib{name}.so")))
        .find_map(|file| file.canonicalize().ok())
}
