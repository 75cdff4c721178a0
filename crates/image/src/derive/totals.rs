//! Totals of a process, stored as words of its records.
//!
//! Each entry of [`TOTALS`] is a performance variable: the preload library publishes all of them, and readers
//! show them for other processes.

use crate::layout::{Header, Loss, Recording};
use crate::traffic::{SIZE_CLASSES, Traffic};

/// The records that hold the totals.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// The header of the image.
    pub header: &'a Header,
    /// Totals of communication; `None` before the process can communicate.
    pub traffic: Option<&'a Traffic>,
}

/// The subject of a total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Messages between ranks.
    Messages,
    /// What is recorded, and what was lost.
    Recording,
}

/// The number and meaning of a total's elements.
#[derive(Clone, Copy)]
pub enum Elements {
    /// One element.
    Single,
    /// This number of elements, explained by the description.
    Array(usize),
    /// This number of elements, the name of the enumeration of their names, and each element's name.
    Named(usize, &'static str, fn(u32) -> Option<&'static str>),
}

impl Elements {
    /// Number of elements.
    pub fn count(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Array(count) | Self::Named(count, ..) => count,
        }
    }
}

/// A total: a number that only grows.
pub struct Total {
    /// The variable's name.
    pub name: &'static str,
    /// What it counts, and its cost.
    pub desc: &'static str,
    /// Its subject.
    pub subject: Subject,
    #[allow(missing_docs)]
    pub elements: Elements,
    /// What must be recorded for it; no bits if it is always available.
    pub needs: Recording,
    /// The value of an element.
    pub value: fn(Records<'_>, usize) -> u64,
}

/// All totals.
pub const TOTALS: &[Total] = &[
    Total {
        name: "mpiscope_lost_records",
        desc: "Records dropped for lack of space: calls, objects, messages, names. Costs nothing",
        subject: Subject::Recording,
        elements: Elements::Single,
        needs: Recording(0),
        value: |records, _| super::losses::total(&records.header.lost),
    },
    Total {
        name: "mpiscope_lost_by_kind",
        desc: "Records dropped for lack of space, by kind: element i is item i of the enumeration 'mpiscope_loss'. Forgotten \
               tombstones are no loss, and counted here only. Costs nothing",
        subject: Subject::Recording,
        elements: Elements::Named(Loss::ALL.len(), "mpiscope_loss", |kind| Loss(kind).name()),
        needs: Recording(0),
        value: |records, kind| records.header.lost.get(kind).map_or(0, |count| count.get()),
    },
    Total {
        name: "mpiscope_message_sizes_sent",
        desc: "Messages sent by size: element 0 counts those of 0 bytes, element n those of 2^(n-1) to 2^n - 1 bytes. Costs \
               nothing beyond the recording of objects",
        subject: Subject::Messages,
        elements: Elements::Array(SIZE_CLASSES),
        needs: Recording::OBJECTS,
        value: |records, class| records.traffic.and_then(|t| t.sent_sizes.get(class)).map_or(0, |n| n.get()),
    },
    Total {
        name: "mpiscope_message_sizes_received",
        desc: "Messages received by size: element 0 counts those of 0 bytes, element n those of 2^(n-1) to 2^n - 1 bytes. \
               Costs nothing beyond the recording of objects",
        subject: Subject::Messages,
        elements: Elements::Array(SIZE_CLASSES),
        needs: Recording::OBJECTS,
        value: |records, class| {
            records.traffic.and_then(|t| t.received_sizes.get(class)).map_or(0, |n| n.get())
        },
    },
    Total {
        name: "mpiscope_messages_received_unsized",
        desc: "Messages received whose size is not known: by MPI_Isendrecv on MPICH and Intel MPI, whose status does not say, \
               and by receives whose request the program had freed. They count as messages, and not in bytes and sizes. Costs \
               nothing beyond the recording of objects",
        subject: Subject::Messages,
        elements: Elements::Single,
        needs: Recording::OBJECTS,
        value: |records, _| records.traffic.map_or(0, |t| t.received_unsized.get()),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_total_has_a_unique_name_and_every_named_element_a_name() {
        let names: BTreeSet<&str> = TOTALS.iter().map(|total| total.name).collect();
        assert_eq!(names.len(), TOTALS.len());
        for total in TOTALS {
            if let Elements::Named(count, _, name) = total.elements {
                assert!((0..count).all(|at| name(at as u32).is_some()), "{}", total.name);
            }
        }
    }
}
