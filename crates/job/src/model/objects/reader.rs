//! One look at the objects of one process.
//!
//! A [`Reader`] keeps what it has found out (an index per kind, names of functions, predefined handles), so it is made
//! anew for each look at a process that runs.

use super::common::{CallSite, Common, Lifetime, marks};
use super::file::File;
use super::fortran::{FortranTables, numbered_when_asked};
use super::in_use::{self, Held};
use super::kind::{Hex, Kind};
use super::open_calls::{self, Open, OpenCall};
use super::predefined::PredefinedHandles;
use super::process_context::ProcessContext;
use super::reference::Reference;
use super::scan::{self, ByField, Entry, Field, Index};
use crate::base::clock::TickClock;
use mpi_abi::AbiKind;
use mpiscope_image::call_path;
use mpiscope_image::derive::members;
use mpiscope_image::layout::{Process, SectionKind, State, Text, Words};
use mpiscope_image::objects::{Flag, Head, Life, kind_of};
use mpiscope_image::{Error, Function, Functions, Image, Record, Snapshot, Source, Table};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::mem::offset_of;
use std::rc::Rc;

/// Longest name or value that is read.
pub const LONGEST_TEXT: usize = 64 << 10;
/// Longest array that is read, in words.
pub const LONGEST_ARRAY: usize = 1 << 22;
/// Pairs of an info that are listed.
const MOST_PAIRS: usize = 1 << 14;
/// Bytes of all pairs of an info that are read.
const LONGEST_PAIRS: usize = 1 << 22;
/// A record whose handle changes under our eyes is looked up again this often.
const TRIES: u32 = 3;

/// Why there is no object to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// No object of any kind has this handle.
    #[error(
        "no {kind} has the handle {handle}: it was never made, or freed so long ago that its record was reused"
    )]
    #[allow(missing_docs)]
    NotFound { kind: Kind, handle: Hex },
    /// The handle is one of another kind.
    #[error("{handle} is no {kind}; it is the handle of a {found}")]
    #[allow(missing_docs)]
    OtherKind { kind: Kind, handle: Hex, found: Kind },
    /// The process has no objects yet.
    #[error("the process has not been through MPI_Init yet: there are no objects")]
    BeforeInit,
    /// The process does not record objects.
    #[error("the process does not record objects: run it with MPISCOPE_RECORD including objects")]
    NotRecorded,
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] Error),
}

/// One look at the objects of one process.
pub struct Reader<'a, S> {
    pub(super) image: &'a Image<S>,
    pub(super) around: &'a dyn ProcessContext,
    pub(super) predefined: PredefinedHandles<'a>,
    pub(super) fortran: FortranTables<'a>,
    facts: Facts<'a>,
    // A few kinds each: going through them is quicker than hashing.
    indices: RefCell<Vec<(SectionKind, Rc<Index>)>>,
    tables: RefCell<Vec<(SectionKind, Table)>>,
    by_field: RefCell<HashMap<Field, ByField>>,
    open_calls: OnceCell<Vec<Open>>,
    held: OnceCell<Held>,
}

/// What is known of the process before its objects are looked at.
struct Facts<'a> {
    abi: AbiKind,
    state: State,
    world: World,
    /// Where the process has mapped its image.
    address: u64,
    clock: TickClock,
    functions: Cow<'a, Functions>,
}

/// The process in `MPI_COMM_WORLD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// Its rank; none while it is not known.
    pub rank: Option<u32>,
    /// The size.
    pub size: u32,
}

/// A model of one kind of objects, made from its records.
pub trait Build: Sized {
    /// The record in the image.
    type Record: Record;
    /// The kind.
    const KIND: Kind;

    /// The first field of the record.
    fn head(record: &Self::Record) -> &Head;

    /// The name that the program gave, or that the record has of a predefined object.
    fn name<S: Source>(_reader: &Reader<'_, S>, _record: &Self::Record) -> Option<String> {
        None
    }

    /// Its handle in Fortran, for a kind whose records keep it.
    fn fortran(_record: &Self::Record) -> Option<i32> {
        None
    }

    /// The model. A predefined object that was never seen has no record.
    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&Self::Record>) -> Self;
}

impl<'a, S: Source> Reader<'a, S> {
    /// Begins a look at a process of which nothing is known yet.
    pub fn new(image: &'a Image<S>, around: &'a dyn ProcessContext) -> Result<Self, Error> {
        let header = image.header()?;
        let process = image.table::<Process>(SectionKind::PROCESS)?;
        let (mut abi, mut world) = (AbiKind::UNKNOWN, World { rank: None, size: 0 });
        if !process.is_empty() {
            let facts = image.get::<Process>(&process, 0)?.value;
            abi = AbiKind::from_word(facts.abi.get());
            world = World { rank: members::own_rank(&facts), size: facts.size.get() };
        }
        let facts = Facts {
            abi,
            state: State(header.state.get()),
            world,
            address: header.address.get(),
            clock: TickClock::new(&header.clock, None),
            functions: Cow::Owned(Functions::read(image)?),
        };
        Ok(Self::begin(image, around, facts))
    }

