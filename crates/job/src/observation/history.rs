//! The most recent collectives of a process on each communicator, window and file, with their arguments.
//!
//! Loops repeat the same collective, so equal ones are stored once.

use super::same_argument::SameArgument;
use super::{Between, Collective, ElementKinds, RootBetween};
use crate::model::process::Process;
use crate::model::rank::Rank;
use mpi_abi::{Flags, ObjectKind, constant};
use mpiscope_image::derive::members::is_inter;
use mpiscope_image::history::{self, Entered};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Comm, File, Head, Life, Window};
use mpiscope_image::{Function, Image, Record, Source, W64};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of communicators whose history is read.
const MOST_COMMS: u64 = 1 << 16;
/// Maximum number of windows, and of files.
const MOST_OBJECTS: u64 = 1 << 12;

/// The most recent collectives on one communicator, window or file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Identity of the communicator, window or file.
    pub comm: u64,
    /// Number of collectives entered on it. Those missing from [`entries`](Self::entries) are no longer
    /// known.
    pub newest: u64,
    /// Number of each collective and its index in [`kinds`](Self::kinds); oldest first.
    pub entries: Vec<(u64, u32)>,
    /// The distinct collectives; their `number` is unused.
    pub kinds: Vec<Collective>,
    /// When each of [`entries`](Self::entries) was entered and left, in nanoseconds of `CLOCK_MONOTONIC`;
    /// zero if it has not been.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<(u64, u64)>,
    /// Calls through which the program learned that a non-blocking collective is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<Completed>,
}

/// A call that completed a non-blocking collective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// Number of the collective.
    pub number: u64,
    /// When the call started, in nanoseconds of `CLOCK_MONOTONIC`.
    pub from_ns: u64,
    /// When it returned.
    pub until_ns: u64,
    #[allow(missing_docs)]
    pub function: String,
    /// Source line in user code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Completed {
    /// Converts a record if the process had learned of the completion; `place` resolves an address.
    fn of(entry: &Entered, process: &Process, place: &mut dyn FnMut(u64) -> Option<String>) -> Option<Self> {
        let function = usize::from(entry.waited_in.get()).checked_sub(1)?;
        (entry.completed.get() != 0 && entry.waited.get() != 0).then(|| Self {
            number: entry.number.get(),
            from_ns: process.clock.ns_at(entry.waited.get()),
            until_ns: process.clock.ns_at(entry.completed.get()),
            function: process.function(function),
            place: place(entry.waited_from.get()),
        })
    }
}

impl History {
    /// Returns the collectives, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Collective)> {
        self.entries.iter().filter_map(|(number, kind)| Some((*number, self.kinds.get(*kind as usize)?)))
    }

    /// Returns the collective with this number.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&Collective> {
        let at = self.entries.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.kinds.get(self.entries.get(at)?.1 as usize)
    }
}

/// The history ring of one object.
pub struct Ring {
    /// Identity of the communicator, window or file.
    pub of: u64,
    /// Uid of the communicator of a window or file.
    pub parent: u64,
    first: u64,
    newest: u64,
}

/// Collectives still in a ring: identity of the object, total number of collectives, entries.
pub type Copied = (u64, u64, Vec<Entered>);

impl Ring {
    /// Returns the rings of windows and files, live and freed.
    pub fn of_objects<S: Source>(image: &Image<S>) -> Vec<Self> {
        let ring = |head: &Head, history: &W64, newest: &W64| Self {
            of: head.identity.get(),
            parent: head.parent.get(),
            first: history.get(),
            newest: newest.get(),
        };
        let windows = records::<S, Window>(image, SectionKind::WINDOWS, MOST_OBJECTS);
        let windows = windows.map(|window| ring(&window.head, &window.history, &window.collectives));
        let files = records::<S, File>(image, SectionKind::FILES, MOST_OBJECTS);
        let files = files.map(|file| ring(&file.head, &file.history, &file.collectives));
        windows.chain(files).filter(|ring| ring.of != 0 && ring.first != 0).collect()
    }

