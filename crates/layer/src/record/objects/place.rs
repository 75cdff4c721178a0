//! Places of handles in hash tables.
//!
//! Objects are mostly used in the order of their creation, so handles that follow one another get places that
//! do so too. With a million objects, places at random would cost a miss in the cache and one in the table of
//! pages each time.
//!
//! * Numbers (the MPICH family, the standard ABI): a run of consecutive ones are neighbors, and the runs are
//!   spread over the table.
//! * Addresses (Open MPI), which are mostly evenly spaced: the address divided by a distance, modulo the size
//!   of the table. The distance is the golden ratio times a power of two. With a power of two itself, evenly
//!   spaced addresses would share few places.

/// The fraction of the golden ratio, times 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the place of a handle in a table of `1 << bits` places. `RUN` is the number of consecutive handles
/// that are neighbors: a power of two, at most the number of places. `DISTANCE` is the logarithm of the distance
/// of addresses with adjacent places, in bytes, over the golden ratio.
#[inline(always)]
pub fn of<const RUN: u64, const DISTANCE: u32>(handle: u64, bits: u32) -> usize {
    if handle >> 32 == 0 {
        // Addresses may be as small as that too. Folding spreads them, whatever their distance.
        let run = handle / RUN;
        let spread = (run ^ (run >> 10)).wrapping_mul(GOLDEN) >> (u64::BITS - bits);
        return (spread ^ (handle % RUN)) as usize;
    }
    let distances = handle.wrapping_mul(GOLDEN >> (u32::BITS + DISTANCE)) >> u32::BITS;
    (distances & ((1 << bits) - 1)) as usize
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BITS: u32 = 12;

    #[test]
    fn consecutive_numbers_are_neighbors() {
        let mut places: Vec<usize> = (0x8c00_0000..0x8c00_0008).map(|n| of::<8, 3>(n, BITS)).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1), "{places:?}");
    }

    #[test]
    fn places_of_evenly_spaced_addresses_follow_one_another() {
        for distance in [64, 192, 544, 768] {
            let steps = (0..1000u64).map(|n| {
                let place = |n| of::<8, 5>(0x7f12_3456_7040 + distance * n, 30);
                place(n + 1) - place(n)
            });
            let (least, most) = (steps.clone().min().unwrap(), steps.max().unwrap());
            assert!(most - least <= 1 && most <= 16, "{distance}: {least} to {most}");
        }
    }

    #[test]
    fn every_place_is_in_the_table() {
        for bits in [5, 10, 20] {
            let handles = (0..1000u64).flat_map(|n| [n * 97, u64::MAX - n * 977, 0x5555_0000_0000 + n * 544]);
            assert!(handles.map(|h| of::<8, 3>(h, bits)).all(|place| place < 1 << bits), "{bits}");
        }
    }
}
