//! Instructions per call, counted by callgrind. The counts do not depend on the machine or its load, so two
//! layers can be compared exactly. The cost of the bare call is subtracted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, run as bounded};

use super::LIMIT;
use crate::build;

/// Name of the group.
pub const GROUP: &str = "instructions";
/// Calls between two marks, as in the program.
const CALLS: f64 = 200.0;

/// Prints, for each function of the program, the overhead of the layer and that of another layer.
///
/// # Errors
/// If the program cannot be compiled or does not run under callgrind.
pub fn run(library: &Library, dir: &Path, other: Option<&Path>) -> Result<()> {
    if paths::in_path("valgrind").is_none() {
        println!("\n  instructions per call: valgrind is not installed");
        return Ok(());
    }
    let program = dir.join("bench_instructions");
    library.cc_with(&[&paths::programs().join("bench_instructions.c")], &program, &["-O2"])?;
    let layer = build::released("libmpiscope.so");
    let counted = |name: &str, layer: Option<&Path>| count(library, &program, &dir.join(name), layer);
    let bare = counted("bare", None)?;
    let ours = counted("layer", Some(&layer))?;
    let other = other.map(|layer| counted("other", Some(layer))).transpose()?;
    println!("\n  added instructions per call");
    println!("  {:<36} {:>8} {:>8} {:>8} {:>8}", "", "bare", "layer", "other", "change");
    for (at, (title, bare)) in bare.iter().enumerate() {
        let more = |of: &Counts| of.get(at).map(|(_, count)| count - bare);
        let ours = more(&ours).with_context(|| format!("{title}: not counted under the layer"))?;
        print!("  {title:<36} {bare:>8.0} {ours:>+8.0}");
        match other.as_ref().and_then(more) {
            Some(other) => println!(" {other:>+8.0} {:>+8.0}", ours - other),
            None => println!(),
        }
    }
    Ok(())
}

/// The name of each case, and its instructions per call.
type Counts = Vec<(String, f64)>;

/// Runs the program under callgrind, which dumps its counts whenever the program marks the end of a part.
fn count(library: &Library, program: &Path, dir: &Path, layer: Option<&Path>) -> Result<Counts> {
    std::fs::create_dir_all(dir)?;
    let out = dir.join("counts");
    let mut command = Command::new("valgrind");
    library.set_environment(&mut command);
    command.args(["--tool=callgrind", "--dump-before=mark"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    command.env_remove("MPISCOPE_RECORD").env_remove("LD_PRELOAD");
    if let Some(layer) = layer {
        ensure!(layer.is_file(), "{} does not exist", layer.display());
        command.env("LD_PRELOAD", layer);
    }
    let outcome = bounded::bounded(&mut command, LIMIT)?;
    if !outcome.success() {
        bail!("{} under callgrind: {}", program.display(), outcome.describe());
    }
    let titles = outcome.stdout.lines().filter_map(|line| line.strip_prefix("case "));
    // In each pair of parts, the first is the code before a case.
    let parts = (2..).step_by(2).map(|part| PathBuf::from(format!("{}.{part}", out.display())));
    titles.zip(parts).map(|(title, part)| Ok((title.to_owned(), total(&part)? / CALLS))).collect()
}

fn total(part: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(part).with_context(|| format!("{}: no counts", part.display()))?;
    instructions(&text).with_context(|| format!("{} has no total", part.display()))
}

fn instructions(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("totals:")?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::instructions;

    #[test]
    fn the_total_of_a_part_is_read() {
        assert_eq!(instructions("version: 1\nevents: Ir\ntotals: 4200\n"), Some(4200.0));
        assert_eq!(instructions("version: 1\n"), None);
    }
}
