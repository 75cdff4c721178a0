//! What went wrong in a run, according to the records of its processes, even if nothing hung.
//!
//! ```text
//! observations ──► Snapshot with all that is still known ─┬─► collectives whose members did not agree
//!                                                         ├─► objects that their members created differently
//!                                                         ├─► collectives of two threads at once
//!                                                         ├─► collectives that a member never entered
//!                                                         ├─► messages that were never received
//!                                                         └─► messages longer than their receive buffers
//! ledgers of both ends, where they are recorded ──────────┬─► type signatures that differ
//!                                                         ├─► ranks that would wait for each other without buffering
//!                                                         ├─► receives from any source that other messages matched too
//!                                                         ├─► ready sends that began before their receives
//!                                                         ├─► messages of one rank that shared memory
//!                                                         └─► buffers that changed while they were in use
//! one-sided calls of all ranks, likewise ─────────────────┬─► operations outside the target's memory
//!                                                         └─► operations on the same bytes that nothing orders
//! faults observed in calls ─┬───────────────────────────────► truncated messages, requests freed while active, failed calls
//!                           └───────────────────────────────► calls on windows outside their epochs
//! objects that were not freed ──────────────────────────────► leaked handles, requests never completed
//! pending operations at MPI_Finalize ───────────────────────► finalized with work pending
//! processes that exited without it ─────────────────────────► not finalized
//! ranks from the launcher, and those in the worlds ─────────► not one job
//! ```
//!
//! Uses the same model and comparisons as [`why`](super::why). Only what is certain becomes a finding; what
//! has been dropped from the records or cannot be seen does not.

mod absent;
mod alike;
mod changed;
mod concurrent;
mod creations;
mod delivered;
mod failed;
mod learned;
#[cfg(test)]
mod ledger_tests;
mod mismatches;
mod overlaps;
mod pending;
mod races;
mod ready;
mod rma;
mod strict;
mod unreceived;
mod wrong_ends;

use super::why::{RIGHT_LAUNCHER, Words, disagreements, whole, worlds};
use crate::jobs::worlds::{Members, Worlds};
use crate::model::objects::Kind as Object;
use crate::observation::{Observation, Raised, Stage};
use crate::questions::leaks::Leak;
pub(in crate::questions) use failed::wrong_use;
pub use pending::finalizes;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of findings listed per kind; one more then counts the rest.
const MOST: usize = 256;

/// Kind of a finding: a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Kind(pub &'static str);

impl Kind {
    /// The members of a communicator passed conflicting arguments to a collective, such as the creation of a
    /// Cartesian topology or the opening of a file.
    pub const COLLECTIVE_MISMATCH: Self = Self("collective-mismatch");
    /// A member finalized without entering a collective that others had entered.
    pub const COLLECTIVE_NOT_ENTERED: Self = Self("collective-not-entered");
    /// Messages sent and not received by the time all processes had finalized.
    pub const MESSAGE_NEVER_RECEIVED: Self = Self("message-never-received");
    /// Requests that were active when `MPI_Finalize` returned.
    pub const REQUEST_NEVER_COMPLETED: Self = Self("request-never-completed");
    /// The same, and the variable holding the handle was overwritten with another request.
    pub const REQUEST_OVERWRITTEN: Self = Self("request-overwritten");
    /// Other objects that were not freed.
    pub const NOT_FREED: Self = Self("not-freed");
    /// A message was longer than its receive buffer.
    pub const TRUNCATED: Self = Self("truncated");
    /// The two ends of a message or of a one-sided operation specified different elements, or a partitioned
    /// send was shorter than its receive.
    pub const TYPE_MISMATCH: Self = Self("type-mismatch");
    /// Ranks that would wait for each other if the library buffered nothing.
    pub const RELIES_ON_BUFFERING: Self = Self("relies-on-buffering");
    /// A receive from any source that messages from several ranks matched.
    pub const MESSAGE_RACE: Self = Self("message-race");
    /// A ready send began before its receive was posted.
    pub const READY_SEND: Self = Self("ready-send");
    /// Two operations of a rank (messages, collectives, one-sided operations at their origin) were under way at the same
    /// time in the same memory, or two buffers of one operation shared memory, and at least one of them was written; or an
    /// operation wrote bytes twice because elements of its datatype overlap.
    pub const BUFFER_OVERLAP: Self = Self("buffer-overlap");
    /// The program changed or released the buffer of a nonblocking message, what it sends in a collective with a request, or
    /// the buffer of a one-sided operation at its origin, before it knew that the operation was complete.
    pub const BUFFER_CHANGED: Self = Self("buffer-changed");
    /// A request was freed while its operation was active.
    pub const REQUEST_FREED_ACTIVE: Self = Self("request-freed-active");
    /// A call returned an error whose class indicates invalid arguments or a call at the wrong time, or had
    /// such arguments and did not return.
    pub const CALL_FAILED: Self = Self("call-failed");
    /// A call was given the handle of an object that had been freed.
    pub const FREED_HANDLE: Self = Self("freed-handle");
    /// A call on a window at a time at which its synchronization does not allow it, which the library let pass.
    pub const RMA_SYNCHRONIZATION: Self = Self("rma-synchronization");
    /// A one-sided operation accessed bytes outside the memory of its target.
    pub const RMA_RANGE: Self = Self("rma-range");
    /// Two one-sided operations accessed the same bytes of a rank's memory, at least one of them wrote them, and
    /// nothing ordered them.
    pub const RMA_CONFLICT: Self = Self("rma-conflict");
    /// A call that the level of thread support forbids to the thread that made it, or at that moment.
    pub const THREAD_LEVEL: Self = Self("thread-level");
    /// Two threads of a process called collectives on the same communicator, window or file at once.
    pub const CONCURRENT_COLLECTIVES: Self = Self("concurrent-collectives");
    /// A launcher started the processes as one job, but each is alone in its world.
    pub const NOT_ONE_JOB: Self = Self("not-one-job");
    /// A process ended with exit status 0, but without `MPI_Finalize`.
    pub const NOT_FINALIZED: Self = Self("not-finalized");
    /// `MPI_Finalize` was called before something that must be completed first.
    pub const WORK_PENDING: Self = Self("finalize-with-work-pending");

