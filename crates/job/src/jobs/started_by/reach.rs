//! How a launcher reaches hosts, derived from the command lines and environments of the launcher and its
//! daemons.

use crate::base::shell;
use mpiscope_target::procfs::Environment;
use std::env;
use std::path::{Path, PathBuf};

/// How a launcher reaches a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// By a command that is used like `ssh`, followed by the host and a line for its shell.
    Shell(Vec<String>),
    /// Only by itself: a command that starts a program on `{host}`, followed by the program's words.
    Launcher(Vec<String>),
}

/// Command line and environment of a process.
#[derive(Debug, Default)]
pub struct Started {
    pub words: Vec<String>,
    pub environment: Environment,
}

/// Programs whose options are understood: launchers, and the daemons that they start on each host.
const LAUNCHERS: [&str; 6] = ["mpirun", "mpiexec", "orterun", "prterun", "prte", "prun"];
const DAEMONS: [&str; 4] = ["hydra_pmi_proxy", "hydra_bstrap_proxy", "orted", "prted"];

/// Hydra's options for how its proxies are started: the kind of launcher, and the program of that kind.
const KINDS: [&str; 2] = ["launcher", "bootstrap"];
const PROGRAMS: [&str; 2] = ["launcher-exec", "bootstrap-exec"];
/// The same as environment variables.
const KIND_VARIABLES: [&str; 3] = ["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"];
const PROGRAM_VARIABLES: [&str; 3] =
    ["HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];
/// The corresponding parameter of Open MPI and PRRTE.
const AGENTS: [&str; 2] = ["plm_ssh_agent", "plm_rsh_agent"];
const AGENT_PREFIXES: [&str; 3] = ["PRTE_MCA_", "OMPI_MCA_", "PRRTE_MCA_"];

/// Kinds of Hydra that give no way to another host: ranks of Slurm are recognized differently, the others
/// start processes locally or leave that to the user.
const UNUSABLE_LAUNCHERS: [&str; 5] = ["slurm", "fork", "manual", "persist", "user"];

/// Finds the way among processes, nearest first: any process's command line takes precedence over all
/// environments.
pub fn among(all: impl Iterator<Item = Started>) -> Option<Reach> {
    let all: Vec<Started> = all.collect();
    let said = all.iter().find_map(|one| of_words(&one.words));
    said.unwrap_or_else(|| all.iter().find_map(|one| of_environment(&one.environment)))
}

/// Reads the options of a launcher or daemon. The outer `None` means that it is neither or has no such
/// option, the inner one the usual way.
fn of_words(words: &[String]) -> Option<Option<Reach>> {
    let (program, options) = words.split_first()?;
    let program = Path::new(program);
    let name = program.file_name()?.to_str()?;
    let launcher = LAUNCHERS.iter().any(|known| name == *known || name.starts_with(&format!("{known}.")));
    if !launcher && !DAEMONS.contains(&name) {
        return None;
    }
    // Stop before the user's program, which `mpiscope run` precedes if the launcher started it.
    let own =
        options.iter().position(|word| Path::new(word).file_name().is_some_and(|name| name == "mpiscope"));
    let options = options.get(..own.unwrap_or(options.len())).unwrap_or_default();
    let value = |names: &[&str]| {
        let named = |word: &str| word.starts_with('-') && names.contains(&word.trim_start_matches('-'));
        let at = options.iter().position(|word| named(word))?;
        options.get(at + 1).cloned()
    };
    let agent = options.windows(3).find_map(|three| match three {
        [option, name, value] if option.starts_with('-') && option.ends_with("mca") => {
            AGENTS.contains(&name.as_str()).then_some(value)
        }
        _ => None,
    });
    if let Some(agent) = agent {
        return Some(of_agents(agent));
    }
    let (kind, exec) = (value(&KINDS), value(&PROGRAMS));
    (kind.is_some() || exec.is_some()).then(|| of_hydra(kind, exec, program.parent()))
}

fn of_environment(environment: &Environment) -> Option<Reach> {
    let get = |name: &str| environment.text(name).filter(|value| !value.is_empty());
    let of = |prefix: &&str| AGENTS.iter().find_map(|name| get(&format!("{prefix}{name}")));
    if let Some(agent) = AGENT_PREFIXES.iter().find_map(of) {
        return of_agents(&agent);
    }
    let any = |names: &[&str]| names.iter().find_map(|name| get(name));
    of_hydra(any(&KIND_VARIABLES), any(&PROGRAM_VARIABLES), None)
}

/// Returns the first of the alternatives, separated by colons, that exists.
fn of_agents(agents: &str) -> Option<Reach> {
    let all = agents.split(':').filter_map(|one| shell::words(one).ok());
    let mut all = all.filter(|words| words.first().is_some_and(|first| is_program(first)));
    all.next().filter(|words| *words != ["ssh"]).map(Reach::Shell)
}

fn of_hydra(kind: Option<String>, exec: Option<String>, folder: Option<&Path>) -> Option<Reach> {
    match kind.as_deref() {
        Some(kind) if UNUSABLE_LAUNCHERS.contains(&kind) => None,
        None | Some("ssh" | "rsh") => {
            let usual = kind.filter(|kind| kind != "ssh");
            exec.or(usual).map(|program| Reach::Shell(vec![program]))
        }
        Some(kind) => {
            let mut words = vec![launcher_in(folder), "-launcher".to_owned(), kind.to_owned()];
            words.extend(exec.into_iter().flat_map(|exec| ["-launcher-exec".to_owned(), exec]));
            words.extend(["-hosts", "{host}", "-n", "1"].map(str::to_owned));
            Some(Reach::Launcher(words))
        }
    }
}

/// Hydra's launcher, installed next to its proxies.
fn launcher_in(folder: Option<&Path>) -> String {
    let names = ["mpiexec.hydra", "mpiexec"];
    let folder = folder.unwrap_or(Path::new(""));
    let here = names.iter().map(|name| folder.join(name)).find(|file| is_program(&file.to_string_lossy()));
    here.unwrap_or_else(|| PathBuf::from(names[0])).to_string_lossy().into_owned()
}

fn is_program(name: &str) -> bool {
    if name.contains('/') {
        return Path::new(name).is_file();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(words: &str, environment: &[&str]) -> Started {
        let environment = Environment::new(environment.join("\0").into_bytes());
        Started { words: words.split(' ').map(str::to_owned).collect(), environment }
    }

    fn said(words: &str, environment: &[&str]) -> Option<Reach> {
        among([started("./app -launcher x", &[]), started(words, environment)].into_iter())
    }

    fn by_shell(words: &[&str]) -> Option<Reach> {
        Some(Reach::Shell(words.iter().map(|word| (*word).to_owned()).collect()))
    }

    #[test]
    fn daemons_reveal_the_command_that_reached_them() {
        let hydra =
            "/opt/bin/hydra_pmi_proxy --control-port l:1 --rmk user --launcher ssh --launcher-exec /bin/sh";
        assert_eq!(said(hydra, &[]), by_shell(&["/bin/sh"]));
        let orted = "orted -mca ess env --mca plm_rsh_agent /bin/sh -mca plm rsh";
        assert_eq!(said(orted, &[]), by_shell(&["/bin/sh"]));
        let mut prted =
            started("/opt/bin/prted --prtemca ess env --prtemca plm_ssh_agent X --prtemca plm ssh", &[]);
        prted.words[6] = "no-such-program : sh -p '7 8'".to_owned();
        assert_eq!(among([prted].into_iter()), by_shell(&["sh", "-p", "7 8"]));
    }

    #[test]
    fn a_daemons_command_takes_precedence_over_variables_and_the_default_is_ignored() {
        let variables = ["OMPI_MCA_plm_rsh_agent=sh", "HYDRA_LAUNCHER_EXEC=/bin/rsh"];
        assert_eq!(said("hydra_pmi_proxy --launcher ssh --demux poll", &variables), None);
        assert_eq!(said("mpiexec -n 2 ./app", &variables[1..]), by_shell(&["/bin/rsh"]));
        assert_eq!(said("prterun --host a ./app", &variables[..1]), by_shell(&["sh"]));
        assert_eq!(said("mpiexec -n 2 ./app", &["HYDRA_LAUNCHER=slurm"]), None);
        assert_eq!(said("bash -c launcher", &[]), None);
        assert_eq!(said("mpiexec -n 2 /opt/bin/mpiscope run ./app -launcher sge", &[]), None);
    }

    #[test]
    fn a_launcher_that_can_reach_hosts_itself_is_used() {
        let Some(Reach::Launcher(words)) = said("/no/bin/hydra_bstrap_proxy --launcher sge --pgid 0", &[])
        else {
            panic!("no launcher")
        };
        assert_eq!(words.join(" "), "mpiexec.hydra -launcher sge -hosts {host} -n 1");
    }
}
