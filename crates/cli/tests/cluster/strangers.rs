//! What another user on the hosts can learn of a job there.

use crate::common::{Hosts, Job, MPISCOPE, alone, compile, launcher, one, reaches};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::run::Outcome;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// Returns the value of a variable in a process, or in its first descendant that has it.
fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut words = environment.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok());
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned);
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut children = children.split_whitespace().filter_map(|child| child.parse().ok());
    value.or_else(|| children.find_map(|child| variable(child, name)))
}

/// Runs a shell command as another user.
fn as_stranger(hosts: &Hosts, host: &str, library: &Library, command: &str) -> Outcome {
    let mut all = hosts.on(host, "setpriv", library);
    all.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "bash", "-c", command]);
    hosts.run(all.env("MPISCOPE_HOST_SECONDS", "5"))
}

/// Makes a copy that other users may execute, wherever the tests were built.
fn for_everybody(dir: &Path) -> String {
    fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
    let copy = dir.join("mpiscope");
    fs::copy(MPISCOPE, &copy).unwrap();
    copy.display().to_string()
}

pub fn another_user_cannot_see_a_job_read_its_secret_or_add_to_its_report() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let dir = hosts.dir.path();
    let mpiscope = for_everybody(dir);
    let program = compile(&library, "acquire/idle", dir);
    let said = dir.join("said");
    let mut command = hosts.on("login", MPISCOPE, &library);
    command.args(["run", "--hang-after", "0", "--out"]).arg(dir.join("out"));
    command.args(launcher(&library)).arg(program).arg(dir);
    let mut job = Job::start(&mut command, &said);
    reaches(&dir.join("at.idle.1"), &said);

    let of_launcher = |name| variable(job.child.id(), name).expect("the launcher knows who gathers the job");
    let (secret, place) = (of_launcher("MPISCOPE_SECRET"), of_launcher("MPISCOPE_UPLINK"));
    let port: u16 = place.split(' ').next().and_then(|port| port.parse().ok()).unwrap();
    for host in ["login", "n2"] {
        let ps = as_stranger(&hosts, host, &library, &format!("{mpiscope} ps"));
        assert!(!ps.success() && ps.stderr.contains("no job of this user"), "{}", ps.describe());
        // The key is not on any command line either; everyone may read those.
        let files = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true";
        let read = as_stranger(&hosts, host, &library, files);
        assert!(
            read.stdout.contains("idle") && !read.stdout.contains(&secret),
            "the key can be read on {host}"
        );
        let talk = format!(
            "exec 3<>/dev/tcp/login/{port} && printf 'hello, I am n2 with ranks 0 to 5' >&3 && timeout 3 cat <&3; echo over"
        );
        let talk = as_stranger(&hosts, host, &library, &talk);
        assert_eq!(talk.stdout, "over\n", "nobody is answered who has no key: {}", talk.describe());
    }
    fs::write(dir.join("go.1"), "").unwrap();
    job.ends(Duration::from_secs(60));
    let report = hosts.report("out").unwrap_or_else(|| panic!("{}", fs::read_to_string(&said).unwrap()));
    let refused = "2 connections that did not prove knowledge of the job's secret were refused";
    assert!(report["notes"].to_string().contains(refused), "{report:#}");
    let place = |rank: &serde_json::Value| Some((rank["rank"].as_u64()?, rank["host"].as_str()?.to_owned()));
    let places: Option<Vec<_>> = report["ranks"].as_array().unwrap().iter().map(place).collect();
    let wanted: Vec<_> = (0..6).map(|rank| (rank, format!("n{}", rank / 2 + 1))).collect();
    assert_eq!(places, Some(wanted), "{report:#}");
}
