//! Whether the layer can intercept a program's calls of its MPI library.

use super::{Check, Family, Result};
use crate::base::time_limit::{self, Outcome};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long the dynamic loader may take to list a program's libraries.
const PATIENCE: Duration = Duration::from_secs(20);
const NAME: &str = "program";
const SET_ID: u32 = 0o6000;
const EXECUTABLE: u32 = 0o111;
/// How much of a file shows whether it is text.
const BEGINNING: usize = 512;

/// The program to start.
#[derive(Debug, Default)]
pub struct Program {
    /// The results of the checks.
    pub checks: Vec<Check>,
    /// The MPI library that the program would use.
    pub library: Option<Library>,
}

/// An MPI library.
#[derive(Debug, Clone)]
pub struct Library {
    /// Its path.
    pub file: PathBuf,
    /// Its family, judging by the file name.
    pub family: Option<Family>,
}

impl Library {
    fn new(file: PathBuf) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let family = match name.as_str() {
            name if name.starts_with("libmpi.so.40") || name.starts_with("libmpi.so.80") => {
                Some(Family::OpenMpi)
            }
            name if name.starts_with("libmpich") || name.starts_with("libmpi.so.12") => Some(Family::Mpich),
            _ => None,
        };
        Self { file, family }
    }

    /// The launcher installed with the library, if it is in a usual place.
    #[must_use]
    pub fn launcher(&self) -> Option<PathBuf> {
        let own = self.file.parent().and_then(Path::parent).map(|home| home.join("bin/mpirun"));
        // Debian has the libraries of several families in one directory, and names their launchers after them.
        let of_family = match self.family {
            Some(Family::Mpich) => Some("/usr/bin/mpirun.mpich"),
            Some(Family::OpenMpi) => Some("/usr/bin/mpirun.openmpi"),
            None => None,
        };
        let of_family = of_family.filter(|_| self.file.starts_with("/usr/lib")).map(PathBuf::from);
        own.into_iter().chain(of_family).find(|path| path.is_file())
    }
}

/// Checks a program's file.
#[must_use]
pub fn program(path: &Path) -> Program {
    let mut found = Program::default();
    let shown = path.display();
    if let Some(problem) = no_file(path) {
        found.checks.push(problem);
        return found;
    }
    let data = match fs::read(path) {
        Ok(data) => data,
        Err(why) => {
            let by_name = !shown.to_string().contains('/');
            let remedy =
                if by_name { "is it in PATH, or is `./` missing?" } else { "name the program to start" };
            found.checks.push(Check::of(NAME, Result::Problem, format!("{shown}: {why}"), remedy));
            return found;
        }
    };
    let Ok(elf) = ElfFile64::<Endianness>::parse(data.as_slice()) else {
        let judged = no_program(path, &data);
        if judged.result == Result::Fine {
            found.checks.extend(not_executable(path).into_iter().chain(not_in_path(path)));
        }
        found.checks.push(judged);
        return found;
    };
    found.checks.extend(not_executable(path).into_iter().chain(not_in_path(path)));
    found.checks.extend(set_id(path));
    let linked_in =
        elf.symbols().chain(elf.dynamic_symbols()).any(|s| s.is_definition() && s.name() == Ok("PMPI_Init"));
    match interpreter(&elf, &data) {
        Some(loader) if linked_in && calls_a_library(&elf) => {
            listed(path, &loader, &mut found);
            let what = format!("{shown} has MPI linked in, and calls it through libmpiscope.so");
            found.checks.push(Check::fine(NAME, what));
        }
        _ if linked_in => {
            let what =
                format!("{shown} is statically linked with MPI: preloading cannot intercept its calls");
            let remedy = "link it with the shared MPI library (without -static, -lmpi.a or --enable-static builds), \
                          or follow \"Programs with MPI linked in\" in docs/install.md";
            found.checks.push(Check::of(NAME, Result::Problem, what, remedy));
        }
        None => {
            let what = format!("{shown} is linked statically: the dynamic loader never runs");
            found.checks.push(Check::of(
                NAME,
                Result::Problem,
                what,
                "link it dynamically (without -static)",
            ));
        }
        Some(loader) => libraries(path, &loader, &mut found),
    }
    found
}

fn not_executable(path: &Path) -> Option<Check> {
    let mode = fs::metadata(path).ok()?.mode();
    (mode & EXECUTABLE == 0).then(|| {
        let what = format!("{} is not executable", path.display());
        Check::of(NAME, Result::Problem, what, format!("chmod +x {}, if it is a program", path.display()))
    })
}

/// A name without a directory that was not found in `PATH`.
fn not_in_path(path: &Path) -> Option<Check> {
    (path.components().count() == 1).then(|| {
        let shown = path.display();
        let what = format!("{shown} is not in PATH, but in this directory, where not every launcher looks");
        Check::of(NAME, Result::Limited, what, format!("write ./{shown}"))
    })
}

