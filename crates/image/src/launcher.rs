//! Environment variables that launchers set for the processes they start.

use std::ffi::CStr;

/// Variables that contain the rank, most trustworthy first.
const RANKS: [&CStr; 6] = [
    c"PMIX_RANK",
    c"OMPI_COMM_WORLD_RANK",
    c"PMI_RANK",
    c"PALS_RANKID",
    c"ALPS_APP_PE",
    c"MV2_COMM_WORLD_RANK",
];

/// The rank that the launcher assigned to the process. `number` returns the value of a variable, if it is a
/// number.
pub fn rank(number: impl Fn(&CStr) -> Option<u32>) -> Option<u32> {
    // Slurm sets a rank for batch scripts as well; only a job step is a launch.
    let of_step = || number(c"SLURM_STEP_ID").and_then(|_| number(c"SLURM_PROCID"));
    RANKS.iter().find_map(|name| number(name)).or_else(of_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slurm_batch_script_has_no_rank_but_a_job_step_has_one() {
        let of = |names: &'static [&CStr]| rank(|name| names.contains(&name).then_some(3));
        assert_eq!(of(&[c"SLURM_PROCID"]), None);
        assert_eq!(of(&[c"SLURM_PROCID", c"SLURM_STEP_ID"]), Some(3));
        assert_eq!(of(&[c"PMI_RANK"]), Some(3));
        assert_eq!(of(&[c"PMI_SIZE"]), None);
    }
}
