//! Partitioned messages (MPI 5.0, chapter "Partitioned Point-to-Point Communication"), as seen by one of
//! their two sides.

use super::special::Special;
use crate::RankSet;
use mpiscope_image::derive::live;
use mpiscope_image::objects::serial_of;
use mpiscope_image::traffic::{Request, RequestKind};
use serde::{Deserialize, Serialize};

/// Number of partitions whose state is known individually.
const NAMED: u32 = u64::BITS;

/// One side of a partitioned message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitioned {
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// Whether this is the sender's side.
    pub sends: bool,
    /// Number of its request, of those that the process has made.
    #[serde(default)]
    pub made: u64,
    /// Number of times it was started.
    pub starts: u64,
    /// Whether it has been started and its completion has not been observed.
    pub active: bool,
    /// The partitions marked ready, for an active send.
    pub ready: Option<Ready>,
    /// Size of the whole message in bytes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Source line of the start or, failing that, of the call that created the request.
    pub place: Option<String>,
}

/// The partitions of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Number of partitions.
    pub partitions: u32,
    /// Number of partitions marked ready.
    pub marked: u32,
    /// Bit mask of the first 64 partitions that are marked ready.
    pub bits: u64,
}

impl Ready {
    /// Describes the partitions not marked ready: `partitions [1,3-5] of 8`; `None` if all are.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let Self { partitions, marked, bits } = *self;
        let missing: RankSet =
            (0..partitions.min(NAMED)).filter(|partition| bits >> partition & 1 == 0).collect();
        match missing.0.len() {
            _ if partitions > NAMED => {
                let left = partitions.checked_sub(marked).filter(|left| *left > 0)?;
                Some(format!("{left} of {partitions} partitions"))
            }
            0 => None,
            1 => Some(format!("partition {missing} of {partitions}")),
            _ => Some(format!("partitions {missing} of {partitions}")),
        }
    }
}

/// Decodes a request; `None` if it is not a partitioned message or its peer is `MPI_PROC_NULL`. `bytes`
/// returns the size of a number of its elements.
pub fn of(
    request: &Request,
    special: Special,
    bytes: impl FnOnce(u64) -> Option<u64>,
    place: impl FnOnce() -> Option<String>,
) -> Option<Partitioned> {
    let kind = RequestKind(request.kind.get());
    if !kind.is_partitioned() {
        return None;
    }
    let sends = kind == RequestKind::PSEND;
    let active = live::is_under_way(&request.head);
    let marked = request.source.get().checked_sub(1).filter(|_| sends && active);
    let (partitions, bits) = (request.partitions.get(), request.order.get());
    Some(Partitioned {
        comm: request.comm_identity.get(),
        peer: special.rank(i64::from(request.peer.get().cast_signed()))??,
        tag: request.tag.get().cast_signed(),
        sends,
        made: serial_of(request.head.uid.get()),
        starts: request.starts.get(),
        active,
        ready: marked.map(|marked| Ready { partitions, marked, bits }),
        bytes: request.count.get().checked_mul(u64::from(partitions)).and_then(bytes),
        place: place(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_not_marked_ready_are_listed_or_counted_if_there_are_many() {
        let missing = |partitions, marked, bits| Ready { partitions, marked, bits }.missing();
        assert_eq!(missing(2, 2, 0b11), None);
        assert_eq!(missing(2, 1, 0b01).as_deref(), Some("partition 1 of 2"));
        assert_eq!(missing(8, 3, 0b1100_0001).as_deref(), Some("partitions [1-5] of 8"));
        assert_eq!(missing(64, 64, u64::MAX), None);
        assert_eq!(missing(200, 199, u64::MAX).as_deref(), Some("1 of 200 partitions"));
        assert_eq!(missing(200, 200, u64::MAX), None);
    }
}
