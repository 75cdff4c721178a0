//! The wording of verdicts.

use super::collectives::{self, Mismatch, Sums};
use super::snapshot::{
    Call, Collective, CommIndex, Condition, FREED, Failed, Idle, Match, Message, Need, Outcome, Passed, Peer,
    Process, ProcessIndex, Snapshot, Unequal, UnequalCreation, Wait,
};
use crate::jobs::worlds::Members;
use crate::model::process::Ending;
use crate::observation::{self, RootBetween};
use mpi_abi::{FunctionId, Partners};
use mpiscope_image::mixture::Mixture;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Describes parts of one look.
pub struct Words<'a> {
    pub snapshot: &'a Snapshot,
    /// By process: whether it made many calls between the looks. Processes beyond the end did not.
    busy: Vec<bool>,
    /// Description of the ranks missing in a collective, cached because every rank inside asks for it.
    missing: RefCell<Missing>,
}

/// By communicator and number of the collective.
type Missing = HashMap<(CommIndex, u64), Option<Rc<str>>>;

/// Maximum number of groups of members listed for a collective in which each may pass what it likes.
const MOST_GROUPS: usize = 6;
/// Maximum number of different activities of awaited ranks in a sentence; the evidence lists all of them.
const MOST_DOINGS: usize = 3;

