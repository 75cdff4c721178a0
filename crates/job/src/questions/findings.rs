//! What was wrong with a run, from what its processes recorded: also where nothing hung.
//!
//! ```text
//! observations ──► Snapshot with all that is still known ─┬─► collectives that did not agree
//!                                                         └─► messages that nobody received
//! objects that were not freed ──────────────────────────────► handles leaked, requests never completed
//! ```
//!
//! The same model and the same comparisons as those of [`why`](super::why). Only what is certain is a finding: what has fallen out of the
//! records, or cannot be seen, is none.

use super::observation::{Observation, Stage};
use super::why::{Message, ProcessIndex, Snapshot, Words, disagreements, whole};
use crate::leaks::Leak;
use crate::objects::Kind as Object;
use crate::worlds::Members;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Findings of one kind that are listed.
const MOST: usize = 64;

/// What sort of finding it is: a stable word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Kind(pub &'static str);

impl Kind {
    /// The members of a communicator gave different things to one collective.
    pub const COLLECTIVE_MISMATCH: Self = Self("collective-mismatch");
    /// Messages that were sent and not received when all had finalized.
    pub const MESSAGE_NEVER_RECEIVED: Self = Self("message-never-received");
    /// Requests that were active when `MPI_Finalize` returned.
    pub const REQUEST_NEVER_COMPLETED: Self = Self("request-never-completed");
    /// Other objects that were not freed.
    pub const NOT_FREED: Self = Self("not-freed");
}

/// Something that was wrong with a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What sort of thing.
    pub kind: Kind,
    /// Whose.
    pub ranks: Members,
    /// The line of the user's code, if known.
    pub line: Option<String>,
    /// What it is, for people.
    pub sentence: String,
}

/// The findings of a job. `leaks` are of processes that have finalized.
#[must_use]
pub fn findings(observations: &[Observation], leaks: &[Leak]) -> Vec<Finding> {
    let snapshot = whole(observations, "its records are missing");
    let words = Words::new(&snapshot);
    let mut found = mismatches(&snapshot, &words);
    // Who has not finalized may still have received what is missing.
    if !observations.is_empty() && observations.iter().all(|seen| seen.stage == Stage::Finalized) {
        found.extend(unreceived(&snapshot, &words));
    }
    let (requests, others): (Vec<&Leak>, Vec<&Leak>) = leaks.iter().partition(|leak| leak.active);
    found.extend(requests.into_iter().take(MOST).map(|leak| leaked(leak, Kind::REQUEST_NEVER_COMPLETED)));
    found.extend(others.into_iter().take(MOST).map(|leak| leaked(leak, Kind::NOT_FREED)));
    found
}

/// The first on each communicator: what comes behind it follows from it.
fn mismatches(snapshot: &Snapshot, words: &Words<'_>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let all = disagreements(snapshot);
    let first =
        all.iter().filter(|mismatch| mismatch.groups.first().is_some_and(|(c, _)| seen.insert(c.comm)));
    let finding = |mismatch: &super::why::Mismatch<'_>| {
        let odd = mismatch.groups.get(1)?;
        Some(Finding {
            kind: Kind::COLLECTIVE_MISMATCH,
            ranks: words.members(mismatch.groups.iter().skip(1).flat_map(|(_, ranks)| ranks).copied()),
            line: odd.0.place.as_deref().map(str::to_owned),
            sentence: words.mismatch(mismatch)?,
        })
    };
    first.filter_map(finding).take(MOST).collect()
}

/// Messages of a sender that are alike: receiver, communicator, tag, line.
type Alike = (ProcessIndex, u32, i32, Option<Arc<str>>);

fn unreceived(snapshot: &Snapshot, words: &Words<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ProcessIndex, Alike), (u64, &Message)> = BTreeMap::new();
    for (sender, process) in (0..).zip(&snapshot.processes) {
        for message in &process.sent {
            let alike = (message.to, message.comm, message.tag, message.place.clone());
            found.entry((sender, alike)).or_insert((0, message)).0 += 1;
        }
    }
    let finding = |((sender, _), (count, message)): ((ProcessIndex, Alike), (u64, &Message))| {
        let what = match count {
            1 => words.sent(message),
            _ => format!("{count} times {}", words.sent(message)),
        };
        Finding {
            kind: Kind::MESSAGE_NEVER_RECEIVED,
            ranks: words.members([sender]),
            line: message.place.as_deref().map(str::to_owned),
            sentence: format!("rank {} sent {what}, which nobody received", words.rank(sender)),
        }
    };
    found.into_iter().take(MOST).map(finding).collect()
}

fn leaked(leak: &Leak, kind: Kind) -> Finding {
    let what = match (kind, leak.kind) {
        (Kind::REQUEST_NEVER_COMPLETED, Object::Request) => "never completed",
        _ => "not freed",
    };
    Finding {
        kind,
        ranks: leak.ranks.clone(),
        line: Some(leak.place.clone()),
        sentence: format!("{what}: {leak}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::{Collective, Communicator, History, Peer};
    use super::*;

    fn rank(rank: u32, functions: &[&str]) -> Observation {
        let kind = |name: &&str| Collective {
            comm: 9,
            function: (*name).into(),
            place: Some("a.c:7".into()),
            ..Default::default()
        };
        let history = History {
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
    fn the_first_collective_in_which_members_differ_is_found_after_all_have_ended() {
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

    #[test]
    fn what_a_member_has_forgotten_is_no_mismatch() {
        let mut ranks: Vec<_> =
            (0..3).map(|number| rank(number, &["MPI_Barrier", "MPI_Allreduce"])).collect();
        ranks[2] = rank(2, &["MPI_Bcast", "MPI_Allreduce"]);
        ranks[2].history[0].entries.remove(0);
        assert_eq!(findings(&ranks, &[]), []);
    }

    #[test]
    fn a_message_without_a_receive_is_found_only_when_everybody_has_finalized() {
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
