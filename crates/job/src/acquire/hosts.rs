//! The processes of this host, and the command that asks other hosts.

use super::images::{self, ImageEntry};
use super::{Acquired, Error, Users};
use crate::shell::quoted;
use mpiscope_target::{Files, Live, Target, procfs};
use serde::de::DeserializeOwned;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// What [`acquire`](super::acquire) needs of the world; tests have their own.
pub trait Hosts {
    /// The name of this host.
    fn host(&self) -> String;
    /// Whether processes of this host are meant.
    fn here(&self, host: &str) -> bool;
    /// The user that a process of this host belongs to; nothing if there is no such process.
    fn owner(&self, pid: u32) -> Option<u32>;
    /// A process of this host; its program is to be `executable`, if that is known.
    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error>;
    /// The descendants of a process of this host.
    fn descendants(&self, pid: u32) -> Vec<u32>;
    /// All processes of this host that have an image.
    fn records(&self) -> Vec<ImageEntry>;
    /// What another host knows, seen from these processes there, of the processes of these users.
    fn ask(&self, host: &str, pids: &[u32], users: &Users) -> Result<Acquired, Error>;
}

/// The real one.
#[derive(Debug, Clone)]
pub struct SystemHosts {
    host: String,
    /// Words of the command; `{host}` stands for the host. What is to be run there is added.
    shell: Vec<String>,
    /// The program on the other host.
    program: PathBuf,
    /// What all processes of this host have in common, read once.
    files: Arc<Files>,
    children: OnceCell<HashMap<u32, Vec<u32>>>,
}

impl SystemHosts {
    /// Asks other hosts by `MPISCOPE_SSH`, or `ssh` if that is not set, to run `program` there.
    pub fn new(program: PathBuf) -> Self {
        let template = std::env::var("MPISCOPE_SSH").ok().filter(|text| !text.trim().is_empty());
        let template = template.unwrap_or_else(|| "ssh -o BatchMode=yes {host}".into());
        let mut shell: Vec<String> = template.split_whitespace().map(str::to_owned).collect();
        if !shell.iter().any(|word| word.contains("{host}")) {
            shell.push("{host}".into());
        }
        let host = procfs::hostname().unwrap_or_default();
        Self { host, shell, program, files: Arc::default(), children: OnceCell::new() }
    }
}

impl SystemHosts {
    /// Runs this program on another host.
    ///
    /// # Errors
    /// [`Error::Remote`], when the command cannot be started or says that it failed.
    pub fn command(&self, host: &str, arguments: &[String]) -> Result<(), Error> {
        let output = self.output(host, arguments)?;
        let fail = || Error::Remote { host: host.to_owned(), why: last_words(&output) };
        if output.status.success() { Ok(()) } else { Err(fail()) }
    }

    /// Runs this program on another host, and reads the JSON that it prints.
    ///
    /// # Errors
    /// [`Error::Remote`], with the last thing that the command said.
    pub fn run<T: DeserializeOwned>(&self, host: &str, arguments: &[String]) -> Result<T, Error> {
        let output = self.output(host, arguments)?;
        // Shells on other hosts like to say good morning first.
        let mut lines = output.stdout.split(|b| *b == b'\n');
        let answer = lines.rfind(|line| line.first() == Some(&b'{')).unwrap_or_default();
        serde_json::from_slice(answer).map_err(|e| {
            let said = last_words(&output);
            let why = if said.is_empty() { format!("the answer is not understood ({e})") } else { said };
            Error::Remote { host: host.to_owned(), why }
        })
    }

    fn output(&self, host: &str, arguments: &[String]) -> Result<Output, Error> {
        let fail = |why: String| Error::Remote { host: host.to_owned(), why };
        // The name comes from another process's memory and becomes an argument of a command.
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        if host.starts_with('-') || !host.chars().all(plain) || host.is_empty() {
            return Err(Error::HostName { host: host.to_owned() });
        }
        let mut words = self.shell.iter().map(|word| word.replace("{host}", host));
        let Some(first) = words.next() else { return Err(fail("MPISCOPE_SSH is empty".into())) };
        let mut command = Command::new(&first);
        // The shell on the other side takes the words apart again.
        command.args(words).arg(quoted(&self.program.to_string_lossy()));
        command.args(arguments.iter().map(|argument| quoted(argument))).stdin(Stdio::null());
        command.output().map_err(|e| fail(format!("{first}: {e}")))
    }
}

