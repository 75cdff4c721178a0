//! Another user in place of the collector.

use crate::stranger::{self, MPISCOPE, NOBODY, Running, soon, text, until};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Builds a preload library that does nothing: the fake rank behaves as if it were under the layer.
fn no_layer(dir: &TempDir) -> PathBuf {
    let (layer, source) = (dir.path().join("libmpiscope.so"), dir.path().join("empty.c"));
    std::fs::write(&source, "int nothing;\n").unwrap();
    assert!(Command::new("gcc").args(["-shared", "-o"]).arg(&layer).arg(&source).status().unwrap().success());
    layer
}

/// Returns `mpiscope run` as the parent of the only rank of a job that a launcher with namespaces
/// started.
fn inner_form(dir: &TempDir, job: &str, how: &str) -> Command {
    let mut command = Command::new(MPISCOPE);
    command.arg("run").arg(stranger::example("fake_rank")).arg(how);
    command.env("MPISCOPE_LAYER", no_layer(dir)).env("PMIX_NAMESPACE", job).env("PMIX_RANK", "0");
    command.env("OMPI_COMM_WORLD_LOCAL_SIZE", "1").env_remove("MPISCOPE_COLLECTOR").stdin(Stdio::null());
    command
}

/// Another user's process that listens at all these places, and the log of what it received.
struct Squatter {
    _running: Running,
    log: PathBuf,
}

impl Squatter {
    fn at(dir: &TempDir, places: &[String]) -> Self {
        let log = dir.path().join("squatter.log");
        let mut command = Command::new(dir.path().join("squatter"));
        command.args(places).stdout(std::fs::File::create(&log).unwrap());
        let squatter = Self { _running: stranger::start(&mut command, NOBODY), log };
        until(|| squatter.log().contains("ready").then_some(()));
        squatter
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

/// Returns the report, which comes some time after the rank has ended.
fn report(output: &Output) -> String {
    text(&output.stderr)
}

pub fn a_folder_created_by_another_user_is_reported_and_not_used() {
    let dir = stranger::folder(&[]);
    let taken = dir.path().join("runtime");
    std::fs::create_dir(&taken).unwrap();
    std::os::unix::fs::chown(&taken, Some(NOBODY), None).unwrap();
    let mut command = inner_form(&dir, "squat-a", "finalize=3");
    let output = soon(command.env("MPISCOPE_RUNTIME_DIR", &taken));
    assert_eq!((output.status.code(), text(&output.stdout).trim()), (Some(3), "output of the program"));
    let said = until(|| Some(report(&output)).filter(|said| said.contains("MPI_Allreduce")));
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("belongs to user 65534") && words.contains("using another folder"), "{said}");
    assert_eq!(std::fs::read_dir(&taken).unwrap().count(), 0, "nothing of ours is in it");
}

pub fn a_foreign_listener_in_place_of_the_collector_gets_nothing() {
    let dir = stranger::folder(&["squatter"]);
    let open = dir.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    let place = open.join("collector").display().to_string();
    let squatter = Squatter::at(&dir, &[place.clone(), format!("@mpiscope/0/{}", job_id("squat-b"))]);
    let runtime = dir.path().join("runtime");
    let mut command = inner_form(&dir, "squat-b", "finalize=0");
    let output = soon(command.env("MPISCOPE_RUNTIME_DIR", &runtime).env("MPISCOPE_COLLECTOR", &place));
    assert_eq!(output.status.code(), Some(0));
    let said = until(|| Some(report(&output)).filter(|said| said.contains("MPI_Allreduce")));
    assert!(!said.contains("no report"), "{said}");
    let log = squatter.log();
    assert!(log.lines().all(|line| line == "ready" || line == "came: 0 bytes, 0 descriptors"), "{log}");
}

/// Returns the name that wrappers give to such a job.
fn job_id(namespace: &str) -> String {
    let hash = namespace
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{:012x}", (hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
}

pub fn only_the_rank_can_write_into_its_image() {
    let dir = stranger::folder(&[]);
    let job = format!("mode-{}", std::process::id());
    let mut command = inner_form(&dir, &job, "recv");
    let running = stranger::start(
        command.env("MPISCOPE_RUNTIME_DIR", dir.path().join("runtime")).stdout(Stdio::null()),
        rustix::process::geteuid().as_raw(),
    );
    let link = format!("/memfd:mpiscope:{}", job_id(&job));
    // The wrapper makes the image and hands it on; it may not have closed it yet.
    let others_write = |all: &[(u32, String, bool)]| {
        all.iter().any(|(_, program, read_only)| !read_only && program != "fake_rank")
    };
    let holders = until(|| {
        let all = holders(&link);
        let came = all.iter().filter(|h| h.0 != running.pid()).count() >= 2;
        (came && !others_write(&all)).then_some(all)
    });
    let (pid, ..) = holders[0];
    let fd = find(pid, &link).unwrap();
    let mode = std::fs::metadata(fd).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others could open the file again for writing");
}

/// Returns the pid, program and whether access is read-only, for all processes that hold the image.
fn holders(link: &str) -> Vec<(u32, String, bool)> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let holder = |pid: u32| {
        let fd = find(pid, link)?;
        let number = fd.file_name()?.to_str()?;
        let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
        let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some((pid, program.trim().to_owned(), flags.ends_with('0')))
    };
    pids.filter_map(holder).collect()
}

fn find(pid: u32, link: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let is_it = |path: &Path| std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(link));
    entries.flatten().map(|entry| entry.path()).find(|path| is_it(path))
}

/// Whether a killed process has ended in all its threads, which close its connections. Its descriptors are no longer
/// listed some time before.
fn has_closed_everything(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let ended = stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'));
    ended && std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count) <= 1
}

pub fn a_killed_collector_is_reported() {
    let dir = stranger::folder(&[]);
    let job = format!("killed-{}", std::process::id());
    let runtime = dir.path().join("runtime");
    let (out, err) = (dir.path().join("out"), dir.path().join("err"));
    let mut command = inner_form(&dir, &job, "kill-later=15");
    command.args(["2"]).env("MPISCOPE_RUNTIME_DIR", &runtime).env("FAKE_WAIT", dir.path().join("go"));
    command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
    let running = stranger::start(&mut command, rustix::process::geteuid().as_raw());
    let link = format!("/memfd:mpiscope:{}", job_id(&job));
    let collector = until(|| {
        let all = holders(&link);
        // Until the rank runs, another process of the wrapper holds the image: the one that becomes the rank.
        let runs = all.iter().any(|(_, program, _)| program == "fake_rank");
        let mut others =
            all.iter().filter(|(pid, program, _)| *pid != running.pid() && program == "mpiscope");
        others.next().filter(|_| runs).map(|(pid, ..)| *pid)
    });
    assert!(Command::new("kill").args(["-KILL", &collector.to_string()]).status().unwrap().success());
    until(|| has_closed_everything(collector).then_some(()));
    std::fs::write(dir.path().join("go"), "").unwrap();
    until(|| std::fs::read_to_string(&err).ok().filter(|said| said.contains("no report of rank 0")));
}
