//! Measures time and memory for viewing a job on a thousand hosts: `cargo xtask bench hosts`.
//!
//! The hosts are files with generated images; this program replaces `ssh` and answers with these files after
//! a delay, late, or never. The command itself is measured: it asks, joins and shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use mpiscope_job::base::rankset::RankSet;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::announced;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::Manifest;
use mpiscope_job::model::locate::NoSymbols;
use mpiscope_job::save;
use mpiscope_job::test_image::TestImage;
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

const HOSTS: u32 = 1000;
const RANKS: u32 = 8;
/// Number of ranks in the report.
const REPORTED: u32 = 10_000;
const LATENCY: Duration = Duration::from_millis(50);
/// The delay of one host in a hundred; another one never answers.
const SLOW: Duration = Duration::from_secs(1);
/// Timeout of a host in seconds, in addition to the time requested.
const LIMIT: &str = "1.5";
const JOB: &str = "scale";

/// How a host behaves, by its number.
fn dead(host: u32) -> bool {
    host % 100 == 37
}

fn slow(host: u32) -> bool {
    host % 100 == 73
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["agent", folder, host, ..] => agent(Path::new(folder), host, &words),
        [mpiscope] => measure(mpiscope),
        _ => {
            eprintln!("cargo xtask bench hosts starts this");
            ExitCode::FAILURE
        }
    }
}

/// Replaces `ssh HOST mpiscope save --for SECONDS`.
fn agent(folder: &Path, host: &str, words: &[String]) -> ExitCode {
    let number: u32 = host.trim_start_matches("node").parse().unwrap();
    if dead(number) {
        std::thread::sleep(Duration::from_secs(600));
    }
    let asked = words.iter().map(|word| word.trim_matches('\'')).skip_while(|word| *word != "--for").nth(1);
    let pause = asked.and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
    std::thread::sleep(if slow(number) { SLOW } else { LATENCY } + Duration::from_secs_f64(pause));
    std::io::copy(&mut File::open(folder.join(host)).unwrap(), &mut std::io::stdout()).unwrap();
    ExitCode::SUCCESS
}

/// Generates the answers of the hosts: images of ranks in a barrier, except one that computes.
fn generate(folder: &Path, hosts: u32) {
    let size = hosts * RANKS;
    let samples: Vec<TestImage> = (0..RANKS).map(|rank| TestImage::new(JOB, rank, size)).collect();
    let comms: Vec<_> =
        samples.iter().map(|sample| sample.shares_comm(0x4400_0000, "MPI_COMM_WORLD", size, 1)).collect();
    let job = discover().into_iter().find(|job| job.name == JOB).unwrap();
    for (sample, comm) in samples.iter().zip(&comms) {
        sample.called("MPI_Allreduce", 1000, 1_000_000_000, 8000);
        sample.enters_collective("MPI_Barrier", (0x4400_0000, comm), 1001, 0);
    }
    let draft = folder.join("draft");
    for host in 0..hosts {
        let name = format!("node{host}");
        for (number, (sample, comm)) in (0..).zip(samples.iter().zip(&comms)) {
            sample.becomes(host * RANKS + number, &name);
            comm.rank.set(host * RANKS + number);
        }
        let (pause, nothing) = (Duration::ZERO, Elsewhere::default());
        save::save(&job, pause, false, &NoSymbols, nothing, &draft).unwrap();
        rename(&draft, &folder.join(&name), &name);
    }
    std::fs::remove_file(draft).unwrap();
}

/// Rewrites the file as if another host had written it.
fn rename(from: &Path, to: &Path, name: &str) {
    let mut archive = ZipArchive::new(File::open(from).unwrap()).unwrap();
    let mut other = ZipWriter::new(File::create(to).unwrap());
    for at in 0..archive.len() {
        let entry = archive.by_index_raw(at).unwrap();
        if entry.name().is_ok_and(|name| name != "evidence.json") {
            other.raw_copy_file(entry).unwrap();
        }
    }
    let text: Value = serde_json::from_reader(archive.by_name("evidence.json").unwrap()).unwrap();
    let mut manifest: Manifest = serde_json::from_value(text).unwrap();
    let host = manifest.host.as_mut().unwrap();
    (host.name, host.boot) = (name.to_owned(), name.to_owned());
    other.start_file("evidence.json", SimpleFileOptions::default()).unwrap();
    other.write_all(&serde_json::to_vec(&manifest).unwrap()).unwrap();
    other.finish().unwrap();
}

