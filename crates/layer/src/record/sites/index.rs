//! A thread's index from call sites to records.
//!
//! The records used last are *near*: a pair for each hash value, side by side in one cache line. All records
//! are *far*: in an ordered map, by keys that do not change.

use mpi_abi::FunctionId;
use mpiscope_image::sites::{SEVERAL, Site};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Number of pairs of near records; a power of two.
const PAIRS: usize = 128;
/// Maximum number of objects that are distinguished at one call site.
const OBJECTS: usize = 7;

/// Where a call was made, of which function, and on which object.
#[derive(Clone, Copy)]
pub struct Place {
    /// The return address.
    pub from: u64,
    /// Handle of the object; zero for none.
    pub handle: u64,
    #[allow(missing_docs)]
    pub function: FunctionId,
}

/// A near record.
#[derive(Default)]
pub struct Near {
    from: Cell<u64>,
    handle: Cell<u64>,
    /// Function number plus one.
    function: Cell<u32>,
    /// Number of calls that are not timed before the next one is: see [`starts`](super::starts).
    pub untimed: Cell<u32>,
    site: Cell<Option<&'static Site>>,
}

impl Near {
    #[inline(always)]
    fn get(&self, place: &Place) -> Option<(&'static Site, &Self)> {
        let same = self.from.get() == place.from
            && self.handle.get() == place.handle
            && self.function.get() == u32::from(place.function.0) + 1;
        if same { Some((self.site.get()?, self)) } else { None }
    }

    /// Returns the record.
    #[inline(always)]
    pub fn site(&self) -> Option<&'static Site> {
        self.site.get()
    }

    fn take(&self, other: &Self) {
        self.from.set(other.from.get());
        self.handle.set(other.handle.get());
        self.function.set(other.function.get());
        self.untimed.set(other.untimed.get());
        self.site.set(other.site.get());
    }
}

#[derive(Default)]
#[repr(align(64))]
struct Pair([Near; 2]);

const _: () = assert!(size_of::<Pair>() == 64);

/// The records of a thread. Only the thread itself accesses it.
pub struct Index {
    near: [Pair; PAIRS],
    /// By return address, function and uid.
    far: RefCell<BTreeMap<(u64, u16, u64), &'static Site>>,
}

// SAFETY: a thread that ends hands its index on under a lock, and no longer uses it.
#[allow(unsafe_code)]
unsafe impl Sync for Index {}

impl Index {
    /// Initializes the index in place. A temporary value would be built on the stack first, and is as large
    /// as the whole stack of some threads.
    #[allow(unsafe_code)]
    pub fn new() -> Box<Self> {
        let mut place = Box::<Self>::new_uninit();
        let index = place.as_mut_ptr();
        // SAFETY: the memory is ours, and every field is written once, including every element of the array.
        unsafe {
            let near = (&raw mut (*index).near).cast::<Pair>();
            (0..PAIRS).for_each(|at| near.add(at).write(Pair::default()));
            (&raw mut (*index).far).write(RefCell::default());
            place.assume_init()
        }
    }

    #[inline(always)]
    fn pair(&self, place: &Place) -> Option<&Pair> {
        let mixed = (place.from ^ place.handle.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.near.get((mixed >> (u64::BITS - PAIRS.ilog2())) as usize)
    }

    /// Returns the record if it is near, with the data kept next to it.
    #[inline(always)]
    pub fn near(&self, place: &Place) -> Option<(&'static Site, &Near)> {
        let Pair([first, second]) = self.pair(place)?;
        first.get(place).or_else(|| second.get(place))
    }

    /// Forgets what handles meant.
    pub fn forget(&self) {
        self.near.iter().flat_map(|pair| &pair.0).for_each(|near| near.site.set(None));
    }

    /// Returns the record, if there is one.
    pub fn far(&self, place: &Place, object: u64) -> Option<&'static Site> {
        self.far.try_borrow().ok()?.get(&(place.from, place.function.0, object)).copied()
    }

    /// Returns the key of an object at a place: its uid, unless too many other objects were seen there
    /// before.
    pub fn told_apart(&self, place: &Place, object: u64) -> u64 {
        let Ok(far) = self.far.try_borrow() else { return object };
        let (from, function) = (place.from, place.function.0);
        let known = far.contains_key(&(from, function, object));
        let others = far.range((from, function, 1)..(from, function, SEVERAL)).take(OBJECTS).count();
        if object == 0 || known || others < OBJECTS { object } else { SEVERAL }
    }

    /// Adds a record.
    pub fn know(&self, place: &Place, object: u64, site: &'static Site) {
        if let Ok(mut far) = self.far.try_borrow_mut() {
            far.insert((place.from, place.function.0, object), site);
        }
    }

    /// Makes a record near, since it was used.
    pub fn bring_near(&self, place: &Place, site: &'static Site) {
        let Some(Pair([first, second])) = self.pair(place) else { return };
        second.take(first);
        first.from.set(place.from);
        first.handle.set(place.handle);
        first.function.set(u32::from(place.function.0) + 1);
        first.untimed.set(0);
        first.site.set(Some(site));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::f;

    fn site() -> &'static Site {
        // SAFETY: a site consists of words, so all zero is a valid value.
        #[allow(unsafe_code)]
        Box::leak(unsafe { Box::<Site>::new_zeroed().assume_init() })
    }

    fn place(from: u64, handle: u64) -> Place {
        Place { from, handle, function: f::MPI_Send }
    }

    #[test]
    fn a_cached_call_site_is_found_until_a_handle_changes_its_meaning() {
        let (index, one, other) = (Index::new(), site(), site());
        index.bring_near(&place(1, 7), one);
        index.bring_near(&place(1, 8), other);
        let is =
            |place: Place, wanted| index.near(&place).is_some_and(|(found, _)| std::ptr::eq(found, wanted));
        assert!(is(place(1, 7), one) && is(place(1, 8), other));
        assert!(index.near(&Place { function: f::MPI_Recv, ..place(1, 7) }).is_none());
        index.forget();
        assert!(index.near(&place(1, 7)).is_none(), "it must be looked up again");
    }

    #[test]
    fn a_loop_that_creates_an_object_each_time_does_not_add_places_forever() {
        let (index, place) = (Index::new(), place(1, 7));
        for uid in 1..1000 {
            let object = index.told_apart(&place, uid);
            if index.far(&place, object).is_none() {
                index.know(&place, object, site());
            }
        }
        assert_eq!((index.told_apart(&place, 5), index.told_apart(&place, 0)), (5, 0));
        assert_eq!(index.told_apart(&place, 5000), SEVERAL);
        assert_eq!(index.far.borrow().len(), OBJECTS + 1);
    }

    #[test]
    fn more_call_sites_than_fit_the_cache_are_all_found() {
        let index = Index::new();
        let sites: Vec<_> = (0..1000).map(|from| (place(from, 0), site())).collect();
        for (place, site) in &sites {
            index.know(place, 5, site);
            index.bring_near(place, site);
        }
        for (place, site) in &sites {
            assert!(index.far(place, 5).is_some_and(|found| std::ptr::eq(found, *site)));
            assert!(index.far(place, 6).is_none());
        }
    }
}
