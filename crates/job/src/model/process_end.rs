//! How and when processes ended, and which of them ended first.

use crate::model::process::{Ending, Process};
use serde::{Deserialize, Serialize};

/// Ends closer than this were observed together; their order is random.
const AT_ONCE_NS: u64 = 500_000;

/// The end of a process that should have gone on, or should have ended differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadEnd {
    /// When it ended, in nanoseconds of a clock shared by the processes that are compared.
    pub at_ns: u64,
    /// How it ended, if known.
    pub ending: Option<Ending>,
    /// Whether it caused its own end, rather than being terminated by a signal from outside: launchers also kill the rank
    /// whose library has ended the job.
    pub by_itself: bool,
}

impl BadEnd {
    /// Returns the end of a process; `None` if it finalized MPI and exited normally. `ends_job` says whether it called
    /// `MPI_Abort`, or its library found an error in a call that did not return.
    #[must_use]
    pub fn of(finalized: bool, ends_job: bool, ending: Option<Ending>, at_ns: u64) -> Option<Self> {
        let bad = !finalized || ending.is_some_and(|end| end != Ending::Exit(0));
        let from_outside =
            [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGPIPE].map(Ending::Signal);
        let by_itself = ends_job || ending.is_some_and(|ending| !from_outside.contains(&ending));
        bad.then_some(Self { at_ns, ending, by_itself })
    }

    /// Returns the end of a process as its starter observed it; `erred` says whether it ended in a call with an error.
    #[must_use]
    pub fn observed(
        process: &Process,
        erred: bool,
        ending: Option<Ending>,
        ended_ns: Option<u64>,
    ) -> Option<Self> {
        let at_ns = began_to_end(process, ended_ns?);
        Self::of(process.finalized(), process.abort_code.is_some() || erred, ending, at_ns)
    }
}

/// Returns when a process that was seen to have ended began to end. If it called `MPI_Abort`, that was when it
/// called: the launcher kills the others meanwhile, so one of these is often seen to have ended before it.
#[must_use]
pub fn began_to_end(process: &Process, ended_ns: u64) -> u64 {
    process.aborted_ns.map_or(ended_ns, |aborted_ns| aborted_ns.min(ended_ns))
}

/// The first of several processes to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First<T> {
    /// The process.
    pub who: T,
    /// Nanoseconds until the next one ended; `None` if the others were terminated from outside.
    pub before_ns: Option<u64>,
}

/// Returns which of several processes ended first; `None` if that is unknown or there is only one. A launcher
/// kills the others, and this may be observed before the kernel is done with the first one.
#[must_use]
pub fn first<T: Copy>(ends: impl IntoIterator<Item = (T, BadEnd)>) -> Option<First<T>> {
    let mut ended: Vec<(T, BadEnd)> = ends.into_iter().collect();
    if ended.len() < 2 {
        return None;
    }
    if ended.iter().any(|(_, end)| end.by_itself) {
        ended.retain(|(_, end)| end.by_itself);
    }
    ended.sort_by_key(|(_, end)| end.at_ns);
    let (who, first) = *ended.first()?;
    let before_ns = ended.get(1).map(|(_, second)| second.at_ns.saturating_sub(first.at_ns));
    before_ns.is_none_or(|ns| ns >= AT_ONCE_NS).then_some(First { who, before_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Moment;
    use crate::sources::image_source::open_fd;
    use crate::test_image::TestImage;

    fn read(image: &TestImage) -> Process {
        let image = open_fd(image.fd.try_clone().unwrap(), "image").unwrap();
        Process::read(&image, Some(Moment::now())).unwrap()
    }

    fn end(at_ms: u64, ending: Ending) -> BadEnd {
        BadEnd::of(false, false, Some(ending), at_ms * 1_000_000).unwrap()
    }

    #[test]
    fn the_first_to_end_by_itself_is_first_even_if_another_was_seen_to_end_before_it() {
        let (crash, kill) = (Ending::Signal(libc::SIGSEGV), Ending::Signal(libc::SIGKILL));
        let first = |ends: &[(u32, BadEnd)]| first(ends.iter().copied()).map(|one| (one.who, one.before_ns));
        assert_eq!(first(&[(0, end(9, kill)), (1, end(10, crash))]), Some((1, None)));
        assert_eq!(first(&[(0, end(9, crash)), (1, end(7, crash))]), Some((1, Some(2_000_000))));
        assert_eq!(first(&[(0, end(9, kill)), (1, end(7, kill))]), Some((1, Some(2_000_000))));
        assert_eq!(first(&[(0, end(7, kill)), (1, end(7, kill))]), None, "at the same time");
        assert_eq!(first(&[(0, end(7, crash))]), None, "there is only one");
    }

    #[test]
    fn a_process_that_called_abort_began_to_end_then_not_when_it_was_seen_to_have_ended() {
        let image = TestImage::new("aborts", 0, 2);
        image.enters("MPI_Abort", [0x4400_0000, 0, 0], 0, 0);
        image.abort(3);
        let called_ns = Moment::now().monotonic_ns;
        // With MPICH 5.0 it returns before the process is killed.
        image.leaves();
        image.enters("MPI_Barrier", [0x4400_0000, 0, 0], 0, 0);
        let aborts = read(&image);
        let called_ns = aborts.aborted_ns.filter(|ns| *ns <= called_ns).unwrap();
        assert_eq!(began_to_end(&aborts, called_ns + 9_000_000), called_ns);
        let (exit, kill) = (Some(Ending::Exit(3)), Some(Ending::Signal(libc::SIGKILL)));
        let observed = |process: &Process, ending, after_ns| {
            BadEnd::observed(process, false, ending, Some(called_ns + after_ns)).unwrap()
        };
        let other = read(&TestImage::new("ends", 1, 2));
        // Its library notices the abort and exits.
        let ends = [(0, observed(&other, exit, 2_000_000)), (1, observed(&aborts, kill, 9_000_000))];
        assert_eq!(first(ends), Some(First { who: 1, before_ns: Some(2_000_000) }));
    }

    #[test]
    fn a_process_that_finalized_and_exited_normally_has_no_bad_end() {
        assert_eq!(BadEnd::of(true, false, Some(Ending::Exit(0)), 1), None);
        assert_eq!(BadEnd::of(true, false, None, 1), None);
        assert!(BadEnd::of(true, false, Some(Ending::Exit(3)), 1).is_some_and(|end| end.by_itself));
        assert!(BadEnd::of(false, false, None, 1).is_some_and(|end| !end.by_itself));
        assert!(BadEnd::of(false, true, None, 1).is_some_and(|end| end.by_itself));
    }
}
