//! Built-in datatypes whose handles do not encode their sizes: looked up by handle in a nanosecond, in every
//! thread.
//!
//! A handle of the MPICH family contains the size. For the others there is a table in which each handle has a
//! single place, given by its hash. On a collision the second handle is left out and treated like that of any
//! other datatype. Built-in datatypes are never freed, so entries never change.

use crate::interpose::real;
use crate::record::objects::is_null;
use mpi_abi::{Abi, AbiKind, ObjectKind, PREDEFINED};
use std::sync::atomic::{AtomicU64, Ordering};

const PLACES_LOG: u32 = 10;

/// A handle, or zero, and the size of its datatype, or [`UNKNOWN`].
struct SizeSlot(AtomicU64, AtomicU64);

const UNKNOWN: u64 = u64::MAX;

static PLACES: [SizeSlot; 1 << PLACES_LOG] =
    [const { SizeSlot(AtomicU64::new(0), AtomicU64::new(UNKNOWN)) }; 1 << PLACES_LOG];

#[inline(always)]
fn place(raw: u64) -> Option<&'static SizeSlot> {
    PLACES.get((raw.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES_LOG)) as usize)
}

/// Enters the handles. Called once, when the library was found.
pub fn start<A: Abi>() {
    if A::CODE == AbiKind::MPICH {
        return;
    }
    for object in PREDEFINED.iter().filter(|object| object.kind == ObjectKind::DATATYPE) {
        let Some(raw) = real::predefined_raw::<A>(object.name) else { continue };
        if is_null(ObjectKind::DATATYPE, raw) {
            continue;
        }
        if let Some(place) = place(raw) {
            let _ = place.0.compare_exchange(0, raw, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Whether a handle is known to be that of a built-in datatype. If not, it may still be one.
#[inline(always)]
pub fn is_built_in<A: Abi>(raw: u64) -> bool {
    if A::CODE == AbiKind::MPICH {
        return raw & 0xff00_0000 == 0x4c00_0000;
    }
    raw != 0 && place(raw).is_some_and(|place| place.0.load(Ordering::Relaxed) == raw)
}

/// Returns the size of a built-in datatype. `ask` queries it the first time, and again as long as it returns
/// 0: the library may not have been ready to answer. `None` if the handle is not known to be built in.
#[inline(always)]
pub fn size<A: Abi>(raw: u64, ask: impl FnOnce() -> u64) -> Option<u64> {
    if !is_built_in::<A>(raw) {
        return None;
    }
    if A::CODE == AbiKind::MPICH {
        return Some((raw >> 8) & 0xff);
    }
    let place = place(raw)?;
    match place.1.load(Ordering::Relaxed) {
        UNKNOWN => {
            let size = ask();
            if size != 0 {
                place.1.store(size, Ordering::Relaxed);
            }
            Some(size)
        }
        size => Some(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::{Mpich, Standard};

    #[test]
    fn a_built_in_datatype_is_queried_until_it_has_a_size_and_then_never_again() {
        start::<Standard>();
        let int = real::predefined_raw::<Standard>("MPI_INT").unwrap();
        assert_eq!(size::<Standard>(int, || 0), Some(0));
        assert_eq!(size::<Standard>(int, || 4), Some(4));
        assert_eq!(size::<Standard>(int, || 5), Some(4));
        let double = real::predefined_raw::<Standard>("MPI_DOUBLE").unwrap();
        assert_eq!(size::<Standard>(double, || 8), Some(8));
    }

    #[test]
    fn a_handle_of_the_program_is_not_built_in() {
        start::<Standard>();
        let int = real::predefined_raw::<Standard>("MPI_INT").unwrap();
        assert!(!is_built_in::<Standard>(0));
        assert!(!is_built_in::<Standard>(int + (1 << 40)));
        assert!(!is_built_in::<Mpich>(0x8c00_0001));
        assert_eq!(size::<Mpich>(0x4c00_080b, || unreachable!()), Some(8));
    }
}
