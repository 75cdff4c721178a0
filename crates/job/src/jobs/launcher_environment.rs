//! What a process learns of its place in the job from the environment set by its launcher.

use mpiscope_image::launcher;

/// What a launcher tells a rank.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LauncherEnvironment {
    /// Rank in the job.
    pub rank: Option<u32>,
    /// Ranks of the job on this host.
    pub local_size: Option<u32>,
    /// Text shared by all ranks of the job on this host and by no other job.
    pub job: Option<String>,
    /// Descriptor of the connection to the launcher.
    pub pmi_fd: Option<i32>,
}

/// Variables that hold the number of ranks on this host.
const LOCAL_SIZES: &[&str] =
    &["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"];
/// Variables that name the job.
const JOBS: &[&str] = &["PMIX_NAMESPACE", "PALS_APID", "ALPS_APP_ID"];

/// Reads the environment of a process; `None` if no launcher started it as a rank.
#[must_use]
pub fn place(get: impl Fn(&str) -> Option<String>) -> Option<LauncherEnvironment> {
    let number = |name: &&str| get(name)?.parse::<u32>().ok();
    let step = get("SLURM_STEP_ID").filter(|id| id.parse::<u32>().is_ok());
    let rank = launcher::rank(|name| number(&name.to_str().ok()?));
    let local_rank = number(&"MPI_LOCALRANKID");
    rank.or(local_rank)?;
    let slurm_job = || Some(format!("{}.{}", get("SLURM_JOB_ID")?, step.clone()?));
    Some(LauncherEnvironment {
        rank,
        local_size: LOCAL_SIZES.iter().find_map(number).or_else(|| slurm_tasks(&get)).filter(|n| *n > 0),
        job: JOBS.iter().find_map(|name| get(name)).or_else(slurm_job).filter(|job| !job.is_empty()),
        pmi_fd: get("PMI_FD").and_then(|fd| fd.parse().ok()),
    })
}

/// Returns the number of tasks of the job step on this node: the list has a number for each node, `2(x3)` for
/// three equal ones.
fn slurm_tasks(get: &impl Fn(&str) -> Option<String>) -> Option<u32> {
    let (list, node) = (get("SLURM_STEP_TASKS_PER_NODE")?, get("SLURM_NODEID")?.parse::<usize>().ok()?);
    let mut before = 0usize;
    for part in list.split(',') {
        let (tasks, nodes) = match part.split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?.parse::<usize>().ok()?),
            None => (part, 1),
        };
        before = before.checked_add(nodes)?;
        if node < before {
            return tasks.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(variables: &[(&str, &str)]) -> Option<LauncherEnvironment> {
        place(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn hydra_provides_rank_local_size_and_a_connection() {
        let place =
            place_of(&[("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("PMI_FD", "9"), ("MPI_LOCALNRANKS", "4")]);
        let wanted = LauncherEnvironment { rank: Some(2), local_size: Some(4), job: None, pmi_fd: Some(9) };
        assert_eq!(place, Some(wanted));
    }

    #[test]
    fn a_pmix_launcher_names_the_job() {
        let place = place_of(&[("PMIX_RANK", "0"), ("PMIX_NAMESPACE", "prterun-h-7@1")]).unwrap();
        assert_eq!((place.rank, place.job.as_deref()), (Some(0), Some("prterun-h-7@1")));
    }

    #[test]
    fn a_slurm_batch_script_is_not_a_rank_but_a_step_is() {
        assert_eq!(place_of(&[("SLURM_PROCID", "0"), ("SLURM_JOB_ID", "7")]), None);
        let step = [("SLURM_PROCID", "3"), ("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "1")];
        let place = place_of(&step).unwrap();
        assert_eq!((place.rank, place.job.as_deref()), (Some(3), Some("7.1")));
    }

    #[test]
    fn slurm_lists_the_tasks_of_all_nodes() {
        let tasks = |list: &str, node: &str| {
            let variables = [("SLURM_STEP_TASKS_PER_NODE", list), ("SLURM_NODEID", node)];
            slurm_tasks(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(
            (tasks("2(x3),1", "2"), tasks("2(x3),1", "3"), tasks("4", "0")),
            (Some(2), Some(1), Some(4))
        );
        assert_eq!((tasks("2(x3),1", "4"), tasks("2(x", "0"), tasks("", "0")), (None, None, None));
    }

    #[test]
    fn an_environment_without_a_rank_variable_is_not_that_of_a_rank() {
        assert_eq!(place_of(&[("HOME", "/"), ("PMI_RANK", "x")]), None);
    }
}
