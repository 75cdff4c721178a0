//! Event types: the payload of an event, and which registrations are interested in it.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Hints;
use super::registration::{Interested, Registration, object_bit};
use crate::codes::{Bind, Datatype, Result, Verbosity};
use crate::free_list::FreeList;

/// Maximum size of an event's payload in bytes.
pub const MAX_EXTENT: usize = 256;

/// One element of an event's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Its datatype.
    pub datatype: Datatype,
    /// Offset from the start of the payload in bytes.
    pub displacement: usize,
}

/// The description of an event type, which never changes.
#[derive(Debug, Clone)]
pub struct EventInfo {
    /// The name, unique among event types.
    pub name: String,
    /// The description; may be empty.
    pub desc: String,
    /// The intended audience.
    pub verbosity: Verbosity,
    /// The elements, at ascending displacements from 0.
    pub elements: Vec<Element>,
    /// Index of the enumeration that names the elements.
    pub enumeration: Option<usize>,
    /// The kind of object that a registration must be bound to.
    pub bind: Bind,
    /// The hints that a registration supports, with their defaults.
    pub hints: Hints,
    /// The hints that a callback of a registration supports, with their defaults.
    pub callback_hints: Hints,
    /// Size of the whole payload in bytes.
    pub extent: usize,
}

pub(super) type Check = Box<dyn Fn(u64) -> Result<()> + Send + Sync>;
pub(super) type Interest = Box<dyn Fn(u64, bool) + Send + Sync>;

/// The description of an event type to be registered.
#[must_use]
pub struct EventSpec {
    pub(super) info: EventInfo,
    pub(super) element_names: Vec<String>,
    pub(super) check: Check,
    pub(super) interest: Interest,
}

impl EventSpec {
    /// Describes an event type that has no elements, is not bound to an object and is meant for users.
    pub fn new(name: impl Into<String>) -> Self {
        let info = EventInfo {
            name: name.into(),
            desc: String::new(),
            verbosity: Verbosity::USER_BASIC,
            elements: Vec::new(),
            enumeration: None,
            bind: Bind::NO_OBJECT,
            hints: Hints::new(),
            callback_hints: Hints::new(),
            extent: 0,
        };
        let (check, interest) = (Box::new(|_| Ok(())), Box::new(|_, _| ()));
        Self { info, element_names: Vec::new(), check, interest }
    }

    /// Sets the description.
    pub fn desc(mut self, desc: impl Into<String>) -> Self {
        self.info.desc = desc.into();
        self
    }

    /// Sets the verbosity.
    pub fn verbosity(mut self, verbosity: Verbosity) -> Self {
        self.info.verbosity = verbosity;
        self
    }

    /// Appends an element at the next suitably aligned displacement, as in a C structure.
    ///
    /// The names become the event type's enumeration, with values 0, 1, 2 and so on.
    pub fn element(mut self, name: impl Into<String>, datatype: Datatype) -> Self {
        let size = datatype.size().max(1);
        let displacement = self.info.extent.next_multiple_of(size);
        self.info.elements.push(Element { datatype, displacement });
        self.info.extent = displacement + size;
        self.element_names.push(name.into());
        self
    }

    /// Binds the type to a kind of object; `check` rejects objects that are not alive or not of that kind.
    pub fn bind(
        mut self,
        bind: Bind,
        check: impl Fn(u64) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.info.bind = bind;
        self.check = Box::new(check);
        self
    }

    /// Sets the hints that registrations support, with their defaults.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.info.hints = hints;
        self
    }

    /// Sets the hints that callbacks support, with their defaults.
    pub fn callback_hints(mut self, hints: Hints) -> Self {
        self.info.callback_hints = hints;
        self
    }

    /// Sets a function that is called for each registration that is allocated (`true`) or freed (`false`),
    /// with its object. It may lock and allocate.
    pub fn on_interest(mut self, interest: impl Fn(u64, bool) + Send + Sync + 'static) -> Self {
        self.interest = Box::new(interest);
        self
    }
}

/// A registered event type.
pub struct EventType {
    info: EventInfo,
    check: Check,
    interest: Interest,
    pub(super) index: usize,
    /// The objects that registrations are for, as a set of 64 hashes; 0 if there are none.
    pub(super) wanted: AtomicU64,
    /// Whether some registration has a callback that need not be thread-safe.
    pub(super) in_turn: AtomicBool,
    /// The first of all slots ever used for this type's registrations; null if there are none.
    pub(super) first: AtomicPtr<Registration>,
    /// The slots in that list that are free.
    pub(super) free: FreeList,
    interests: Mutex<Interests>,
}

/// Number of registrations by interest.
struct Interests {
    every_object: usize,
    objects: [usize; 64],
    in_turn: usize,
}

impl Interests {
    const NONE: Self = Self { every_object: 0, objects: [0; 64], in_turn: 0 };

    fn count(&mut self, interested: Interested, change: impl Fn(&mut usize)) {
        let Interested::Of { bits, in_turn } = interested else { return };
        let count = match bits {
            u64::MAX => Some(&mut self.every_object),
            _ => self.objects.get_mut(bits.trailing_zeros() as usize),
        };
        count.into_iter().chain(in_turn.then_some(&mut self.in_turn)).for_each(change);
    }

    fn wanted(&self) -> u64 {
        let bits = self.objects.iter().enumerate().filter(|(_, count)| **count != 0);
        let objects = bits.fold(0, |all, (bit, _)| all | 1 << bit);
        if self.every_object != 0 { u64::MAX } else { objects }
    }
}

impl EventType {
    pub(super) fn new(info: EventInfo, check: Check, interest: Interest, index: usize) -> Self {
        Self {
            info,
            check,
            interest,
            index,
            wanted: AtomicU64::new(0),
            in_turn: AtomicBool::new(false),
            first: AtomicPtr::default(),
            free: FreeList::new(),
            interests: Mutex::new(Interests::NONE),
        }
    }

    /// The description of the event type.
    pub fn info(&self) -> &EventInfo {
        &self.info
    }

    /// Its index in the registry.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether a registration may be interested in this object. False positives are possible, for 1 object in
    /// 64.
    #[inline]
    pub fn is_wanted(&self, object: u64) -> bool {
        let wanted = self.wanted.load(Ordering::Relaxed);
        wanted != 0 && wanted & object_bit(object) != 0
    }

    /// Whether a callback exists that need not be thread-safe. If not, threads may raise the event
    /// concurrently with [`CbSafety::THREAD_SAFE`](crate::CbSafety::THREAD_SAFE) without losing any.
    #[inline]
    pub fn is_in_turn(&self) -> bool {
        self.in_turn.load(Ordering::Acquire)
    }

    /// Updates the counts after a change of a registration's interest.
    pub(super) fn refresh(&self, registration: &Registration) {
        let mut interests = self.interests.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, now) = registration.change_of_interest();
        interests.count(before, |count| *count = count.saturating_sub(1));
        interests.count(now, |count| *count += 1);
        self.wanted.store(interests.wanted(), Ordering::Release);
        self.in_turn.store(interests.in_turn != 0, Ordering::Release);
    }

    pub(super) fn check_object(&self, object: u64) -> Result<()> {
        (self.check)(object)
    }

    pub(super) fn tell_interest(&self, object: u64, wanted: bool) {
        (self.interest)(object, wanted);
    }

    #[inline]
    pub(super) fn element(&self, at: usize) -> Option<Element> {
        self.info.elements.get(at).copied()
    }
}
