//! Maps handles to records, for one kind of object.
//!
//! The records live in the image; the *index* (a hash table from handle to record) is private to the process.
//!
//! * **Looking up** takes no lock and never waits for long: [`Table::find`] reads the index as it is. A hit
//!   is checked against the record itself. A miss counts only if no object was removed meanwhile (the
//!   *generation* did not change), because removal shifts entries.
//! * **Changing** takes the table's spin lock for a few stores.
//! * **Growing** doubles the index and leaves the old one to readers that are still using it. The memory of
//!   its entries is returned to the system, after which they read as empty.
//!
//! # Life of a record
//!
//! ```text
//!  nothing ──insert──► LIVE ──mark (free was called)──► MARKED ──retire (it returned)──► FREED
//!     ▲                  ▲──────── unmark (it failed) ────┘                                │
//!     └────────────── oldest tombstone, when there are more than MPISCOPE_TOMBSTONES ──────┘
//! ```
//!
//! A freed object stays in its record as a tombstone; the oldest is reused first. Tombstones that another
//! object still needs ([`Object::held`]) are exempt, and so are pinned ones: a debugger writes
//! [`Head::pinned`] in the stopped process, which requires no call there, or calls [`Table::pin`].
//!
//! The library may give a handle to another thread before the call that freed it has returned in ours. An
//! insert that finds its handle in use takes it over; the former object is retired by the thread that is
//! freeing it, or at once if there is none.
//!
//! # Memory
//!
//! Per object: its record, and 16 bytes in the index at a load of at most one half, that is 32 to 64 bytes.
#![allow(unsafe_code)]

use super::Site;
use crate::interpose::arch;
use crate::record::objects::handle_changes;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::objects::{Flag, Head, Life, uid};
use mpiscope_image::{Record, W32, W64, Writer};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use super::index::Slots;
use super::lock::{self, Held, Lock, wait};

/// A kind of record that a table holds.
pub trait Object: Record + Sized + 'static {
    /// Returns the head, with which records of all kinds begin.
    fn head(&self) -> &Head;

    /// Zeroes everything after the head, before the record is reused for another object.
    fn clear(&self) {
        let words = (size_of::<Self>() - size_of::<Head>()) / size_of::<W64>();
        // SAFETY: after the head, records consist of words (and bytes in whole words), valid for every bit
        // pattern; they are written by atomic stores only while the sequence number is odd.
        let rest = unsafe {
            let first = std::ptr::from_ref(self).cast::<u8>().add(size_of::<Head>()).cast::<W64>();
            std::slice::from_raw_parts(first, words)
        };
        rest.iter().for_each(|word| word.set(0));
    }

    /// Releases what the record refers to. `release` takes records of the same table that lost their last
    /// holder. Runs under the table's lock.
    fn scrap(&'static self, _writer: &'static Writer, _release: &mut dyn FnMut(&'static Self)) {}

    /// Number of handles that the program has to free, for kinds where an object may have several.
    fn handles(&self) -> Option<&W32> {
        None
    }

    /// Whether call sites are distinguished by objects of this kind.
    const HAS_SITES: bool = false;

    /// Whether another object still needs the record after its own object was freed.
    fn held(&self) -> bool {
        false
    }
}

/// Number of freed objects of each kind that are kept, unless set by `MPISCOPE_TOMBSTONES`.
pub const DEFAULT_TOMBSTONES: usize = 1024;
/// Maximum number of tombstones of each kind.
pub const MOST_TOMBSTONES: usize = i32::MAX as usize;
static TOMBSTONES: AtomicUsize = AtomicUsize::new(DEFAULT_TOMBSTONES);

/// Sets how many freed objects of each kind are kept. Takes effect for a kind when its next object is freed.
pub fn keep_tombstones(count: usize) {
    TOMBSTONES.store(count.min(MOST_TOMBSTONES), Ordering::Relaxed);
}

/// Returns how many freed objects of each kind are kept.
pub fn tombstones() -> usize {
    TOMBSTONES.load(Ordering::Relaxed)
}

/// Number of records taken from the image at a time.
const BATCH: usize = 16;
/// Maximum number of attempts of a look-up that may have missed an entry, or to take the lock.
const TRIES: u32 = 10_000;

/// The objects of one kind.
pub struct Table<T: Object> {
    kind: SectionKind,
    first: usize,
    lock: Lock,
    /// Odd while index entries are being removed or moved.
    generation: AtomicU64,
    slots: AtomicPtr<Slots<T>>,
    inner: UnsafeCell<Inner<T>>,
}

/// The state that the lock protects.
struct Inner<T: 'static> {
    serial: u64,
    /// Offsets of the ends of the chain of tombstones.
    oldest: u64,
    newest: u64,
    tombstones: usize,
    /// Offset of the first record in the chain of empty ones.
    empty: u64,
    /// Unused records of the last batch.
    fresh: &'static [T],
}

