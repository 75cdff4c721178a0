//! Arrays of [peer records](super::peers) whose communicators are gone, for others of that length.

use crate::record::objects::lock::Guarded;
use mpiscope_image::objects::Comm;

/// Number of size classes; the largest array has 2^31 records, since a rank is an `int`.
const CLASSES: usize = 32;

/// Unused arrays by the logarithm of their length, as numbers of their first records.
static RETURNED: Guarded<[Vec<u64>; CLASSES]> = Guarded::new([const { Vec::new() }; CLASSES]);

/// Returns the logarithm of the length that a communicator needs.
pub fn class_of(comm: &Comm) -> usize {
    let size = comm.remote_size.get().max(comm.size.get());
    size.max(1).next_power_of_two().trailing_zeros() as usize
}

/// Takes an unused array of a class, to be cleared.
pub fn take(class: usize) -> Option<u64> {
    RETURNED.with(|returned| returned.get_mut(class).and_then(Vec::pop))
}

/// Releases the array of a communicator whose record is reused. May run under the lock of the communicators'
/// table.
pub fn give_back(comm: &Comm) {
    let Some(index) = comm.peers.get().checked_sub(1) else { return };
    comm.peers.set(0);
    let class = class_of(comm);
    RETURNED.with(|returned| {
        if let Some(returned) = returned.get_mut(class) {
            returned.push(index);
        }
    });
}