impl<'a> Words<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, busy: Vec::new(), missing: RefCell::default() }
    }

    /// The same, for processes some of which made many calls between the looks.
    pub fn with_busy(self, busy: Vec<bool>) -> Self {
        Self { busy, ..self }
    }

    /// Whether a process made many calls between the looks: what it was doing when looked at says little.
    pub fn is_busy(&self, index: ProcessIndex) -> bool {
        self.busy.get(index as usize).copied().unwrap_or(false)
    }

    /// Returns, for example, `rank 3` if that rank has not entered the collective; `None` if all members
    /// have.
    fn missing(&self, collective: &Collective) -> Option<Rc<str>> {
        let (comm, number) = (collective.comm, collective.number);
        let mut known = self.missing.borrow_mut();
        let entry = known.entry((comm, number)).or_insert_with(|| {
            let missing = collectives::missing(self.snapshot, comm, number);
            (!missing.is_empty()).then(|| self.ranks(missing).into())
        });
        entry.clone()
    }

    pub fn process(&self, index: ProcessIndex) -> Option<&Process> {
        self.snapshot.processes.get(index as usize)
    }

    /// Formats `3`, or `1.3` for a rank of the second world.
    pub fn rank(&self, index: ProcessIndex) -> String {
        self.members([index]).to_string()
    }

    pub fn members(&self, processes: impl IntoIterator<Item = ProcessIndex>) -> Members {
        let mut members = Members::default();
        for process in processes.into_iter().filter_map(|index| self.process(index)) {
            // A process that does not know its rank yet has the largest number.
            members.add(process.world, Some(process.rank).filter(|rank| *rank != u32::MAX));
        }
        members
    }

    /// Formats `rank 3` or `ranks [0,2-3]`.
    pub fn ranks(&self, processes: impl IntoIterator<Item = ProcessIndex>) -> String {
        ranks(&self.members(processes))
    }

    pub fn comm(&self, comm: CommIndex) -> &str {
        self.snapshot.communicators.get(comm as usize).map_or("a communicator", |c| &c.name)
    }

    /// Formats `MPI_Allreduce (collective 118 on "solver")`.
    pub fn collective(&self, collective: &Collective) -> String {
        if collective.number == collectives::FINALIZE {
            return collective.signature.function.to_string();
        }
        let (function, comm) = (&collective.signature.function, self.comm(collective.comm));
        match collectives::parts(collective.number) {
            (number, 0) => format!("{function} (collective {number} on {comm})"),
            (number, starts) => format!("{function} (collective {number} on {comm}, start {starts})"),
        }
    }

    /// Formats `a message from rank 3 with tag 42 on WORLD`, or `a partitioned message …`.
    pub fn message(&self, wanted: &Match) -> String {
        let from = match wanted.from {
            Peer::One(from) => format!("rank {}", self.rank(from)),
            Peer::Any => "any rank".to_owned(),
        };
        let tag = wanted.tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
        format!("a {} from {from} with {tag} on {}", sort(wanted.partitioned), self.comm(wanted.comm))
    }

    /// Formats `a message with tag 41 to rank 1 on WORLD (8 bytes, ring.c:12)`.
    pub fn sent(&self, message: &Message) -> String {
        let (to, comm) = (self.rank(message.to), self.comm(message.comm));
        let size = size(message.bytes, "", message.place.as_deref());
        format!("a {} with tag {} to rank {to} on {comm}{size}", sort(message.partitioned), message.tag)
    }

    /// Formats `the two ends of a partitioned message differ in size: rank 0 sends …, rank 1 receives …`.
    pub fn unequal(&self, one: &Unequal) -> String {
        let end = |(process, bytes, place): &(ProcessIndex, u64, Option<Arc<str>>), verb: &str| {
            let at = place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            format!("rank {} {verb} {bytes} bytes{at}", self.rank(*process))
        };
        format!(
            "the two ends of a partitioned message differ in size: {}, {} (tag {} on {})",
            end(&one.sent, "sends"),
            end(&one.received, "receives"),
            one.tag,
            self.comm(one.comm)
        )
    }

    /// Formats `collective mismatch (dimensions) on GRID: ranks [0,2-3] passed 2 x 2, rank 1 passed 1 x 4 to
    /// MPI_Cart_create`.
    pub fn creation(&self, one: &UnequalCreation) -> String {
        let passed = |passed: &Passed| {
            format!("{} passed {}", self.ranks(passed.members.iter().copied()), passed.what)
        };
        let groups: Vec<String> = one.groups.iter().map(passed).collect();
        let (on, argument) = (self.comm(one.comm), &one.argument);
        format!("collective mismatch ({argument}) on {on}: {} to {}", groups.join(", "), one.function)
    }

    /// Describes processes started by a launcher of another library.
    pub fn singletons(&self) -> Option<String> {
        let count = self.snapshot.processes.len();
        self.snapshot.singletons.then(|| {
            format!(
                "not one job: {count} processes that are each rank 0 of 1, so none of them waits for another"
            )
        })
    }

    /// Formats `collective mismatch (root) on "solver", collective 3: rank 0 …, ranks [1-3] …`.
    pub fn mismatch(&self, mismatch: &Mismatch<'_>) -> Option<String> {
        let (common, _) = mismatch.groups.first()?;
        let groups = mismatch.groups.iter();
        let parts: String = match mismatch.sums {
            Some(sums) => self.lopsided(mismatch, sums),
            None => groups
                .map(|(collective, ranks)| self.group(mismatch.difference, collective, ranks))
                .collect::<Vec<_>>()
                .join(", "),
        };
        Some(format!(
            "collective mismatch ({}) on {}, collective {}: {}",
            mismatch.difference,
            self.comm(common.comm),
            collectives::parts(common.number).0,
            parts
        ))
    }

    /// Formats `in MPI_Gatherv at a.c:9 the members give 16 bytes in all, and expect 12: rank 0 gives 4 and
    /// expects 12, rank 1 gives 12`.
    fn lopsided(&self, mismatch: &Mismatch<'_>, sums: Sums) -> String {
        let part = |(collective, of): &(&Collective, Vec<ProcessIndex>)| {
            let members = self.members(of.iter().copied());
            let (gives, expects) = shares(collective, sums);
            let given = format!("{} {gives}", verb(&members, "gives", "give each"));
            let what = match self.significant(collective, of) {
                Significant::Both => format!("{given} and {} {expects}", verb(&members, "expects", "expect")),
                Significant::Given => given,
                Significant::Expected => format!("{} {expects}", verb(&members, "expects", "expect each")),
            };
            format!("{} {what}", ranks(&members))
        };
        let mut parts: Vec<String> = mismatch.groups.iter().take(MOST_GROUPS).map(part).collect();
        let rest: usize = mismatch.groups.iter().skip(MOST_GROUPS).map(|(_, ranks)| ranks.len()).sum();
        parts.extend((rest > 0).then(|| format!("and so on for {rest} more")));
        let first = mismatch.groups.first().map(|(collective, _)| *collective);
        let function = first.map_or_else(|| "".into(), |first| first.signature.function.clone());
        let place = first.and_then(|first| first.place.as_ref()).map(|place| format!(" at {place}"));
        let place = place.unwrap_or_default();
        let what = match sums {
            Sums::Bytes(gives, expects) => format!("{gives} bytes in all, and expect {expects}"),
            Sums::Elements => "elements other than those they expect".to_owned(),
        };
        format!("in {function}{place} the members give {what}: {}", parts.join(", "))
    }

    /// Returns which shares members that passed the same have in a collective with a root, or in another one.
    fn significant(&self, collective: &Collective, members: &[ProcessIndex]) -> Significant {
        let all =
            self.snapshot.communicators.get(collective.comm as usize).map_or(&[][..], |comm| &comm.members);
        let Some(root) = collective.signature.root else { return Significant::Both };
        let root = usize::try_from(root).ok().and_then(|root| all.get(root));
        let function = FunctionId::from_name(&collective.signature.function);
        match function.map(|function| function.properties().partners) {
            _ if root.is_some_and(|root| members.contains(root)) => Significant::Both,
            Some(Partners::ROOT) => Significant::Expected,
            _ => Significant::Given,
        }
    }

    /// Formats `ranks [0,2-3] are in MPI_Allreduce at a.c:12`, in the past tense for ranks that have left it.
    fn group(&self, difference: &str, collective: &Collective, of: &[ProcessIndex]) -> String {
        let members = self.members(of.iter().copied());
        let process = of.first().and_then(|one| self.process(*one));
        if difference == FREED
            && let Some(last) = process.and_then(|process| process.freed_at(collective.comm))
            && collectives::has_freed_instead(last, collective)
        {
            let now = match process.is_some_and(collectives::is_finalizing) {
                true => format!(" and {} in MPI_Finalize", verb(&members, "is", "are")),
                false => String::new(),
            };
            let has = verb(&members, "has", "have");
            return format!("{} {has} freed it in collective {last}{now}", ranks(&members));
        }
        let signature = &collective.signature;
        let detail = match difference {
            "root" => match signature.between.map(|between| between.root) {
                Some(RootBetween::Myself) => Some(" with MPI_ROOT".to_owned()),
                Some(RootBetween::AnotherOfMine) => Some(" with MPI_PROC_NULL as root".to_owned()),
                _ => signature.root.map(|root| format!(" with root {root}")),
            },
            "operation" => signature.op.as_ref().map(|op| format!(" with {op}")),
            "size" => signature.bytes.map(|bytes| match &collective.data {
                Some(data) => format!(" with {data} ({bytes} bytes)"),
                None => format!(" with {bytes} bytes"),
            }),
            "type signature" | "argument" => collective.data.as_ref().map(|data| format!(" with {data}")),
            _ => None,
        };
        let is = match of.iter().all(|one| self.call_of(*one, collective).is_some()) {
            true => verb(&members, "is", "are"),
            false => verb(&members, "was", "were"),
        };
        let (who, detail) = (ranks(&members), detail.unwrap_or_default());
        format!("{who} {is} in {}{detail}{}", signature.function, self.places(collective, of))
    }

    /// Returns the call in which a process waits for a collective.
    fn call_of(&self, process: ProcessIndex, collective: &Collective) -> Option<&Call> {
        let same = |need: &Need| matches!(need, Need::Collective(other) if is_same(other, collective));
        self.process(process)?.calls().find(|call| call.wait.needs().iter().any(same))
    }

    /// Formats ` at a.c:12, a.c:20`: where members entered a collective.
    fn places(&self, collective: &Collective, of: &[ProcessIndex]) -> String {
        let mut places: Vec<&str> = Vec::new();
        for one in of {
            let known = self.process(*one).into_iter().flat_map(|process| &process.collectives);
            let entered =
                known.filter(|other| is_same(other, collective)).find_map(|other| other.place.as_deref());
            let place = entered.or_else(|| self.call_of(*one, collective)?.place.as_deref());
            if let Some(place) = place.filter(|place| !places.contains(place)) {
                places.push(place);
            }
            if places.len() > MOST_GROUPS {
                break;
            }
        }
        let more = if places.len() > MOST_GROUPS { ", ..." } else { "" };
        places.truncate(MOST_GROUPS);
        if places.is_empty() { String::new() } else { format!(" at {}{more}", places.join(", ")) }
    }

    /// Formats `rank 0 is in MPI_Barrier at a.c:12 (collective 3 on "solver")` for members waiting in it.
    pub fn within(&self, collective: &Collective, of: &[ProcessIndex]) -> String {
        let call = of.first().and_then(|one| self.call_of(*one, collective));
        let members = self.members(of.iter().copied());
        let (who, is) = (ranks(&members), verb(&members, "is", "are"));
        let collective_said = self.collective(collective);
        match call {
            Some(call) if call.function == collective.signature.function => {
                let on = collective_said.strip_prefix(&*call.function).unwrap_or(&collective_said);
                format!("{who} {is} {}{on}", place(call))
            }
            Some(call) => format!("{who} {is} {} for {collective_said}", place(call)),
            None => format!("{who} {is} in {collective_said}"),
        }
    }

    /// Describes what a need is for: `a message from …`.
    pub fn need(&self, need: &Need) -> String {
        match need {
            Need::Message(receive) => self.message(&receive.matches),
            Need::Receiver(message) => {
                let (to, comm) = (self.rank(message.to), self.comm(message.comm));
                let what = if message.partitioned { "the partitioned message with tag" } else { "tag" };
                format!("rank {to} to receive {what} {} on {comm}", message.tag)
            }
            Need::Collective(collective) => match self.missing(collective) {
                Some(missing) => format!("{missing} to enter {}", self.collective(collective)),
                None => format!("{} to end", self.collective(collective)),
            },
            Need::Action { by, every, what, .. } => {
                let by = self.snapshot.party(*by);
                let one = if *every || by.len() == 1 { "" } else { "one of " };
                format!("{one}{} to {what}", self.ranks(by.iter().copied()))
            }
            Need::Outside { what, .. } => what.to_string(),
        }
    }

    /// Like [`call`](Self::call), for ranks that wait for different peers.
    pub fn calls(&self, call: &Call) -> String {
        let mut said = place(call);
        match call.wait.needs().first() {
            None => {}
            Some(Need::Message(wanted)) => {
                said +=
                    &format!(", waiting for messages of other ranks on {}", self.comm(wanted.matches.comm));
            }
            Some(Need::Receiver(message)) => {
                said += &format!(", waiting for other ranks to receive on {}", self.comm(message.comm));
            }
            Some(_) => said += ", waiting for other ranks",
        }
        said
    }

    /// Formats `in MPI_Recv at ring.c:13, waiting for a message from …`.
    pub fn call(&self, call: &Call) -> String {
        let mut said = place(call);
        match (&call.wait, call.wait.needs()) {
            (Wait::Nothing, _) | (_, []) => {}
            // The function already implies it.
            (_, [Need::Collective(collective), then @ ..])
                if collective.signature.function == call.function =>
            {
                if collective.number != collectives::FINALIZE {
                    said += &format!(
                        ", collective {} on {}",
                        collectives::parts(collective.number).0,
                        self.comm(collective.comm)
                    );
                    if let Some(missing) = self.missing(collective) {
                        said += &format!(", not entered by {missing}");
                    } else if let [then, ..] = then {
                        said += &format!(", waiting for {}", self.need(then));
                    }
                }
            }
            (_, [need]) => said += &format!(", waiting for {}", self.need(need)),
            (Wait::Any(_), [first, _]) => {
                said += &format!(", waiting for {} or one other", self.need(first));
            }
            (Wait::Any(_), [first, rest @ ..]) => {
                said += &format!(", waiting for {} or one of {} others", self.need(first), rest.len());
            }
            (_, [first, ..]) => {
                // A collective that all have entered misses nothing.
                let is_open =
                    |need: &&Need| !matches!(need, Need::Collective(all) if self.missing(all).is_none());
                let mut open = call.wait.needs().iter().filter(is_open);
                said += &format!(", waiting for {}", self.need(open.next().unwrap_or(first)));
                let more = open.count();
                if more > 0 {
                    said += &format!(" and {more} more");
                }
            }
        }
        said
    }

    /// Formats `ranks [1-3]: computing after …`; if they do different things, `ranks [1-3] (rank 2: stopped
    /// by a signal …; ranks [1,3]: computing …)`.
    pub fn doing(&self, doings: &[Vec<ProcessIndex>]) -> String {
        let all = self.ranks(doings.iter().flatten().copied());
        match doings {
            [] => all,
            [one] => {
                let count = self.members(one.iter().copied()).len();
                let first = one.first().copied().unwrap_or(0);
                format!("{all}: {}", self.activity_of(first, count))
            }
            several => format!("{all} ({})", self.each_doing(several)),
        }
    }

    /// Formats `rank 2: stopped by a signal …; ranks [1,3]: computing …`.
    pub fn each_doing(&self, doings: &[Vec<ProcessIndex>]) -> String {
        self.each(doings, &|first, count| self.activity_of(first, count))
    }

    /// Formats `rank 0: it ended …, in MPI_Recv at a.c:9; rank 1: it ended …` for processes that have ended.
    pub fn ends(&self, who: &[ProcessIndex]) -> String {
        self.each(&self.doings(who), &|first, _| {
            self.process(first).map_or_else(String::new, |one| self.end(one))
        })
    }

    /// Formats what groups of processes do, of which the first and the number are passed.
    fn each(&self, doings: &[Vec<ProcessIndex>], what: &dyn Fn(ProcessIndex, usize) -> String) -> String {
        let said = |group: &Vec<ProcessIndex>| {
            let first = group.first().copied().unwrap_or(0);
            format!("{}: {}", self.ranks(group.iter().copied()), what(first, group.len()))
        };
        let mut parts: Vec<String> = doings.iter().take(MOST_DOINGS).map(said).collect();
        let rest: usize = doings.iter().skip(MOST_DOINGS).map(Vec::len).sum();
        parts.extend((rest > 0).then(|| format!("and so on for {rest} more")));
        parts.join("; ")
    }

    /// Groups processes by activity: stopped ones first, then the largest groups.
    pub fn doings(&self, who: &[ProcessIndex]) -> Vec<Vec<ProcessIndex>> {
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut groups: Vec<Vec<ProcessIndex>> = Vec::new();
        for one in who {
            let at = *known.entry(self.activity(*one)).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(group) => group.push(*one),
                None => groups.push(vec![*one]),
            }
        }
        let is_stopped =
            |group: &[ProcessIndex]| group.iter().any(|one| self.process(*one).is_some_and(is_stopped));
        groups.sort_by_key(|group| (!is_stopped(group), usize::MAX - group.len()));
        groups
    }

    /// Describes what a process does, by its most informative thread.
    pub fn activity(&self, index: ProcessIndex) -> String {
        self.activity_of(index, 1)
    }

    /// The same for `count` processes with the same activity.
    pub fn activity_of(&self, index: ProcessIndex, count: usize) -> String {
        let Some(process) = self.process(index) else { return "not known".to_owned() };
        let has = if count == 1 { "has" } else { "have" };
        match &process.condition {
            Condition::Starting if process.calls().next().is_none() => {
                return match process.threads.iter().find(|thread| !thread.ended) {
                    Some(thread) => format!("{has} not called MPI_Init yet: {}", outside(&thread.idle)),
                    None => format!("{has} not called MPI_Init yet"),
                };
            }
            Condition::Finalized => {
                let then = finalized_then(process).map_or_else(String::new, |ending| format!(", {ending}"));
                return format!("{has} finalized MPI{then}");
            }
            Condition::Ended(_) => return format!("{has} ended: {}", self.end(process)),
            Condition::Unseen(why) => return format!("cannot be seen: {why}"),
            Condition::Starting | Condition::Running => {}
        }
        if self.is_busy(index) && !is_stopped(process) {
            return self.many_calls(process);
        }
        if let Some(call) = process.calls().next() {
            let call = self.call(call);
            if let Some(stopped) = stopped_by(process) {
                return format!("{stopped} {call}");
            }
            return match process.threads.iter().find(|thread| thread.is_free()) {
                Some(free) => format!("{}, another thread is {call}", outside(&free.idle)),
                None => call,
            };
        }
        let Some(thread) = process.threads.iter().find(|thread| !thread.ended) else {
            return "outside of MPI".to_owned();
        };
        outside(&thread.idle)
    }

    /// Formats `it ended without MPI_Finalize, after MPI_Barrier at a.c:8`, or `…, in MPI_Recv at a.c:9`.
    pub fn end(&self, process: &Process) -> String {
        let how = match (&process.condition, finalized_then(process)) {
            (Condition::Ended(how), _) => how.to_string(),
            (_, Some(ending)) => format!("it finalized MPI, {ending}"),
            _ => return String::new(),
        };
        let inside = process.threads.iter().find_map(|thread| thread.call.as_ref());
        let inside = inside.map(|call| format!("{}{}", place(call), wrong_with(process, call)));
        let after = || {
            let mut last = process.threads.iter().map(|thread| &thread.idle.after);
            last.find(|after| !after.is_empty()).map(|after| format!("after {after}"))
        };
        let latest = match process.condition {
            // It was after MPI_Finalize: no news.
            Condition::Finalized => inside,
            _ => inside.or_else(after),
        };
        let latest = latest.map_or_else(String::new, |latest| format!(", {latest}"));
        format!("{how}{latest}")
    }

    /// Formats `making many MPI calls, such as MPI_Win_flush at spin.c:12`.
    fn many_calls(&self, process: &Process) -> String {
        let at = |call: &Call| match &call.place {
            Some(place) => format!("{} at {place}", call.function),
            None => call.function.to_string(),
        };
        let inside = process.calls().find(|call| !call.polling).map(at);
        let after = || {
            let mut last = process.threads.iter().map(|thread| &thread.idle.after);
            last.find(|after| !after.is_empty()).map(ToString::to_string)
        };
        let latest = inside.or_else(after).map_or_else(String::new, |latest| format!(", such as {latest}"));
        format!("making many MPI calls{latest}")
    }
}

