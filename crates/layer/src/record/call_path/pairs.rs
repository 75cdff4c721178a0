//! The pairs of call sites seen so far, and the address that represents each.

use crate::base::image;
use crate::record::modules;
use mpiscope_image::call_path::{self, CallPath};
use mpiscope_image::layout::{Loss, SectionKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of known pairs; a power of two.
const ROOM: usize = 1 << ROOM_BITS;
const ROOM_BITS: u32 = 13;
/// Number of slots probed for a pair.
const PROBES: usize = 8;
/// Number of records in the first section.
const FIRST: usize = 64;

/// A pair; `address` is written last.
struct Slot {
    site: AtomicU64,
    caller: AtomicU64,
    address: AtomicU64,
}

static SLOTS: [Slot; ROOM] =
    [const { Slot { site: AtomicU64::new(0), caller: AtomicU64::new(0), address: AtomicU64::new(0) } }; ROOM];
/// Held while a pair is added.
static ADDING: Mutex<()> = Mutex::new(());

/// Returns the address that represents an MPI call at `site` in a library that was called at `caller`; `site`
/// if there is no room for the pair.
#[inline]
pub fn address(site: u64, caller: u64) -> u64 {
    find(site, caller).unwrap_or_else(|| add(site, caller))
}

fn slots(site: u64, caller: u64) -> impl Iterator<Item = &'static Slot> {
    let mixed = (site ^ caller.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let first = (mixed >> (u64::BITS - ROOM_BITS)) as usize;
    (first..first + PROBES).filter_map(|index| SLOTS.get(index % ROOM))
}

#[inline]
fn find(site: u64, caller: u64) -> Option<u64> {
    let is_pair = |slot: &&Slot| {
        slot.site.load(Ordering::Relaxed) == site && slot.caller.load(Ordering::Relaxed) == caller
    };
    // Load the address first: the pair was written before it.
    let known = slots(site, caller).filter_map(|slot| match slot.address.load(Ordering::Acquire) {
        0 => None,
        address => Some((slot, address)),
    });
    known.into_iter().find(|(slot, _)| is_pair(slot)).map(|(_, address)| address)
}

#[cold]
fn add(site: u64, caller: u64) -> u64 {
    if let Some(writer) = image::writer() {
        [site, caller].iter().for_each(|code| modules::list_owner(writer, code.wrapping_sub(1)));
    }
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(address) = find(site, caller) {
        return address;
    }
    let Some(writer) = image::writer() else { return site };
    let free = slots(site, caller).find(|slot| slot.address.load(Ordering::Relaxed) == 0);
    let made =
        free.and_then(|slot| Some((slot, writer.new_record::<CallPath>(SectionKind::CALL_PATHS, FIRST)?)));
    let Some((slot, (index, record))) = made else {
        writer.lose(Loss::CALL_PATHS, 1);
        return site;
    };
    record.caller.set(caller);
    record.site.atomic().store(site, Ordering::Release);
    slot.site.store(site, Ordering::Relaxed);
    slot.caller.store(caller, Ordering::Relaxed);
    let address = call_path::address(index);
    slot.address.store(address, Ordering::Release);
    address
}