/// Judges a file that is no 64-bit program.
fn no_program(path: &Path, data: &[u8]) -> Check {
    let shown = path.display();
    if data.starts_with(b"\x7fELF") {
        let what = format!("{shown} is not a 64-bit program, so the layer cannot be loaded into it");
        return Check::of(NAME, Result::Problem, what, "build it for 64 bits");
    }
    if let Some(interpreter) = interpreter_of_script(data) {
        if !interpreter.is_file() {
            let what =
                format!("{shown} is a script for {}, which does not exist here", interpreter.display());
            return Check::of(NAME, Result::Problem, what, "install it, or correct the script's first line");
        }
    } else if data.is_empty() || data.iter().take(BEGINNING).any(|byte| *byte == 0) {
        let what = format!("{shown} is neither a program nor a script");
        return Check::of(NAME, Result::Problem, what, "name the program to start");
    }
    Check::fine(NAME, format!("{shown} is a script: the programs it starts are seen when it runs"))
}

/// The program that runs a script, according to the script's first line.
#[must_use]
pub fn interpreter_of_script(data: &[u8]) -> Option<PathBuf> {
    let line = data.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    Some(PathBuf::from(OsStr::from_bytes(words.next()?)))
}

/// A program that runs with its owner's rights ignores `LD_PRELOAD`.
fn set_id(path: &Path) -> Option<Check> {
    let mode = fs::metadata(path).ok()?.mode();
    (mode & SET_ID != 0).then(|| {
        let what = format!("{} is set-user-id or set-group-id: the kernel drops LD_PRELOAD", path.display());
        Check::of(NAME, Result::Problem, what, "start a copy without these bits (chmod ug-s)")
    })
}

fn interpreter(elf: &ElfFile64<'_, Endianness>, data: &[u8]) -> Option<PathBuf> {
    use object::read::elf::ProgramHeader;
    let headers = elf.elf_program_headers().iter();
    let path = headers.filter_map(|header| header.interpreter(Endianness::default(), data).ok()?).next()?;
    Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()))
}

/// Whether the program takes MPI functions from a library, whatever it defines itself.
fn calls_a_library(elf: &ElfFile64<'_, Endianness>) -> bool {
    let begins = |name: &str| ["MPI_Init", "MPI_Init_thread", "MPI_Session_init"].contains(&name);
    elf.dynamic_symbols().any(|s| s.is_undefined() && s.name().is_ok_and(begins))
}

