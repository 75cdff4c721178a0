//! The rings of [`history`](super::history): which are in use, and by whom.
//!
//! There are at most [`MOST`]; objects beyond that have no history.

use crate::record::objects::lock::Guarded;
use mpiscope_image::history::{Entered, RING};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::{W64, Writer};

/// Maximum number of rings of a process: up to four megabytes.
const MOST: usize = 1024;

/// Number of rings made, and those not in use, by the numbers of their first records.
#[derive(Default)]
struct Rings {
    made: usize,
    returned: Vec<u64>,
}

static RINGS: Guarded<Rings> = Guarded::new(Rings { made: 0, returned: Vec::new() });

/// Makes sure that an object has a ring, if there is one left; `history` is the number of its first record
/// plus one. Several threads may do so at once.
pub fn provide(writer: &'static Writer, history: &W64) {
    if history.get() != 0 {
        return;
    }
    RINGS.with(|rings| {
        if history.get() == 0 {
            let index = match rings.returned.pop() {
                Some(index) => clear(writer, index),
                None => rings.more(writer),
            };
            history.set(index.map_or(0, |index| index + 1));
        }
    });
}

/// Releases the ring of a communicator, window or file whose record is reused. May run under the lock of its
/// table.
pub fn give_back(history: &W64) {
    let Some(index) = history.get().checked_sub(1) else { return };
    history.set(0);
    RINGS.with(|rings| rings.returned.push(index));
}

impl Rings {
    fn more(&mut self, writer: &'static Writer) -> Option<u64> {
        self.made = self.made.saturating_add(1);
        if self.made > MOST {
            return None;
        }
        let (index, _) = writer.new_array::<Entered>(SectionKind::COLLECTIVES, 4 * RING, RING)?;
        Some(index)
    }
}

/// Clears a ring of its previous object.
fn clear(writer: &'static Writer, index: u64) -> Option<u64> {
    let first = writer.record::<Entered>(SectionKind::COLLECTIVES, index)?;
    let first = writer.offset_of(first);
    for number in 0..RING as u32 {
        writer.nth_after::<Entered>(first, number)?.number.set(0);
    }
    Some(index)
}
