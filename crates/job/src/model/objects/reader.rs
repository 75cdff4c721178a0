//! Reads the objects of one process.
//!
//! A [`Reader`] caches what it has found (an index per kind, function names, predefined handles), so a new
//! one is created for each inspection of a running process.

use super::common::CallSite;
use super::fortran::FortranTables;
use super::kind::{Hex, Kind};
use super::open_calls::{self, Open, OpenCall};
use super::predefined::PredefinedHandles;
use super::process_context::ProcessContext;
use super::scan::{self, ByField, Entry, Field, Index};
use super::shared_names::SharedNames;
use crate::base::clock::TickClock;
use mpi_abi::AbiKind;
use mpiscope_image::call_path;
use mpiscope_image::derive::{self, members};
use mpiscope_image::layout::{Process, SectionKind, State, Text, Words};
use mpiscope_image::objects::kind_of;
use mpiscope_image::{Error, Function, Functions, Image, Record, Snapshot, Source, Table};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Maximum length of a name or value.
pub const LONGEST_TEXT: usize = 64 << 10;
/// Maximum length of an array, in words.
pub const LONGEST_ARRAY: usize = 1 << 22;
/// Maximum number of pairs listed for an info.
const MOST_PAIRS: usize = 1 << 14;
/// Maximum total length of an info's pairs, in bytes.
const LONGEST_PAIRS: usize = 1 << 22;

/// One inspection of the objects of one process.
pub struct Reader<'a, S> {
    pub(super) image: &'a Image<S>,
    pub(super) around: &'a dyn ProcessContext,
    pub(super) predefined: PredefinedHandles<'a>,
    pub(super) fortran: FortranTables<'a>,
    facts: Facts<'a>,
    /// The names of objects that other processes share, if those were asked.
    shared: Option<&'a SharedNames>,
    // There are few kinds: a linear search is faster than hashing.
    indices: RefCell<Vec<(SectionKind, Rc<Index>)>>,
    tables: RefCell<Vec<(SectionKind, Table)>>,
    by_field: RefCell<HashMap<Field, ByField>>,
    open_calls: OnceCell<Vec<Open>>,
    /// Uids of objects held by other objects (`in_use`).
    pub(super) held: OnceCell<HashSet<u64>>,
}

/// What is known of the process itself.
struct Facts<'a> {
    abi: AbiKind,
    state: State,
    left_world: bool,
    world: World,
    /// Where the process has mapped its image.
    address: u64,
    clock: TickClock,
    functions: Cow<'a, Functions>,
}

/// The process's position in `MPI_COMM_WORLD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// Its rank; none while unknown.
    pub rank: Option<u32>,
    /// Size of the world.
    pub size: u32,
}

impl<'a, S: Source> Reader<'a, S> {
    /// Creates a reader for a process of which only the image is known.
    pub fn new(image: &'a Image<S>, around: &'a dyn ProcessContext) -> Result<Self, Error> {
        Self::now(image, Cow::Owned(Functions::read(image)?), around)
    }

    /// Creates a reader for a process that has been read and has gone on since: its facts are read again, but not the
    /// table of its functions, which is the largest part and does not change.
    pub fn again(
        image: &'a Image<S>,
        process: &'a crate::Process,
        around: &'a dyn ProcessContext,
    ) -> Result<Self, Error> {
        Self::now(image, Cow::Borrowed(&process.functions), around)
    }

    fn now(
        image: &'a Image<S>,
        functions: Cow<'a, Functions>,
        around: &'a dyn ProcessContext,
    ) -> Result<Self, Error> {
        let header = image.header()?;
        let process = image.table::<Process>(SectionKind::PROCESS)?;
        let (mut abi, mut world) = (AbiKind::UNKNOWN, World { rank: None, size: 0 });
        let (state, mut left_world) = (State(header.state.get()), false);
        if !process.is_empty() {
            let facts = image.get::<Process>(&process, 0)?.value;
            abi = AbiKind::from_word(facts.abi.get());
            world = World { rank: members::own_rank(&facts), size: facts.size.get() };
            left_world = derive::status::left_world(&facts, state);
        }
        let facts = Facts {
            abi,
            state,
            left_world,
            world,
            address: header.address.get(),
            clock: TickClock::new(&header.clock, None),
            functions,
        };
        Ok(Self::begin(image, around, facts))
    }

