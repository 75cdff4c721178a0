//! The messages a process has sent and received recently, from the two rings of envelopes that are always
//! recorded.

use super::Message;
use crate::model::rank::Rank;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::{Recent, Traffic};
use mpiscope_image::{Source, Table};
use std::collections::HashMap;

/// Maximum number of envelopes read per ring.
const MOST: u64 = 1 << 16;

/// Both rings, each oldest first, and what they do not show.
#[derive(Debug, Default)]
pub struct Envelopes {
    /// Messages sent.
    pub sent: Vec<Message>,
    /// Messages received.
    pub received: Vec<Message>,
    /// Number of receives that were cancelled in time.
    pub cancelled_receives: u64,
}

/// Reads the current contents of the rings.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Envelopes {
    rings(rank).unwrap_or_default()
}

fn rings<S: Source>(rank: &Rank<'_, S>) -> Option<Envelopes> {
    let image = rank.image();
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC).ok()?;
    let totals = image.get::<Traffic>(&totals, 0).ok()?.value;
    let table = image.table::<Recent>(SectionKind::ENVELOPES).ok()?;
    let (first, capacity) = (totals.envelopes_first.get(), totals.envelopes.get());
    let ring = |first, written| ring(rank, &table, (first, capacity), written);
    Some(Envelopes {
        sent: ring(first, totals.envelopes_sent.get()),
        received: ring(first.checked_add(capacity)?, totals.envelopes_received.get()),
        cancelled_receives: totals.cancelled_receives.get(),
    })
}

fn ring<S: Source>(
    rank: &Rank<'_, S>,
    table: &Table,
    (first, capacity): (u64, u64),
    written: u64,
) -> Vec<Message> {
    // Many messages come from few lines.
    let mut places: HashMap<u64, Option<String>> = HashMap::new();
    let mut place = |from: u64| places.entry(from).or_insert_with(|| rank.place(from)).clone();
    let count = written.min(capacity).min(MOST);
    let message = |number: u64| {
        let index = first.checked_add(number.checked_rem(capacity)?)?;
        let record = rank.image().get::<Recent>(table, index).ok()?.value;
        // Overwritten in the meantime, or no longer a message.
        let there = record.number.get() == number.wrapping_add(1) && record.peer.get() != Recent::GONE;
        there.then(|| Message {
            comm: record.comm.get(),
            peer: record.peer.get(),
            tag: record.tag.get().cast_signed(),
            bytes: record.bytes.get(),
            place: Some(record.from.get()).filter(|from| *from != 0).and_then(&mut place),
        })
    };
    (written - count..written).filter_map(message).collect()
}
