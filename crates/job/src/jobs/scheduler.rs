//! Slurm: finds the processes and hosts of jobs by Slurm's ids.

mod allocation;

pub use allocation::{Allocation, Steps};

use mpiscope_target::procfs;
use std::env;

/// A Slurm job or one of its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmId {
    /// `12`, or `12_3` for a task of an array.
    job: String,
    /// The other job number of a process: a task of an array also has one of its own.
    number: Option<String>,
    step: Option<String>,
}

impl SlurmId {
    /// Parses `slurm:12345`, `slurm:12345.0`, `slurm:12345_3`, `slurm:12345+1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::number(text.strip_prefix("slurm:")?)
    }

    /// Parses the same without `slurm:`, as Slurm's commands print it. Parts of a heterogeneous job count as
    /// one job.
    #[must_use]
    pub fn number(text: &str) -> Option<Self> {
        let apart = |text: &str, at| {
            text.split_once(at)
                .map_or_else(|| (text.to_owned(), None), |(one, two)| (one.to_owned(), Some(two.to_owned())))
        };
        let is_number =
            |text: &String| !text.is_empty() && text.len() < 12 && text.bytes().all(|b| b.is_ascii_digit());
        let (whole, step) = apart(text, '.');
        let (job, part) = apart(&whole, '+');
        let (first, task) = apart(&job, '_');
        let all = [Some(&first), task.as_ref(), part.as_ref(), step.as_ref()];
        let right = all.into_iter().flatten().all(is_number);
        right.then_some(Self { job, number: None, step })
    }

    /// Reads the id from the environment of a process.
    #[must_use]
    pub fn of_process(pid: u32) -> Option<Self> {
        let environment = procfs::environment(pid).ok()?;
        Self::of(|name| environment.get(name)?.to_str().map(str::to_owned))
    }

    fn of(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let step = get("SLURM_STEP_ID").filter(|step| step.parse::<u32>().is_ok());
        let number = get("SLURM_JOB_ID")?;
        let task = || Some(format!("{}_{}", get("SLURM_ARRAY_JOB_ID")?, get("SLURM_ARRAY_TASK_ID")?));
        let job = task().filter(|task| Self::number(task).is_some()).unwrap_or_else(|| number.clone());
        Self::number(&job).map(|id| Self { number: Some(number), step, ..id })
    }

    /// Whether a process with that id is meant. An array shares its number with one of its tasks: that number
    /// means all of them.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let same =
            self.job == other.job || self.is_array_of(other) || Some(&self.job) == other.number.as_ref();
        same && (self.step.is_none() || self.step == other.step)
    }

    /// Whether that is a task of this array.
    #[must_use]
    pub fn is_array_of(&self, task: &Self) -> bool {
        task.job.strip_prefix(&self.job).is_some_and(|rest| rest.starts_with('_'))
    }

    /// Whether it may contain more than one launch.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.step.is_none()
    }

    /// Whether it is more than a number, which could also be a pid.
    #[must_use]
    pub fn is_more_than_a_number(&self) -> bool {
        self.step.is_some() || self.job.contains('_')
    }
}

/// Whether Slurm's commands are installed here.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SlurmId {
        SlurmId::parse(text).unwrap()
    }

    fn of(variables: &[(&str, &str)]) -> SlurmId {
        SlurmId::of(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())).unwrap()
    }

    #[test]
    fn a_job_covers_its_steps_and_a_step_only_itself() {
        assert!(id("slurm:7").covers(&id("slurm:7.1")) && id("slurm:7.1").covers(&id("slurm:7.1")));
        assert!(!id("slurm:7.1").covers(&id("slurm:7.2")) && !id("slurm:7").covers(&id("slurm:70")));
        assert_eq!(id("slurm:7.1").to_string(), "slurm:7.1");
        for text in [
            "7",
            "slurm:",
            "slurm:x",
            "slurm:7.",
            "slurm:7;true",
            "slurm:-1",
            "slurm:999999999999",
            "slurm:7_",
            "slurm:_7",
            "slurm:7_[1-3]",
            "slurm:7+",
            "slurm:+7",
            "slurm:7_1_2",
        ] {
            assert_eq!(SlurmId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_array_task_is_named_by_its_index_its_own_id_or_the_array_id() {
        let task = of(&[
            ("SLURM_JOB_ID", "9"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_ARRAY_JOB_ID", "7"),
            ("SLURM_ARRAY_TASK_ID", "3"),
        ]);
        for text in ["slurm:7_3", "slurm:7_3.0", "slurm:9", "slurm:9.0", "slurm:7"] {
            assert!(id(text).covers(&task), "{text}");
        }
        for text in ["slurm:7_1", "slurm:3", "slurm:7_3.1", "slurm:8"] {
            assert!(!id(text).covers(&task), "{text}");
        }
        assert!(id("slurm:7").is_array_of(&task) && !id("slurm:9").is_array_of(&task));
        // What is sent to other hosts must mean this task only, even where its number equals the array's.
        assert_eq!(task.to_string(), "slurm:7_3.0");
    }

    #[test]
    fn a_part_of_a_heterogeneous_job_stands_for_the_job() {
        let rank = of(&[("SLURM_JOB_ID", "5"), ("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID_HET_GROUP_1", "6")]);
        assert!(id("slurm:5+1").covers(&rank) && id("slurm:5").covers(&rank));
    }
}