    /// Creates a reader for a process that has been read.
    pub fn of(image: &'a Image<S>, process: &'a crate::Process, around: &'a dyn ProcessContext) -> Self {
        let facts = Facts {
            abi: process.abi,
            state: process.state,
            left_world: process.left_world,
            world: World { rank: process.rank, size: process.size.unwrap_or(0) },
            address: process.address,
            clock: process.clock.clone(),
            functions: Cow::Borrowed(&process.functions),
        };
        Self::begin(image, around, facts)
    }

    fn begin(image: &'a Image<S>, around: &'a dyn ProcessContext, facts: Facts<'a>) -> Self {
        Self {
            image,
            around,
            predefined: PredefinedHandles::new(facts.abi, around),
            fortran: FortranTables::new(facts.abi, around),
            facts,
            shared: None,
            indices: RefCell::default(),
            tables: RefCell::default(),
            by_field: RefCell::default(),
            open_calls: OnceCell::new(),
            held: OnceCell::new(),
        }
    }

    /// Gives shared objects the names that all processes of the job use.
    #[must_use]
    pub fn with_names(self, shared: &'a SharedNames) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// Returns the name of the shared object with this identity, if all processes were asked and one has named it.
    pub(super) fn shared_name(&self, identity: u64) -> Option<&'a str> {
        self.shared?.of(identity)
    }