    /// Whether a program may have it and yet be right: on the libraries that it is used with, or because it does not
    /// depend on what is left open.
    #[must_use]
    pub fn may_be_harmless(self) -> bool {
        [Self::MESSAGE_RACE, Self::RELIES_ON_BUFFERING, Self::NOT_FREED].contains(&self)
    }
}

/// Something that went wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Kind of finding.
    pub kind: Kind,
    /// Ranks concerned.
    pub ranks: Members,
    /// Source line in user code, if known.
    pub line: Option<String>,
    /// Description, as text for users.
    pub sentence: String,
}

/// Returns the findings of a job. `leaks` are those of processes that have finalized.
#[must_use]
pub fn findings(observations: &[Observation], leaks: &[Leak]) -> Vec<Finding> {
    let snapshot = whole(observations, "its records are missing");
    let words = Words::new(&snapshot);
    let whose = Whose::of(observations);
    let differ = disagreements(&snapshot);
    let mut found: Vec<Finding> = singletons(&words).into_iter().collect();
    found.extend(mismatches::mismatches(&differ, &words));
    found.extend(creations::unequal(&words));
    found.extend(concurrent::collectives(observations, &whose));
    found.extend(wrong_ends::misfits(observations, &snapshot, &words, &whose));
    found.extend(wrong_ends::types(observations, &words));
    found.extend(wrong_ends::operations(observations, &whose));
    found.extend(snapshot.unequal.iter().map(|one| wrong_ends::unequal(one, &words)));
    found.extend(strict::rings(observations, &words));
    found.extend(races::wildcards(observations, &words));
    found.extend(ready::early(observations, &words));
    found.extend(overlaps::overlaps(observations, &whose));
    found.extend(changed::changes(observations, &whose));
    found.extend(delivered::otherwise(observations, &words, &whose));
    found.extend(rma::operations(observations, &words));
    found.extend(pending::freed_active(observations, &whose));
    found.extend(pending::at_finalize(observations, &whose));
    found.extend(pending::never_finalized(observations, &whose));
    found.extend(failed::calls(observations, &whose));
    found.extend(failed::never_returned(observations, &whose));
    found.extend(failed::freed(observations, &whose));
    found.extend(failed::untimely(observations, &whose));
    found.extend(failed::forbidden(observations, &whose));
    let apart = |who: &Members, raised: &Raised| mismatches::explain(&differ, &words, who, raised);
    let raised = failed::raised(observations, &whose, &found, &apart);
    found.extend(raised);
    // A process that has not called MPI_Finalize may yet receive what is missing.
    let at_the_end = |seen: &Observation| seen.stage == Stage::Finalized || finalizes(seen);
    if !observations.is_empty() && observations.iter().all(at_the_end) {
        found.extend(unreceived::unreceived(observations, &snapshot, &words, &whose));
        let differ: Vec<_> = differ.iter().filter_map(|one| Some(one.groups.first()?.0.comm)).collect();
        found.extend(absent::never_entered(&snapshot, &words, &differ));
    }
    let (requests, others): (Vec<&Leak>, Vec<&Leak>) = leaks.iter().partition(|leak| leak.active);
    let never_completed = |leak: &Leak| match leak.overwritten {
        Some(_) => Kind::REQUEST_OVERWRITTEN,
        None => Kind::REQUEST_NEVER_COMPLETED,
    };
    found.extend(requests.into_iter().map(|leak| leaked(leak, never_completed(leak))));
    found.extend(others.into_iter().map(|leak| leaked(leak, Kind::NOT_FREED)));
    errors_first(bounded(found))
}

