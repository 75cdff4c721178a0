//! What root sees of other users' jobs.

use crate::stranger::{self, MPISCOPE, NOBODY, Running, soon, text, until};
use std::process::Command;

/// Starts a waiting rank of a job with this name.
fn rank(dir: &tempfile::TempDir, job: &str, user: u32) -> Running {
    let mut command = Command::new(dir.path().join("fake_rank"));
    command.arg("recv").env("MPISCOPE_JOB", job).env_remove("MPISCOPE_COLLECTOR");
    stranger::start(&mut command, user)
}

fn ps(args: &[&str]) -> (String, String) {
    let output = soon(Command::new(MPISCOPE).env("COLUMNS", "400").args(["ps", "--here"]).args(args));
    (text(&output.stdout), text(&output.stderr))
}

pub fn jobs_of_two_users_with_the_same_name_are_distinct_and_ones_own_is_preferred() {
    let dir = stranger::folder(&["fake_rank"]);
    let name = format!("twin-{}", std::process::id());
    let ranks = [rank(&dir, &name, 0), rank(&dir, &name, NOBODY)];
    let full = [0, NOBODY].map(|user| format!("{user}:{name}"));
    until(|| full.iter().all(|name| ps(&[name]).0.contains("MPI_Recv")).then_some(()));
    for (name, rank) in full.iter().chain([&name]).zip(ranks.iter().chain(&ranks)) {
        let seen: serde_json::Value = serde_json::from_str(&ps(&[name, "--json"]).0).unwrap();
        assert_eq!(
            (seen["ranks"].as_array().unwrap().len(), &seen["ranks"][0]["pid"]),
            (1, &rank.pid().into())
        );
    }
    let (list, _) = ps(&[]);
    assert!(list.contains("USER:JOB") && full.iter().all(|name| list.contains(name)), "{list}");
}

/// Whether users may create namespaces here.
pub fn name_spaces() -> Option<String> {
    let may = Command::new("unshare").args(["-Urm", "true"]).status().is_ok_and(|status| status.success());
    (!may).then(|| "no namespaces for users here".to_owned())
}

pub fn a_pipe_named_like_an_image_does_not_block() {
    // For a file system that is no longer mounted anywhere, the kernel shows only the path inside it.
    let script = "mount -t tmpfs none /mnt && mkfifo '/mnt/memfd:mpiscope:trap' && exec 9<>'/mnt/memfd:mpiscope:trap' && \
                  umount -l /mnt && exec sleep 100";
    let mut trap = Command::new("unshare");
    trap.args(["-Urm", "sh", "-c", script]);
    let trap = stranger::start(
        &mut trap,
        if stranger::available() { NOBODY } else { rustix::process::geteuid().as_raw() },
    );
    let mut limit = 200;
    while !std::fs::read_link(format!("/proc/{}/fd/9", trap.pid()))
        .is_ok_and(|l| l.starts_with("/memfd:mpiscope:trap"))
    {
        limit -= 1;
        assert!(limit > 0, "the pipe did not appear");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (shown, said) = ps(&["trap"]);
    assert!(shown.is_empty() && said.contains("trap: no such job"), "{shown}{said}");
    soon(Command::new(MPISCOPE).env("COLUMNS", "400").args(["procs", "--here"]).arg(trap.pid().to_string()));
}