/// Returns how a process that had finalized MPI ended, if it should have ended differently.
pub fn finalized_then(process: &Process) -> Option<Ending> {
    let ended = (process.condition == Condition::Finalized).then_some(process.bad_end)?;
    ended.and_then(|end| end.ending)
}

/// Formats `, which was given count -1 (MPI_ERR_COUNT)`; empty if nothing is known to be wrong with the call.
pub fn wrong_with(process: &Process, call: &Call) -> String {
    let this = |failed: &&Failed| failed.function == call.function && failed.place == call.place;
    let said = process.failed.iter().filter(this).find_map(|failed| match &failed.outcome {
        Outcome::Given(given) => Some(format!(", which was {given} ({})", failed.error)),
        Outcome::Raised => Some(format!(", which failed with {}", failed.error)),
        Outcome::WentOn | Outcome::Short | Outcome::Forbidden(_) | Outcome::AtOnce(_) => None,
    });
    said.unwrap_or_default()
}

/// Returns whether a debugger or a signal has stopped the process.
pub fn is_stopped(process: &Process) -> bool {
    stopped_by(process).is_some()
}

/// Returns what has stopped the process: `stopped by a signal`.
fn stopped_by(process: &Process) -> Option<&str> {
    process.threads.iter().map(|thread| &*thread.idle.doing).find(|doing| observation::is_stopped(doing))
}

