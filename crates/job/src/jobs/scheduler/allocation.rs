//! What Slurm reports about a job, and the commands that run another step on one of its hosts.

use super::SlurmId;
use crate::base::host_name::same_host;
use crate::base::time_limit;
use std::env;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// How long Slurm may take to report a job's hosts.
const PATIENCE: Duration = Duration::from_secs(10);
/// Job states in which processes may exist.
const WITH_PROCESSES: [&str; 4] = ["RUNNING", "SUSPENDED", "STOPPED", "COMPLETING"];

/// Where a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The id by which other hosts find its processes.
    pub id: SlurmId,
    /// The number for `srun --jobid`.
    number: String,
    /// Its hosts, each with its part of a heterogeneous job.
    hosts: Vec<(String, Option<u32>)>,
}

/// A line of `squeue`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    number: String,
    /// `12`, `12_3` or `12+1`.
    shown: String,
    state: String,
    hosts: String,
}

impl Allocation {
    /// Returns the allocation of a running job.
    ///
    /// # Errors
    /// The reason, as the end of a sentence.
    pub fn of(id: &SlurmId) -> Result<Self, String> {
        let rows = rows(&id.job)?;
        // Part of a heterogeneous job also has a number, but no steps can be added by it.
        let leader =
            rows.iter().find_map(|row| row.shown.split_once('+')).map(|(leader, _)| leader.to_owned());
        match leader.filter(|leader| *leader != id.job) {
            Some(leader) => {
                Self::among(&SlurmId { job: leader.clone(), ..id.clone() }, rows_of(&leader)?, expanded)
            }
            None => Self::among(id, rows, expanded),
        }
    }

    fn among(
        id: &SlurmId,
        rows: Vec<Row>,
        expanded: impl Fn(&str) -> Result<Vec<String>, String>,
    ) -> Result<Self, String> {
        let (running, others): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| WITH_PROCESSES.contains(&row.state.as_str()));
        let Some(first) = running.first() else {
            let state = others.first().map(|row| row.state.to_lowercase());
            return Err(match state.as_deref() {
                Some("pending" | "configuring") => "Slurm has not started it yet".to_owned(),
                Some(state) => format!("Slurm says that it has ended ({state})"),
                None => "Slurm has no running job with this id".to_owned(),
            });
        };
        let mut tasks: Vec<String> = running.iter().map(|row| format!("slurm:{}", row.job())).collect();
        tasks.sort_by_key(|task| (task.len(), task.clone()));
        tasks.dedup();
        if tasks.len() > 1 {
            return Err(format!("it is a job array with several running tasks; name one: {}", few(&tasks)));
        }
        let mut hosts = Vec::new();
        for row in &running {
            let names = expanded(&row.hosts)?;
            hosts.extend(names.into_iter().map(|name| (name, row.group())));
        }
        let number = if first.group().is_some() { first.job() } else { &first.number };
        let id = SlurmId { job: first.job().to_owned(), ..id.clone() };
        Ok(Self { id, number: number.to_owned(), hosts })
    }

    /// Its hosts.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(|(host, _)| host.clone()).collect()
    }

    /// Slurm's name for a host, and its part of the job. Hosts may report a longer name.
    fn node(&self, host: &str) -> Option<&(String, Option<u32>)> {
        let equal = self.hosts.iter().find(|(name, _)| name == host);
        equal.or_else(|| self.hosts.iter().find(|(name, _)| same_host(name, host)))
    }
}

/// Maximum number of array tasks that are named.
const MOST_NAMED: usize = 8;

fn few(tasks: &[String]) -> String {
    let named: Vec<&str> = tasks.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = tasks.len() - named.len();
    if more == 0 { named.join(", ") } else { format!("{}, ... ({more} more)", named.join(", ")) }
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.trim().split('|').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self { number: next()?, shown: next()?, state: next()?, hosts: next()? })
    }

    /// The whole job, of which this may be one part.
    fn job(&self) -> &str {
        self.shown.split('+').next().unwrap_or_default()
    }

    fn group(&self) -> Option<u32> {
        self.shown.split_once('+')?.1.parse().ok()
    }
}

fn rows_of(job: &str) -> Result<Vec<Row>, String> {
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--states=all", "--format=%A|%i|%T|%N", "--jobs", job]);
    Ok(said(&mut squeue)?.lines().filter_map(Row::parse).collect())
}

/// Returns what Slurm knows of this job number; an error if that is nothing.
fn rows(job: &str) -> Result<Vec<Row>, String> {
    rows_of(job).map_err(|why| match why.contains("Invalid job id") {
        true => "Slurm has no job with this id (any more)".to_owned(),
        false => why,
    })
}