    /// Copies its entries.
    pub fn copy<S: Source>(&self, image: &Image<S>) -> Option<Copied> {
        Some((self.of, self.newest, history::read(image, self.first, self.newest).ok()?))
    }
}

fn records<S: Source, R: Record>(
    image: &Image<S>,
    section: SectionKind,
    most: u64,
) -> impl Iterator<Item = R> {
    let table = image.table::<R>(section).unwrap_or_default();
    (0..table.len().min(most)).filter_map(move |index| Some(image.get::<R>(&table, index).ok()?.value))
}

/// Reads the histories of all communicators, windows and files, live and freed.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Vec<History> {
    let comms = records::<S, Comm>(rank.image(), SectionKind::COMMS, MOST_COMMS);
    let used = comms.filter(|comm| comm.head.life.get() != Life::EMPTY.0 && comm.history.get() != 0);
    let of_comm = |comm: Comm| {
        let newest = comm.collectives.get();
        let entered = history::read(rank.image(), comm.history.get(), newest).ok()?;
        Some(of(rank, (comm.head.identity.get(), newest, entered), Some(&comm)))
    };
    let on_objects = Ring::of_objects(rank.image()).into_iter();
    let on_objects = on_objects.filter_map(|ring| Some(of(rank, ring.copy(rank.image())?, None)));
    used.filter_map(of_comm).chain(on_objects).collect()
}

/// Converts a copied ring; `comm` is set if it is a communicator's.
fn of<S: Source>(rank: &Rank<'_, S>, (identity, newest, entered): Copied, comm: Option<&Comm>) -> History {
    let mut found = History { comm: identity, newest, ..History::default() };
    let mut known: HashMap<Collective, u32> = HashMap::new();
    for entry in &entered {
        let Some(collective) = collective(rank, identity, comm, entry) else { continue };
        let next = found.kinds.len() as u32;
        let kind = *known.entry(collective).or_insert_with_key(|collective| {
            found.kinds.push(collective.clone());
            next
        });
        found.entries.push((entry.number.get(), kind));
        let ns = |ticks: u64| if ticks == 0 { 0 } else { rank.process().clock.ns_at(ticks) };
        found.times.push((ns(entry.entered.get()), ns(entry.left.get())));
        found.completed.extend(Completed::of(entry, rank.process(), &mut |from| rank.place(from)));
    }
    found
}

/// Converts a copied ring, limited to what is needed to determine which process waited for which: functions,
/// roots, places, times.
pub fn of_entered(
    comm: u64,
    newest: u64,
    entered: &[Entered],
    process: &Process,
    place: &mut dyn FnMut(u64) -> Option<String>,
) -> History {
    let mut found = History { comm, newest, ..History::default() };
    let mut known: HashMap<(u64, u16, u32), u32> = HashMap::new();
    for entry in entered {
        let number = u32::from(entry.function.get()).checked_sub(1);
        let Some(function) = number.and_then(|number| process.functions.get(number)) else { continue };
        let root = i64::from(entry.root.get().cast_signed());
        let kind = (entry.from.get(), entry.function.get(), entry.root.get());
        let kind = *known.entry(kind).or_insert_with(|| {
            let rooted = function.fields.root();
            // A copy does not record whether the communicator has two groups; only then is the root not a
            // rank.
            let between = Some(root).filter(|root| rooted && *root < 0);
            let between = between.and_then(|root| root_between(process, root));
            found.kinds.push(Collective {
                comm,
                function: function.base.clone(),
                large: function.name != function.base,
                root: (rooted && root >= 0).then_some(root),
                between: between.map(|root| Between { root, rank: 0, size: 0 }),
                place: place(entry.from.get()),
                ..Collective::default()
            });
            found.kinds.len() as u32 - 1
        });
        found.entries.push((entry.number.get(), kind));
        let ns = |ticks: u64| if ticks == 0 { 0 } else { process.clock.ns_at(ticks) };
        found.times.push((ns(entry.entered.get()), ns(entry.left.get())));
        found.completed.extend(Completed::of(entry, process, place));
    }
    found
}

