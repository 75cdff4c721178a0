//! Objects that ceased to exist when the program left MPI.
//!
//! | left | what ends |
//! | --- | --- |
//! | the world and all sessions | everything except infos, which the standard allows at any time |
//! | the world, but not all sessions | what was made from `MPI_COMM_WORLD` or `MPI_COMM_SELF` |

use super::common::{Common, Lifetime};
use super::kind::Kind;
use super::reader::Reader;
use mpiscope_image::Source;
use mpiscope_image::layout::{SectionKind, State};
use mpiscope_image::objects::{Comm, Flag, Head, kind_of};

/// Maximum number of ancestors followed: a damaged image may contain a cycle.
const MOST_ANCESTORS: usize = 64;

impl<S: Source> Reader<'_, S> {
    /// Whether an object that the program has not freed has ended with its use of MPI.
    pub(super) fn has_ended(&self, head: &Head) -> bool {
        match self.state() {
            State::FINALIZED => kind_of(head.uid.get()) != SectionKind::INFOS,
            _ => self.left_world() && self.is_of_world(head),
        }
    }

    /// The state of a predefined object without a record.
    pub(super) fn standing_of_unseen(&self, common: &Common) -> Lifetime {
        let of_world = matches!(common.name.as_deref(), Some("MPI_COMM_WORLD" | "MPI_COMM_SELF"));
        let ended = match self.state() {
            State::FINALIZED => common.kind != Kind::Info,
            _ => self.left_world() && of_world,
        };
        if ended && common.standing == Lifetime::Live { Lifetime::Ended } else { common.standing }
    }

    /// Whether an object was made from a predefined communicator, through any number of others.
    fn is_of_world(&self, head: &Head) -> bool {
        let is_root = |head: &Head| {
            kind_of(head.uid.get()) == SectionKind::COMMS && head.flags.get() & Flag::PREDEFINED.0 != 0
        };
        if is_root(head) {
            return true;
        }
        let mut parent = head.parent.get();
        for _ in 0..MOST_ANCESTORS {
            if kind_of(parent) != SectionKind::COMMS {
                return false;
            }
            let Ok(Some(entry)) = self.entry_of(parent) else { return false };
            let Ok(record) = self.record_of::<Comm>(SectionKind::COMMS, entry.index) else { return false };
            if is_root(&record.value.head) {
                return true;
            }
            parent = record.value.head.parent.get();
        }
        false
    }
}
