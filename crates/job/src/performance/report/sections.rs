//! What a report says beside functions and ranks: who talks to whom, collectives by communicator, sizes of messages, files,
//! memory and placement. Text, JSON and the page are made of these values.

use super::facts::Facts;
use crate::base::rankset::RankSet;
use crate::jobs::worlds::{Members, Worlds};
use crate::observation::{Communicator, Observation};
use serde::Serialize;
use std::collections::BTreeMap;

/// Pairs of ranks of one communicator that are listed, those with most bytes.
const MOST_PAIRS: usize = 1 << 16;

/// The sections of a report.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sections {
    /// By communicator, most bytes first.
    pub peers: Vec<Exchange>,
    /// By communicator, most collectives first.
    pub collectives: Vec<Collectives>,
    /// Messages between ranks, over all communicators.
    pub messages: Messages,
    /// By name, most time first.
    pub files: Vec<FileUse>,
    /// By world and rank: only of processes that were there to be asked, but for the image.
    pub memory: Vec<Memory>,
    /// Ranks that share fewer processors than they are.
    pub crowded: Vec<Crowd>,
}

/// Messages between the members of one communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// The communicator, for people.
    pub communicator: String,
    /// The same on all its ranks.
    pub identity: String,
    /// Its processes; of an intercommunicator those of both groups.
    pub size: u32,
    /// Messages sent on it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pairs with messages, most bytes first.
    pub pairs: Vec<Pair>,
    /// Pairs that are not listed.
    pub more_pairs: usize,
}

/// Messages from one rank to another.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Who sends: the rank in its `MPI_COMM_WORLD`, written `world.rank` if that is not the first.
    pub from: String,
    /// Who receives. A process of another world that is not seen is written as its rank in the communicator, `?.3`.
    pub to: String,
    /// As the sender says.
    pub messages: u64,
    /// As the sender says.
    pub bytes: u64,
    /// As the receiver says.
    pub received: u64,
    /// As the receiver says.
    pub received_bytes: u64,
}

/// Collectives on one communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collectives {
    /// The communicator, for people.
    pub communicator: String,
    /// The same on all its ranks.
    pub identity: String,
    /// Its members.
    pub size: u32,
    /// Collectives entered on it by the member that entered most.
    pub entered: u64,
    /// By the one that entered least.
    pub least: u64,
    /// Who that is, if not all entered as many.
    #[serde(skip_serializing_if = "Members::is_empty")]
    pub behind: Members,
    /// The last ones that are still known, each kind once, most frequent first.
    pub last: Vec<Recent>,
}

/// What was given to some of the last collectives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recent {
    /// The function.
    pub function: String,
    /// Count and datatype, if all members name the same.
    pub data: Option<String>,
    /// Bytes of that.
    pub bytes: Option<u64>,
    /// The line of the program.
    pub place: Option<String>,
    /// How many of the last ones, over all members.
    pub count: u64,
    /// Who made them.
    pub ranks: Members,
}

/// Messages between ranks.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Messages {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Of these, those whose size is not known, because the library does not say; no number of bytes has theirs.
    pub received_unsized: u64,
    /// By size.
    pub sizes: Vec<SizeClass>,
    /// Operations under way when the report was made.
    pub pending: u64,
    /// Receives posted and not complete.
    pub posted: u64,
    /// Messages matched by a probe and not received.
    pub matched: u64,
    /// The most operations that one rank had under way, and who.
    pub most_pending: Most,
    /// The most receives that one rank had posted, and who.
    pub most_posted: Most,
}

/// The greatest value, and whose it is.
#[derive(Debug, Default, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct Most {
    pub value: u64,
    pub ranks: Members,
}

/// Messages of similar size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeClass {
    /// Least bytes.
    pub from: u64,
    /// Most bytes.
    pub to: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
}