fn collective<S: Source>(
    rank: &Rank<'_, S>,
    identity: u64,
    comm: Option<&Comm>,
    entry: &Entered,
) -> Option<Collective> {
    let function = rank.process().functions.get(u32::from(entry.function.get()).checked_sub(1)?)?;
    let (fields, root) = (function.fields, i64::from(entry.root.get().cast_signed()));
    // The size of packed data depends on the library.
    let packed = || rank.object(ObjectKind::DATATYPE, entry.datatype.get()) == "MPI_PACKED";
    let compared = comm.is_some_and(|comm| has_data(function, root, comm)) && !packed();
    let same = match comm {
        Some(_) => None,
        None => SameArgument::of(rank.process().abi, &function.base, entry),
    };
    Some(Collective {
        comm: identity,
        number: 0,
        starts: entry.starts.get(),
        function: function.base.clone(),
        large: function.name != function.base,
        // On an intercommunicator the members of the root's group specify whether they are the root.
        root: (fields.root() && root >= 0).then_some(root),
        between: comm
            .filter(|comm| fields.root() && is_inter(comm))
            .and_then(|comm| between(rank, comm, root)),
        op: (fields.op && comm.is_some() && entry.op.get() != 0).then(|| operation(rank, entry.op.get())),
        bytes: entry.bytes().filter(|_| compared),
        types: entry.signature().filter(|_| compared).map(|signature| signature.stored()),
        totals: comm.and_then(|_| entry.totals()),
        elements: comm.and_then(|_| entry.element_kinds()).map(ElementKinds::from),
        argument: same.as_ref().map(|same| same.value),
        data: compared.then(|| data(rank, entry)).or(same.map(|same| same.text)),
        place: rank.place(entry.from.get()),
    })
}

impl From<history::ElementKinds> for ElementKinds {
    fn from(recorded: history::ElementKinds) -> Self {
        let history::ElementKinds { difference, gives, expects } = recorded;
        Self { difference, gives, expects }
    }
}

/// What a member of an intercommunicator knows about the root.
fn between<S: Source>(rank: &Rank<'_, S>, comm: &Comm, root: i64) -> Option<Between> {
    let root = root_between(rank.process(), root)?;
    Some(Between { root, rank: comm.rank.get(), size: comm.size.get() })
}

fn root_between(process: &Process, root: i64) -> Option<RootBetween> {
    let is = |name| constant::value_of(process.abi, name) == Some(root);
    match u32::try_from(root) {
        Ok(root) => Some(RootBetween::OfOthers(root)),
        Err(_) if is("MPI_ROOT") => Some(RootBetween::Myself),
        Err(_) if is("MPI_PROC_NULL") => Some(RootBetween::AnotherOfMine),
        Err(_) => None,
    }
}

/// Returns whether all members, including this process, must pass the same data.
fn has_data(function: &Function, root: i64, comm: &Comm) -> bool {
    let flags = function.properties.flags;
    let is_root = i64::from(comm.rank.get()) == root;
    !is_inter(comm) && (flags.has(Flags::ALIKE) || flags.has(Flags::LEAVES_ALIKE) && !is_root)
}

/// Returns an operation in a form comparable across members: user-defined ones have a different handle on
/// each.
pub fn operation<S: Source>(rank: &Rank<'_, S>, handle: u64) -> String {
    match rank.reference(ObjectKind::OP, handle) {
        Some(op) if op.predefined => op.label(),
        _ => "an operation of the program".to_owned(),
    }
}

/// `10 x MPI_INT`.
fn data<S: Source>(rank: &Rank<'_, S>, entry: &Entered) -> String {
    format!("{} x {}", entry.count.get().cast_signed(), rank.datatype(entry.datatype.get()))
}
