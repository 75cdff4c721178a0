//! A persistent message that would have been the awaited one, but whose request was never started.
//!
//! Having such a request proves nothing: two ranks may each wait before starting theirs, which is a ring like
//! any other. It is the reason only if there is exactly one such request among what holds up the others.

use super::{Case, Reason};
use crate::questions::why::blocked::Blocked;
use crate::questions::why::cycle;
use crate::questions::why::snapshot::{Need, Peer, ProcessIndex};
use crate::questions::why::verdict::Kind;
use crate::questions::why::words::ranks;
use std::sync::Arc;

/// Maximum number of stuck ranks whose needs are compared.
const MOST_COMPARED: usize = 256;

/// What a process waits for, and which process has not started it.
struct Missed<'a> {
    waits: ProcessIndex,
    need: &'a Need,
    by: ProcessIndex,
    /// Where the request was created or last started.
    made: Option<&'a Arc<str>>,
}

impl Missed<'_> {
    /// What the request would do.
    fn verb(&self) -> &'static str {
        if matches!(self.need, Need::Receiver(_)) { "receive" } else { "send" }
    }
}

impl Case<'_> {
    /// The single request that was not started.
    pub(super) fn not_started(&self, found: &Blocked) -> Option<Reason> {
        let core = cycle::core(self.snapshot, found);
        let any = core.contains(&true);
        let counts = |index: &ProcessIndex| !any || core.get(*index as usize).copied().unwrap_or(false);
        let mut all = found.stuck().filter(counts).take(MOST_COMPARED).filter_map(|one| self.missed(one));
        let one = all.next()?;
        if all.any(|other| other.by != one.by) {
            return None;
        }
        let (waits, by) = (self.words.rank(one.waits), self.words.rank(one.by));
        let (kind, what) = match one.need {
            Need::Receiver(message) => {
                let verdict =
                    format!("rank {waits} sent {} that is never received", self.words.sent(message));
                (Kind::MESSAGE_NEVER_RECEIVED, verdict)
            }
            need => {
                let verdict = format!("rank {waits} waits for {} that was never sent", self.words.need(need));
                (Kind::MESSAGE_NEVER_SENT, verdict)
            }
        };
        let made = one.made.map_or_else(String::new, |at| format!(" of {at}"));
        let verdict = format!(
            "{what}: rank {by} has not started its persistent {}{made}, and is {}",
            one.verb(),
            self.words.activity(one.by)
        );
        let next = "start that request (MPI_Start, MPI_Startall) before that rank continues";
        let mut reason = Reason::new(kind, verdict, next).blaming(self.culprit(one.by));
        reason.cycle = cycle::cycle(self.snapshot, found);
        Some(reason)
    }

    /// For a ring: which of its members have not started the persistent messages that others wait for, as
    /// `rank 1 has not started its persistent send of a.c:7`.
    pub(super) fn not_started_in(&self, ring: &[ProcessIndex]) -> Option<String> {
        let all: Vec<_> = ring.iter().take(MOST_COMPARED).filter_map(|one| self.missed(*one)).collect();
        let kind = |missed: &Missed<'_>| (missed.verb(), missed.made.cloned());
        let first = kind(all.first()?);
        let alike: Vec<_> =
            all.iter().filter(|missed| kind(missed) == first).map(|missed| missed.by).collect();
        let (verb, made) = first;
        let made = made.map_or_else(String::new, |at| format!(" of {at}"));
        let who = self.words.members(alike.iter().copied());
        let (has, its) = if alike.len() == 1 { ("has", "its") } else { ("have", "their") };
        let verb = if alike.len() == 1 { verb.to_owned() } else { format!("{verb}s") };
        Some(format!("{} {has} not started {its} persistent {verb}{made}", ranks(&who)))
    }

    /// Returns what a process waits for and another process has an inactive request for.
    fn missed(&self, waits: ProcessIndex) -> Option<Missed<'_>> {
        let needs = self.process(waits)?.calls().flat_map(|call| call.wait.needs());
        needs.into_iter().find_map(|need| {
            let (by, made) = match need {
                Need::Message(receive) => {
                    let Peer::One(by) = receive.matches.from else { return None };
                    let sends = &self.process(by)?.not_started.as_ref()?.sends;
                    let one = sends.iter().find(|sent| sent.to == waits && receive.matches.fits(by, sent))?;
                    (by, one.place.as_ref())
                }
                Need::Receiver(message) => {
                    let receives = &self.process(message.to)?.not_started.as_ref()?.receives;
                    let one = receives.iter().find(|receive| receive.matches.fits(waits, message))?;
                    (message.to, one.place.as_ref())
                }
                _ => return None,
            };
            (by != waits).then_some(Missed { waits, need, by, made })
        })
    }
}
