//! Hosts that `ssh` does not reach, but the launcher of the job does: what brought the ranks there brings the look.

use crate::common::{Hosts, alone, launcher, libraries};
use crate::live::{ask_with, ends, places, start_with, wanted, without_ssh};
use mpiscope_testkit::mpi::{Family, Library};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command with the host as the first word that is no option: the cluster's `ssh` by another name.
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

/// The launcher of a library with a shell of its own.
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

/// All ranks are seen from the host of the launcher, which has none, and from another one. What is made for it lies in a folder.
fn is_seen(library: &Library, words: impl Fn(&Hosts, &Path) -> Vec<String>) {
    let hosts = Hosts::new(false);
    let folder = hosts.dir.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let words = words(&hosts, &folder);
    let job = start_with(&hosts, library, &words, |command| in_path(command, &folder));
    for host in ["login", "n2"] {
        let (ps, all) = ask_with(&hosts, host, library, &["ps"], |command| {
            without_ssh(command, hosts.dir.path());
            in_path(command, &folder);
        });
        assert_eq!(places(&ps["ranks"]), wanted(), "{} {host} {words:?}: {all}", library.name);
    }
    ends(job, hosts.dir.path());
}

pub fn hosts_that_only_the_launcher_of_the_job_reaches_are_asked_by_its_way() {
    let _turn = alone();
    for library in libraries() {
        is_seen(&library, |hosts, folder| with_agent(&library, &shell(hosts, folder, "agent", &library)));
        if library.family != Family::OpenMpi {
            // What Sun Grid Engine has in the place of `ssh`; only Hydra knows how it is called.
            is_seen(&library, |hosts, folder| {
                shell(hosts, folder, "qrsh", &library);
                let kind = |word: String| if word == "ssh" { "sge".to_owned() } else { word };
                launcher(&library).into_iter().map(kind).collect()
            });
        }
    }
}