/// Which shares of a member of a collective have a meaning.
enum Significant {
    /// What it sends and what it expects.
    Both,
    /// What it sends to the root.
    Given,
    /// What it expects from the root.
    Expected,
}

/// Formats what a member sends to all, and what it expects from all: `12`, `nothing`, `4-byte integer elements`.
fn shares(collective: &Collective, sums: Sums) -> (String, String) {
    let nothing = || "nothing".to_owned();
    let bytes = |bytes: u64| if bytes == 0 { nothing() } else { bytes.to_string() };
    let elements = |kind: u16| match Mixture::from_stored([0, kind]) {
        several if several.is_of_several_kinds() => "elements of several kinds".to_owned(),
        alike => alike.element().map_or_else(nothing, |element| format!("{element} elements")),
    };
    let shares = match sums {
        Sums::Bytes(..) => collective.totals.map(|(gives, expects)| (bytes(gives), bytes(expects))),
        Sums::Elements => collective.elements.map(|of| (elements(of.gives), elements(of.expects))),
    };
    shares.unwrap_or_else(|| (nothing(), nothing()))
}

fn is_same(one: &Collective, other: &Collective) -> bool {
    (one.comm, collectives::parts(one.number).0) == (other.comm, collectives::parts(other.number).0)
}

/// Formats `computing in main at ring.c:12 after MPI_Recv at ring.c:9`.
pub fn outside(idle: &Idle) -> String {
    let mut said = if idle.doing.is_empty() { "outside of MPI".to_owned() } else { idle.doing.to_string() };
    if let Some(at) = &idle.at {
        said += &format!(" in {at}");
    }
    if !idle.after.is_empty() {
        said += &format!(" after {}", idle.after);
    }
    said
}

/// Formats `in MPI_Recv at ring.c:13`.
pub fn place(call: &Call) -> String {
    let how = if call.polling { "polling with" } else { "in" };
    match &call.place {
        Some(place) => format!("{how} {} at {place}", call.function),
        None => format!("{how} {}", call.function),
    }
}

fn sort(partitioned: bool) -> &'static str {
    if partitioned { "partitioned message" } else { "message" }
}

/// Formats `rank 3` or `ranks [0,2-3]`.
pub fn ranks(members: &Members) -> String {
    members.named()
}

/// Formats ` (8 bytes, ring.c:12)`, with `how` before the line; nothing for a message whose record was overwritten,
/// so that only its tag is known.
pub fn size(bytes: u64, how: &str, place: Option<&str>) -> String {
    match (bytes, place) {
        (0, None) => String::new(),
        (bytes, None) => format!(" ({bytes} bytes)"),
        (bytes, Some(place)) => format!(" ({bytes} bytes, {how}{place})"),
    }
}

/// Returns `one` for a single rank (`waits`), otherwise `several` (`wait`).
pub fn verb<'a>(members: &Members, one: &'a str, several: &'a str) -> &'a str {
    if members.len() == 1 { one } else { several }
}
