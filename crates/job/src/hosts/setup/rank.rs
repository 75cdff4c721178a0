//! What reaches the ranks, reported by a process that the launcher starts in place of each.

use super::{Check, Result};
use crate::base::rankset::RankSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;

/// Prefix of the facts in the launcher's output, which may contain other lines.
pub const MARK: &str = "mpiscope-doctor-rank ";

/// Variables by which launchers tell the number of ranks.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// What a process in place of a rank found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// Name of its host.
    pub host: String,
    /// The kernel's boot id.
    pub boot: String,
    /// Rank assigned by the launcher.
    pub rank: Option<u32>,
    /// Number of ranks in the job, according to the launcher.
    #[serde(default)]
    pub size: Option<u32>,
    /// Whether `LD_PRELOAD` names the layer.
    pub named: bool,
    /// Whether the layer is loaded in the process.
    pub loaded: bool,
    /// Whether the job's name arrived.
    pub job: bool,
    /// Whether a memory file can be created.
    pub memory_file: bool,
    /// Whether other processes of the same user may read this one.
    pub dumpable: bool,
}

impl Facts {
    /// Collects the facts about this process; the caller provides the rank and the results of
    /// system calls.
    #[must_use]
    pub fn here(host: String, rank: Option<u32>, memory_file: bool) -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let has = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let preload = env::var("LD_PRELOAD").unwrap_or_default();
        Self {
            host,
            boot: text("/proc/sys/kernel/random/boot_id").trim().to_owned(),
            rank,
            size: SIZES.iter().find_map(|name| env::var(name).ok()?.parse().ok()),
            named: preload.contains("libmpiscope.so"),
            loaded: text("/proc/self/maps").contains("/libmpiscope.so"),
            job: has("MPISCOPE_JOB"),
            memory_file,
            dumpable: fs::read_link("/proc/self/exe").is_ok(),
        }
    }

    /// Parses a line of output; `None` if it contains no facts.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let (_, facts) = line.split_once(MARK)?;
        serde_json::from_str(facts.trim()).ok()
    }
}

/// Draws conclusions from all ranks that answered.
#[must_use]
pub fn checks(ranks: &[Facts], layer: &Path) -> Vec<Check> {
    if ranks.is_empty() {
        let found = "no process that the launcher started has answered";
        return vec![Check::of(
            "ranks",
            Result::Problem,
            found,
            "run the launcher with `hostname` as the program",
        )];
    }
    let mut checks = vec![present(ranks)];
    checks.push(numbered(ranks));
    let layer = layer.display();
    checks.push(all(
        ranks,
        "preloading",
        |facts| facts.loaded,
        "the layer is loaded in every process",
        "the layer is not loaded in",
        |facts| match facts.named {
            true => format!("LD_PRELOAD is set there, but {layer} does not exist: install it in the same place on every host"),
            false => "the launcher drops LD_PRELOAD: put mpiscope run after it, as in mpirun -n 4 mpiscope run ./app".to_owned(),
        },
    ));
    checks.push(all(
        ranks,
        "memory files",
        |facts| facts.memory_file,
        "images can be created",
        "no memory file can be created by",
        |_| "allow memfd_create (a container's seccomp filter may forbid it)".to_owned(),
    ));
    checks
}

fn set<'a>(ranks: impl Iterator<Item = &'a Facts>) -> RankSet {
    ranks.filter_map(|facts| facts.rank).collect()
}

fn present(ranks: &[Facts]) -> Check {
    let mut hosts: BTreeMap<(&str, &str), RankSet> = BTreeMap::new();
    for facts in ranks {
        hosts.entry((&facts.host, &facts.boot)).or_default().0.extend(facts.rank);
    }
    let hosts: Vec<String> = hosts.iter().map(|((host, _), ranks)| format!("{host} {ranks}")).collect();
    let size = ranks.iter().filter_map(|facts| facts.size).max().unwrap_or_default();
    let answered = set(ranks.iter());
    let silent: RankSet = (0..size).filter(|rank| !answered.0.contains(rank)).collect();
    let (plural, hosts) = (if ranks.len() == 1 { "" } else { "es" }, hosts.join(", "));
    let found = format!("{} process{plural} answered: {hosts}", ranks.len());
    if answered.0.is_empty() || silent.0.is_empty() {
        return Check::fine("ranks", found);
    }
    let found = format!("{found}; {} of {size} did not", silent.named());
    Check::of(
        "ranks",
        Result::Problem,
        found,
        "is their host up, and can it be reached from here (`ssh HOST true`)?",
    )
}

