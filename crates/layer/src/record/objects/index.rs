//! The hash table from handles to records: open addressing, linear probing, removal by backward shifting.
//!
//! Reading takes no lock; see [`super::table`] for how readers and the single writer cooperate.
#![allow(unsafe_code)]

use super::place;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Number of consecutive handles that are neighbors: their entries fill two cache lines.
const RUN: u64 = 8;
/// See [`place::of`]: 13 bytes, less than the distance of any two objects, so that objects evenly spaced do
/// not compete for places, which linear probing would make worse and worse.
const DISTANCE: u32 = 3;

/// The index of one table, in a private mapping: this header, followed by the entries.
#[repr(C, align(64))]
pub struct Slots<T: 'static> {
    mask: usize,
    bits: u32,
    used: AtomicUsize,
    bytes: usize,
    entries: PhantomData<T>,
}

/// An entry: the handle plus one (zero if empty), and the record.
#[repr(C)]
struct Entry<T> {
    key: AtomicU64,
    record: AtomicPtr<T>,
}

impl<T: 'static> Slots<T> {
    /// Allocates an empty index of `capacity` entries (rounded up to a power of two); `None` without memory.
    pub fn allocate(capacity: usize) -> Option<&'static Self> {
        let capacity = capacity.max(16).checked_next_power_of_two()?;
        let bytes = capacity.checked_mul(size_of::<Entry<T>>())?.checked_add(size_of::<Self>())?;
        // SAFETY: a fresh private mapping.
        let memory = unsafe {
            let (rights, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0)
        };
        if memory == libc::MAP_FAILED {
            return None;
        }
        let header = memory.cast::<Self>();
        // SAFETY: fresh memory, large enough and page-aligned; never unmapped.
        unsafe {
            header.write(Self {
                mask: capacity - 1,
                bits: capacity.trailing_zeros(),
                used: AtomicUsize::new(0),
                bytes,
                entries: PhantomData,
            });
            Some(&*header)
        }
    }

    /// Returns the number of entries.
    pub fn capacity(&self) -> usize {
        self.mask + 1
    }

    /// Whether the index stays at most half full with one more entry.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        (self.used.load(Ordering::Relaxed) + 1) * 2 <= self.mask + 1
    }

    /// Returns where the search begins.
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        place::of::<RUN, DISTANCE>(key, self.bits)
    }

    #[inline(always)]
    fn entry(&self, place: usize) -> &Entry<T> {
        // SAFETY: the entries follow the header; the mask keeps the place among them.
        unsafe {
            let first = std::ptr::from_ref(self).add(1).cast::<Entry<T>>();
            &*first.add(place & self.mask)
        }
    }

    /// Returns the record of a handle. While an entry is being moved it may be that of another handle: the
    /// caller must check.
    #[inline(always)]
    pub fn get(&self, handle: u64) -> Option<&'static T> {
        let key = handle.wrapping_add(1);
        let entry = self.entry(self.home(key));
        let found = entry.key.load(Ordering::Acquire);
        if found == key {
            // SAFETY: null, or a record of the image, which stays mapped.
            return unsafe { entry.record.load(Ordering::Acquire).as_ref() };
        }
        if found == 0 { None } else { self.get_behind(key) }
    }

    /// [`get`](Self::get) for a handle that is not where the search begins.
    #[inline(never)]
    fn get_behind(&self, key: u64) -> Option<&'static T> {
        let mut place = self.home(key);
        let last = place + self.mask;
        loop {
            let entry = self.entry(place);
            let found = entry.key.load(Ordering::Acquire);
            if found == key {
                // SAFETY: as in `get`.
                return unsafe { entry.record.load(Ordering::Acquire).as_ref() };
            }
            if found == 0 || place == last {
                return None;
            }
            place += 1;
        }
    }

    /// Enters a record, and returns the one that the handle mapped to before. There must be room; only one
    /// writer at a time.
    #[inline(always)]
    pub fn put(&self, handle: u64, record: &'static T) -> Option<&'static T> {
        let key = handle.wrapping_add(1);
        let mut place = self.home(key);
        loop {
            let entry = self.entry(place);
            let found = entry.key.load(Ordering::Relaxed);
            let new = std::ptr::from_ref(record).cast_mut();
            if found == key {
                // SAFETY: null, or a record of the image.
                return unsafe { entry.record.swap(new, Ordering::AcqRel).as_ref() };
            }
            if found == 0 {
                entry.record.store(new, Ordering::Relaxed);
                entry.key.store(key, Ordering::Release);
                self.used.store(self.used.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                return None;
            }
            place += 1;
        }
    }

    /// Removes a handle if it maps to this record. Only one writer at a time, which must make readers retry.
    #[inline(always)]
    pub fn remove(&self, handle: u64, record: &'static T) {
        let key = handle.wrapping_add(1);
        let mut hole = self.home(key);
        loop {
            let found = self.entry(hole).key.load(Ordering::Relaxed);
            if found == key {
                break;
            }
            if found == 0 {
                return;
            }
            hole += 1;
        }
        if !std::ptr::eq(self.entry(hole).record.load(Ordering::Relaxed), record) {
            return;
        }
        self.used.store(self.used.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.close(hole);
    }

    /// Fills a hole with later entries that would no longer be found beyond it.
    #[inline(always)]
    fn close(&self, hole: usize) {
        let mut hole = hole & self.mask;
        let mut place = hole;
        loop {
            place = (place + 1) & self.mask;
            let entry = self.entry(place);
            let key = entry.key.load(Ordering::Relaxed);
            if key == 0 {
                break;
            }
            let from_home = place.wrapping_sub(self.home(key)) & self.mask;
            let from_hole = place.wrapping_sub(hole) & self.mask;
            if from_home >= from_hole {
                let to = self.entry(hole);
                to.record.store(entry.record.load(Ordering::Relaxed), Ordering::Release);
                to.key.store(key, Ordering::Release);
                hole = place;
            }
        }
        let last = self.entry(hole);
        last.key.store(0, Ordering::Release);
        last.record.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Calls `visit` with every handle and its record.
    pub fn for_each(&self, mut visit: impl FnMut(u64, &'static T)) {
        for place in 0..=self.mask {
            let entry = self.entry(place);
            let key = entry.key.load(Ordering::Acquire);
            // SAFETY: null, or a record of the image.
            if let Some(record) = unsafe { entry.record.load(Ordering::Acquire).as_ref() }
                && key != 0
            {
                visit(key.wrapping_sub(1), record);
            }
        }
    }

    /// Returns the memory of the entries to the system, except that of the first page. The index stays
    /// readable; discarded entries read as empty.
    pub fn discard(&self) {
        const PAGE: usize = 4096;
        let start = std::ptr::from_ref(self).addr() + PAGE;
        if self.bytes > PAGE {
            // SAFETY: our own mapping, behind its first page (which has the header); it reads as zero from
            // now on.
            unsafe { libc::madvise(start as *mut c_void, self.bytes - PAGE, libc::MADV_DONTNEED) };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HANDLES: usize = 4096;

    /// Returns the average number of places visited for a handle in an index that is as full as allowed.
    fn steps(handle: impl Fn(u64) -> u64) -> f64 {
        let index = Slots::<u64>::allocate(2 * HANDLES).unwrap();
        let record: &'static u64 = Box::leak(Box::new(7));
        for n in 0..HANDLES as u64 {
            assert!(index.has_room());
            index.put(handle(n), record);
        }
        let steps = (0..HANDLES as u64).map(|n| {
            let key = handle(n).wrapping_add(1);
            let home = index.home(key);
            let place =
                (home..).find(|place| index.entry(*place).key.load(Ordering::Relaxed) == key).unwrap();
            place - home + 1
        });
        steps.sum::<usize>() as f64 / HANDLES as f64
    }

    #[test]
    fn numbers_and_addresses_with_any_distance_are_found_in_few_steps() {
        // Random hashing would need one and a half.
        for start in [0x8c00_0000, 0x4400_0000, 0x9800_0001] {
            let numbers = steps(|n| start + n);
            assert!(numbers < 8.0, "numbers from {start:#x}: {numbers}");
        }
        for distance in [32, 48, 64, 176, 256, 352, 576, 1024, 4096] {
            for start in [0x5555_0012_3450, 0x7f12_3456_7000] {
                let addresses = steps(|n| start + distance * n);
                assert!(addresses < 40.0, "{distance} from {start:#x}: {addresses}");
            }
        }
    }
}
