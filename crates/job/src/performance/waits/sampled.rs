//! Waits that no record shows, such as those for messages if these are not recorded individually. Each sample
//! finds some ranks in a call that waits for a definite process ([`awaited`], the rule of `why`), and stands
//! for half of the time since the previous sample and half of the time to the next one. So a long wait is as
//! long as the samples that found it, and short ones are found in proportion to the time they take.
//!
//! Taking a sample takes time. Processes that moved on in the meantime are not counted; those that stayed in
//! their calls represent them. If a process stayed there all the time, then whatever it was waiting for at
//! any moment of the sample had not arrived.

use super::alike::{Alike, End, Of, Who};
use super::merge::{self, Amount, Amounts, Waited};
use super::parts;
use super::within::Within;
use super::{Kind, Lost, OfMessages, Waiting, can_wait_for_messages, is_collective_that_waits, is_looked_at};
use crate::base::total::total;
use crate::observation::{self, Observation};
use crate::questions::why::{Awaited, Call, Part, ProcessIndex, Snapshot, awaited, snapshot};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of sentences remembered.
const MOST: usize = 1 << 12;
/// Maximum number of processes that one steady process represents.
const MOST_STOOD_FOR: f64 = 4.0;
/// Waits for more processes at once than this are ignored.
const MOST_AWAITED: usize = 1 << 10;
/// Waits are shown only if they exceed this multiple of their error, since otherwise they may be due to
/// chance.
const LEAST_ERRORS: f64 = 1.5;

/// The state of a process during a sample.
#[derive(Debug, Clone, Copy)]
pub struct Stood {
    /// Whether it did the same thing from the beginning of the sample to the end.
    pub steady: bool,
    /// Whether it was in a call whose waits are sampled.
    pub waits: bool,
    /// Whether it records individual messages.
    pub records: bool,
}

/// The results so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Samples {
    looks: u64,
    #[serde(with = "super::sent")]
    found: Amounts,
    /// The time and the waits of the last sample, which stands for the time to the next.
    #[serde(skip)]
    last: Option<(u64, Vec<Sample>)>,
}

/// A wait found by a sample.
#[derive(Debug, Clone)]
struct Sample {
    key: Alike,
    who: Who,
    /// The part of the wait, as a process may wait for several others.
    part: f64,
    /// How long it has lasted, in seconds.
    age_s: f64,
}

/// Waits found by sampling the ranks while they ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampled {
    /// Number of samples.
    pub looks: u64,
    /// Total seconds of waits.
    pub seconds: f64,
    /// Two standard errors of that.
    pub error_s: f64,
    /// Seconds not in the list because they may be due to chance. Efficiencies include them, as these average
    /// over many waits.
    #[serde(default)]
    pub unsure_s: f64,
    /// In descending order of time; `times` is how often each was found.
    pub list: Vec<Lost>,
    /// Those for messages in this list, by communicator and pair of ranks, in descending order of time.
    #[serde(default)]
    pub of_messages: Vec<OfMessages>,
}

impl Samples {
    /// Adds a sample of all ranks of this host; `now_ns` is in `CLOCK_MONOTONIC`. If there are no
    /// observations, no rank was in a call whose waits are sampled.
    pub fn look(&mut self, now_ns: u64, seen: &[Observation], stood: &[Stood]) -> Vec<Waiting> {
        self.looks += 1;
        let samples = samples(seen, stood);
        let (before_ns, before) = self.last.take().unwrap_or((now_ns, Vec::new()));
        let gap_s = now_ns.saturating_sub(before_ns) as f64 / 1e9;
        let middle_ns = before_ns.midpoint(now_ns);
        let waiting = |sample: &Sample, from_ns, until_ns| {
            let who = sample.who.clone();
            Waiting { who, from_ns, until_ns, seconds: sample.part * gap_s / 2.0 }
        };
        let first = before.iter().map(|sample| waiting(sample, before_ns, middle_ns));
        let second = samples.iter().map(|sample| waiting(sample, middle_ns, now_ns));
        let waits = first.chain(second).collect();
        before.iter().for_each(|sample| self.add(sample, gap_s / 2.0, 0, 0.0));
        for sample in &samples {
            let new = sample.age_s < gap_s;
            self.add(sample, gap_s / 2.0, 1, if new { gap_s * sample.part } else { 0.0 });
        }
        self.last = Some((now_ns, samples));
        waits
    }

