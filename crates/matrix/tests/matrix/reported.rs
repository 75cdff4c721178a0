//! `mpiscope report`: traffic between ranks and message sizes, compared with what a program of random traffic
//! says that it sent and received.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::subject::LIMIT;
use crate::sums;
use crate::tool::build;

pub const RANKS: usize = 4;

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let name = format!("{}::report_shows_the_matrix_and_the_message_sizes_of_random_traffic", library.name);
    let library = Arc::clone(library);
    vec![checked(name, move || random_traffic(&library))]
}

/// Messages and bytes, as reported by the sender and by the receiver.
pub type Moved = [u64; 4];
/// Traffic by world ranks, over all communicators.
pub type Matrix = BTreeMap<(usize, usize), Moved>;

fn random_traffic(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (binary, out) = (dir.path().join("traffic"), dir.path().join("out"));
    build(library, &paths::programs().join("traffic.c"), &binary, &["-DABANDON"])?;
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    let mut command = Command::new(&mpiscope);
    command.args(["run", "--quiet", "--out"]).arg(&out);
    library.set_environment(&mut command);
    command.env("TRAFFIC_OUT", dir.path().join("ledger"));
    command.arg(&library.mpirun).args(library.launch_arguments(RANKS)).arg(&binary).args(["11", "3"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let outcome = run::bounded(Command::new(&mpiscope).args(["report", "--json"]).arg(&out), LIMIT)?;
    let report: Value = serde_json::from_str(&outcome.stdout).context(outcome.describe())?;
    let written: Value = serde_json::from_slice(&fs::read(out.join("report.json"))?)?;
    ensure!(
        sites(&written)? == sites(&report)?,
        "call sites differ: {:?} {:?}",
        sites(&written),
        sites(&report)
    );
    sums::same(&written, &report, "")?;
    sums::add_up(&written)?;
    let (ledger, sizes) = ledger(dir.path())?;
    let shown = shown(&report)?;
    ensure!(
        ledger.len() > RANKS && shown == ledger,
        "the matrix is {shown:?}, the program counted {ledger:?}"
    );
    let classes = report["sections"]["messages"]["sizes"].as_array().context("no sizes")?;
    let class = |class: &Value| Some((class["from"].as_u64()?, class["received"].as_u64()?));
    let received: BTreeMap<u64, u64> = classes.iter().filter_map(class).filter(|(_, n)| *n > 0).collect();
    ensure!(received == sizes, "the sizes received are {received:?}, the program counted {sizes:?}");
    Ok(())
}

/// Function, place and number of calls of every call site. Source lines are resolved at the end of the run,
/// and from the evidence file.
fn sites(report: &Value) -> Result<Vec<(String, String, u64)>> {
    let sites = report["sites"].as_array().context("no call sites")?;
    let site = |site: &Value| {
        Some((site["function"].as_str()?.into(), site["place"].as_str()?.into(), site["calls"].as_u64()?))
    };
    let mut found: Vec<_> = sites.iter().filter_map(site).collect();
    found.sort();
    ensure!(found.iter().any(|(_, place, _): &(_, String, _)| place.starts_with("traffic.c:")), "{found:?}");
    Ok(found)
}

fn shown(report: &Value) -> Result<Matrix> {
    let mut matrix = Matrix::new();
    let exchanges = report["sections"]["peers"].as_array().context("no peers")?;
    for pair in exchanges.iter().filter_map(|exchange| exchange["pairs"].as_array()).flatten() {
        let rank = |name: &str| pair[name].as_str().and_then(|rank| rank.parse().ok());
        let key = rank("from").zip(rank("to")).with_context(|| format!("{pair}"))?;
        let slot = matrix.entry(key).or_default();
        for (sum, name) in slot.iter_mut().zip(["messages", "bytes", "received", "received_bytes"]) {
            *sum += pair[name].as_u64().unwrap_or_default();
        }
    }
    Ok(matrix)
}

/// The messages of all ranks by their own account, and the number received by the minimum size of the size
/// class.
pub fn ledger(dir: &Path) -> Result<(Matrix, BTreeMap<u64, u64>)> {
    let (mut matrix, mut sizes) = (Matrix::new(), BTreeMap::new());
    for rank in 0..RANKS {
        let text = fs::read_to_string(dir.join(format!("ledger.{rank}")))?;
        let named = |line: &str| {
            let (name, rest) = line.strip_prefix("comm ")?.split_once(' ')?;
            Some((rest.split_once(' ')?.0.to_owned(), name.to_owned()))
        };
        let comms: BTreeMap<String, String> = text.lines().filter_map(named).collect();
        for line in text.lines() {
            if let [what @ ("send" | "recv"), comm, peer, _, bytes] = line.split(' ').collect::<Vec<_>>()[..]
            {
                let peer = in_world(comms.get(comm).map_or("", String::as_str), rank, peer.parse()?);
                let (key, at) = if what == "send" { ((rank, peer), 0) } else { ((peer, rank), 2) };
                let slot = matrix.entry(key).or_default();
                slot[at] += 1;
                // Negative: no library reports the size.
                let Ok(bytes) = u64::try_from(bytes.parse::<i64>()?) else { continue };
                slot[at + 1] += bytes;
                if what == "recv" {
                    *sizes.entry(bytes.checked_ilog2().map_or(0, |log| 1 << log)).or_default() += 1;
                }
            }
        }
    }
    Ok((matrix, sizes))
}

/// The world rank of a rank in a communicator of the program.
fn in_world(comm: &str, own: usize, peer: usize) -> usize {
    match comm {
        "reversed" => RANKS - 1 - peer,
        // An intercommunicator: peers are in the other half.
        "halves" if own < RANKS / 2 => peer + RANKS / 2,
        _ => peer,
    }
}
