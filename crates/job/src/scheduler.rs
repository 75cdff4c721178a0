//! Slurm, as far as jobs are found by its ids: which processes belong to one, which hosts it has.

use crate::time_limit;
use std::env;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// How long Slurm may take to say where a job is.
const PATIENCE: Duration = Duration::from_secs(10);

/// A job of Slurm, or one of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmId {
    job: String,
    step: Option<String>,
}

impl SlurmId {
    /// From `slurm:12345`, `slurm:12345.0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::number(text.strip_prefix("slurm:")?)
    }

    /// From `12345` or `12345.0`.
    #[must_use]
    pub fn number(text: &str) -> Option<Self> {
        let (job, step) = text.split_once('.').map_or((text, None), |(job, step)| (job, Some(step)));
        let is_number =
            |text: &str| !text.is_empty() && text.len() < 12 && text.bytes().all(|b| b.is_ascii_digit());
        let both = is_number(job) && step.is_none_or(is_number);
        both.then(|| Self { job: job.to_owned(), step: step.map(str::to_owned) })
    }

    /// That of a process, as its environment says.
    #[must_use]
    pub fn of_process(pid: u32) -> Option<Self> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let get = |name: &str| {
            let is_it = |entry: &[u8]| {
                entry
                    .strip_prefix(name.as_bytes())
                    .and_then(|rest| rest.strip_prefix(b"="))
                    .map(<[u8]>::to_vec)
            };
            String::from_utf8(environment.split(|b| *b == 0).find_map(is_it)?).ok()
        };
        let step = get("SLURM_STEP_ID").filter(|step| step.parse::<u32>().is_ok());
        Self::number(&get("SLURM_JOB_ID")?).map(|id| Self { step, ..id })
    }

    /// Whether a process with that id is meant.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.job == other.job && (self.step.is_none() || self.step == other.step)
    }

    /// The number of the job.
    #[must_use]
    pub fn job(&self) -> &str {
        &self.job
    }

    /// A command that runs what is added to it on one of the job's hosts, beside what runs there.
    #[must_use]
    pub fn step_on(&self, host: &str) -> Command {
        let mut command = Command::new("srun");
        // What the present step was given is not meant for that one.
        let inherited = env::vars_os().map(|(name, _)| name).filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with("SLURM_") && name != "SLURM_CONF"
        });
        for name in inherited {
            command.env_remove(name);
        }
        command.args(["--overlap", "--quiet", "--mpi=none", "--input=none", "--nodes=1", "--ntasks=1"]);
        command.arg(format!("--jobid={}", self.job)).arg(format!("--nodelist={host}"));
        command
    }

    /// The hosts that the job runs on; nothing if Slurm does not know it, or is not here.
    #[must_use]
    pub fn hosts(&self) -> Option<Vec<String>> {
        let list = said(Command::new("squeue").args([
            "--noheader",
            "--states=RUNNING",
            "--format=%N",
            "--jobs",
            &self.job,
        ]))?;
        let list = list.lines().map(str::trim).find(|line| !line.is_empty())?.to_owned();
        let names = said(Command::new("scontrol").args(["show", "hostnames", &list]))?;
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        (!names.is_empty()).then_some(names)
    }
}

/// Whether Slurm's commands are here.
#[must_use]
pub fn is_here() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join("srun").is_file())
}

impl std::fmt::Display for SlurmId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let step = self.step.as_ref().map(|step| format!(".{step}")).unwrap_or_default();
        write!(f, "slurm:{}{step}", self.job)
    }
}

fn said(command: &mut Command) -> Option<String> {
    let outcome = time_limit::run(command, PATIENCE).ok().filter(time_limit::Outcome::success)?;
    String::from_utf8(outcome.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_covers_its_steps_and_a_step_only_itself() {
        let id = |text| SlurmId::parse(text).unwrap();
        assert!(id("slurm:7").covers(&id("slurm:7.1")) && id("slurm:7.1").covers(&id("slurm:7.1")));
        assert!(!id("slurm:7.1").covers(&id("slurm:7.2")) && !id("slurm:7").covers(&id("slurm:70")));
        assert_eq!(id("slurm:7.1").to_string(), "slurm:7.1");
        for text in ["7", "slurm:", "slurm:x", "slurm:7.", "slurm:7;true", "slurm:-1", "slurm:999999999999"] {
            assert_eq!(SlurmId::parse(text), None, "{text}");
        }
    }
}
