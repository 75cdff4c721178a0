//! A table of records by handle: look-up, insertion and release take a few nanoseconds, whether there are ten
//! or a million.
//!
//! The records live in the image and never move. Buckets and the list of free records are chains through
//! [`Head::link`], as offsets from the start of the image. The newest free record is taken first, because it
//! is still in the cache. The beginnings of chains are private, but their links are not, and any process of
//! this user may have overwritten them: a link always leads into the image, and no more links are followed
//! than there are records.
//!
//! A record may stay in the table when its object is gone ([`Life::FREED`]): libraries reuse handles, and the
//! next object with that handle finds its record in place, without a single store into the table. When
//! records run short such leftovers are [reclaimed](Table::reclaim).
#![allow(unsafe_code)]

use crate::record::objects::place;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Head, Life};
use mpiscope_image::traffic::{Message, Request};
use mpiscope_image::{Record, Writer};
use std::cell::Cell;

/// A record that a [`Table`] can hold.
pub trait Linked: Record + 'static {
    /// The section that contains the records.
    const KIND: SectionKind;
    /// Returns the head, with which every object's record begins.
    fn head(&self) -> &Head;
}

impl Linked for Request {
    const KIND: SectionKind = SectionKind::REQUESTS;
    #[inline(always)]
    fn head(&self) -> &Head {
        &self.head
    }
}

impl Linked for Message {
    const KIND: SectionKind = SectionKind::MESSAGES;
    #[inline(always)]
    fn head(&self) -> &Head {
        &self.head
    }
}

/// Number of records in the first section, and number fetched at once when none is free.
const FIRST: usize = 256;
const BATCH: usize = 32;
/// Initial number of buckets: a power of two.
const BUCKETS: usize = 1024;
/// Number of consecutive handles that are neighbors.
const RUN: u64 = 32;
/// See [`place::of`]: 52 bytes, so that requests one after another have buckets in few cache lines. Chains
/// bear it if some share a bucket.
const DISTANCE: u32 = 5;
/// Number of buckets that are searched for a leftover before a batch is made, which costs more.
const SEARCHED: usize = 64;

/// The live records of one kind.
pub struct Table<T: 'static> {
    base: usize,
    buckets: Cell<&'static [Bucket<T>]>,
    bits: Cell<u32>,
    records: Cell<usize>,
    /// Offset of the last record in the image.
    last: Cell<u64>,
    free: Cell<Option<&'static T>>,
    /// Index of the bucket at which the next search for leftovers begins.
    hand: Cell<usize>,
}

/// The first record of a chain.
type Bucket<T> = Cell<Option<&'static T>>;

fn new_buckets<T>(count: usize) -> &'static [Bucket<T>] {
    Box::leak((0..count).map(|_| Cell::new(None)).collect())
}

impl<T: Linked> Table<T> {
    /// Returns an empty table over the image at `base`.
    pub fn new(base: usize) -> Self {
        Self {
            base,
            buckets: Cell::new(new_buckets(BUCKETS)),
            bits: Cell::new(BUCKETS.trailing_zeros()),
            records: Cell::new(0),
            last: Cell::new(0),
            free: Cell::new(None),
            hand: Cell::new(0),
        }
    }