    fn add(&mut self, sample: &Sample, seconds: f64, times: u64, wrong_s: f64) {
        if self.found.len() >= MOST && !self.found.contains_key(&sample.key) {
            return;
        }
        let ns = (seconds * sample.part * 1e9) as u64;
        let ranks = [(sample.who.clone(), Waited::observed(ns))].into();
        let amount = Amount { ranks, times, squares: wrong_s * wrong_s, ..Amount::default() };
        merge::add(&mut self.found, sample.key.clone(), amount);
    }

    /// Returns whether the ranks were never sampled.
    pub fn is_empty(&self) -> bool {
        self.looks == 0
    }

    /// Adds the observations of another host about its own ranks.
    pub fn take_in(&mut self, other: Self) {
        self.looks = self.looks.max(other.looks);
        for (key, amount) in other.found {
            merge::add(&mut self.found, key, amount);
        }
    }

    /// Resolves places that were only recorded.
    pub fn put_into_words(&mut self, words: &dyn Fn(&str) -> String) {
        for (mut key, amount) in std::mem::take(&mut self.found) {
            key.put_into_words(words);
            merge::add(&mut self.found, key, amount);
        }
    }

    /// Returns the result: at most what is left of the time in calls if that is known, since waits are part of
    /// it. `number` maps a world to its number in the job.
    pub fn finish(
        mut self,
        thread_s: f64,
        left: Option<Within<'_>>,
        number: impl Fn(&str) -> usize,
    ) -> Option<Sampled> {
        if self.is_empty() {
            return None;
        }
        merge::name_unnamed_calls(&mut self.found);
        if let Some(left) = left {
            left.bound(&mut self.found);
        }
        let mut found = merge::together(&self.found);
        let squares = total(found.values().map(|amount| amount.squares));
        let all_s = merge::seconds(&found);
        found.retain(|_, amount| amount.seconds() > LEAST_ERRORS * amount.squares.sqrt());
        let unsure_s = (all_s - merge::seconds(&found)).max(0.0);
        self.found.retain(|key, _| found.contains_key(&key.of_anything()));
        let (_, of_messages) = parts::listed(&self.found, &number);
        let list = merge::list(found, thread_s, false, number);
        let seconds = total(list.iter().map(|lost| lost.seconds));
        Some(Sampled {
            looks: self.looks,
            seconds,
            error_s: 2.0 * squares.sqrt(),
            unsure_s,
            list,
            of_messages,
        })
    }
}

fn samples(observations: &[Observation], stood: &[Stood]) -> Vec<Sample> {
    let waiting = |steady: bool| stood.iter().filter(|one| one.waits && (one.steady || !steady)).count();
    let stood_for = (waiting(false) as f64 / waiting(true).max(1) as f64).min(MOST_STOOD_FOR);
    let model = snapshot(observations, "not looked at");
    let names = Names::of(observations.iter().zip(stood));
    let name = |index: ProcessIndex| {
        let process = model.processes.get(index as usize)?;
        names.0.get(&(process.host.as_ref(), process.pid))
    };
    let mut found = Vec::new();
    for Awaited { who, call, whom } in awaited(&model) {
        let Some((me, own, stood)) = name(who).filter(|(.., stood)| stood.steady) else { continue };
        let looked_at = is_looked_at(&call.function, stood.records);
        // Most collectives are counted elsewhere; calls that complete a persistent one, or one between two
        // groups, complete messages too.
        let waits = is_collective_that_waits(&call.function) || can_wait_for_messages(&call.function);
        let members = (looked_at || waits) && !is_counted(own, call);
        let whom =
            whom.into_iter().filter(|(_, part)| if *part == Part::Member { members } else { looked_at });
        let whom: Vec<_> = whom.collect();
        let count = whom.len();
        for (culprit, part) in whom.into_iter().filter(|_| count <= MOST_AWAITED) {
            let Some((other, seen, _)) = name(culprit) else { continue };
            let kind = kind(part, &call.function);
            let end = if kind == Kind::LATE_SENDER { End::Receiver } else { End::Sender };
            let key = Alike {
                kind,
                function: call.function.to_string(),
                line: call.place.as_deref().map(str::to_owned),
                culprit: other.clone(),
                meanwhile: meanwhile(seen),
                of: communicator(&model, part).map(|comm| Of::Messages(comm, end)),
            };
            let age_s = call.age_s.unwrap_or(0.0);
            found.push(Sample { key, who: me.clone(), part: stood_for / count as f64, age_s });
        }
    }
    found
}