    /// The same for a process that was read.
    pub fn of(image: &'a Image<S>, process: &'a crate::Process, around: &'a dyn ProcessContext) -> Self {
        let facts = Facts {
            abi: process.abi,
            state: process.state,
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
            indices: RefCell::default(),
            tables: RefCell::default(),
            by_field: RefCell::default(),
            open_calls: OnceCell::new(),
            held: OnceCell::new(),
        }
    }

    /// The image that is looked at.
    pub fn image(&self) -> &'a Image<S> {
        self.image
    }

    /// The ABI of the library.
    pub fn abi(&self) -> AbiKind {
        self.facts.abi
    }

    /// How far the process has come.
    pub fn state(&self) -> State {
        self.facts.state
    }

    /// The process in its world.
    pub fn world(&self) -> World {
        self.facts.world
    }

    /// The predefined handles.
    pub fn predefined(&self) -> &PredefinedHandles<'a> {
        &self.predefined
    }

    /// Whether the library's convention for Fortran handles of this kind can be followed here.
    pub fn fortran_is_known(&self, kind: Kind) -> bool {
        self.fortran.knows(kind)
    }

    /// The C handles that a Fortran handle may stand for, the likelier first. Whether there is such an object is another
    /// question.
    pub fn fortran_to_c(&self, kind: Kind, fortran: i32) -> Vec<u64> {
        let mut handles = self.fortran.to_c(kind, fortran);
        if self.facts.abi == AbiKind::STANDARD
            && let Ok(index) = self.index(kind)
        {
            let alive = index.entries.iter().filter(|entry| entry.life != Life::FREED.0);
            let same = alive.filter(|entry| self.fortran.index_of(kind, entry.handle) == Some(fortran));
            handles.extend(same.map(|entry| entry.handle));
        }
        if numbered_when_asked(self.facts.abi, kind) {
            handles.extend(self.files_numbered(fortran));
        }
        handles
    }

    /// Files with a number that the library was asked for.
    fn files_numbered(&self, fortran: i32) -> Vec<u64> {
        let mut handles = Vec::new();
        let alive = |head: &Head| head.life.get() != Life::FREED.0;
        // What cannot be read has no number.
        let _ = self.each::<File>(&mut |head| alive(head), &mut |file| {
            if file.common.fortran == Some(fortran) {
                handles.push(file.common.handle.0);
            }
        });
        handles
    }

    /// The object that this handle stands for: the living one, else the one freed last.
    pub fn get<B: Build>(&self, handle: u64) -> Result<B, Missing> {
        for _ in 0..TRIES {
            let Some(entry) = self.index(B::KIND)?.by_handle(handle) else { break };
            let record = self.record::<B::Record>(B::KIND, entry.index)?;
            let head = B::head(&record.value);
            if head.handle.get() == handle
                && head.life.get() != Life::EMPTY.0
                && let Some(object) = self.made::<B>(record)
            {
                return Ok(object);
            }
            self.indices.borrow_mut().retain(|(section, _)| *section != B::KIND.section());
        }
        if let Some(known) = self.predefined.find(B::KIND, handle) {
            let mut common = Common::unseen(B::KIND, handle, known.name);
            common.fortran = self.fortran.index_of(B::KIND, handle);
            return Ok(B::build(self, common, None));
        }
        Err(self.missing(B::KIND, handle))
    }

    /// The object with this uid, if it is of the right kind and its record is there.
    pub fn by_uid<B: Build>(&self, uid: u64) -> Result<Option<B>, Error> {
        let Some(entry) = self.entry_of(uid)?.filter(|_| kind_of(uid) == B::KIND.section()) else {
            return Ok(None);
        };
        let record = self.record::<B::Record>(B::KIND, entry.index)?;
        Ok(if B::head(&record.value).uid.get() == uid { self.made::<B>(record) } else { None })
    }

    /// All objects of a kind that have a record, in order of their records; also freed ones.
    pub fn all<B: Build>(&self) -> Result<Vec<B>, Error> {
        let mut objects = Vec::new();
        self.each::<B>(&mut |_| true, &mut |object| objects.push(object))?;
        Ok(objects)
    }

    /// Hands on one object after the other, in order of their records, so that a million need no more memory than one.
    /// Those whose head is not chosen are not built, which is most of the work.
    pub fn each<B: Build>(
        &self,
        choose: &mut dyn FnMut(&Head) -> bool,
        each: &mut dyn FnMut(B),
    ) -> Result<(), Error> {
        let index = self.index(B::KIND)?;
        for entry in &index.entries {
            for _ in 0..TRIES {
                let record = self.record::<B::Record>(B::KIND, entry.index)?;
                let head = B::head(&record.value);
                if head.life.get() == Life::EMPTY.0 || !choose(head) {
                    break;
                }
                if let Some(object) = self.made::<B>(record) {
                    each(object);
                    break;
                }
            }
        }
        Ok(())
    }

    /// How many records of a kind there are: alive or marked, and freed.
    pub fn count(&self, kind: Kind) -> Result<(usize, usize), Error> {
        let index = self.index(kind)?;
        let freed = index.entries.iter().filter(|entry| entry.life == Life::FREED.0).count();
        Ok((index.entries.len() - freed, freed))
    }

    /// The model of a record. What the record refers to, names and arrays, is read after the record, and may have come to
    /// belong to another object by then: so the record must be the same afterwards. `None`: it has become another's, or
    /// nobody's.
    fn made<B: Build>(&self, mut record: Snapshot<B::Record>) -> Option<B> {
        for _ in 0..TRIES {
            let object = B::build(self, self.common::<B>(&record), Some(&record.value));
            let again = self.record::<B::Record>(B::KIND, record.index).ok()?;
            let (before, after) = (B::head(&record.value), B::head(&again.value));
            if before.seq.get() == after.seq.get() {
                return Some(object);
            }
            if before.uid.get() != after.uid.get() || after.life.get() == Life::EMPTY.0 {
                return None;
            }
            record = again;
        }
        record.torn = true;
        Some(B::build(self, self.common::<B>(&record), Some(&record.value)))
    }

    fn common<B: Build>(&self, record: &Snapshot<B::Record>) -> Common {
        let head = B::head(&record.value);
        let handle = head.handle.get();
        let pinned = if head.pinned.get() != 0 { Flag::PINNED.0 } else { 0 };
        let flags = head.flags.get() | pinned;
        let known = self.predefined.name(B::KIND, handle);
        let given = B::name(self, &record.value).filter(|name| !name.is_empty());
        let predefined = known.is_some() || flags & Flag::PREDEFINED.0 != 0;
        let standing = self.standing(head);
        let usable = head.life.get() != Life::FREED.0;
        // The record of a live request may still have the freeing of the one that was there before.
        let freed = matches!(standing, Lifetime::Marked | Lifetime::Freed);
        Common {
            kind: B::KIND,
            handle: Hex(handle),
            name: given.or(known.map(str::to_owned)),
            predefined,
            standing,
            fortran: usable
                .then(|| B::fortran(&record.value).or_else(|| self.fortran.index_of(B::KIND, handle)))
                .flatten(),
            uid: head.uid.get(),
            identity: Hex(head.identity.get()),
            parent: self.reference(head.parent.get()),
            created: self.call_site(head.made_by.get().into(), head.made_at.get(), head.made_from.get()),
            freed: freed
                .then(|| self.call_site(head.freed_by.get(), head.freed_at.get(), head.freed_from.get()))
                .flatten(),
            pin_at: (!predefined).then(|| self.pin_at(B::KIND, record.offset)).flatten(),
            flags,
            marks: marks(flags),
            torn: record.torn,
        }
    }

    /// How an object stands. Freed is what nothing else holds: see `in_use`.
    pub fn standing(&self, head: &Head) -> Lifetime {
        match Life(head.life.get()) {
            Life::MARKED => Lifetime::Marked,
            Life::FREED if in_use::may_hold(head) && self.is_held(head.uid.get()) => Lifetime::Marked,
            Life::FREED => Lifetime::Freed,
            _ => Lifetime::Live,
        }
    }

    /// Whether something else of the process needs the object with this uid.
    pub(super) fn is_held(&self, uid: u64) -> bool {
        self.held.get_or_init(|| in_use::of(self)).contains(&uid)
    }

    /// Where [`Head::pinned`] of a record lies in the process, for kinds whose freed objects stay in their records.
    fn pin_at(&self, kind: Kind, record: u64) -> Option<Hex> {
        let reused_at_once = matches!(kind, Kind::Request | Kind::Message);
        (!reused_at_once && self.facts.address != 0).then(|| {
            Hex(self.facts.address.wrapping_add(record).wrapping_add(offset_of!(Head, pinned) as u64))
        })
    }

    /// Why a handle leads nowhere.
    fn missing(&self, kind: Kind, handle: u64) -> Missing {
        let handle_ = Hex(handle);
        for other in Kind::ALL.iter().copied().filter(|other| *other != kind) {
            let lives = self.index(other).ok().and_then(|index| index.by_handle(handle));
            let lives = lives.is_some_and(|entry| entry.life != Life::FREED.0);
            if lives || self.predefined.find(other, handle).is_some() {
                return Missing::OtherKind { kind, handle: handle_, found: other };
            }
        }
        if self.facts.state.0 < State::INITIALIZED.0 {
            return Missing::BeforeInit;
        }
        Missing::NotFound { kind, handle: handle_ }
    }

    /// The index of a kind, made when it is first needed.
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

    /// A record, whole.
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
        // Made once: finding a table reads the whole directory.
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

    /// The object with this uid, as others refer to it.
    pub fn reference(&self, uid: u64) -> Option<Reference> {
        let kind = Kind::of_section(kind_of(uid))?;
        let entry = self.entry_of(uid).ok().flatten()?;
        Some(self.refer(kind, entry.handle, uid))
    }

    /// An object that a record names by handle and uid; none for the handle zero without a uid.
    pub(super) fn attached(&self, kind: Kind, handle: u64, uid: u64) -> Option<Reference> {
        if uid != 0 {
            return self.reference(uid).or(Some(Reference::unknown(kind, handle, uid)));
        }
        if handle == 0 {
            return None;
        }
        // Named by its handle alone: the one that lives has it.
        let entry = self.index(kind).ok().and_then(|index| index.by_handle(handle));
        let alive = entry.filter(|entry| entry.life != Life::FREED.0);
        Some(self.refer(kind, handle, alive.map_or(0, |entry| entry.uid)))
    }

    /// A predefined object by its name.
    pub(super) fn known(&self, kind: Kind, name: &str) -> Option<Reference> {
        let handle = self.predefined.value(mpi_abi::predefined::by_name(name)?)?;
        self.attached(kind, handle, 0)
    }

    /// All objects of a kind as others refer to them, also freed ones.
    pub fn all_references(&self, kind: Kind) -> Result<Vec<Reference>, Error> {
        let index = self.index(kind)?;
        Ok(index.entries.iter().map(|entry| self.refer(kind, entry.handle, entry.uid)).collect())
    }

    /// Living objects of a kind whose record has `wanted` at this place.
    pub(super) fn referring(&self, kind: Kind, field: usize, wanted: u64) -> Vec<Reference> {
        self.having(kind, (kind.section(), field, 8), wanted)
    }

    /// The same for a field of half a word.
    pub(super) fn referring_half(&self, kind: Kind, field: usize, wanted: u32) -> Vec<Reference> {
        self.having(kind, (kind.section(), field, 4), u64::from(wanted))
    }

    fn having(&self, kind: Kind, field: Field, wanted: u64) -> Vec<Reference> {
        let alive = self.entries_by(field, wanted).into_iter().filter(|entry| entry.life != Life::FREED.0);
        alive.map(|entry| self.refer(kind, entry.handle, entry.uid)).collect()
    }

    /// Records with a value in a field.
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

    /// Calls that threads are in and that are about an object, or use it.
    pub fn calls_about(&self, kind: Kind, handle: u64) -> Vec<OpenCall> {
        open_calls::about(self, kind, Hex(handle))
    }

    /// Calls that threads are in.
    pub(super) fn open_calls(&self) -> &[Open] {
        self.open_calls.get_or_init(|| open_calls::calls(self))
    }

    /// Keys and values that an object was given.
    pub(super) fn hints(&self, hints: &Text) -> Vec<(String, String)> {
        let text = self.image.text(hints, LONGEST_PAIRS).unwrap_or_default();
        let mut parts = text.split('\0');
        let pairs = std::iter::from_fn(|| Some((parts.next()?.to_owned(), parts.next()?.to_owned())));
        pairs.take(MOST_PAIRS).collect()
    }

    /// A call that did something.
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

    /// The address behind a call of MPI, for those who look it up in the program.
    pub fn code(&self, from: u64) -> Hex {
        Hex(call_path::code(self.image, from))
    }

    /// The name of a function from its number plus one.
    pub fn function(&self, number_plus_one: u32) -> Option<String> {
        self.facts(number_plus_one).map(|function| function.name.clone())
    }

    /// What is known of a function, from its number plus one.
    pub fn facts(&self, number_plus_one: u32) -> Option<&Function> {
        self.facts.functions.get(number_plus_one.checked_sub(1)?)
    }

    /// Bytes of so many of a datatype, by its handle, and its uid if it is not built in; nothing if the datatype is not known.
    pub fn bytes_of(&self, count: u64, datatype: u64, uid: u64) -> Option<u64> {
        super::datatype::size_of(self, datatype, uid)?.checked_mul(count)
    }

    /// Seconds from the begin of the image to a point in time.
    pub fn seconds(&self, ticks: u64) -> f64 {
        if ticks == 0 {
            return 0.0;
        }
        self.facts.clock.ns_at(ticks).saturating_sub(self.facts.clock.start_ns()) as f64 / 1e9
    }

    /// Seconds that a number of ticks takes.
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
