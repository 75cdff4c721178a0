//! Puts `mpiscope run` before the program in a launcher's command for several hosts, so that every rank has a
//! wrapper as its parent and every host has a collector.

use crate::run::launcher::command::{is_program, kind, launcher_at, program_at};
use crate::run::launcher::options::Kind;
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Launcher options that name other hosts.
const HOSTS: [&str; 10] = [
    "host",
    "hosts",
    "hostlist",
    "hostfile",
    "machinefile",
    "machine",
    "default-hostfile",
    "H",
    "f",
    "configfile",
];
/// Variables from which launchers take hosts themselves.
const VARIABLES: [&str; 8] = [
    "PBS_NODEFILE",
    "LSB_HOSTS",
    "LSB_DJOB_HOSTFILE",
    "PE_HOSTFILE",
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];

/// What to start instead of the command.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// The command as it is: all ranks appear to be on this host.
    Here,
    /// There are other hosts, but it is unclear which word of the command is the program.
    Unclear,
    /// This command.
    Wrapped(Vec<OsString>),
}

/// Makes a plan from the command and our environment. `before` is put before the program; `variables` are
/// what the launcher must pass on.
pub fn plan(command: &[OsString], before: &[OsString], variables: &[String]) -> Plan {
    let Some(at) = launcher_at(command) else { return Plan::Here };
    let (starters, launcher) = command.split_at(at);
    let Some((program, words)) = launcher.split_first() else { return Plan::Here };
    let name = Path::new(program).file_name().unwrap_or_default();
    if !several_hosts(name, words, |name| env::var(name).ok()) {
        return Plan::Here;
    }
    let Some(kind) = kind(program, name) else { return Plan::Unclear };
    match wrapped(kind, words, before, variables, &is_program) {
        Some(words) => Plan::Wrapped([starters, std::slice::from_ref(program), words.as_slice()].concat()),
        None => Plan::Unclear,
    }
}

/// Returns the variables that other hosts need: the user's and our own.
pub fn passed(users: impl Iterator<Item = OsString>) -> Vec<String> {
    let users = users.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("MPISCOPE_"));
    let ours = ["MPISCOPE_JOB", "MPISCOPE_COLLECTOR", super::PLACE, super::SECRET, super::COMPANION]
        .map(str::to_owned);
    users.chain(ours).collect::<BTreeSet<String>>().into_iter().collect()
}

/// Whether this launcher may start ranks on other hosts, so that `run` puts itself before the program.
pub fn may_leave(launcher: &[OsString]) -> bool {
    launcher.split_first().is_some_and(|(program, words)| {
        let name = Path::new(program).file_name().unwrap_or_default();
        several_hosts(name, words, |name| env::var(name).ok())
    })
}

/// Whether the launcher may start ranks on other hosts.
fn several_hosts(name: &OsStr, words: &[OsString], get: impl Fn(&str) -> Option<String>) -> bool {
    let names_hosts = |word: &OsString| {
        let word = word.to_string_lossy();
        let option = word.split('=').next().unwrap_or_default();
        option.starts_with('-') && HOSTS.contains(&option.trim_start_matches('-'))
    };
    let nodes = get("SLURM_JOB_NUM_NODES").or_else(|| get("SLURM_NNODES"));
    let allocated = nodes.and_then(|nodes| nodes.parse::<u32>().ok()).is_some_and(|nodes| nodes > 1);
    name == "srun"
        || allocated
        || words.iter().any(names_hosts)
        || VARIABLES.iter().any(|name| get(name).is_some())
}