/// Whether the collectives a call waits for are counted by their numbers: those on a communicator whose
/// members are all in one world, unless persistent.
fn is_counted(own: &Observation, call: &Call) -> bool {
    let here = |known: &&observation::Call| {
        *known.function == *call.function && known.place.as_deref() == call.place.as_deref()
    };
    let open = own.threads.iter().filter_map(|thread| thread.call.as_ref()).filter(here);
    let mut collectives = open.flat_map(|call| &call.needs).filter_map(|need| match need {
        observation::Need::Collective(collective) | observation::Need::Neighbors { collective, .. } => {
            Some(collective)
        }
        _ => None,
    });
    let is_of_another_world =
        |comm| own.communicators.iter().any(|known| known.identity == comm && known.callers().is_none());
    collectives.all(|one| {
        one.starts == 0
            && own.history.iter().any(|history| history.comm == one.comm)
            && !is_of_another_world(one.comm)
    })
}

/// Returns the identity of the communicator of an awaited message.
pub fn communicator(model: &Snapshot, part: Part) -> Option<u64> {
    let (Part::Sender(comm) | Part::Receiver(comm)) = part else { return None };
    Some(model.communicators.get(comm as usize)?.identity)
}

/// Returns the kind of a wait for a process to do its part.
pub fn kind(part: Part, function: &str) -> Kind {
    match (part, function) {
        (Part::Sender(_), _) => Kind::LATE_SENDER,
        (Part::Receiver(_), _) => Kind::LATE_RECEIVER,
        (Part::Member, _) => Kind::of_all(function),
        (Part::Actor, "MPI_Win_start" | "MPI_Win_complete") => Kind::LATE_POST,
        (Part::Actor, "MPI_Win_wait" | "MPI_Win_test") => Kind::EARLY_WAIT,
        (Part::Actor, _) => Kind::LOCK,
    }
}

