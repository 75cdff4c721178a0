//! Remote shells: `sshd` on every host, with keys created for this cluster.

use super::{Cluster, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts the servers and waits until each answers.
pub fn start(cluster: &Cluster) -> anyhow::Result<()> {
    let dir = cluster.dir.join("ssh");
    fs::create_dir_all(&dir)?;
    for key in ["host", "user"] {
        let file = dir.join(key);
        if !file.exists() {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&file)
                .status()?;
            anyhow::ensure!(made.success(), "could not create a key");
        }
    }
    fs::copy(dir.join("user.pub"), dir.join("authorized"))?;
    fs::write(dir.join("sshd_config"), server(&dir))?;
    fs::write(dir.join("config"), client(&dir))?;
    let shell = dir.join("bin/ssh");
    fs::create_dir_all(dir.join("bin"))?;
    fs::write(&shell, format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/config \"$@\"\n", dir.display()))?;
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755))?;
    for host in &cluster.hosts {
        // It daemonizes itself, becoming a child of the host's first process.
        let mut server = host.command("/usr/sbin/sshd");
        server.arg("-f").arg(dir.join("sshd_config")).arg("-E").arg(dir.join(format!("{}.log", host.name)));
        anyhow::ensure!(
            server.stdin(Stdio::null()).status()?.success(),
            "sshd did not start on {}",
            host.name
        );
    }
    let Some(head) = cluster.hosts.first() else { return Ok(()) };
    for host in &cluster.hosts {
        let answers = || {
            let mut command = head.command(&shell.to_string_lossy());
            command.arg(&host.name).arg("true").stdin(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        anyhow::ensure!(until(answers), "sshd on {} does not answer; see {}", host.name, dir.display());
    }
    Ok(())
}

/// Sets the environment that commands on the hosts need.
pub fn environment(cluster: &Cluster, command: &mut Command) {
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", cluster.dir.join("ssh/bin").display()));
}

fn server(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "HostKey {dir}/host\nAuthorizedKeysFile {dir}/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nMaxStartups 200\nPidFile none\n"
    )
}

fn client(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "Host *\n  IdentityFile {dir}/user\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  \
         LogLevel ERROR\n"
    )
}