/// Puts findings that may be harmless behind the errors, in every view: the text shows only the first ones.
fn errors_first(mut all: Vec<Finding>) -> Vec<Finding> {
    all.sort_by_key(|finding| finding.kind.may_be_harmless());
    all
}

/// Limits findings to [`MOST`] per kind; the rest are counted in one more finding of that kind.
fn bounded(all: Vec<Finding>) -> Vec<Finding> {
    let mut listed: HashMap<Kind, usize> = HashMap::new();
    let mut left_out: BTreeMap<&str, (Members, usize)> = BTreeMap::new();
    let mut kept: Vec<Finding> = Vec::new();
    for finding in all {
        let count = listed.entry(finding.kind).or_default();
        *count += 1;
        if *count <= MOST {
            kept.push(finding);
        } else {
            let (ranks, count) = left_out.entry(finding.kind.0).or_default();
            ranks.join(finding.ranks);
            *count += 1;
        }
    }
    kept.extend(left_out.into_iter().map(|(kind, (ranks, count))| Finding {
        kind: Kind(kind),
        sentence: format!("{}: {count} more findings of this kind ({kind}) are not listed", ranks.named()),
        ranks,
        line: None,
    }));
    kept
}

/// Identifies processes in the same way as every other view.
struct Whose(Worlds);

impl Whose {
    fn of(observations: &[Observation]) -> Self {
        Self(worlds(observations))
    }

    fn who(&self, seen: &Observation) -> Members {
        Members::from_iter([(self.0.number(&seen.world), seen.rank)])
    }
}

/// The launcher belongs to another MPI library than the program.
fn singletons(words: &Words<'_>) -> Option<Finding> {
    let sentence = format!("{}; {RIGHT_LAUNCHER}", words.singletons()?);
    let all = (0..).zip(&words.snapshot.processes).map(|(index, _)| index);
    Some(Finding { kind: Kind::NOT_ONE_JOB, ranks: words.members(all), line: None, sentence })
}