/// Returns the words after the launcher's name, with `before` inserted before each program; `None` if a
/// program cannot be identified.
fn wrapped(
    kind: Kind,
    words: &[OsString],
    before: &[OsString],
    variables: &[String],
    is_program: &dyn Fn(&OsStr) -> bool,
) -> Option<Vec<OsString>> {
    let mut all = Vec::new();
    for (number, part) in words.split(|word| word == ":").enumerate() {
        if number > 0 {
            all.push(":".into());
        }
        let at = program_at(kind, part)?;
        let (options, program) = part.split_at_checked(at)?;
        // Cross-checks the option tables: the word found must be a program.
        is_program(program.first()?).then_some(())?;
        all.extend_from_slice(options);
        if kind == Kind::OpenMpi {
            // Open MPI passes only named variables to other hosts. Naming them keeps their values off the
            // command line.
            all.extend(variables.iter().flat_map(|name| ["-x".into(), OsString::from(name)]));
        }
        if !is_ours(program) {
            all.extend_from_slice(before);
        }
        all.extend_from_slice(program);
    }
    Some(all)
}

/// Whether the user has already put `mpiscope run` there.
fn is_ours(program: &[OsString]) -> bool {
    let name = program.first().map(Path::new).and_then(Path::file_name);
    name == Some(OsStr::new("mpiscope")) && program.get(1).is_some_and(|verb| verb == "run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(Into::into).collect()
    }

    fn put(kind: Kind, line: &str) -> Option<String> {
        let program = |word: &OsStr| word == "./app" || word == "mpiscope";
        let all = wrapped(kind, &words(line), &words("M run"), &["A".to_owned()], &program)?;
        Some(all.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_program_of_every_part_of_the_command_gets_a_parent() {
        let hydra = "-n 2 -hosts a,b -genv X ./app ./app -n 1 : -n 1 ./app :x";
        assert_eq!(
            put(Kind::Hydra, hydra).as_deref(),
            Some("-n 2 -hosts a,b -genv X ./app M run ./app -n 1 : -n 1 M run ./app :x")
        );
        assert_eq!(
            put(Kind::Slurm, "-N3 -n 6 --mpi=pmi2 ./app -x").as_deref(),
            Some("-N3 -n 6 --mpi=pmi2 M run ./app -x")
        );
        assert_eq!(
            put(Kind::OpenMpi, "--host a:2,b --mca btl tcp,self ./app").as_deref(),
            Some("--host a:2,b --mca btl tcp,self -x A M run ./app")
        );
        assert_eq!(put(Kind::Slurm, "-n 2 mpiscope run ./app").as_deref(), Some("-n 2 mpiscope run ./app"));
    }

    #[test]
    fn words_before_the_launcher_stay_in_place() {
        let before = ["M".into(), "run".into()];
        let found = plan(&words("timeout -k 5 60 srun -n 2 sh -c x"), &before, &[]);
        assert_eq!(found, Plan::Wrapped(words("timeout -k 5 60 srun -n 2 M run sh -c x")));
        assert_eq!(plan(&words("timeout 60 sh -c srun"), &before, &[]), Plan::Here);
    }

    #[test]
    fn an_unrecognized_command_is_left_unchanged() {
        for (kind, line) in [
            (Kind::Hydra, "-new-option 3 ./app"),
            (Kind::Hydra, "-configfile jobs"),
            (Kind::Slurm, "-n 4 --multi-prog jobs"),
            (Kind::Slurm, "-n 4"),
            (Kind::OpenMpi, "-np 2 no-program"),
        ] {
            assert_eq!(put(kind, line), None, "{line}");
        }
    }

    #[test]
    fn other_hosts_are_recognized_by_options_the_environment_and_srun() {
        let nothing = |_: &str| None;
        let several = |line: &str| several_hosts(OsStr::new("mpirun"), &words(line), nothing);
        assert!(several("-n 2 -hosts a,b ./app") && several("--hostfile=x ./app") && several("-f x ./app"));
        assert!(!several("-n 2 ./app host"));
        assert!(several_hosts(OsStr::new("srun"), &[], nothing));
        let nodes = |n: &'static str| move |name: &str| (name == "SLURM_JOB_NUM_NODES").then(|| n.to_owned());
        assert!(several_hosts(OsStr::new("mpirun"), &[], nodes("2")));
        assert!(!several_hosts(OsStr::new("mpirun"), &[], nodes("1")));
    }
}
