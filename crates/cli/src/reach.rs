//! How far a look at a running job goes: this host, or all hosts of the job.

use crate::procs;
use mpiscope_job::discover::Job;
use mpiscope_job::elsewhere::{self, Elsewhere};
use std::time::Duration;

/// What verbs that look at running jobs have in common.
#[derive(clap::Args, Clone, Copy)]
pub struct Reach {
    /// Do not ask other hosts
    #[arg(long)]
    here: bool,
}

impl Reach {
    /// Adds the job's ranks on other hosts, unless the user does not want that or the job is in a file; those look twice, `pause` apart.
    pub fn join(self, job: &mut Job, pause: Duration, stacks: bool) -> Elsewhere {
        if self.here || !job.runs_here() {
            return Elsewhere::default();
        }
        let hosts = procs::system().started_by(job.slurm());
        elsewhere::join(job, &hosts, pause, stacks)
    }
}