fn measure(mpiscope: &str) -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    let report = folder.path().join("report");
    for (folder, hosts) in [(&parts, HOSTS), (&report, REPORTED / RANKS)] {
        std::fs::create_dir(folder).unwrap();
        generate(folder, hosts);
    }
    let names: Vec<String> = (0..HOSTS).map(|host| format!("node{host}")).collect();
    let announced = announced::announce("far", &names, None).unwrap();
    let here = std::env::current_exe().unwrap();
    let ssh = format!("{} agent {} {{host}}", here.display(), parts.display());
    println!("{:8} {:>8} {:>9} {:>9} {:>8}  not seen", "", "ranks", "seconds", "allowed", "MB");
    let mut well = true;
    for (verb, allowed) in [("ps", 3.0), ("why", 5.0)] {
        let mut command = Command::new(mpiscope);
        command.args([verb, "--json", "far"]).env("MPISCOPE_SSH", &ssh).env("MPISCOPE_HOST_SECONDS", LIMIT);
        let (seen, seconds, megabytes) = run(&mut command);
        let lacking = seen["errors"].as_array().or(seen["not_seen"].as_array()).cloned().unwrap_or_default();
        let ranks = ranks_seen(&seen);
        // `why` has one more line, with the missing ranks.
        let more = usize::from(verb == "why");
        let said =
            |host: &String| lacking.iter().any(|why| why.to_string().contains(&format!("host {host} ")));
        let named: Vec<u32> = (0..HOSTS).filter(|host| said(&names[*host as usize])).collect();
        let dead: Vec<u32> = (0..HOSTS).filter(|host| dead(*host)).collect();
        let alive = (HOSTS as usize - dead.len()) * RANKS as usize;
        println!(
            "{verb:8} {ranks:>8} {seconds:>9.2} {allowed:>9.1} {megabytes:>8}  {} hosts named, {} are dead",
            named.len(),
            dead.len()
        );
        let complete = named == dead && lacking.len() == dead.len() + more && ranks == alive;
        well &= complete && seconds <= allowed;
    }
    drop(announced);
    for (number, entry) in std::fs::read_dir(&report).unwrap().enumerate() {
        let name = if number == 0 { String::new() } else { format!("{number}.") };
        let to = report.join(format!("evidence.{name}mpiscope"));
        std::fs::rename(entry.unwrap().path(), to).unwrap();
    }
    let (seen, seconds, megabytes) = run(Command::new(mpiscope).args(["report", "--json"]).arg(&report));
    let ranks = seen["ranks"].as_array().map_or(0, Vec::len);
    println!("{:8} {ranks:>8} {seconds:>9.2} {:>9.1} {megabytes:>8}", "report", 2.0);
    well &= ranks == REPORTED as usize && seconds <= 2.0 && megabytes <= 1000;
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns how many ranks a view shows: `ps` lists them, `why` names those that it did not see.
fn ranks_seen(view: &Value) -> usize {
    let unseen =
        || Some((HOSTS * RANKS) as usize - view["unseen"].as_str()?.parse::<RankSet>().ok()?.0.len());
    view["ranks"].as_array().map(Vec::len).or_else(unseen).unwrap_or_default()
}

/// Returns output, run time, and peak memory in megabytes.
fn run(command: &mut Command) -> (Value, f64, u64) {
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (pid, mut text) = (child.id(), Vec::new());
    let (over, watches) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while watches
            .recv_timeout(Duration::from_millis(20))
            .is_err_and(|why| why == std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            most = peak(pid).unwrap_or(most);
        }
        most
    });
    std::io::copy(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    child.wait().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    drop(over);
    (serde_json::from_slice(&text).unwrap_or_default(), seconds, watch.join().unwrap())
}

fn peak(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb / 1000)
}
