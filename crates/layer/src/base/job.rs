//! The job this process belongs to.
#![allow(unsafe_code)]

use super::settings;

/// Returns the name of the job: from `mpiscope run`, otherwise from the launcher, otherwise the parent's
/// process ID.
pub fn name() -> String {
    for name in [c"MPISCOPE_JOB", c"PMIX_NAMESPACE", c"PMI_JOBID", c"SLURM_JOB_ID"] {
        if let Some(value) = settings::variable(name)
            && !value.is_empty()
        {
            return value.to_string_lossy().chars().take(60).collect();
        }
    }
    // SAFETY: no arguments, always succeeds.
    format!("pid{}", unsafe { libc::getppid() })
}