// SAFETY: `inner` is only accessed through `Locked`, which holds the lock; everything else is atomic.
unsafe impl<T: Object> Sync for Table<T> {}

/// Holds the table's lock.
struct Locked<'a, T: Object>(
    &'a Table<T>,
    #[expect(dead_code, reason = "held until it is dropped")] Held<'a>,
);

impl<T: Object> Locked<'_, T> {
    #[inline(always)]
    fn inner(&mut self) -> &mut Inner<T> {
        // SAFETY: the lock is held, and `self` is borrowed for as long as the reference lives.
        unsafe { &mut *self.0.inner.get() }
    }
}

impl<T: Object> Table<T> {
    /// Returns an empty table; its section of the image begins with room for `first` records.
    pub const fn new(kind: SectionKind, first: usize) -> Self {
        Self {
            kind,
            first,
            lock: Lock::new(),
            generation: AtomicU64::new(0),
            slots: AtomicPtr::new(std::ptr::null_mut()),
            inner: UnsafeCell::new(Inner {
                serial: 0,
                oldest: 0,
                newest: 0,
                tombstones: 0,
                empty: 0,
                fresh: &[],
            }),
        }
    }

    #[inline(always)]
    fn lock(&self) -> Locked<'_, T> {
        Locked(self, self.lock.lock())
    }

    #[inline(always)]
    fn slots(&self) -> Option<&'static Slots<T>> {
        // SAFETY: null, or an index that is never unmapped.
        unsafe { self.slots.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the object that a handle refers to now.
    #[inline(always)]
    pub fn find(&self, handle: u64) -> Option<&'static T> {
        let generation = self.generation.load(Ordering::Acquire);
        let record = self.slots().and_then(|slots| slots.get(handle));
        if let Some(record) = record
            && stands_for(record.head(), handle)
        {
            return Some(record);
        }
        fence(Ordering::Acquire);
        if generation & 1 == 0 && self.generation.load(Ordering::Relaxed) == generation {
            return None;
        }
        self.find_again(handle)
    }

    /// Returns the heads of freed objects among the first `most` records.
    pub fn tombstones(&self, writer: &'static Writer, most: u64) -> impl Iterator<Item = &'static Head> {
        let kind = self.kind;
        let all = (0..most).map_while(move |index| writer.record::<T>(kind, index));
        all.map(Object::head).filter(|head| head.life.get() == Life::FREED.0)
    }

    /// The section that contains the records.
    pub fn kind(&self) -> SectionKind {
        self.kind
    }

    #[cold]
    fn find_again(&self, handle: u64) -> Option<&'static T> {
        for tries in 1..TRIES {
            let generation = self.generation.load(Ordering::Acquire);
            if let Some(record) = self.slots().and_then(|slots| slots.get(handle))
                && stands_for(record.head(), handle)
            {
                return Some(record);
            }
            fence(Ordering::Acquire);
            if generation & 1 == 0 && self.generation.load(Ordering::Relaxed) == generation {
                return None;
            }
            wait(tries);
        }
        None
    }

    /// Enters a new object. `fill` writes the fields after the head and may set `parent`, `identity` and
    /// `flags` in it; it must be short. If there is no room the loss is counted.
    #[inline]
    pub fn insert(
        &self,
        writer: &'static Writer,
        handle: u64,
        site: Site,
        fill: impl FnOnce(&'static T),
    ) -> Option<&'static T> {
        let mut locked = self.lock();
        if self.find(handle).is_some_and(|r| r.head().flags.get() & Flag::PREDEFINED.0 != 0) {
            // No library creates a predefined object anew: the call failed without reporting it (see `free`).
            return None;
        }
        let taken = self.take(writer, &mut locked);
        let Some(record) = taken.filter(|_| self.room()) else {
            writer.lose(Loss::OBJECTS, 1);
            return None;
        };
        let inner = locked.inner();
        inner.serial += 1;
        let serial = inner.serial;
        let head = record.head();
        {
            let _open = head.seq.open();
            record.clear();
            head.handle.set(handle);
            head.uid.set(uid(self.kind, serial));
            head.flags.set(0);
            head.made_by.set(site.function as u16);
            head.pinned.set(0);
            head.freed_by.set(0);
            head.made_at.set(site.at);
            head.made_from.set(site.from);
            head.freed_at.set(0);
            head.freed_from.set(0);
            head.parent.set(0);
            head.identity.set(0);
            head.link.set(0);
            fill(record);
            head.life.set(Life::LIVE.0);
        }
        if handle != 0 {
            self.enter(writer, &mut locked, handle, record, site);
        }
        Some(record)
    }

    fn enter(
        &self,
        writer: &'static Writer,
        locked: &mut Locked<'_, T>,
        handle: u64,
        record: &'static T,
        site: Site,
    ) {
        let Some(former) = self.slots().and_then(|slots| slots.put(handle, record)) else { return };
        // The former object is retired by the thread that is freeing it. If there is none, its end was not
        // seen.
        if T::HAS_SITES {
            handle_changes::note();
        }
        if former.head().life.get() == Life::LIVE.0 {
            self.bury(writer, locked, former, Site { function: 0, ..site });
        }
    }

    /// Makes sure that one more entry fits in the index. The lock must be held.
    #[inline(always)]
    fn room(&self) -> bool {
        self.slots().is_some_and(Slots::has_room) || self.grow()
    }

    #[cold]
    fn grow(&self) -> bool {
        let old = self.slots();
        let Some(new) = Slots::allocate(old.map_or(self.first.max(32) * 2, |o| o.capacity() * 2)) else {
            return false;
        };
        if let Some(old) = old {
            old.for_each(|handle, record| {
                new.put(handle, record);
            });
        }
        self.slots.store(std::ptr::from_ref(new).cast_mut(), Ordering::Release);
        if let Some(old) = old {
            // Readers that are still in the old index miss and retry.
            self.generation.fetch_add(2, Ordering::Release);
            old.discard();
        }
        true
    }

    fn take(&self, writer: &'static Writer, locked: &mut Locked<'_, T>) -> Option<&'static T> {
        let inner = locked.inner();
        if let Some(record) = writer.at_offset::<T>(inner.empty) {
            inner.empty = record.head().link.get();
            if let Some(next) = writer.at_offset::<T>(inner.empty) {
                fetch_ahead(next);
            }
            return Some(record);
        }
        if inner.fresh.is_empty() {
            inner.fresh = writer.new_records::<T>(self.kind, self.first, BATCH)?;
        }
        let (record, rest) = inner.fresh.split_first()?;
        inner.fresh = rest;
        Some(record)
    }

    /// The program has called a function that frees a handle of the object. Returns true if it is the last
    /// one: then the object is marked, and will be [retired](Self::retire).
    #[inline(always)]
    pub fn mark(&self, record: &'static T) -> bool {
        if let Some(handles) = record.handles() {
            let _locked = self.lock();
            let left = handles.get().saturating_sub(1);
            handles.set(left);
            if left != 0 {
                return false;
            }
        }
        record.head().life.set(Life::MARKED.0);
        true
    }

    /// Reverses [`mark`](Self::mark) after that function failed.
    pub fn unmark(&self, record: &'static T) {
        let _locked = self.lock();
        if let Some(handles) = record.handles() {
            handles.set(handles.get() + 1);
        }
        record.head().life.set(Life::LIVE.0);
    }

    /// The library returned another handle, with the same value, of a live object. `None` if there is no such
    /// object or its last handle is being freed: then this is a new one.
    pub fn share(&self, handle: u64) -> Option<&'static T> {
        let _locked = self.lock();
        let record = self.find(handle).filter(|r| r.head().life.get() == Life::LIVE.0)?;
        if let (Some(handles), 0) = (record.handles(), record.head().flags.get() & Flag::PREDEFINED.0) {
            handles.set(handles.get() + 1);
        }
        Some(record)
    }

    /// The object was freed: its record becomes a tombstone, and its handle becomes invalid.
    #[inline]
    pub fn retire(&self, writer: &'static Writer, record: &'static T, site: Site) {
        let mut locked = self.lock();
        if record.head().life.get() == Life::FREED.0 {
            return;
        }
        if T::HAS_SITES {
            handle_changes::note();
        }
        let handle = record.head().handle.get();
        if let Some(slots) = self.slots() {
            let generation = self.generation.load(Ordering::Relaxed);
            self.generation.store(generation + 1, Ordering::Relaxed);
            fence(Ordering::Release);
            slots.remove(handle, record);
            self.generation.store(generation + 2, Ordering::Release);
        }
        self.bury(writer, &mut locked, record, site);
    }

    #[inline]
    fn bury(&self, writer: &'static Writer, locked: &mut Locked<'_, T>, record: &'static T, site: Site) {
        let head = record.head();
        {
            let _open = head.seq.open();
            head.life.set(Life::FREED.0);
            head.freed_by.set(site.function);
            head.freed_at.set(site.at);
            head.freed_from.set(site.from);
        }
        if !record.held() {
            Self::push(writer, locked, record);
            Self::trim(writer, locked);
        }
    }

    /// The library returned a handle of a freed object again: makes it live. `record` is a held tombstone, or
    /// one in the chain. Returns false if it is not a tombstone or the index has no room.
    pub fn revive(&self, writer: &'static Writer, record: &'static T, site: Site) -> bool {
        let mut locked = self.lock();
        let head = record.head();
        if head.life.get() != Life::FREED.0 || !self.room() {
            return false;
        }
        Self::unlink(writer, &mut locked, record);
        {
            let _open = head.seq.open();
            head.freed_by.set(0);
            head.freed_at.set(0);
            head.freed_from.set(0);
            if let Some(handles) = record.handles() {
                handles.set(1);
            }
            head.life.set(Life::LIVE.0);
        }
        self.enter(writer, &mut locked, head.handle.get(), record, site);
        true
    }

    /// Returns the tombstone of the object with this uid.
    pub fn tombstone(&self, writer: &'static Writer, uid: u64) -> Option<&'static T> {
        let mut locked = self.lock();
        Self::chain(writer, locked.inner()).find(|record| record.head().uid.get() == uid)
    }

    /// Iterates over the tombstones, oldest first. Their links are in the image, so no more are followed than
    /// there are tombstones.
    fn chain<'a>(
        writer: &'static Writer,
        inner: &'a Inner<T>,
    ) -> impl Iterator<Item = &'static T> + use<'a, T> {
        let first = writer.at_offset::<T>(inner.oldest);
        let next = |record: &&'static T| writer.at_offset::<T>(record.head().link.get());
        std::iter::successors(first, next).take(inner.tombstones)
    }

    /// Removes a record from the chain of tombstones, if it is in it.
    fn unlink(writer: &'static Writer, locked: &mut Locked<'_, T>, record: &'static T) {
        let inner = locked.inner();
        let wanted = writer.offset_of(record);
        let (mut before, mut at): (Option<&T>, u64) = (None, inner.oldest);
        for _ in 0..inner.tombstones {
            let Some(found) = writer.at_offset::<T>(at) else { return };
            let next = found.head().link.get();
            if at == wanted {
                match before {
                    Some(before) => before.head().link.set(next),
                    None => inner.oldest = next,
                }
                if inner.newest == wanted {
                    inner.newest = before.map_or(0, |b| writer.offset_of(b));
                }
                inner.tombstones -= 1;
                found.head().link.set(0);
                return;
            }
            (before, at) = (Some(found), next);
        }
    }

    /// Runs `change` while no record of the table changes hands.
    pub fn locked<R>(&self, change: impl FnOnce() -> R) -> R {
        let _locked = self.lock();
        change()
    }

    #[inline]
    fn push(writer: &'static Writer, locked: &mut Locked<'_, T>, record: &'static T) {
        let inner = locked.inner();
        let offset = writer.offset_of(record);
        record.head().link.set(0);
        match writer.at_offset::<T>(inner.newest) {
            Some(newest) => newest.head().link.set(offset),
            None => inner.oldest = offset,
        }
        inner.newest = offset;
        inner.tombstones += 1;
    }

    /// Empties the oldest tombstones beyond the limit.
    #[inline]
    fn trim(writer: &'static Writer, locked: &mut Locked<'_, T>) {
        let limit = tombstones();
        // Each turn either empties a record or puts a pinned one back, so there are at most as many turns as
        // tombstones.
        let mut turns = locked.inner().tombstones;
        while locked.inner().tombstones > limit && turns > 0 {
            turns -= 1;
            let inner = locked.inner();
            let Some(oldest) = writer.at_offset::<T>(inner.oldest) else { return };
            let head = oldest.head();
            inner.oldest = head.link.get();
            inner.tombstones -= 1;
            if inner.oldest == 0 {
                inner.newest = 0;
            }
            if head.pinned.get() != 0 {
                Self::push(writer, locked, oldest);
                continue;
            }
            // Done before anything it refers to can be reused, so that a reader that has just copied it
            // notices.
            {
                let _open = head.seq.open();
                oldest.scrap(writer, &mut |released| Self::push(writer, locked, released));
                count_lost(writer);
                head.life.set(Life::EMPTY.0);
                head.link.set(locked.inner().empty);
            }
            locked.inner().empty = writer.offset_of(oldest);
        }
        if let Some(next) = writer.at_offset::<T>(locked.inner().oldest) {
            fetch_ahead(next);
        }
    }

    /// Pins or unpins the object that a handle refers to, or else the last one that it referred to. Returns
    /// false if there is none, and `None` if the lock is not available: a debugger calls this while other
    /// threads are stopped.
    pub fn pin(&self, writer: &'static Writer, handle: u64, pinned: bool) -> Option<bool> {
        let mut locked = self.try_lock()?;
        let found = self.find(handle).or_else(|| Self::last_of(writer, &mut locked, handle));
        let Some(record) = found else { return Some(false) };
        record.head().pinned.set(u16::from(pinned));
        if !pinned {
            Self::trim(writer, &mut locked);
        }
        Some(true)
    }

    fn try_lock(&self) -> Option<Locked<'_, T>> {
        self.lock.try_lock(TRIES).map(|held| Locked(self, held))
    }

    /// Returns the newest tombstone of a handle.
    fn last_of(writer: &'static Writer, locked: &mut Locked<'_, T>, handle: u64) -> Option<&'static T> {
        Self::chain(writer, locked.inner()).filter(|record| record.head().handle.get() == handle).last()
    }

    /// Calls `visit` with every live object and its handle. The handle is the index's; the one in the record
    /// is meant for readers of the image, and must not be passed to the library.
    pub fn for_each(&self, visit: impl FnMut(u64, &'static T)) {
        if let Some(slots) = self.slots() {
            slots.for_each(visit);
        }
    }
}

/// Prefetches the oldest tombstone or next empty record: it will be used next, and was last touched long ago.
#[inline(always)]
fn fetch_ahead<T>(record: &T) {
    const LINE: usize = 64;
    let first = std::ptr::from_ref(record).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| arch::prefetch(first.wrapping_add(at)));
}

/// Counts a reused tombstone; without a locked instruction while there is only one thread.
#[inline(always)]
fn count_lost(writer: &'static Writer) {
    let [.., word] = writer.header().lost.get(..=Loss::TOMBSTONES.0 as usize).unwrap_or_default() else {
        return;
    };
    if lock::alone() {
        word.add_mine(1);
    } else {
        writer.lose(Loss::TOMBSTONES, 1);
    }
}

/// Whether the index entry that led here is still valid.
#[inline(always)]
fn stands_for(head: &Head, handle: u64) -> bool {
    head.handle.get() == handle && matches!(Life(head.life.get()), Life::LIVE | Life::MARKED)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
pub mod tests;
