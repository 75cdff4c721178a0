//! Where the launcher's own arguments end and the program begins.

use std::ffi::OsString;

/// Options of launchers that take one value. Those that take none, or that bring theirs with `=`, need no row.
const WITH_VALUE: &[&str] = &[
    "-n",
    "-np",
    "-c",
    "-N",
    "-w",
    "-p",
    "-q",
    "-A",
    "-J",
    "-t",
    "-H",
    "-f",
    "-x",
    "-wdir",
    "-wd",
    "-ppn",
    "-rr",
    "-host",
    "-hosts",
    "-hostfile",
    "-machinefile",
    "-machine",
    "-configfile",
    "-path",
    "-envlist",
    "-genvlist",
    "-envexcl",
    "-iface",
    "-launcher",
    "-launcher-exec",
    "-bootstrap",
    "-bootstrap-exec",
    "-rmk",
    "-localhost",
    "-perhost",
    "-bind-to",
    "-map-by",
    "-rank-by",
    "-membind",
    "-am",
    "-app",
    "-npernode",
    "-npersocket",
    "-output-filename",
    "-output",
    "-stdin",
    "-prefix",
    "-preload-files",
    "-rankfile",
    "-rf",
    "-tune",
    "-personality",
    "-pmixmca-file",
    "-dvm",
    "-dvm-uri",
    "-mpi",
    "-nodes",
    "-ntasks",
    "-ntasks-per-node",
    "-cpus-per-task",
    "-jobid",
    "-partition",
    "-account",
    "-time",
    "-job-name",
    "-nodelist",
    "-exclude",
    "-distribution",
    "-cpu-bind",
    "-gpus",
    "-gres",
    "-mem",
    "-chdir",
    "-export",
    "-timeout",
];
/// Those that take two.
const WITH_TWO: &[&str] = &["-env", "-genv", "-mca", "-gmca", "-omca", "-pmixmca", "-prtemca"];

/// The launcher with its arguments, and the program with its; without a program the second is empty.
pub fn split(words: &[OsString]) -> (&[OsString], &[OsString]) {
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        if word == "--" {
            return (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default());
        }
        // `-n` and `--n` mean the same to most launchers.
        let option = word.strip_prefix("--").map_or_else(|| word.to_string(), |name| format!("-{name}"));
        at += match option.as_str() {
            option if !option.starts_with('-') => break,
            option if WITH_TWO.contains(&option) => 3,
            option if WITH_VALUE.contains(&option) => 2,
            _ => 1,
        };
    }
    words.split_at(at.min(words.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (launcher, program) = split(&words);
        assert!(launcher.first().is_some_and(|word| word == "mpirun"), "{launcher:?}");
        program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_program_begins_after_the_options_of_the_launcher() {
        assert_eq!(program("mpirun -n 4 ./app -n 7"), "./app -n 7");
        assert_eq!(program("mpirun --oversubscribe -np 4 --mca btl tcp,self ./app"), "./app");
        assert_eq!(program("mpirun -genv A b --map-by=core -hosts a,b ./app x"), "./app x");
        assert_eq!(program("mpirun --strange=value -- ./app"), "./app");
        assert_eq!(program("mpirun -n 4"), "");
    }
}