/// Expands `n[1-3]` to single hosts.
fn expanded(list: &str) -> Result<Vec<String>, String> {
    let names = said(Command::new("scontrol").args(["show", "hostnames", list]))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

fn said(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let outcome = time_limit::run(command, PATIENCE).map_err(|why| format!("{program}: {why}"))?;
    let last = |text: &[u8]| mpiscope_image::text(text).lines().last().unwrap_or_default().trim().to_owned();
    match outcome.status {
        Some(status) if status.success() => Ok(String::from_utf8_lossy(&outcome.stdout).into_owned()),
        Some(status) if outcome.stderr.is_empty() => Err(format!("{program} ended with {status}")),
        Some(_) => Err(format!("{program} says: {}", last(&outcome.stderr))),
        None => Err(format!("{program} did not answer within {} s", PATIENCE.as_secs())),
    }
}

/// Additional steps of a job. Slurm is asked about the job when the first one is needed.
#[derive(Debug, Clone)]
pub struct Steps {
    id: SlurmId,
    allocation: OnceLock<Option<Allocation>>,
}

impl Steps {
    /// Steps of this job.
    #[must_use]
    pub fn of(id: SlurmId) -> Self {
        Self { id, allocation: OnceLock::new() }
    }

    /// Returns a command that runs the arguments appended to it on one of the job's hosts, next to what runs
    /// there.
    #[must_use]
    pub fn on(&self, host: &str) -> Command {
        let mut command = Command::new("srun");
        for name in Self::inherited() {
            command.env_remove(name);
        }
        command.arg("--input=none").args(self.options(host));
        command
    }

    /// Returns the same as words for a program that uses the terminal; the environment is changed by the
    /// words themselves.
    #[must_use]
    pub fn with_terminal_on(&self, host: &str) -> Vec<String> {
        let removed = Self::inherited().into_iter().flat_map(|name| ["-u".to_owned(), name]);
        // Steps inherit the environment, but the user's tmux does not exist on that host.
        let words = ["env", "-u", "TMUX"].map(str::to_owned).into_iter().chain(removed);
        words.chain(["srun".to_owned(), "--pty".to_owned()]).chain(self.options(host)).collect()
    }

    /// Variables of the current step, which must not be passed to another.
    fn inherited() -> Vec<String> {
        let names = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("SLURM_") && name != "SLURM_CONF").collect()
    }

    fn options(&self, host: &str) -> Vec<String> {
        let mut words =
            ["--overlap", "--quiet", "--mpi=none", "--nodes=1", "--ntasks=1"].map(str::to_owned).to_vec();
        let allocation = self.allocation.get_or_init(|| Allocation::of(&self.id).ok()).as_ref();
        let number = self.id.number.as_ref().unwrap_or(&self.id.job);
        let number = allocation.map_or(number, |found| &found.number);
        let (node, group) = allocation
            .and_then(|found| found.node(host))
            .map_or((host, None), |(node, group)| (node.as_str(), *group));
        words.extend(group.map(|group| format!("--het-group={group}")));
        words.extend([format!("--jobid={number}"), format!("--nodelist={node}")]);
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(job: &str, rows: &[&str]) -> Result<Allocation, String> {
        let id = SlurmId::number(job).unwrap();
        let rows = rows.iter().map(|row| Row::parse(row).unwrap()).collect();
        Allocation::among(&id, rows, |list| Ok(list.split(',').map(str::to_owned).collect()))
    }

    fn step(allocation: Allocation, host: &str) -> Vec<String> {
        let steps = Steps { id: allocation.id.clone(), allocation: OnceLock::from(Some(allocation)) };
        let command = steps.on(host);
        let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
        words
            .filter(|word| ["--jobid", "--nodelist", "--het"].iter().any(|option| word.starts_with(option)))
            .collect()
    }

    #[test]
    fn an_array_task_is_named_by_its_number_and_an_array_of_several_is_not_one_job() {
        let one = among("7_3", &["9|7_3|RUNNING|n1,n2"]).unwrap();
        assert_eq!((one.id.to_string(), one.hosts()), ("slurm:7_3".into(), vec!["n1".into(), "n2".into()]));
        assert_eq!(step(one, "n2"), ["--jobid=9", "--nodelist=n2"]);
        let rows = ["7|7_10|RUNNING|n1", "8|7_1|RUNNING|n2", "9|7_[11-20]|PENDING|"];
        let several = among("7", &rows).unwrap_err();
        assert!(several.ends_with("name one: slurm:7_1, slurm:7_10"), "{several}");
        assert_eq!(
            among("7", &["7|7_10|RUNNING|n1", "8|7_1|COMPLETED|n2"]).unwrap().id.to_string(),
            "slurm:7_10"
        );
    }

    #[test]
    fn each_host_of_a_heterogeneous_job_is_asked_about_its_own_part() {
        let all = among("5", &["5|5+0|RUNNING|n1", "6|5+1|RUNNING|n2,n3"]).unwrap();
        assert_eq!(all.hosts(), ["n1", "n2", "n3"]);
        assert_eq!(step(all.clone(), "n3"), ["--het-group=1", "--jobid=5", "--nodelist=n3"]);
        assert_eq!(step(all, "n1"), ["--het-group=0", "--jobid=5", "--nodelist=n1"]);
    }

    #[test]
    fn a_host_with_a_longer_name_is_addressed_by_its_slurm_name() {
        let one = among("5", &["5|5|RUNNING|n1,n10"]).unwrap();
        assert_eq!(step(one.clone(), "n1.cluster.example"), ["--jobid=5", "--nodelist=n1"]);
        assert_eq!(step(one, "elsewhere"), ["--jobid=5", "--nodelist=elsewhere"]);
    }

    #[test]
    fn a_job_that_does_not_run_is_reported_with_its_state() {
        assert!(among("5", &["5|5|PENDING|"]).unwrap_err().contains("not started it yet"));
        assert!(among("5", &["5|5|CANCELLED|n1"]).unwrap_err().contains("has ended (cancelled)"));
        assert!(among("5", &[]).unwrap_err().contains("no running job"));
    }
}