/// A launcher that assigns no ranks, or the same one several times, does not start one job.
fn numbered(ranks: &[Facts]) -> Check {
    const NAME: &str = "numbering";
    let different = set(ranks.iter()).0.len();
    if different == ranks.len() {
        return Check::fine(NAME, "every process has its own rank");
    }
    let found = match different {
        0 => "the launcher assigns no ranks: each process would be a separate job".to_owned(),
        _ => format!("{} processes were given {different} different ranks", ranks.len()),
    };
    Check::of(NAME, Result::Problem, found, "use the mpirun that belongs to the program's MPI library")
}

fn all(
    ranks: &[Facts],
    name: &'static str,
    good: impl Fn(&Facts) -> bool,
    fine: &str,
    bad: &str,
    remedy: impl Fn(&Facts) -> String,
) -> Check {
    let wrong: Vec<&Facts> = ranks.iter().filter(|facts| !good(facts)).collect();
    let Some(first) = wrong.first() else { return Check::fine(name, fine) };
    let mut hosts: Vec<&str> = wrong.iter().map(|facts| facts.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let ranks = set(wrong.iter().copied());
    let found = format!("{bad} {} on {}", ranks.named(), hosts.join(", "));
    Check::of(name, Result::Problem, found, remedy(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(rank: u32, host: &str) -> Facts {
        let host = host.to_owned();
        Facts {
            host,
            rank: Some(rank),
            named: true,
            loaded: true,
            job: true,
            memory_file: true,
            ..Facts::default()
        }
    }

    fn of<'a>(checks: &'a [Check], name: &str) -> &'a Check {
        checks.iter().find(|check| check.check == name).unwrap()
    }

    #[test]
    fn ranks_that_have_all_they_need_are_fine() {
        let checks = checks(&[facts(0, "a"), facts(1, "b")], Path::new("/l/libmpiscope.so"));
        assert!(checks.iter().all(|check| check.result == Result::Fine), "{checks:?}");
        assert_eq!(of(&checks, "ranks").found, "2 processes answered: a 0, b 1");
    }

    #[test]
    fn ranks_that_did_not_answer_are_named() {
        let of_six = |rank, host| Facts { size: Some(6), ..facts(rank, host) };
        let ranks = [of_six(0, "a"), of_six(1, "a"), of_six(4, "c"), of_six(5, "c")];
        let checks = checks(&ranks, Path::new("/l/libmpiscope.so"));
        let present = of(&checks, "ranks");
        assert_eq!(present.result, Result::Problem);
        assert_eq!(present.found, "4 processes answered: a [0-1], c [4-5]; ranks [2-3] of 6 did not");
    }

    #[test]
    fn a_host_without_the_layer_and_a_launcher_that_drops_it_have_different_remedies() {
        let ranks = [facts(0, "a"), Facts { loaded: false, ..facts(1, "b") }];
        let missing = checks(&ranks, Path::new("/l/libmpiscope.so"));
        let preloading = of(&missing, "preloading");
        assert_eq!(preloading.found, "the layer is not loaded in rank 1 on b");
        assert!(preloading.remedy.as_deref().unwrap().contains("same place on every host"));
        let ranks = [Facts { loaded: false, named: false, ..facts(0, "a") }];
        let dropped = checks(&ranks, Path::new("/l/libmpiscope.so"));
        assert!(of(&dropped, "preloading").remedy.as_deref().unwrap().contains("drops LD_PRELOAD"));
    }

    #[test]
    fn processes_without_their_own_ranks_are_not_a_job() {
        let ranks = [Facts { rank: None, ..facts(0, "a") }, Facts { rank: None, ..facts(0, "a") }];
        assert_eq!(of(&checks(&ranks, Path::new("l")), "numbering").result, Result::Problem);
        assert_eq!(
            of(&checks(&[facts(3, "a"), facts(3, "a")], Path::new("l")), "numbering").result,
            Result::Problem
        );
        assert_eq!(checks(&[], Path::new("l"))[0].result, Result::Problem);
    }

    #[test]
    fn facts_are_found_after_prefixes_that_launchers_add() {
        let line = format!("[1,0]<stdout>:{MARK}{}", serde_json::to_string(&facts(0, "a")).unwrap());
        assert_eq!(Facts::read(&line), Some(facts(0, "a")));
        assert_eq!(Facts::read("hello"), None);
    }
}
