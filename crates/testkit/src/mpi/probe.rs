//! Determines a library's version.
//!
//! A small C program opens the library at run time and calls the two functions that may be called before
//! `MPI_Init`, so neither headers nor a launcher are needed. The result is cached next to the fetched
//! libraries under a name that changes with the library file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::library::compile;
use super::{Library, Skipped, wheels};
use crate::{paths, run};

const LIMIT: Duration = Duration::from_secs(30);

/// Fills in the fields that only the library itself knows, or returns why it cannot be used.
pub(super) fn check(mut library: Library) -> Result<Library, Skipped> {
    let name = library.name.clone();
    let skip = |reason: String| Skipped { name: name.clone(), reason };
    for needed in [&library.libmpi, &library.mpirun] {
        if !needed.is_file() {
            return Err(skip(format!("{} is missing", needed.display())));
        }
    }
    let (version, standard) = identity(&library).map_err(|error| skip(format!("{error:#}")))?;
    library.version = version;
    library.standard = standard;
    if library.bin.is_none() {
        if let Some(short) = short_version(&library.version) {
            library.name = format!("{}-{short}", library.name);
        }
        check_fortran(&mut library);
    }
    Ok(library)
}

fn identity(library: &Library) -> anyhow::Result<(String, (i32, i32))> {
    let kept = note(library, "version");
    let text = match fs::read_to_string(&kept) {
        Ok(text) => text,
        Err(_) => {
            let text = ask(library)?;
            fs::write(&kept, &text)?;
            text
        }
    };
    parse(&text)
        .ok_or_else(|| anyhow::anyhow!("cannot parse the version of {}: {text:?}", library.libmpi.display()))
}

fn ask(library: &Library) -> anyhow::Result<String> {
    let dir = paths::mpi_dir().join(".probe");
    fs::create_dir_all(&dir)?;
    let program = dir.join(format!("identify.{}", std::process::id()));
    let compiler = wheels::c_compiler().map_err(anyhow::Error::msg)?;
    compile(
        Command::new(compiler).arg(paths::programs().join("identify.c")).arg("-o").arg(&program).arg("-ldl"),
    )?;
    let mut command = Command::new(&program);
    command.arg(&library.libmpi);
    library.set_environment(&mut command);
    let outcome = run::bounded(&mut command, LIMIT);
    let _ = fs::remove_file(&program);
    let outcome = outcome?;
    if !outcome.success() {
        anyhow::bail!("{} does not report its version: {}", library.libmpi.display(), outcome.describe());
    }
    Ok(outcome.stdout)
}

/// Parses a first line `version subversion` followed by the library's own text.
fn parse(text: &str) -> Option<(String, (i32, i32))> {
    let mut lines = text.lines();
    let mut numbers = lines.next()?.split_whitespace().map(str::parse::<i32>);
    let standard = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let version = lines.next()?.split_whitespace().collect::<Vec<_>>().join(" ");
    Some((version, standard))
}

/// Extracts `4.1` from `Open MPI v4.1.4, …`.
fn short_version(text: &str) -> Option<String> {
    let word = text
        .split([' ', ','])
        .map(|word| word.trim_start_matches('v'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))?;
    let mut parts = word.split('.');
    Some(format!("{}.{}", parts.next()?, parts.next()?))
}

fn check_fortran(library: &mut Library) {
    let kept = note(library, "fortran");
    let answer = fs::read_to_string(&kept).unwrap_or_else(|_| {
        let answer = ["include", "f08"].map(|kind| if compiles(library, kind) { kind } else { "" }).join(" ");
        // Without the file, the next run only has to repeat the probe.
        let _ = fs::write(&kept, &answer);
        answer
    });
    match &mut library.fortran {
        Some(fortran) if answer.contains("include") => fortran.f08 = answer.contains("f08"),
        other => *other = None,
    }
}

fn compiles(library: &Library, kind: &str) -> bool {
    let Ok(dir) = tempfile::tempdir() else { return false };
    let source = dir.path().join("probe.f90");
    let head =
        if kind == "f08" { "use mpi_f08\nimplicit none\n" } else { "implicit none\ninclude 'mpif.h'\n" };
    let text =
        format!("program probe\n{head}integer :: e\ncall MPI_Init(e)\ncall MPI_Finalize(e)\nend program\n");
    fs::write(&source, text).is_ok() && library.fc(&source, &dir.path().join("probe")).is_ok()
}

fn note(library: &Library, what: &str) -> PathBuf {
    let dir = paths::mpi_dir().join(".probe");
    // If the directory cannot be created, writing the file fails.
    let _ = fs::create_dir_all(&dir);
    dir.join(format!("{}.{:x}.{what}", library.name, stamp(&library.libmpi)))
}

fn stamp(file: &Path) -> u64 {
    fs::metadata(file)
        .map_or(0, |meta| meta.ino() ^ meta.size().rotate_left(32) ^ meta.mtime().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_version_is_found_in_the_version_text_of_each_library() {
        for (text, short) in [
            ("MPICH Version: 4.0.2", Some("4.0")),
            ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", Some("4.1")),
            ("Intel(R) MPI Library 2021.19.0 for Linux* OS", Some("2021.19")),
            ("no number", None),
        ] {
            assert_eq!(short_version(text).as_deref(), short, "{text}");
        }
    }

    #[test]
    fn output_without_two_numbers_is_rejected() {
        assert!(parse("three one\nMPICH\n").is_none());
        assert_eq!(parse("4 1\nMPICH  \tVersion: 4\n"), Some(("MPICH Version: 4".to_owned(), (4, 1))));
    }
}