/// The names and states of processes, by host and process id.
struct Names<'a>(HashMap<(&'a str, u32), (Who, &'a Observation, Stood)>);

impl<'a> Names<'a> {
    fn of(all: impl Iterator<Item = (&'a Observation, &'a Stood)>) -> Self {
        let mut worlds: HashMap<&str, Arc<str>> = HashMap::new();
        let name = |(seen, stood): (&'a Observation, &'a Stood)| {
            let world = worlds.entry(&seen.world).or_insert_with(|| seen.world.as_str().into());
            ((seen.host.as_str(), seen.pid), ((Arc::clone(world), seen.rank), seen, *stood))
        };
        Self(all.map(name).collect())
    }
}

/// Formats `in MPI_Recv at heat.c:40` or `computing after MPI_Send at heat.c:38`, as for exact waits.
fn meanwhile(seen: &Observation) -> String {
    let threads = || seen.threads.iter().filter(|thread| !thread.ended);
    let which = if threads().count() > 1 { super::alike::ONE_THREAD } else { "" };
    let inside = |thread: &observation::Thread| {
        let call = thread.call.as_ref().filter(|call| !call.polling)?;
        Some(match &call.place {
            Some(place) => format!("in {} at {place}{which}", call.function),
            None => format!("in {}{which}", call.function),
        })
    };
    let after = || threads().map(|thread| &thread.after).find(|after| !after.is_empty());
    threads().find_map(inside).unwrap_or_else(|| match after() {
        Some(after) => format!("{} after {after}", super::alike::UNNAMED),
        None => super::alike::UNNAMED.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Call, Communicator, Need, Receive, Stage, Thread};

    const WORLD: u64 = 9;

    fn rank(rank: u32, call: Option<(&str, Option<u32>, f64)>) -> Observation {
        let call = call.map(|(function, from, age_s)| Call {
            function: function.to_owned(),
            place: Some("heat.c:40".to_owned()),
            age_s: Some(age_s),
            needs: vec![Need::Message(Receive {
                comm: WORLD,
                from,
                tag: Some(1),
                order: u64::MAX,
                ..Receive::default()
            })],
            ..Call::default()
        });
        let after = if call.is_none() { "MPI_Send at heat.c:38".to_owned() } else { String::new() };
        Observation {
            world: "w".to_owned(),
            rank: Some(rank),
            size: Some(3),
            host: "h".to_owned(),
            pid: 100 + rank,
            stage: Stage::Running,
            threads: vec![Thread { call, after, ..Thread::default() }],
            communicators: vec![Communicator { identity: WORLD, rank, size: 3, ..Communicator::default() }],
            ..Observation::default()
        }
    }

    fn looks(samples: &mut Samples, from_ms: u64, count: u64, seen: &dyn Fn(u64) -> Vec<Observation>) {
        let stood = |seen: &Observation| Stood {
            steady: seen.rank != Some(MOVES_ON),
            waits: seen.threads.iter().any(|thread| thread.call.is_some()),
            records: false,
        };
        for look in 0..count {
            let seen = seen(look);
            let stood: Vec<Stood> = seen.iter().map(stood).collect();
            samples.look((from_ms + 10 * look) * 1_000_000, &seen, &stood);
        }
    }

    /// A rank that moves on while being sampled.
    const MOVES_ON: u32 = 3;

    #[test]
    fn ranks_that_stood_still_represent_those_that_did_not() {
        let mut all = Samples::default();
        let waits = Some(("MPI_Recv", Some(0), 0.001));
        looks(&mut all, 0, 101, &|_| vec![rank(0, None), rank(1, waits), rank(MOVES_ON, waits)]);
        let found = all.finish(2.0, None, |_| 0).unwrap();
        assert!((found.seconds - 2.0).abs() < 0.02, "{found:#?}");
        assert_eq!(found.list.len(), 1);
    }

    #[test]
    fn waits_of_a_rank_never_exceed_its_time_in_calls() {
        let mut all = Samples::default();
        let waits = Some(("MPI_Recv", Some(0), 0.001));
        looks(&mut all, 0, 101, &|_| vec![rank(0, None), rank(1, waits)]);
        let rank = |all| super::super::SpentInCalls { all, ..Default::default() };
        let spent = [(("w".into(), Some(0)), rank(0.9)), (("w".into(), Some(1)), rank(0.7))].into();
        let nothing = Amounts::new();
        let found = all.finish(2.0, Some(Within::of(&spent).less(&nothing)), |_| 0).unwrap();
        assert!((found.seconds - 0.7).abs() < 1e-6, "{found:#?}");
    }

    #[test]
    fn with_recorded_messages_only_unrecorded_waits_are_sampled() {
        let mut all = Samples::default();
        for look in 0..50u64 {
            let age = 0.01 * look as f64;
            let seen = [
                rank(0, None),
                rank(1, Some(("MPI_Recv", Some(0), age))),
                rank(2, Some(("MPI_Win_wait", Some(0), age))),
            ];
            let stood = Stood { steady: true, waits: true, records: true };
            all.look(10_000_000 * look, &seen, &[stood; 3]);
        }
        let found = all.finish(1.5, None, |_| 0).unwrap();
        let functions: Vec<&str> = found.list.iter().map(|lost| lost.function.as_str()).collect();
        assert_eq!(functions, ["MPI_Win_wait"]);
    }

    #[test]
    fn persistent_collectives_are_sampled_even_if_messages_are_recorded() {
        let mut all = Samples::default();
        let waits = |number: u32, starts: u16, age: f64| {
            let mut seen = rank(number, Some(("MPI_Wait", None, age)));
            let collective = observation::Collective {
                comm: WORLD,
                number: 1,
                starts,
                function: "MPI_Allreduce".to_owned(),
                ..observation::Collective::default()
            };
            let call = seen.threads.iter_mut().find_map(|thread| thread.call.as_mut()).unwrap();
            call.needs = vec![Need::Collective(Box::new(collective))];
            seen.history = vec![observation::History { comm: WORLD, ..observation::History::default() }];
            seen
        };
        let stood = Stood { steady: true, waits: true, records: true };
        for look in 0..50u64 {
            let seen = |starts| [rank(0, None), waits(1, starts, 0.01 * look as f64), rank(2, None)];
            all.look(10_000_000 * look, &seen(1), &[stood; 3]);
        }
        let found = all.finish(1.5, None, |_| 0).unwrap();
        assert!((found.seconds - 0.49).abs() < 0.011, "{found:#?}");
        assert!(
            found.list.iter().all(|lost| lost.function == "MPI_Wait" && lost.kind == Kind::N_TO_N),
            "{found:#?}"
        );
    }

    #[test]
    fn a_wait_is_as_long_as_the_samples_that_found_it() {
        let mut all = Samples::default();
        looks(&mut all, 0, 10, &|_| Vec::new());
        let waiting = |look: u64| {
            let age = 0.01 * look as f64 + 0.005;
            vec![rank(0, None), rank(1, Some(("MPI_Recv", Some(0), age))), rank(2, None)]
        };
        looks(&mut all, 100, 50, &waiting);
        looks(&mut all, 600, 10, &|_| Vec::new());
        let found = all.finish(2.1, None, |_| 0).unwrap();
        assert_eq!(found.looks, 70);
        let [lost] = found.list.as_slice() else { panic!("{found:#?}") };
        assert!((lost.seconds - 0.5).abs() < 0.011, "{lost:?}");
        assert_eq!((lost.kind, lost.times), (Kind::LATE_SENDER, 50));
        let [pair] = found.of_messages.as_slice() else { panic!("{found:#?}") };
        assert_eq!((pair.identity.as_str(), pair.from.as_str(), pair.to.as_str()), ("0x9", "0", "1"));
        assert!((pair.receiver_s - lost.seconds).abs() < 1e-9 && pair.sender_s == 0.0, "{pair:?}");
        assert!(
            (found.error_s - 0.02).abs() < 1e-6,
            "one wait, found at its beginning once: {}",
            found.error_s
        );
        let said = lost.to_string();
        assert!(said.starts_with("rank 1 lost 500 ms"), "{said}");
        assert!(
            said.ends_with(
                "in MPI_Recv at heat.c:40 waiting for rank 0, which was computing after MPI_Send at heat.c:38"
            ),
            "{said}"
        );
    }

    #[test]
    fn wildcards_and_rare_samples_prove_nothing_and_collectives_are_counted_elsewhere() {
        let mut all = Samples::default();
        looks(&mut all, 0, 50, &|look| {
            let rare = (look % 25 == 0).then_some(("MPI_Recv", Some(0), 0.001));
            vec![rank(0, None), rank(1, rare), rank(2, Some(("MPI_Recv", None, 1.0)))]
        });
        looks(&mut all, 500, 50, &|_| vec![rank(0, None), rank(1, Some(("MPI_Barrier", Some(0), 1.0)))]);
        let found = all.clone().finish(1.0, None, |_| 0).unwrap();
        assert_eq!((found.list, found.seconds), (Vec::new(), 0.0));
        assert!((found.unsure_s - 0.015).abs() < 1e-6, "what may be chance is not lost: {}", found.unsure_s);
        let text = serde_json::to_string(&all).unwrap();
        let sent: Samples = serde_json::from_str(&text).unwrap();
        assert_eq!(sent.found.len(), all.found.len());
    }
}