/// A file, over all ranks and openings.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct FileUse {
    pub path: String,
    pub ranks: Members,
    /// How often it was opened, each rank for itself.
    pub opened: u64,
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Time inside of the calls, all ranks together.
    pub seconds: f64,
    /// The rank that took longest.
    pub slowest: Members,
    /// Its time.
    pub slowest_s: f64,
}

/// Memory and place of one rank.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// Number of the world.
    pub world: usize,
    /// Rank there.
    pub rank: Option<u32>,
    /// Host.
    pub host: String,
    /// Bytes that the records of the layer take.
    pub image: u64,
    /// What the system of its host said while it lived.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub placement: Option<crate::jobs::placement::Placement>,
}

/// Ranks that share fewer processors than they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct Crowd {
    pub host: String,
    pub ranks: Members,
    pub cpus: RankSet,
}

/// `ranks [2-3] share core 5 of node7`.
impl std::fmt::Display for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cores = if self.cpus.0.len() == 1 { "core" } else { "cores" };
        write!(f, "ranks {} share {cores} {} of {}", self.ranks, self.cpus, self.host)
    }
}

/// A process, as the sections see it.
pub struct Part<'a> {
    /// Number of its world.
    pub world: usize,
    /// Rank there.
    pub rank: Option<u32>,
    /// Host.
    pub host: &'a str,
    /// What its records say.
    pub facts: &'a Facts,
}

impl Sections {
    /// Of all processes of a job.
    pub fn new(observations: &[Observation], parts: &[Part<'_>], worlds: &Worlds) -> Self {
        Self {
            peers: super::peers::peers(observations, worlds),
            collectives: collectives(observations, worlds),
            messages: messages(parts),
            files: files(parts),
            memory: parts.iter().map(memory).collect(),
            crowded: super::crowded::crowded(parts),
        }
    }
}

impl Exchange {
    /// Keeps the pairs with most bytes.
    pub(super) fn bounded(mut self) -> Self {
        self.pairs.sort_by(|a, b| {
            b.bytes.cmp(&a.bytes).then(b.messages.cmp(&a.messages)).then(a.from.cmp(&b.from))
        });
        self.more_pairs = self.pairs.len().saturating_sub(MOST_PAIRS);
        self.pairs.truncate(MOST_PAIRS);
        self
    }
}

fn collectives(observations: &[Observation], worlds: &Worlds) -> Vec<Collectives> {
    let mut found: BTreeMap<u64, Collectives> = BTreeMap::new();
    for seen in observations {
        let world = worlds.number(&seen.world);
        let used = seen.communicators.iter().filter(|comm| comm.identity != 0 && comm.size > 1);
        for comm in used {
            let known = found.entry(comm.identity).or_insert_with(|| Collectives::of(comm));
            known.enters(comm.collectives, world, seen.rank);
            let history = seen.history.iter().find(|history| history.comm == comm.identity);
            for (_, made) in history.iter().flat_map(|history| history.iter()) {
                known.add(made, world, seen.rank);
            }
        }
    }
    let mut found: Vec<Collectives> = found.into_values().filter(|comm| comm.entered > 0).collect();
    for comm in &mut found {
        if comm.least == comm.entered {
            comm.behind = Members::default();
        }
        comm.last.sort_by(|a, b| b.count.cmp(&a.count).then(a.place.cmp(&b.place)));
    }
    found.sort_by(|a, b| b.entered.cmp(&a.entered).then(a.communicator.cmp(&b.communicator)));
    found
}

impl Collectives {
    fn of(comm: &Communicator) -> Self {
        Self {
            communicator: comm.name.clone(),
            identity: format!("{:#x}", comm.identity),
            size: comm.size,
            entered: 0,
            least: u64::MAX,
            behind: Members::default(),
            last: Vec::new(),
        }
    }

    fn enters(&mut self, entered: u64, world: usize, rank: Option<u32>) {
        self.entered = self.entered.max(entered);
        if entered < self.least {
            (self.least, self.behind) = (entered, Members::default());
        }
        if entered == self.least {
            self.behind.add(world, rank);
        }
    }

