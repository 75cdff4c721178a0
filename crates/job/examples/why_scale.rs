//! Measures time and memory for the verdict on a large job, after its images are read:
//! `cargo xtask bench why`.

use mpiscope_job::questions::simulated::Shape;
use mpiscope_job::questions::why::{snapshot, verdict};
use std::time::Instant;

/// Number of ranks, and the time limit of a verdict in seconds.
const SIZES: [(u32, f64); 3] = [(1_000, 0.2), (10_000, 1.0), (100_000, 10.0)];
/// Maximum memory per rank in bytes, for the data read and everything derived from it.
const MOST_BYTES: f64 = 10_000.0;

fn main() {
    println!("{:28} {:>8} {:>9} {:>9} {:>12}  verdict", "job", "ranks", "seconds", "allowed", "bytes/rank");
    let mut wrong = 0;
    for shape in Shape::ALL {
        for (ranks, allowed) in SIZES {
            let before = resident();
            let (first, second) = (shape.look(ranks), shape.look(ranks));
            let began = Instant::now();
            let looks = (snapshot(&first, "it is simulated"), snapshot(&second, "it is simulated"));
            let found = verdict(&looks.0, &looks.1, 1.0);
            let seconds = began.elapsed().as_secs_f64();
            let bytes = resident().saturating_sub(before) as f64 / f64::from(ranks);
            let right = found.kind.0 == shape.kind() && seconds <= allowed;
            wrong += u32::from(!right || (ranks >= 10_000 && bytes > MOST_BYTES));
            let short: String = found.verdict.chars().take(60).collect();
            let name = format!("{shape:?}");
            println!(
                "{name:28} {ranks:>8} {seconds:>9.3} {allowed:>9.1} {bytes:>12.0}  {}: {short}",
                found.kind.0
            );
        }
    }
    if wrong > 0 {
        eprintln!("{wrong} jobs took too long or too much memory, or got another verdict");
        std::process::exit(1);
    }
}

/// Returns the resident memory of this process in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kb| kb * 1024)
}