fn leaked(leak: &Leak, kind: Kind) -> Finding {
    let what = match (kind, leak.kind) {
        (Kind::REQUEST_NEVER_COMPLETED | Kind::REQUEST_OVERWRITTEN, Object::Request) => "never completed",
        _ => "not freed",
    };
    let over = leak.overwritten.as_ref().map_or_else(String::new, |place| {
        format!("; the variable that held the handle was overwritten with another request at {place}")
    });
    Finding {
        kind,
        ranks: leak.ranks.clone(),
        line: Some(leak.place.clone()),
        sentence: format!("{what}: {leak}{over}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Collective, Communicator, ElementKinds, History, Peer};
    use mpi_abi::Element;
    use mpiscope_image::mixture::Mixture;

    fn rank(rank: u32, functions: &[&str]) -> Observation {
        let kind = |name: &&str| Collective {
            comm: 9,
            function: (*name).into(),
            place: Some("a.c:7".into()),
            ..Default::default()
        };
        let history = History {
            completed: Vec::new(),
            times: Vec::new(),
            comm: 9,
            newest: functions.len() as u64,
            entries: (1..).zip(0..functions.len() as u32).collect(),
            kinds: functions.iter().map(kind).collect(),
        };
        let world = Communicator {
            identity: 9,
            name: "MPI_COMM_WORLD".into(),
            rank,
            size: 3,
            collectives: functions.len() as u64,
            ..Default::default()
        };
        Observation {
            world: "w".into(),
            rank: Some(rank),
            size: Some(3),
            stage: Stage::Finalized,
            communicators: vec![world],
            history: vec![history],
            ..Default::default()
        }
    }

    #[test]
    fn a_job_whose_members_agree_has_no_findings() {
        let ranks: Vec<_> = (0..3).map(|number| rank(number, &["MPI_Barrier", "MPI_Bcast"])).collect();
        assert_eq!(findings(&ranks, &[]), []);
        assert_eq!(findings(&[], &[]), []);
    }

    #[test]
    fn findings_that_may_be_harmless_come_after_errors_and_each_in_their_order() {
        let one = |kind, sentence: &str| Finding {
            kind,
            ranks: Members::default(),
            line: None,
            sentence: sentence.to_owned(),
        };
        let all = vec![
            one(Kind::RELIES_ON_BUFFERING, "a"),
            one(Kind::MESSAGE_RACE, "b"),
            one(Kind::BUFFER_CHANGED, "c"),
            one(Kind::NOT_FREED, "d"),
            one(Kind::TRUNCATED, "e"),
        ];
        let order: String = errors_first(all).iter().map(|finding| finding.sentence.as_str()).collect();
        assert_eq!(order, "ceabd");
    }

    #[test]
    fn unlisted_findings_are_counted_with_their_ranks() {
        let one = |rank, kind| Finding {
            kind,
            ranks: Members::from_iter([(0, Some(rank))]),
            line: None,
            sentence: format!("of {rank}"),
        };
        let all = (0..300).map(|rank| one(rank, Kind::TRUNCATED)).chain([one(7, Kind::CALL_FAILED)]);
        let found = bounded(all.collect());
        assert_eq!(found.len(), MOST + 2);
        assert_eq!(found[MOST], one(7, Kind::CALL_FAILED), "kinds do not take each other's room");
        let rest = &found[MOST + 1];
        assert_eq!((rest.kind, rest.ranks.to_string().as_str()), (Kind::TRUNCATED, "[256-299]"));
        assert!(rest.sentence.contains("44 more findings of this kind (truncated)"), "{}", rest.sentence);
    }

    #[test]
    fn the_sender_of_a_message_that_is_too_long_is_named_by_its_world_rank() {
        use crate::observation::faults::{Fault, Kind as Fails};
        let pairs = |me: u32| {
            let mut seen = rank(me, &[]);
            seen.size = Some(4);
            let (identity, members) = (7 + u64::from(me / 2), Some(vec![me / 2 * 2, me / 2 * 2 + 1]));
            let pair = Communicator {
                identity,
                name: "pair".into(),
                rank: me % 2,
                size: 2,
                members,
                ..Default::default()
            };
            seen.communicators.push(pair);
            seen
        };
        let mut job: Vec<_> = (0..4).map(pairs).collect();
        job[3].faults.push(Fault {
            kind: Fails::Truncated,
            function: "MPI_Recv".into(),
            place: Some("a.c:9".into()),
            comm: 8,
            peer: 0,
            tag: 5,
            room: Some(4),
            bytes: 8,
            error: None,
            times: 1,
        });
        let found = findings(&job, &[]);
        let [one] = found.as_slice() else { panic!("{found:#?}") };
        let wanted = "the receive of rank 3 at a.c:9 has room for 4 bytes, and rank 2 sent a message with tag 5 to rank 3 on pair \
                      (8 bytes)";
        assert_eq!(one.sentence, wanted);
    }

    #[test]
    fn singletons_of_one_launcher_are_not_one_job_but_programs_without_a_launcher_are_fine() {
        let alone = |launcher_rank| {
            let world = format!("world of {launcher_rank:?}");
            Observation { world, size: Some(1), launcher_rank, ..rank(0, &[]) }
        };
        let found = findings(&[alone(Some(0)), alone(Some(1))], &[]);
        assert_eq!(found.iter().map(|one| one.kind).collect::<Vec<_>>(), [Kind::NOT_ONE_JOB]);
        assert_eq!(found[0].ranks.to_string(), "0, 1.0");
        assert!(found[0].sentence.contains("2 processes that are each rank 0 of 1"), "{}", found[0].sentence);
        // Run one after the other in a script, or each under its own launcher.
        assert_eq!(findings(&[alone(None), alone(None)], &[]), []);
        let own = Observation { world: "another".into(), ..alone(Some(0)) };
        assert_eq!(findings(&[alone(Some(0)), own], &[]), []);
    }

    #[test]
    fn the_first_mismatched_collective_is_found_after_all_ranks_have_ended() {
        let mut ranks: Vec<_> =
            (0..2).map(|number| rank(number, &["MPI_Barrier", "MPI_Allreduce"])).collect();
        ranks.push(rank(2, &["MPI_Barrier", "MPI_Barrier"]));
        let found = findings(&ranks, &[]);
        assert_eq!(
            (found.len(), found[0].kind, found[0].ranks.to_string()),
            (1, Kind::COLLECTIVE_MISMATCH, "2".into())
        );
        assert_eq!(found[0].line.as_deref(), Some("a.c:7"));
        assert!(found[0].sentence.contains("rank 2 was in MPI_Barrier at a.c:7"), "{}", found[0].sentence);
    }

    /// A collective with a root, whose arguments are not compared with those of the other members.
    fn rooted(me: u32, root: i64, bytes: Option<u64>) -> Observation {
        let mut seen = rank(me, &["MPI_Gather"]);
        let given = &mut seen.history[0].kinds[0];
        (given.root, given.bytes, given.place) = (Some(root), bytes, Some(format!("a.c:{me}")));
        seen
    }

    #[test]
    fn members_are_blamed_only_for_their_differences() {
        let found = findings(&[rooted(0, 0, None), rooted(1, 0, Some(4)), rooted(2, 1, Some(4))], &[]);
        let said: Vec<_> = found.iter().map(|one| (one.ranks.to_string(), one.sentence.as_str())).collect();
        let wanted = "collective mismatch (root) on MPI_COMM_WORLD, collective 1: ranks [0-1] were in MPI_Gather with root 0 \
                      at a.c:0, a.c:1, rank 2 was in MPI_Gather with root 1 at a.c:2";
        assert_eq!(said, [("2".to_owned(), wanted)]);
        let found = findings(&[rooted(0, 0, None), rooted(1, 0, Some(4)), rooted(2, 0, Some(8))], &[]);
        let said: Vec<_> = found.iter().map(|one| (one.ranks.to_string(), one.sentence.as_str())).collect();
        let wanted = "collective mismatch (size) on MPI_COMM_WORLD, collective 1: rank 1 was in MPI_Gather with 4 bytes at \
                      a.c:1, rank 2 was in MPI_Gather with 8 bytes at a.c:2";
        assert_eq!(
            said,
            [("[1-2]".to_owned(), wanted)],
            "of the root nothing is known; either of the others may be wrong"
        );
    }

    #[test]
    fn every_mismatch_is_a_finding_up_to_the_first_of_different_functions_and_those_of_a_loop_are_one() {
        // The same wrong root twice at one line, another operation, different functions, and what follows
        // from these.
        let job = |me: u32| {
            let last = if me == 1 { ["MPI_Barrier", "MPI_Bcast"] } else { ["MPI_Bcast", "MPI_Barrier"] };
            let mut seen = rank(me, &["MPI_Bcast", "MPI_Bcast", "MPI_Allreduce", last[0], last[1]]);
            for (at, given) in seen.history[0].kinds.iter_mut().enumerate() {
                given.root = (at < 2).then_some(i64::from(me == 2));
                given.op = (at == 2).then(|| if me == 0 { "MPI_MAX" } else { "MPI_SUM" }.to_owned());
            }
            seen
        };
        let found = findings(&[job(0), job(1), job(2)], &[]);
        let said: Vec<&str> = found.iter().map(|finding| finding.sentence.as_str()).collect();
        let differ: Vec<&str> = said.iter().filter_map(|one| one.split(['(', ')']).nth(1)).collect();
        assert_eq!(differ, ["root", "operation", "function"], "{said:?}");
        assert!(said[0].ends_with("; and 1 more at the same lines"), "{}", said[0]);
    }

    #[test]
    fn members_that_send_more_or_less_than_expected_are_found_by_the_sums() {
        let job = |expects: u64| {
            let gather = |me: u32| {
                let mut seen = rank(me, &["MPI_Gatherv"]);
                // Each may send as much as it likes.
                let totals = if me == 0 { (4, expects) } else { (4 * u64::from(me), 0) };
                let given = &mut seen.history[0].kinds[0];
                (given.root, given.totals) = (Some(0), Some(totals));
                seen
            };
            (0..3).map(gather).collect::<Vec<_>>()
        };
        assert_eq!(findings(&job(16), &[]), []);
        let found = findings(&job(12), &[]);
        let wanted = "collective mismatch (size) on MPI_COMM_WORLD, collective 1: in MPI_Gatherv at a.c:7 the members give 16 \
                      bytes in all, and expect 12: rank 0 gives 4 and expects 12, rank 1 gives 4, rank 2 gives 8";
        assert_eq!(found.iter().map(|finding| finding.sentence.as_str()).collect::<Vec<_>>(), [wanted]);
        let mut partly = job(12);
        partly[1].history[0].kinds[0].totals = None;
        assert_eq!(findings(&partly, &[]), [], "what is not known is not wrong");
        assert_eq!(findings(&partly[..2], &[]), [], "one is not seen");
    }

    #[test]
    fn members_that_all_pass_the_same_wrong_counts_are_found() {
        let job = |function: &str, root: Option<i64>, totals: (u64, u64)| {
            let member = |me: u32| {
                let mut seen = rank(me, &[function]);
                let given = &mut seen.history[0].kinds[0];
                (given.root, given.totals) = (root, Some(totals));
                seen
            };
            let found = findings(&(0..3).map(member).collect::<Vec<_>>(), &[]);
            let [one] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(one.line.as_deref(), Some("a.c:7"));
            (one.ranks.named(), one.sentence.split_once("a.c:7 the members ").unwrap().1.to_owned())
        };
        let all = |said: &str| ("ranks [0-2]".to_owned(), said.to_owned());
        assert_eq!(
            job("MPI_Alltoall", None, (24, 12)),
            all("give 72 bytes in all, and expect 36: ranks [0-2] give each 24 and expect 12")
        );
        assert_eq!(
            job("MPI_Allgather", None, (12, 0)),
            all("give 36 bytes in all, and expect 0: ranks [0-2] give each 12 and expect nothing")
        );
        let root = |said: &str| ("rank 0".to_owned(), said.to_owned());
        assert_eq!(
            job("MPI_Gather", Some(0), (4, 0)),
            root(
                "give 12 bytes in all, and expect 0: ranks [1-2] give each 4, rank 0 gives 4 and expects nothing"
            )
        );
        assert_eq!(
            job("MPI_Scatter", Some(0), (0, 4)),
            root(
                "give 0 bytes in all, and expect 12: ranks [1-2] expect each 4, rank 0 gives nothing and expects 4"
            )
        );
    }

    #[test]
    fn a_rank_that_ended_in_mpi_abort_with_code_0_need_not_finalize() {
        use crate::observation::{Call, Stage, Thread};
        let ended = |function: &str| {
            let call = Call { function: function.into(), ..Call::default() };
            let threads = vec![Thread { call: Some(call), ..Thread::default() }];
            let seen = Observation { left: true, stage: Stage::Running, threads, ..rank(0, &[]) };
            findings(&[seen], &[]).into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
        assert_eq!(ended("MPI_Abort"), []);
        assert_eq!(ended("MPI_Barrier"), [Kind::NOT_FINALIZED]);
    }

    #[test]
    fn members_that_send_equally_many_bytes_of_other_elements_are_found_by_the_sums() {
        let job = |expects: Mixture| {
            let gather = |me: u32| {
                let (int, mut seen) = (Mixture::one(Element::new(b'i', 4)), rank(me, &["MPI_Gatherv"]));
                let expects = if me == 0 { expects.times(3) } else { Mixture::EMPTY };
                let elements = ElementKinds {
                    difference: int.less(expects),
                    gives: int.stored()[1],
                    expects: expects.stored()[1],
                };
                let given = &mut seen.history[0].kinds[0];
                (given.totals, given.elements) = (Some((4, if me == 0 { 12 } else { 0 })), Some(elements));
                given.root = Some(0);
                seen
            };
            (0..3).map(gather).collect::<Vec<_>>()
        };
        assert_eq!(findings(&job(Mixture::one(Element::new(b'i', 4))), &[]), []);
        let wrong = job(Mixture::one(Element::new(b'f', 4)));
        let wanted = "collective mismatch (type signature) on MPI_COMM_WORLD, collective 1: in MPI_Gatherv at a.c:7 the \
                      members give elements other than those they expect: ranks [1-2] give each 4-byte integer elements, \
                      rank 0 gives 4-byte integer elements and expects 4-byte real elements";
        assert_eq!(
            findings(&wrong, &[]).iter().map(|one| one.sentence.as_str()).collect::<Vec<_>>(),
            [wanted]
        );
        let mut partly = wrong;
        partly[1].history[0].kinds[0].elements = None;
        assert_eq!(findings(&partly, &[]), [], "what agrees with everything is not wrong");
    }

    #[test]
    fn members_that_each_send_what_they_expect_but_not_the_same_elements_are_found() {
        let job = |function: &str, kinds: [u8; 3]| {
            let member = |me: u32| {
                let own = Mixture::one(Element::new(kinds[me as usize], 4));
                let (gives, expects) = (own.stored()[1], own.times(3).stored()[1]);
                let mut seen = rank(me, &[function]);
                let given = &mut seen.history[0].kinds[0];
                let difference = own.times(3).less(own.times(3));
                (given.totals, given.elements) =
                    (Some((12, 12)), Some(ElementKinds { difference, gives, expects }));
                seen
            };
            findings(&(0..3).map(member).collect::<Vec<_>>(), &[]).len()
        };
        assert_eq!(job("MPI_Allgatherv", *b"iif"), 1);
        assert_eq!(job("MPI_Allgatherv", *b"iii"), 0);
        assert_eq!(job("MPI_Ireduce_scatter_c", *b"iif"), 1);
        assert_eq!(job("MPI_Reduce_scatter", *b"iii"), 0);
        assert_eq!(job("MPI_Alltoallv", *b"iif"), 0, "each may send only to itself");
        let sends = |kinds: [[u8; 2]; 3]| {
            let member = |me: u32| {
                let mixture = |of: [u8; 2]| {
                    let [one, other] = of.map(|class| Mixture::one(Element::new(class, 4)));
                    one.and(other)
                };
                let gives = mixture(kinds[me as usize].map(|_| kinds[me as usize][0])).marked(true);
                let expects = mixture(kinds[me as usize]);
                let [[_, gives], [_, expects]] = [gives.stored(), expects.stored()];
                let mut seen = rank(me, &["MPI_Alltoallw"]);
                let given = &mut seen.history[0].kinds[0];
                (given.totals, given.elements) =
                    (Some((12, 12)), Some(ElementKinds { difference: 0, gives, expects }));
                seen
            };
            findings(&(0..3).map(member).collect::<Vec<_>>(), &[]).len()
        };
        assert_eq!(sends([*b"ii", *b"ii", *b"ff"]), 1, "each sends to all");
        assert_eq!(sends([*b"ii", *b"ii", *b"ii"]), 0);
        assert_eq!(sends([*b"if", *b"if", *b"fi"]), 0, "each expects both kinds");
    }

    #[test]
    fn ranks_that_free_or_leave_requests_at_one_line_share_a_finding() {
        use crate::observation::faults::{Fault, Kind as Fails};
        let freed = Fault {
            kind: Fails::FreedActive,
            function: "MPI_Request_free".into(),
            place: Some("a.c:5".into()),
            comm: 9,
            peer: 0,
            tag: -1,
            room: None,
            bytes: 0,
            error: None,
            times: 1,
        };
        let ranks: Vec<_> =
            (0..3).map(|me| Observation { faults: vec![freed.clone()], ..rank(me, &[]) }).collect();
        let found = findings(&ranks, &[]);
        let said: Vec<_> = found.iter().map(|one| one.sentence.as_str()).collect();
        let wanted = "ranks [0-2] freed a request whose operation was not complete: MPI_Request_free at a.c:5, 3 times";
        assert_eq!(said, [wanted]);
    }

    #[test]
    fn an_error_in_the_wait_for_a_mismatched_collective_is_not_another_finding() {
        use crate::observation::Thread;
        let found = |functions: [&str; 2], fails: &str| {
            let mut ranks = [0, 1, 2].map(|me| rank(me, &[functions[usize::from(me == 0)]]));
            let raised = Raised {
                function: fails.into(),
                place: Some("a.c:8".into()),
                error: "MPI_ERR_TRUNCATE".into(),
                at_ns: 1,
            };
            ranks[0].threads.push(Thread { raised: Some(Box::new(raised)), ..Thread::default() });
            findings(&ranks, &[]).into_iter().map(|one| one.kind).collect::<Vec<_>>()
        };
        assert_eq!(found(["MPI_Ibarrier", "MPI_Ibcast"], "MPI_Wait"), [Kind::COLLECTIVE_MISMATCH]);
        let both = [Kind::COLLECTIVE_MISMATCH, Kind::CALL_FAILED];
        assert_eq!(found(["MPI_Barrier", "MPI_Bcast"], "MPI_Wait"), both, "it does not complete that one");
        assert_eq!(found(["MPI_Ibarrier", "MPI_Ibcast"], "MPI_Recv"), both);
    }

    #[test]
    fn a_message_of_a_call_that_could_not_succeed_was_not_sent() {
        use crate::observation::{Call, Thread, Wrong};
        let mut ranks: Vec<_> = (0..3).map(|number| rank(number, &[])).collect();
        let peer = Peer { rank: 1, sent: 1, sent_tags: 7, sent_bytes: 4, ..Default::default() };
        ranks[0].communicators[0].peers.push(peer);
        assert_eq!(findings(&ranks, &[])[0].kind, Kind::MESSAGE_NEVER_RECEIVED);
        let wrong = vec![Wrong { what: "late".into(), error: "MPI_ERR_OTHER".into() }];
        let call = Some(Call { function: "MPI_Send".into(), wrong, ..Call::default() });
        ranks[0].threads.push(Thread { call, ..Thread::default() });
        let kinds: Vec<_> = findings(&ranks, &[]).into_iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Kind::CALL_FAILED]);
    }

    #[test]
    fn a_rank_that_finalizes_without_a_collective_of_the_others_is_found_at_the_end() {
        let mut ranks: Vec<_> = (0..2).map(|number| rank(number, &["MPI_Barrier", "MPI_Bcast"])).collect();
        ranks.push(rank(2, &["MPI_Barrier"]));
        let found = findings(&ranks, &[]);
        assert_eq!((found.len(), found[0].kind), (1, Kind::COLLECTIVE_NOT_ENTERED));
        assert_eq!(found[0].ranks.to_string(), "2");
        let wanted = "rank 2 called MPI_Finalize without entering MPI_Bcast (collective 2 on MPI_COMM_WORLD), which ranks \
                      [0-1] had entered at a.c:7";
        assert_eq!(found[0].sentence, wanted);
        ranks[1].stage = Stage::Running;
        assert_eq!(findings(&ranks, &[]), []);
        ranks.pop();
        ranks[1].stage = Stage::Finalized;
        assert_eq!(findings(&ranks, &[]), [], "one is not seen");
    }

    #[test]
    fn a_message_for_which_a_receive_was_posted_is_not_called_unreceived() {
        let mut ranks: Vec<_> = (0..3).map(|number| rank(number, &[])).collect();
        let peer = Peer { rank: 1, sent: 1, sent_tags: 7, sent_bytes: 4, ..Default::default() };
        ranks[0].communicators[0].peers.push(peer);
        let posted = crate::observation::Receive {
            comm: 9,
            from: Some(0),
            tag: Some(7),
            room: Some(4),
            element: None,
            place: None,
            order: 1,
            overwritten: None,
        };
        ranks[1].posted.push(posted);
        assert_eq!(findings(&ranks, &[]), []);
    }

    #[test]
    fn records_that_a_member_has_lost_are_not_a_mismatch() {
        let mut ranks: Vec<_> =
            (0..3).map(|number| rank(number, &["MPI_Barrier", "MPI_Allreduce"])).collect();
        ranks[2] = rank(2, &["MPI_Bcast", "MPI_Allreduce"]);
        ranks[2].history[0].entries.remove(0);
        assert_eq!(findings(&ranks, &[]), []);
    }

    #[test]
    fn an_unreceived_message_is_found_only_when_all_ranks_have_finalized() {
        let mut ranks: Vec<_> = (0..3).map(|number| rank(number, &[])).collect();
        let peer = Peer { rank: 1, sent: 1, sent_tags: 7, sent_bytes: 4, ..Default::default() };
        ranks[0].communicators[0].peers.push(peer);
        let found = findings(&ranks, &[]);
        assert_eq!((found.len(), found[0].kind), (1, Kind::MESSAGE_NEVER_RECEIVED));
        assert!(found[0].sentence.contains("with tag 7 to rank 1"), "{}", found[0].sentence);
        ranks[2].stage = Stage::Running;
        assert_eq!(findings(&ranks, &[]), []);
    }
}
