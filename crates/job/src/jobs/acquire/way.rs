//! The command by which another host is reached.

use crate::base::shell::{self, quoted};
use crate::jobs::scheduler::{self, Steps};
use crate::jobs::started_by::{Reach, StartedBy};
use std::env;
use std::path::Path;
use std::process::Command;

/// The default command. It never asks for a password.
const USUAL: [&str; 6] = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{host}"];

/// How a host is reached.
#[derive(Debug, Clone)]
pub enum Way {
    /// Words of a command that passes its arguments to a shell; `{host}` stands for the host, and the command
    /// to run is appended. Or what is wrong with the user's template.
    Shell(Result<Vec<String>, String>),
    /// Another step of this Slurm job: many sites allow no other way.
    Slurm(Steps),
    /// The job's own launcher, which has its own way to hosts: the words of the command, including `{host}`.
    Launcher(Vec<String>),
}

impl Way {
    /// The user's command, otherwise `ssh`.
    pub fn usual() -> Self {
        of_user().unwrap_or_else(|| Self::Shell(Ok(USUAL.map(str::to_owned).to_vec())))
    }

    /// The user's command, otherwise the way by which the job reached its hosts.
    pub fn of(started_by: StartedBy) -> Self {
        let other = match started_by {
            StartedBy { slurm: Some(id), .. } => scheduler::is_here().then(|| Self::Slurm(Steps::of(id))),
            StartedBy { reach: Some(Reach::Shell(words)), .. } => Some(Self::Shell(Ok(as_usual(words)))),
            StartedBy { reach: Some(Reach::Launcher(words)), .. } => Some(Self::Launcher(words)),
            StartedBy { reach: None, .. } => None,
        };
        of_user().or(other).unwrap_or_else(Self::usual)
    }

    /// Returns the command that runs a program on a host.
    pub fn command(&self, host: &str, program: &Path, arguments: &[String]) -> Result<Command, String> {
        let (words, for_shell) = match self {
            Self::Shell(words) => (words.as_ref().map_err(|why| format!("MPISCOPE_SSH: {why}"))?, true),
            Self::Launcher(words) => (words, false),
            Self::Slurm(steps) => {
                let mut command = steps.on(host);
                command.arg(program).args(arguments);
                return Ok(command);
            }
        };
        let mut words = words.iter().map(|word| word.replace("{host}", host));
        let mut command = Command::new(words.next().ok_or("MPISCOPE_SSH is empty")?);
        command.args(words);
        if for_shell {
            // The shell on the other side splits the words again.
            command.arg(quoted(&program.to_string_lossy())).args(arguments.iter().map(|one| quoted(one)));
        } else {
            command.arg(program).args(arguments);
        }
        Ok(command)
    }

    /// Returns the command that runs a program on a host, attached to this host's terminal, if there is one.
    pub fn terminal(&self, host: &str, program: &Path, arguments: &[String]) -> Option<Vec<String>> {
        let mut words = match self {
            Self::Shell(words) => {
                words.as_ref().ok()?.iter().map(|word| word.replace("{host}", host)).collect()
            }
            Self::Slurm(steps) => steps.with_terminal_on(host),
            Self::Launcher(_) => return None,
        };
        let program = program.to_string_lossy().into_owned();
        let all = std::iter::once(&program).chain(arguments);
        if matches!(self, Self::Shell(_)) {
            if is_ssh(&words) {
                words.insert(1, "-t".to_owned());
            }
            words.extend(all.map(|word| quoted(word)));
        } else {
            words.extend(all.cloned());
        }
        Some(words)
    }

    /// Whether the command reports the cause of an error first, and where it was noticed afterward.
    pub fn explains_first(&self) -> bool {
        matches!(self, Self::Launcher(_))
    }

    /// Returns a command that a user can try if there was no connection.
    pub fn trial(&self, host: &str) -> Option<String> {
        let Self::Shell(Ok(words)) = self else { return None };
        let words = if *words == USUAL { &["ssh".to_owned(), "{host}".to_owned()] } else { &words[..] };
        let words = words.iter().map(|word| word.replace("{host}", host));
        Some(shell::line(words.chain(["true".to_owned()])))
    }
}

/// The command in `MPISCOPE_SSH`, if set.
fn of_user() -> Option<Way> {
    let template = env::var("MPISCOPE_SSH").ok().filter(|text| !text.trim().is_empty())?;
    Some(Way::Shell(shell::words(&template).map(with_host)))
}

fn with_host(mut words: Vec<String>) -> Vec<String> {
    if !words.iter().any(|word| word.contains("{host}")) {
        words.push("{host}".to_owned());
    }
    words
}

fn is_ssh(words: &[String]) -> bool {
    words.first().is_some_and(|first| Path::new(first).file_name().is_some_and(|name| name == "ssh"))
}

/// A command like `ssh`; if it is `ssh`, with options that prevent password prompts.
fn as_usual(mut words: Vec<String>) -> Vec<String> {
    if is_ssh(&words) {
        let options = USUAL.iter().filter(|word| !["ssh", "{host}"].contains(word));
        words.splice(1..1, options.map(|word| (*word).to_owned()));
    }
    with_host(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(way: &Way) -> String {
        let command =
            way.command("n3", Path::new("/a b/mpiscope"), &["save".to_owned(), "it's".to_owned()]).unwrap();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_shell_gets_quoted_words_and_a_launcher_gets_them_unchanged() {
        let reach = |reach| Way::of(StartedBy { slurm: None, reach: Some(reach) });
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let shell = reach(Reach::Shell(words("/opt/remsh -x")));
        assert_eq!(line(&shell), r"/opt/remsh|-x|n3|'/a b/mpiscope'|save|'it'\''s'");
        assert_eq!(shell.trial("n3").as_deref(), Some("/opt/remsh -x n3 true"));
        let launcher = reach(Reach::Launcher(words("mpiexec -launcher sge -hosts {host} -n 1")));
        assert_eq!(line(&launcher), "mpiexec|-launcher|sge|-hosts|n3|-n|1|/a b/mpiscope|save|it's");
        assert_eq!(launcher.trial("n3"), None);
        assert_eq!(launcher.terminal("n3", Path::new("m"), &[]), None);
        let ssh = reach(Reach::Shell(words("/bin/ssh {host}")));
        let seen = ssh.terminal("n3", Path::new("m"), &["it's".to_owned()]).unwrap();
        assert_eq!(seen.join("|"), r"/bin/ssh|-t|-o|BatchMode=yes|-o|ConnectTimeout=10|n3|m|'it'\''s'");
    }

    #[test]
    fn ssh_never_prompts_however_it_was_configured() {
        let named =
            Way::Shell(Ok(as_usual(vec!["/usr/bin/ssh".to_owned(), "-p".to_owned(), "22".to_owned()])));
        assert!(line(&named).starts_with("/usr/bin/ssh|-o|BatchMode=yes|-o|ConnectTimeout=10|-p|22|n3|"));
        let usual = Way::Shell(Ok(USUAL.map(str::to_owned).to_vec()));
        assert_eq!(usual.trial("n3").as_deref(), Some("ssh n3 true"));
        let wrong = Way::Shell(shell::words("ssh 'x"));
        assert_eq!(wrong.command("n3", Path::new("m"), &[]).unwrap_err(), "MPISCOPE_SSH: a ' is not closed");
    }
}