/// Runs the program's own loader to list the libraries that it would load; missing ones are reported as
/// problems. `None` if there is no list.
fn listed(path: &Path, loader: &Path, found: &mut Program) -> Option<String> {
    // The loader looks for a name without a directory among the libraries.
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let listed = time_limit::run(Command::new(loader).arg("--list").arg(file), PATIENCE);
    let both = |outcome: Outcome| {
        [outcome.stdout, outcome.stderr].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let [text, said] = listed.map(both).unwrap_or_default();
    if let Some(name) = not_loaded(&said) {
        found.checks.push(lacks(path, name));
        return None;
    }
    // At least the C library is always listed.
    if text.trim().is_empty() {
        let what = format!(
            "{}: its libraries are unknown: {} --list printed none",
            path.display(),
            loader.display()
        );
        found.checks.push(Check { check: NAME, result: Result::Unknown, found: what, remedy: None });
        return None;
    }
    for (name, _) in files(&text).filter(|(_, file)| file.starts_with("not found")) {
        found.checks.push(lacks(path, name));
    }
    Some(text)
}

fn lacks(path: &Path, library: &str) -> Check {
    let what = format!("{} needs {library}, which is not found", path.display());
    let remedy = "load the module of its MPI library, or set LD_LIBRARY_PATH";
    Check::of(NAME, Result::Problem, what, remedy)
}

/// The library that was not found, according to a message of the loader of glibc or musl, which then list nothing.
fn not_loaded(said: &str) -> Option<&str> {
    let begins = ["error while loading shared libraries: ", "Error loading shared library "];
    let rest =
        said.lines().find_map(|line| begins.iter().find_map(|begin| Some(line.split_once(begin)?.1)))?;
    // Other reasons, such as a damaged file, are said about a library that was found.
    let (name, why) = rest.split_once(": ")?;
    why.contains("No such file or directory").then_some(name)
}

/// Libraries by name, with the file found for each.
fn files(listed: &str) -> impl Iterator<Item = (&str, &str)> {
    listed.lines().filter_map(|line| line.trim().split_once(" => "))
}

/// Finds the program's MPI library.
fn libraries(path: &Path, loader: &Path, found: &mut Program) {
    let Some(text) = listed(path, loader, found) else { return };
    let is_mpi = |name: &str| {
        name.starts_with("libmpi.so") || name.starts_with("libmpich.so") || name.starts_with("libmpi_abi.so")
    };
    let library = files(&text).filter(|(name, _)| is_mpi(name)).find_map(|(_, file)| {
        let file = file.split(" (").next()?;
        file.starts_with('/').then(|| Library::new(fs::canonicalize(file).unwrap_or_else(|_| file.into())))
    });
    found.checks.push(match &library {
        Some(library) => Check::fine(NAME, format!("{} uses {}", path.display(), library.file.display())),
        None => Check::fine(
            NAME,
            format!(
                "{} is not linked with MPI: it may load it later, as Python and Julia do (see \"Programs that load MPI \
                 themselves\" in docs/install.md)",
                path.display()
            ),
        ),
    });
    found.library = library;
}

/// Devices, pipes and directories are not programs, and reading some would never end.
fn no_file(path: &Path) -> Option<Check> {
    let about = fs::metadata(path).ok().filter(|about| !about.is_file())?;
    let what = if about.is_dir() { "a directory" } else { "a device, a pipe or a socket" };
    let found = format!("{} is {what}", path.display());
    Some(Check::of(NAME, Result::Problem, found, "name the program to start"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_missing_program_is_a_problem_but_a_script_is_not() {
        let missing = program(Path::new("/no/such/program"));
        assert_eq!(missing.checks.first().map(|check| check.result), Some(Result::Problem));
        for no_program in ["/dev/null", "/dev/zero", "/"] {
            let found = program(Path::new(no_program));
            assert_eq!(found.checks.first().map(|check| check.result), Some(Result::Problem), "{no_program}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(results(&executable(&dir, b"#!/bin/sh\n")), [Result::Fine]);
    }

    fn executable(dir: &tempfile::TempDir, content: &[u8]) -> PathBuf {
        let path = dir.path().join("file");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn results(path: &Path) -> Vec<Result> {
        program(path).checks.iter().map(|check| check.result).collect()
    }

    #[test]
    fn what_cannot_be_started_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        for (content, said) in [
            (b"".as_slice(), "neither a program nor a script"),
            (b"\x89PNG\r\n\x1a\n\0\0\0", "neither a program nor a script"),
            (b"#! /no/such/shell -e\n", "is a script for /no/such/shell, which does not exist here"),
            (b"\x7fELF\x01\x01\x01", "not a 64-bit program"),
        ] {
            let path = executable(&dir, content);
            assert_eq!(results(&path), [Result::Problem], "{said}");
            assert!(program(&path).checks[0].found.contains(said), "{:?}", program(&path));
        }
        let path = executable(&dir, b"echo no first line\n");
        assert_eq!(results(&path), [Result::Fine]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let found = program(&path);
        assert!(found.checks[0].found.ends_with("is not executable"), "{found:?}");
    }

    #[test]
    fn a_name_that_is_only_in_this_directory_is_not_found_by_every_launcher() {
        // The tests run in the directory of the crate.
        let Some(manifest) = not_in_path(Path::new("Cargo.toml")) else { panic!("it is not in PATH") };
        assert_eq!(manifest.remedy.as_deref(), Some("write ./Cargo.toml"));
        assert!(not_in_path(Path::new("./Cargo.toml")).is_none());
        assert!(not_in_path(Path::new("/Cargo.toml")).is_none());
    }

    #[test]
    fn a_dynamic_program_without_mpi_may_load_it_later() {
        let found = program(&std::env::current_exe().unwrap());
        assert!(found.library.is_none());
        assert!(found.checks.iter().any(|check| check.found.contains("may load it later")), "{found:?}");
    }

    #[test]
    fn a_silent_loader_is_not_mistaken_for_one_that_finds_no_library() {
        let mut found = Program::default();
        libraries(&std::env::current_exe().unwrap(), Path::new("/bin/true"), &mut found);
        assert_eq!(found.checks.first().map(|check| check.result), Some(Result::Unknown), "{found:?}");
        assert_eq!(found.checks.len(), 1);
    }

    #[test]
    fn the_library_that_a_loader_misses_is_named_with_what_to_try() {
        let of = |said: &str| not_loaded(said).map(str::to_owned);
        let end = "cannot open shared object file: No such file or directory\n";
        let glibc = format!("./app: error while loading shared libraries: libmpi.so.40: {end}");
        assert_eq!(of(&glibc).as_deref(), Some("libmpi.so.40"));
        let musl = "Error loading shared library libmpi.so.12: No such file or directory (needed by ./app)\n";
        assert_eq!(of(musl).as_deref(), Some("libmpi.so.12"));
        let damaged = "./app: error while loading shared libraries: /lib/libmpi.so.40: file too short\n";
        assert_eq!((of(damaged), of("")), (None, None));
        let check = lacks(Path::new("./app"), "libmpi.so.40");
        assert_eq!(
            (check.found.as_str(), check.result),
            ("./app needs libmpi.so.40, which is not found", Result::Problem)
        );
        assert!(check.remedy.is_some_and(|remedy| remedy.contains("LD_LIBRARY_PATH")));
    }

    #[test]
    fn libraries_are_recognized_by_their_file_names() {
        let family = |name: &str| Library::new(PathBuf::from("/lib").join(name)).family;
        assert_eq!(family("libmpi.so.40.30.4"), Some(Family::OpenMpi));
        assert_eq!(family("libmpich.so.12.2.0"), Some(Family::Mpich));
        assert_eq!(family("libmpi.so.12.4.0"), Some(Family::Mpich));
        assert_eq!(family("libmpi_abi.so.1"), None);
    }
}
