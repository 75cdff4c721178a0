//! Whether a command looks at this host only or at all hosts of a running job.

use crate::open_files;
use mpiscope_job::hosts::other_hosts::{self, Elsewhere};
use mpiscope_job::jobs::acquire::SystemHosts;
use mpiscope_job::jobs::job::Job;
use std::path::PathBuf;
use std::time::Duration;

/// Options shared by all verbs that look at running jobs.
#[derive(clap::Args, Clone, Copy)]
pub struct HostScope {
    /// Do not ask other hosts
    #[arg(long)]
    here: bool,
}

impl HostScope {
    /// Whether only this host is asked.
    pub fn is_here(self) -> bool {
        self.here
    }

    /// Adds the job's ranks on other hosts, unless the user excluded them or the job comes from a file. The
    /// other hosts take two snapshots, `pause` apart. A file contains its own list of what was not seen when
    /// it was written.
    pub fn join(self, job: &mut Job, pause: Duration, stacks: bool) -> Elsewhere {
        if self.here || !job.runs_here() {
            return Elsewhere { not_seen: job.not_seen.clone(), ..Elsewhere::default() };
        }
        open_files::as_many_as_allowed();
        let hosts = system().started_by(job.started_by()).scanned(job.scan.clone());
        other_hosts::join(job, &hosts, pause, stacks)
    }
}

/// Returns this host, and how to reach others. The program is assumed to be at the same path on other hosts
/// unless `MPISCOPE_REMOTE` gives another one.
pub fn system() -> SystemHosts {
    let program = std::env::var_os("MPISCOPE_REMOTE").map(PathBuf::from);
    SystemHosts::new(program.or_else(|| std::env::current_exe().ok()).unwrap_or_else(|| "mpiscope".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_file_reports_what_was_not_seen_when_it_was_written() {
        let not_seen = vec!["node7: no answer".to_owned()];
        let mut job = Job { not_seen, symbols: Some(Arc::default()), ..Job::default() };
        for here in [true, false] {
            let elsewhere = HostScope { here }.join(&mut job, Duration::ZERO, false);
            assert_eq!(elsewhere.not_seen, ["node7: no answer"]);
        }
    }
}
