//! Measures time and memory for the verdict on a large job, after its images are read:
//! `cargo xtask bench why`. Each job has a process of its own, so that its memory is not that of another.

use mpiscope_job::questions::simulated::Shape;
use mpiscope_job::questions::why::{snapshot, verdict};
use std::env::{args, current_exe};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Number of ranks, and the time limit of a verdict in seconds.
const SIZES: [(u32, f64); 3] = [(1_000, 0.2), (10_000, 1.0), (100_000, 10.0)];
/// Maximum memory per rank in bytes, for the data read and everything derived from it.
const MOST_BYTES: f64 = 10_000.0;
/// Smallest job whose memory per rank is limited: in smaller ones, that of the process itself counts.
const LEAST_RANKS: u32 = 10_000;

fn main() -> ExitCode {
    let given: Vec<usize> = args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if let [shape, size] = given[..] {
        return measure(Shape::ALL[shape], SIZES[size]);
    }
    println!("{:28} {:>8} {:>9} {:>9} {:>12}  verdict", "job", "ranks", "seconds", "allowed", "bytes/rank");
    let each = (0..Shape::ALL.len()).flat_map(|shape| (0..SIZES.len()).map(move |size| [shape, size]));
    let wrong = each.filter(|one| !succeeds(*one)).count();
    if wrong > 0 {
        eprintln!("{wrong} jobs took too long or too much memory, or got another verdict");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Measures one job in a new process.
fn succeeds(job: [usize; 2]) -> bool {
    let started = current_exe()
        .and_then(|program| Command::new(program).args(job.map(|index| index.to_string())).status());
    match started {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cannot start the process that measures a job: {error}");
            false
        }
    }
}

fn measure(shape: Shape, (ranks, allowed): (u32, f64)) -> ExitCode {
    let before = most_resident();
    let (first, second) = (shape.look(ranks), shape.look(ranks));
    let began = Instant::now();
    let looks = (snapshot(&first, "it is simulated"), snapshot(&second, "it is simulated"));
    let found = verdict(&looks.0, &looks.1, 1.0);
    let seconds = began.elapsed().as_secs_f64();
    let bytes = most_resident().saturating_sub(before) as f64 / f64::from(ranks);
    let short: String = found.verdict.chars().take(60).collect();
    let name = format!("{shape:?}");
    println!("{name:28} {ranks:>8} {seconds:>9.3} {allowed:>9.1} {bytes:>12.0}  {}: {short}", found.kind.0);
    let small = ranks < LEAST_RANKS || bytes <= MOST_BYTES;
    let right = found.kind.0 == shape.kind() && seconds <= allowed && small;
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the most memory that this process has occupied at any time, in bytes.
fn most_resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb * 1024)
}