    /// Returns the bucket of a handle.
    #[inline(always)]
    fn bucket(&self, handle: u64) -> Option<&'static Bucket<T>> {
        self.buckets.get().get(place::of::<RUN, DISTANCE>(handle, self.bits.get()))
    }

    /// Returns the record that a link leads to.
    #[inline(always)]
    fn follow(&self, link: u64) -> Option<&'static T> {
        if link.wrapping_sub(1) >= self.last.get() {
            return None;
        }
        let offset = link as usize & !(align_of::<T>() - 1);
        // SAFETY: aligned, and not beyond the last record that `fetch` got from the image's writer; the
        // memory there consists of words, valid for every bit pattern, for the lifetime of the process.
        Some(unsafe { &*((self.base + offset) as *const T) })
    }

    /// Returns the next record in a chain.
    #[inline(always)]
    fn behind(&self, record: &'static T) -> Option<&'static T> {
        self.follow(record.head().link.get())
    }

    #[inline(always)]
    fn offset(&self, record: &'static T) -> u64 {
        (std::ptr::from_ref(record) as usize - self.base) as u64
    }

    /// Returns the link to a record, or to nothing.
    #[inline(always)]
    fn link(&self, record: Option<&'static T>) -> u64 {
        record.map_or(0, |record| self.offset(record))
    }

    /// Returns the live record with this handle.
    #[inline(always)]
    pub fn find(&self, handle: u64) -> Option<&'static T> {
        self.known(handle).filter(|record| record.head().life.get() != Life::FREED.0)
    }

    /// Returns the record with this handle, of an object that is live or gone.
    #[inline(always)]
    pub fn known(&self, handle: u64) -> Option<&'static T> {
        let record = self.bucket(handle)?.get()?;
        if record.head().handle.get() == handle { Some(record) } else { self.known_behind(record, handle) }
    }

    fn known_behind(&self, mut record: &'static T, handle: u64) -> Option<&'static T> {
        for _ in 0..self.records.get() {
            record = self.behind(record)?;
            if record.head().handle.get() == handle {
                return Some(record);
            }
        }
        None
    }

    /// Inserts a record under `handle`, which must be its handle.
    #[inline(always)]
    pub fn insert(&self, handle: u64, record: &'static T) {
        let Some(bucket) = self.bucket(handle) else { return };
        record.head().link.set(self.link(bucket.get()));
        bucket.set(Some(record));
    }

    /// Removes a record; false if it is not in the table.
    #[inline(always)]
    pub fn remove(&self, record: &'static T) -> bool {
        let Some(bucket) = self.bucket(record.head().handle.get()) else { return false };
        let Some(first) = bucket.get() else { return false };
        if std::ptr::eq(first, record) {
            bucket.set(self.behind(record));
            return true;
        }
        let mut before = first;
        for _ in 0..self.records.get() {
            match self.behind(before) {
                Some(other) if std::ptr::eq(other, record) => {
                    before.head().link.set(self.link(self.behind(record)));
                    return true;
                }
                Some(other) => before = other,
                None => return false,
            }
        }
        false
    }

    /// Returns a record that is not in use. `None`: the image is full.
    #[inline(always)]
    pub fn take(&self, writer: &'static Writer) -> Option<&'static T> {
        let record = match self.free.get() {
            Some(record) => record,
            None => match self.reclaim() {
                Some(record) => return Some(record),
                None => self.fetch(writer)?,
            },
        };
        self.free.set(self.behind(record));
        Some(record)
    }

    /// Releases a record that is in no chain.
    #[inline(always)]
    pub fn give(&self, record: &'static T) {
        record.head().link.set(self.link(self.free.get()));
        self.free.set(Some(record));
    }

    /// Removes a record whose object is gone, if there is one near the place where the last was found.
    #[cold]
    fn reclaim(&self) -> Option<&'static T> {
        let buckets = self.buckets.get();
        for _ in 0..SEARCHED {
            let hand = self.hand.get() & (buckets.len() - 1);
            self.hand.set(hand + 1);
            let chain = std::iter::successors(buckets.get(hand)?.get(), |record| self.behind(record));
            let gone = |record: &&'static T| record.head().life.get() == Life::FREED.0;
            if let Some(record) = chain.take(self.records.get()).find(gone) {
                return self.remove(record).then_some(record);
            }
        }
        None
    }

    /// Makes a batch of records, all of them free.
    #[cold]
    fn fetch(&self, writer: &'static Writer) -> Option<&'static T> {
        let fresh = writer.new_records::<T>(T::KIND, FIRST, BATCH)?;
        self.last.set(fresh.last().map_or(0, |last| self.offset(last)).max(self.last.get()));
        fresh.iter().rev().for_each(|record| self.give(record));
        self.records.set(self.records.get() + fresh.len());
        // The table never contains more records than exist.
        if self.records.get() > self.buckets.get().len() {
            self.grow();
        }
        self.free.get()
    }

    /// Doubles the number of buckets.
    #[cold]
    fn grow(&self) {
        let old = self.buckets.replace(&[]);
        self.buckets.set(new_buckets(old.len() * 2));
        self.bits.set(self.bits.get() + 1);
        let mut left = self.records.get();
        for bucket in old {
            let mut next = bucket.get();
            while let Some(record) = next.filter(|_| left > 0) {
                left -= 1;
                next = self.behind(record);
                self.insert(record.head().handle.get(), record);
            }
        }
        // SAFETY: made by `new_buckets`, and no reference to it is left.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(old).cast_mut()) });
    }

    /// Visits all live records, including `MARKED` ones.
    pub fn for_each(&self, mut visit: impl FnMut(&'static T)) {
        let mut left = self.records.get();
        for bucket in self.buckets.get() {
            let mut next = bucket.get();
            while let Some(record) = next.filter(|_| left > 0) {
                left -= 1;
                next = self.behind(record);
                if ![Life::EMPTY.0, Life::FREED.0].contains(&record.head().life.get()) {
                    visit(record);
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::objects::table::tests::image;
    use std::collections::BTreeMap;

    fn table(writer: &Writer) -> Table<Request> {
        Table::new(std::ptr::from_ref(writer.header()) as usize)
    }

    /// Like the hooks: returns the record of a request that is gone, or a new one.
    fn make(table: &Table<Request>, writer: &'static Writer, handle: u64) -> &'static Request {
        let record = table.known(handle).unwrap_or_else(|| {
            let record = table.take(writer).unwrap();
            record.head.handle.set(handle);
            table.insert(handle, record);
            record
        });
        record.head.life.set(Life::LIVE.0);
        record
    }

    #[test]
    fn the_next_request_with_a_handle_gets_the_record_of_the_last_one() {
        let writer = image();
        let table = table(writer);
        let first = make(&table, writer, 7);
        first.head.life.set(Life::FREED.0);
        assert!(table.find(7).is_none());
        assert!(std::ptr::eq(make(&table, writer, 7), first));
        assert!(std::ptr::eq(table.find(7).unwrap(), first));
    }

    #[test]
    fn a_library_that_never_reuses_handles_does_not_fill_the_image() {
        let writer = image();
        let table = table(writer);
        for handle in 0..100_000 {
            make(&table, writer, 16 * handle).head.life.set(Life::FREED.0);
        }
        assert!(table.records.get() < 4 * FIRST, "{} records for one live request", table.records.get());
        let mut live = 0;
        table.for_each(|_| live += 1);
        assert_eq!(live, 0);
    }

    /// Returns the fraction of buckets in use when there are as many handles as buckets.
    fn used(handle: impl Fn(u64) -> u64) -> f64 {
        const HANDLES: usize = 8192;
        let writer = image();
        let table = table(writer);
        for n in 0..HANDLES as u64 {
            make(&table, writer, handle(n));
        }
        assert_eq!(table.buckets.get().len(), HANDLES);
        table.buckets.get().iter().filter(|bucket| bucket.get().is_some()).count() as f64 / HANDLES as f64
    }

    #[test]
    fn numbers_and_addresses_with_any_distance_are_spread_over_the_buckets() {
        // Random hashing would use 63 of 100.
        let numbers = used(|n| 0x9800_0000 + n);
        assert!(numbers > 0.6, "numbers: {numbers}");
        for distance in [48, 64, 256, 576, 768, 1024, 4096] {
            for start in [0x0012_3450, 0x7f12_3456_7000] {
                let addresses = used(|n| start + distance * n);
                assert!(addresses > 0.5, "{distance} from {start:#x}: {addresses}");
            }
        }
    }

    #[test]
    fn randomly_added_and_removed_requests_agree_with_a_map() {
        let writer = image();
        let table = table(writer);
        let mut model: BTreeMap<u64, &'static Request> = BTreeMap::new();
        let mut random = 7u64;
        for _ in 0..300_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let handle = 0x7f00_0000_0000 + 64 * ((random >> 33) % 3000);
            match model.remove(&handle) {
                Some(record) => {
                    assert!(std::ptr::eq(table.find(handle).unwrap(), record));
                    record.head.life.set(Life::FREED.0);
                    // Some are removed at once, like those whose handle was given to another thread.
                    if random >> 60 == 0 {
                        table.remove(record);
                        table.give(record);
                    }
                }
                None => {
                    assert!(table.find(handle).is_none());
                    model.insert(handle, make(&table, writer, handle));
                }
            }
        }
        for (handle, record) in &model {
            assert!(std::ptr::eq(table.find(*handle).unwrap(), *record));
        }
        let mut live = 0;
        table.for_each(|_| live += 1);
        assert_eq!(live, model.len());
    }
}