    fn add(&mut self, made: &crate::observation::Collective, world: usize, rank: Option<u32>) {
        let same = |known: &&mut Recent| {
            known.function == made.function && known.data == made.data && known.place == made.place
        };
        if let Some(known) = self.last.iter_mut().find(same) {
            known.count = known.count.saturating_add(1);
            known.ranks.add(world, rank);
            return;
        }
        self.last.push(Recent {
            function: made.function.clone(),
            data: made.data.clone(),
            bytes: made.bytes,
            place: made.place.clone(),
            count: 1,
            ranks: [(world, rank)].into_iter().collect(),
        });
    }
}

fn messages(parts: &[Part<'_>]) -> Messages {
    let mut all = Messages::default();
    let mut classes: Vec<[u64; 2]> = Vec::new();
    for part in parts {
        let levels = part.facts.levels;
        all.pending = all.pending.saturating_add(levels.pending);
        all.posted = all.posted.saturating_add(levels.posted);
        all.matched = all.matched.saturating_add(levels.matched);
        all.received_unsized = all.received_unsized.saturating_add(part.facts.unsized_messages);
        all.most_pending.see(levels.pending_high, part);
        all.most_posted.see(levels.posted_high, part);
        classes.resize(classes.len().max(part.facts.sizes.len()), [0, 0]);
        for (sum, [sent, received]) in classes.iter_mut().zip(&part.facts.sizes) {
            *sum = [sum[0].saturating_add(*sent), sum[1].saturating_add(*received)];
        }
    }
    all.received = all.received_unsized;
    for (class, [sent, received]) in classes.into_iter().enumerate() {
        all.sent = all.sent.saturating_add(sent);
        all.received = all.received.saturating_add(received);
        if sent != 0 || received != 0 {
            let from = if class == 0 { 0 } else { 1u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX) };
            let to = if class == 0 { 0 } else { from.saturating_mul(2).saturating_sub(1) };
            all.sizes.push(SizeClass { from, to, sent, received });
        }
    }
    all
}

impl Most {
    fn see(&mut self, value: u64, part: &Part<'_>) {
        if value > self.value {
            *self = Self { value, ranks: Members::default() };
        }
        if value == self.value && value != 0 {
            self.ranks.add(part.world, part.rank);
        }
    }
}

fn files(parts: &[Part<'_>]) -> Vec<FileUse> {
    let mut found: BTreeMap<&str, FileUse> = BTreeMap::new();
    for part in parts {
        let mut own: BTreeMap<&str, f64> = BTreeMap::new();
        for used in &part.facts.files {
            let file = found.entry(&used.path).or_insert_with(|| FileUse::named(&used.path));
            file.ranks.add(part.world, part.rank);
            file.opened += 1;
            file.reads = file.reads.saturating_add(used.reads);
            file.read_bytes = file.read_bytes.saturating_add(used.read_bytes);
            file.writes = file.writes.saturating_add(used.writes);
            file.written_bytes = file.written_bytes.saturating_add(used.written_bytes);
            file.seconds += used.seconds;
            *own.entry(&used.path).or_default() += used.seconds;
        }
        for (path, seconds) in own {
            if let Some(file) = found.get_mut(path).filter(|file| seconds > file.slowest_s) {
                file.slowest_s = seconds;
                file.slowest = [(part.world, part.rank)].into_iter().collect();
            }
        }
    }
    let mut found: Vec<FileUse> = found.into_values().collect();
    found.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.path.cmp(&b.path)));
    found
}

impl FileUse {
    fn named(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ranks: Members::default(),
            opened: 0,
            reads: 0,
            read_bytes: 0,
            writes: 0,
            written_bytes: 0,
            seconds: 0.0,
            slowest: Members::default(),
            slowest_s: 0.0,
        }
    }
}

fn memory(part: &Part<'_>) -> Memory {
    Memory {
        world: part.world,
        rank: part.rank,
        host: part.host.to_owned(),
        image: part.facts.image,
        placement: part.facts.placement.clone(),
    }
}