/// The last line on standard error.
fn last_words(output: &Output) -> String {
    mpiscope_image::text(&output.stderr).lines().last().unwrap_or_default().trim().to_owned()
}

/// Two names of one host: equal, or one is the other with its domain.
fn same_host(one: &str, other: &str) -> bool {
    let with_domain = |long: &str, short: &str| {
        !short.is_empty() && long.len() > short.len() && long.as_bytes().get(short.len()) == Some(&b'.')
            && long.get(..short.len()).is_some_and(|head| head.eq_ignore_ascii_case(short))
            // Addresses have dots, too.
            && !long.bytes().next().is_some_and(|b| b.is_ascii_digit())
    };
    one.eq_ignore_ascii_case(other) || with_domain(one, other) || with_domain(other, one)
}

/// The children of every process.
fn children() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in procfs::list().unwrap_or_default() {
        if let Ok(status) = procfs::status(pid) {
            children.entry(status.parent).or_default().push(pid);
        }
    }
    children
}

impl Hosts for SystemHosts {
    fn host(&self) -> String {
        self.host.clone()
    }

    fn here(&self, host: &str) -> bool {
        same_host(host, &self.host) || ["localhost", "127.0.0.1", "::1"].contains(&host)
    }

    fn owner(&self, pid: u32) -> Option<u32> {
        procfs::user(pid).ok()
    }

    fn open(&self, pid: u32, executable: &Path) -> Result<Box<dyn Target>, Error> {
        let live = Live::open_among(pid, self.files.clone())?;
        if procfs::status(pid)?.has_ended() {
            return Err(mpiscope_target::Error::NoProcess { pid }.into());
        }
        let now = live.executable().unwrap_or_default();
        let name = |path: &Path| {
            let text = path.as_os_str().to_string_lossy().into_owned();
            text.strip_suffix(" (deleted)").unwrap_or(&text).to_owned()
        };
        // The number of a process that has ended may belong to another by now.
        if !executable.as_os_str().is_empty()
            && Path::new(&name(&now)).file_name() != Path::new(&name(executable)).file_name()
        {
            return Err(mpiscope_target::Error::NoProcess { pid }.into());
        }
        Ok(Box::new(live))
    }

    fn descendants(&self, pid: u32) -> Vec<u32> {
        let children = self.children.get_or_init(children);
        let mut found: Vec<u32> = children.get(&pid).cloned().unwrap_or_default();
        let mut next = 0;
        // A process has one parent: each is found once. Numbers are given anew while the list is made, hence the bound.
        while let Some(parent) = found.get(next).filter(|_| found.len() <= children.len() * 2) {
            found.extend(children.get(parent).into_iter().flatten());
            next += 1;
        }
        found
    }

    fn records(&self) -> Vec<ImageEntry> {
        images::all()
    }

    fn ask(&self, host: &str, pids: &[u32], users: &Users) -> Result<Acquired, Error> {
        let mut words = ["procs", "--json", "--here", "--user"].map(str::to_owned).to_vec();
        words.push(users.to_string());
        words.extend(pids.iter().map(u32::to_string));
        self.run(host, &words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_of_a_host_is_neither_asked_nor_put_into_advice_to_paste() {
        for host in ["", "-oProxyCommand=true", "a;true", "a b", "$(true)", "a\nb", "a\'b"] {
            let error = SystemHosts::new("true".into()).command(host, &[]).unwrap_err();
            assert!(matches!(error, Error::HostName { .. }), "{error}");
            let text = error.to_string();
            assert!(!text.contains("ssh") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn a_host_is_the_same_with_and_without_its_domain_but_an_address_is_not_a_prefix() {
        assert!(same_host("node7", "NODE7") && same_host("node7.site.org", "node7"));
        assert!(!same_host("node7", "node70") && !same_host("10.0.0.1", "10") && !same_host("", "a"));
    }
}
