//! A launcher's command: where the launcher's own words end and the program begins.

use super::options::Kind;
use super::starts_jobs;
use mpiscope_job::hosts::setup::{Family, launcher};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Programs that start another program, such as a launcher, given as their arguments.
const STARTERS: [&str; 12] = [
    "env", "ionice", "nice", "nohup", "numactl", "setsid", "stdbuf", "strace", "taskset", "time", "timeout",
    "unbuffer",
];

/// Finds the launcher in a command: at its beginning, or after programs that start others.
pub fn launcher_at(command: &[OsString]) -> Option<usize> {
    let is = |word: &OsString, known: &dyn Fn(&OsStr) -> bool| Path::new(word).file_name().is_some_and(known);
    let starter = |word: &OsString| is(word, &|name| STARTERS.iter().any(|starter| name == *starter));
    // A starter may be followed by options; any other program is what it starts.
    let options = |word: &OsString| starter(word) || !is_program(word);
    let first = command.first()?;
    let at = if starter(first) {
        command.iter().position(|word| is(word, &starts_jobs) || !options(word))?
    } else {
        0
    };
    is(command.get(at)?, &starts_jobs).then_some(at)
}

/// Returns the kind of launcher, if its options are known. `name` is the program's file name.
pub fn kind(program: &OsStr, name: &OsStr) -> Option<Kind> {
    if name == "srun" {
        return Some(Kind::Slurm);
    }
    match launcher(Path::new(program)).family? {
        Family::Mpich => Some(Kind::Hydra),
        Family::OpenMpi => Some(Kind::OpenMpi),
    }
}

/// Finds the first word after the launcher's name that belongs to no option; `None` if an option is unknown.
pub fn program_at(kind: Kind, words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let word = word.to_str()?;
        if !word.starts_with('-') {
            return Some(at);
        }
        if word == "--" {
            return Some(at + 1);
        }
        at += 1 + kind.takes(word)?;
    }
    None
}

/// Splits a command into the launcher with its arguments and the program with its arguments, dropping
/// anything before the launcher. Without a launcher the first part is empty, without a program the second.
///
/// Good enough to examine the program. To replace the program, use [`program_at`], which never guesses.
pub fn split(command: &[OsString]) -> (&[OsString], &[OsString]) {
    let behind = launcher_at(command).and_then(|at| command.get(at..));
    let Some((first, words)) = behind.and_then(<[_]>::split_first) else { return (&[], command) };
    let command = behind.unwrap_or_default();
    let name = Path::new(first).file_name().unwrap_or_default();
    let known = kind(first, name).and_then(|kind| program_at(kind, words));
    split_at(command, words, known, &is_program)
}

fn split_at<'a>(
    command: &'a [OsString],
    words: &[OsString],
    known: Option<usize>,
    is_program: &dyn Fn(&OsStr) -> bool,
) -> (&'a [OsString], &'a [OsString]) {
    // With an unknown launcher or option: the first word that could be a program.
    let could = |word: &OsString| !word.to_string_lossy().starts_with('-') && is_program(word);
    let at = known.or_else(|| words.iter().position(could)).unwrap_or(words.len());
    let (launcher, program) = command.split_at((1 + at).min(command.len()));
    let launcher = launcher.strip_suffix(&[OsString::from("--")]).unwrap_or(launcher);
    (launcher, program)
}

/// Whether a word names an executable file, here or in `PATH`.
pub fn is_program(word: &OsStr) -> bool {
    let executable = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if Path::new(word).components().count() > 1 {
        return executable(Path::new(word));
    }
    in_path().chain([PathBuf::from(".")]).any(|folder| executable(&folder.join(word)))
}

/// Returns a program's file, found as a shell would.
pub fn file_of(program: &OsStr) -> PathBuf {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.to_owned();
    }
    in_path().map(|folder| folder.join(path)).find(|file| file.is_file()).unwrap_or_else(|| path.to_owned())
}

fn in_path() -> impl Iterator<Item = PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kind: Option<Kind>, line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let rest = &words[1..];
        let known = kind.and_then(|kind| program_at(kind, rest));
        let (launcher, program) = split_at(&words, rest, known, &|word| word == "./app");
        assert!(launcher.first() == words.first() && launcher.last().is_some_and(|word| word != "--"));
        program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_program_begins_after_the_options_of_the_launcher() {
        assert_eq!(program(Some(Kind::Hydra), "mpirun -n 4 ./app -n 7"), "./app -n 7");
        assert_eq!(program(Some(Kind::Hydra), "mpirun -genv A b -hosts a,b ./app x"), "./app x");
        assert_eq!(program(Some(Kind::Hydra), "mpirun -n 4 hostname"), "hostname");
        let open_mpi = "mpirun --oversubscribe -np 4 --mca btl tcp,self ./app";
        assert_eq!(program(Some(Kind::OpenMpi), open_mpi), "./app");
        assert_eq!(program(Some(Kind::OpenMpi), "mpirun -n 4"), "");
    }

    #[test]
    fn after_unknown_options_or_launchers_the_program_is_the_first_executable_word() {
        assert_eq!(program(Some(Kind::Hydra), "mpirun -strange 3 ./app ./app"), "./app ./app");
        assert_eq!(program(Some(Kind::Hydra), "mpirun --strange=value -- ./app"), "./app");
        assert_eq!(program(None, "aprun -n 4 -N 2 ./app -x"), "./app -x");
        assert_eq!(program(None, "aprun -n 4 app"), "");
    }

    #[test]
    fn a_command_without_a_launcher_is_the_program() {
        let words = ["./app".into(), "-n".into()];
        assert_eq!(split(&words), (&[][..], &words[..]));
        assert_eq!(split(&[]), (&[][..], &[][..]));
    }

    #[test]
    fn a_launcher_may_follow_wrapper_programs_and_its_name_may_be_an_argument() {
        let at = |line: &str| launcher_at(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(at("mpirun -n 2 ./app"), Some(0));
        assert_eq!(at("/usr/bin/timeout -k 5 60 /opt/bin/mpirun -n 2 ./app"), Some(4));
        assert_eq!(at("env A=b nice srun ./app"), Some(3));
        assert_eq!((at("./app mpirun"), at("timeout 5 ./app"), at("")), (None, None, None));
        assert_eq!(at("timeout 5 sh -c mpirun"), None);
        let words: Vec<OsString> = "timeout 9 mpirun -n 2 sh -c x".split(' ').map(OsString::from).collect();
        assert_eq!(split(&words), (&words[2..5], &words[5..]));
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        assert!(is_program(OsStr::new("sh")) && !is_program(OsStr::new("no-such-program")));
        assert!(file_of(OsStr::new("sh")).is_absolute());
        assert_eq!(file_of(OsStr::new("./sh")), Path::new("./sh"));
        assert_eq!(file_of(OsStr::new("no-such-program")), Path::new("no-such-program"));
    }
}
