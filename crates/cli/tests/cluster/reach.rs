//! Hosts that are not reachable by `ssh`, but by the launcher of the job: queries take the same way as the
//! ranks.

use crate::common::{Hosts, LIMIT, MPISCOPE, alone, launcher, libraries, one, srun};
use crate::live::{ask_with, ends, places, start_with, wanted, without_ssh};
use mpiscope_testkit::mpi::{Family, Library};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Makes a command that takes the host as its first non-option word: the cluster's `ssh` under another name.
fn shell(hosts: &Hosts, folder: &Path, name: &str, library: &Library) -> PathBuf {
    let path = hosts
        .on("login", "true", library)
        .get_envs()
        .find_map(|(name, value)| (name == "PATH").then(|| value.map(ToOwned::to_owned)).flatten());
    let ssh =
        std::env::split_paths(&path.unwrap()).map(|one| one.join("ssh")).find(|one| one.is_file()).unwrap();
    let file = folder.join(name);
    let script = format!(
        "#!/bin/sh\nwhile :; do case $1 in -*) shift;; *) break;; esac; done\nexec {} \"$@\"\n",
        ssh.display()
    );
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// Returns a library's launcher command with this remote shell.
fn with_agent(library: &Library, agent: &Path) -> Vec<String> {
    let options: &[&str] = match library.family {
        Family::Mpich => &["-launcher-exec"],
        Family::Intel => &["-bootstrap-exec"],
        Family::OpenMpi => &["--mca", "plm_rsh_agent"],
    };
    let mut words = launcher(library);
    words.splice(1..1, options.iter().map(|word| (*word).to_owned()).chain([agent.display().to_string()]));
    words
}

fn in_path(command: &mut Command, folder: &Path) {
    let path = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value)).flatten();
    let mut first = folder.as_os_str().to_owned();
    first.push(":");
    first.push(path.unwrap_or_default());
    command.env("PATH", first);
}

/// Checks that all ranks are seen from the launcher's host, which has none, and from another host. `words`
/// gets a folder for the files it needs.
fn is_seen(library: &Library, words: impl Fn(&Hosts, &Path) -> Vec<String>) {
    is_seen_on(Hosts::new(false), library, words);
}

fn is_seen_on(hosts: Hosts, library: &Library, words: impl Fn(&Hosts, &Path) -> Vec<String>) {
    let folder = hosts.dir.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let words = words(&hosts, &folder);
    let job = start_with(&hosts, library, &words, |command| in_path(command, &folder));
    for host in ["login", "n2"] {
        let until = Instant::now() + Duration::from_secs(20);
        // The ranks may be in MPI before their hosts have connected to the launcher's.
        loop {
            let (ps, all) = ask_with(&hosts, host, library, &["ps"], |command| {
                without_ssh(command, hosts.dir.path());
                in_path(command, &folder);
            });
            if places(&ps["ranks"]) == wanted() {
                break;
            }
            assert!(Instant::now() < until, "{} {host} {words:?}: {all}", library.name);
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    panes(&hosts, library);
    ends(job, hosts.dir.path());
}

/// Checks that a debugger opens for a rank on each of two hosts, in a terminal pane on the head node.
fn panes(hosts: &Hosts, library: &Library) {
    let socket = hosts.dir.path().join("tmux");
    let tmux = |words: &[&str]| {
        let mut tmux = hosts.on("login", "tmux", library);
        in_path(&mut tmux, &hosts.dir.path().join("bin"));
        without_ssh(&mut tmux, hosts.dir.path());
        hosts.run(tmux.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(words))
    };
    let attach =
        format!("{MPISCOPE} attach --ranks 1,4 > {}/attach 2>&1; sleep 600", hosts.dir.path().display());
    let started = tmux(&["new-session", "-d", "-x", "160", "-y", "50", &attach]);
    if !started.success() {
        eprintln!("no panes: there is no tmux: {}", started.describe());
        return;
    }
    let until = Instant::now() + LIMIT;
    let debugged = |pane: &str| tmux(&["capture-pane", "-p", "-t", pane]).stdout.contains("(gdb)");
    while ["%1", "%2"].iter().any(|pane| !debugged(pane)) {
        let said = fs::read_to_string(hosts.dir.path().join("attach")).unwrap_or_default();
        // If only the launcher reaches the host, there is no terminal; this is reported.
        if said.contains("no terminal can be opened from this host") {
            break;
        }
        assert!(Instant::now() < until, "{said} {}", tmux(&["capture-pane", "-p", "-t", "%1"]).stdout);
        std::thread::sleep(Duration::from_millis(200));
    }
    tmux(&["kill-server"]);
}

pub fn a_slurm_job_started_here_is_reached_through_slurm() {
    let _turn = alone();
    is_seen_on(Hosts::new(true), &one(), |_, _| srun());
}

pub fn hosts_reachable_only_by_the_jobs_launcher_are_asked_through_it() {
    let _turn = alone();
    for library in libraries() {
        is_seen(&library, |hosts, folder| with_agent(&library, &shell(hosts, folder, "agent", &library)));
        if library.family != Family::OpenMpi {
            // Sun Grid Engine's replacement for `ssh`; only Hydra knows its name.
            is_seen(&library, |hosts, folder| {
                shell(hosts, folder, "qrsh", &library);
                let kind = |word: String| if word == "ssh" { "sge".to_owned() } else { word };
                launcher(&library).into_iter().map(kind).collect()
            });
        }
    }
}
