//! A quick snapshot of all ranks of a job, taken over and over for live views.

use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;
use crate::jobs::live_process::{Living, Reader};
use crate::jobs::placement::Placement;
use crate::model::locate::Locate;
use crate::model::process::Process;
use crate::model::rank_status::{RankStatus, share_names};
use crate::performance::report::facts::Facts;
use crate::performance::report::{self, JobReport, Observed};
use mpi_abi::{Flags, FunctionId};
use std::collections::BTreeMap;

/// A snapshot.
#[derive(Debug)]
pub struct JobSnapshot {
    /// Times and counts so far.
    pub report: JobReport,
    /// What each rank does, in the order of the report's ranks.
    pub statuses: Vec<RankStatus>,
    /// Number of processes that have not called MPI.
    pub silent: usize,
    /// What could not be read.
    pub errors: Vec<String>,
}

/// Takes a snapshot of a job.
#[must_use]
pub fn take(job: &Job, reader: &Reader, symbols: &dyn Locate) -> JobSnapshot {
    let (mut observed, mut seen) = (Vec::new(), Vec::<RankStatus>::new());
    let (mut silent, mut errors) = (0, Vec::new());
    for found in &job.images {
        match reader.read(found) {
            Ok(Some(living)) => {
                seen.push(living.status(symbols));
                observed.push(one(found, living, symbols));
            }
            Ok(None) => silent += 1,
            // The process has ended since the list was made.
            Err(_) if !found.held() => {}
            Err(why) => errors.push(why.to_string()),
        }
    }
    let command = observed.first().map(|one: &Observed| one.process.command.clone()).unwrap_or_default();
    report::settle(&mut observed);
    share_names(seen.iter_mut());
    let mut statuses = BTreeMap::new();
    for (status, one) in seen.into_iter().zip(&observed) {
        let world = one.process.world.clone();
        statuses.insert((world.clone(), status.host.clone(), status.pid), RankStatus { world, ..status });
    }
    let report = JobReport::new(command, observed);
    let status = |rank: &crate::RankReport| {
        let status = statuses.remove(&(rank.world.clone(), rank.host.clone(), rank.pid))?;
        Some(RankStatus { world_number: rank.world_number, ..status })
    };
    JobSnapshot { statuses: report.ranks.iter().filter_map(status).collect(), report, silent, errors }
}

fn one(found: &JobImage, living: Living, symbols: &dyn Locate) -> Observed {
    let kept = found.about().and_then(|about| about.placement.as_deref().cloned());
    let placement = kept.or_else(|| living.outer_pid.and_then(Placement::of));
    let facts = living.look(symbols, |rank| Facts::snapshot(rank, placement));
    let Living { process, outer_pid, alive, .. } = living;
    let ended_ns = (!alive).then(|| process.clock.end_ns());
    observed(process, facts, outer_pid, ended_ns)
}

fn observed(process: Process, facts: Facts, outer_pid: Option<u32>, ended_ns: Option<u64>) -> Observed {
    Observed {
        pid: outer_pid.unwrap_or(process.pid),
        leaks: Vec::new(),
        observation: None,
        facts,
        launcher_rank: None,
        ended_ns,
        later_ns: 0,
        end_unseen: false,
        ending: None,
        core: None,
        process,
    }
}

/// A rank's activity as a single letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Letter(pub char);

impl Letter {
    /// All letters with their meanings.
    pub const ALL: [(Self, &'static str); 15] = [
        (Self('.'), "outside of MPI"),
        (Self('p'), "polls"),
        (Self('s'), "sends"),
        (Self('r'), "receives or probes"),
        (Self('w'), "waits for requests"),
        (Self('b'), "barrier"),
        (Self('c'), "other collective"),
        (Self('o'), "one-sided"),
        (Self('f'), "file"),
        (Self('m'), "other MPI call"),
        (Self('i'), "MPI_Init"),
        (Self('e'), "MPI_Finalize"),
        (Self('F'), "has finalized"),
        (Self('-'), "has not called MPI"),
        (Self('x'), "gone or aborted"),
    ];

    /// Returns the letter for a rank.
    #[must_use]
    pub fn of(rank: &RankStatus) -> Self {
        if rank.problem {
            return Self('x');
        }
        if rank.state.contains("finalized") || rank.activity.contains("FINALIZED") {
            return Self('F');
        }
        if rank.threads.is_empty() {
            return Self('-');
        }
        let busy = rank.busy();
        let thread = busy.iter().find(|thread| thread.main).or(busy.first());
        let Some(thread) = thread else { return Self('.') };
        match (&thread.call, thread.polling_s) {
            (_, Some(_)) => Self('p'),
            (Some(call), None) => Self::of_function(&call.function),
            (None, None) => Self('.'),
        }
    }

    fn of_function(name: &str) -> Self {
        let stem = name.trim_start_matches("MPI_").trim_end_matches("_c");
        let begins = |words: &[&str]| words.iter().any(|word| stem.starts_with(word));
        let flags = FunctionId::from_name(name).map(|id| id.properties().flags);
        let letter = match stem {
            "Init" | "Init_thread" | "Session_init" => 'i',
            "Finalize" | "Session_finalize" => 'e',
            "Barrier" | "Ibarrier" | "Barrier_init" => 'b',
            _ if begins(&["File_", "Register_datarep"]) => 'f',
            _ if begins(&[
                "Win_",
                "Put",
                "Get_accumulate",
                "Accumulate",
                "Fetch_and_op",
                "Compare_and_swap",
                "Rput",
                "Rget",
                "Raccumulate",
            ]) || stem == "Get" =>
            {
                'o'
            }
            _ if begins(&["Wait", "Test", "Request_get_status"]) => 'w',
            _ if flags.is_some_and(|flags| flags.has(Flags::COLLECTIVE)) => 'c',
            _ if begins(&[
                "Recv", "Irecv", "Mrecv", "Imrecv", "Probe", "Iprobe", "Mprobe", "Improbe", "Precv",
            ]) =>
            {
                'r'
            }
            _ if begins(&[
                "Send",
                "Isend",
                "Ssend",
                "Issend",
                "Bsend",
                "Ibsend",
                "Rsend",
                "Irsend",
                "Psend",
                "Isendrecv",
            ]) =>
            {
                's'
            }
            _ => 'm',
        };
        Self(letter)
    }

    /// Returns the meaning as text for users.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        Self::ALL.iter().find(|(letter, _)| *letter == self).map_or("", |(_, meaning)| meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_letter_of_what_they_do() {
        let letters: String = [
            "MPI_Send",
            "MPI_Recv",
            "MPI_Waitall",
            "MPI_Barrier",
            "MPI_Allreduce",
            "MPI_Win_fence",
            "MPI_Get",
            "MPI_File_write_at",
            "MPI_Comm_rank",
            "MPI_Init",
            "MPI_Finalize",
            "MPI_Sendrecv",
            "MPI_Gather",
            "MPI_Send_c",
        ]
        .iter()
        .map(|name| Letter::of_function(name).0)
        .collect();
        assert_eq!(letters, "srwbcoofmiescs");
        assert!(letters.chars().all(|letter| !Letter(letter).meaning().is_empty()));
    }

    #[test]
    fn a_rank_that_is_gone_or_has_not_called_mpi_is_distinguished_from_one_that_computes() {
        let silent = RankStatus::silent(7, Some(0), String::new());
        assert_eq!(Letter::of(&silent), Letter('-'));
        assert_eq!(Letter::of(&RankStatus { problem: true, ..silent }), Letter('x'));
    }
}