    /// The image being read.
    pub fn image(&self) -> &'a Image<S> {
        self.image
    }

    /// The ABI of the MPI library.
    pub fn abi(&self) -> AbiKind {
        self.facts.abi
    }

    /// How far the process has come.
    pub fn state(&self) -> State {
        self.facts.state
    }

    /// Whether `MPI_Finalize` has returned; the process may still use sessions.
    pub(super) fn left_world(&self) -> bool {
        self.facts.left_world
    }

    /// The process's position in its world.
    pub fn world(&self) -> World {
        self.facts.world
    }

    /// The predefined handles.
    pub fn predefined(&self) -> &PredefinedHandles<'a> {
        &self.predefined
    }

    /// Where the process has mapped its image; zero if it has not.
    pub(super) fn address(&self) -> u64 {
        self.facts.address
    }

    /// Whether the library's convention for Fortran handles of this kind is known.
    pub fn fortran_is_known(&self, kind: Kind) -> bool {
        self.fortran.knows(kind)
    }

    /// Returns the index of a kind, creating it on demand.
    pub(super) fn index(&self, kind: Kind) -> Result<Rc<Index>, Error> {
        self.index_of(kind.section())
    }

    pub(super) fn index_of(&self, section: SectionKind) -> Result<Rc<Index>, Error> {
        if let Some((_, known)) = self.indices.borrow().iter().find(|(known, _)| *known == section) {
            return Ok(Rc::clone(known));
        }
        let index = Rc::new(Index::of(self.image, section)?);
        self.indices.borrow_mut().push((section, Rc::clone(&index)));
        Ok(index)
    }

    /// Discards the index of a kind that is out of date.
    pub(super) fn forget(&self, kind: Kind) {
        self.indices.borrow_mut().retain(|(section, _)| *section != kind.section());
    }

    /// Reads a complete record.
    pub(super) fn record<T: Record>(&self, kind: Kind, index: u64) -> Result<Snapshot<T>, Error> {
        self.record_of(kind.section(), index)
    }

    pub(super) fn record_of<T: Record>(
        &self,
        section: SectionKind,
        index: u64,
    ) -> Result<Snapshot<T>, Error> {
        if let Some((_, table)) = self.tables.borrow().iter().find(|(known, _)| *known == section) {
            return self.image.get::<T>(table, index);
        }
        // Cached: finding a table reads the whole directory.
        let table = self.image.table::<T>(section)?;
        let record = self.image.get::<T>(&table, index);
        self.tables.borrow_mut().push((section, table));
        record
    }

    pub(super) fn entry_of(&self, uid: u64) -> Result<Option<Entry>, Error> {
        if uid == 0 || Kind::of_section(kind_of(uid)).is_none() {
            return Ok(None);
        }
        Ok(self.index_of(kind_of(uid))?.by_uid(uid))
    }

    /// Returns the records that have this value in a field.
    pub(super) fn entries_by(&self, field: Field, wanted: u64) -> Vec<Entry> {
        if let Some(known) = self.by_field.borrow().get(&field) {
            return known.get(&wanted).cloned().unwrap_or_default();
        }
        let Ok(index) = self.index_of(field.0) else { return Vec::new() };
        let sorted = scan::by_field(self.image, &index, field);
        let found = sorted.get(&wanted).cloned().unwrap_or_default();
        self.by_field.borrow_mut().insert(field, sorted);
        found
    }

    /// Returns calls in progress that are on an object or use it.
    pub fn calls_about(&self, kind: Kind, handle: u64) -> Vec<OpenCall> {
        let about = |open: &&Open| open.is_about(kind, handle);
        let calls = self.open_calls.get_or_init(|| {
            open_calls::calls(self.image, &self.facts.functions, self.around).unwrap_or_default()
        });
        let shown = calls.iter().filter(about).map(|open| {
            let from = open.call.return_address.get();
            OpenCall {
                tid: open.tid,
                function: open.function.clone(),
                address: self.code(from),
                place: self.around.place(from),
                seconds: self.seconds(open.call.since.get()),
            }
        });
        shown.collect()
    }

    /// Returns the keys and values passed to an object.
    pub(super) fn hints(&self, hints: &Text) -> Vec<(String, String)> {
        let text = self.image.text(hints, LONGEST_PAIRS).unwrap_or_default();
        let mut parts = text.split('\0');
        let pairs = std::iter::from_fn(|| Some((parts.next()?.to_owned(), parts.next()?.to_owned())));
        pairs.take(MOST_PAIRS).collect()
    }

    /// Describes a call by its function, time and return address.
    pub(super) fn call_site(&self, function: u32, at: u64, from: u64) -> Option<CallSite> {
        if function == 0 {
            return None;
        }
        Some(CallSite {
            function: self.function(function),
            address: self.code(from),
            place: self.around.place(from),
            seconds: self.seconds(at),
        })
    }

    /// Returns the return address of an MPI call, for looking it up in the program.
    pub fn code(&self, from: u64) -> Hex {
        Hex(call_path::code(self.image, from))
    }

    /// Returns the name of a function, given its number plus one.
    pub fn function(&self, number_plus_one: u32) -> Option<String> {
        self.facts(number_plus_one).map(|function| function.name.clone())
    }

    /// Returns the properties of a function, given its number plus one.
    pub fn facts(&self, number_plus_one: u32) -> Option<&Function> {
        self.facts.functions.get(number_plus_one.checked_sub(1)?)
    }

    /// Converts a point in time to seconds since the image was created.
    pub fn seconds(&self, ticks: u64) -> f64 {
        if ticks == 0 {
            return 0.0;
        }
        self.facts.clock.ns_at(ticks).saturating_sub(self.facts.clock.start_ns()) as f64 / 1e9
    }

    /// Converts a number of ticks to seconds.
    pub(super) fn duration(&self, ticks: u64) -> f64 {
        self.facts.clock.seconds(ticks)
    }

    pub(super) fn text(&self, text: &Text) -> Option<String> {
        if text.offset.get() == 0 || text.len.get() == 0 {
            return None;
        }
        self.image.text(text, LONGEST_TEXT).ok()
    }

    pub(super) fn words(&self, words: &Words) -> Vec<u64> {
        self.image.words(words, LONGEST_ARRAY).unwrap_or_default()
    }
}
