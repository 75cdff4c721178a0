//! Errors observed in a process's calls.

use crate::model::rank::Rank;
use mpi_abi::constant::{self, Category};
use mpiscope_image::Source;
use mpiscope_image::faults::{self, FaultKind};
use serde::{Deserialize, Serialize};

/// A faulty call and how often it occurred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Kind of fault.
    pub kind: Kind,
    /// The function.
    pub function: String,
    /// Source line in user code.
    pub place: Option<String>,
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator; a negative value is not a rank.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// If truncated: size of the receive buffer in bytes, if known.
    pub room: Option<u64>,
    /// If truncated: size of the message as reported by the library, which may be only the part that fitted.
    pub bytes: u64,
    /// If failed: the error class of the latest failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of occurrences at this place.
    pub times: u64,
}

/// Kind of a [`Fault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message was longer than its receive buffer.
    Truncated,
    /// A request was freed before its operation was complete.
    FreedActive,
    /// A call returned an error code.
    Failed,
}

/// Reads the recorded faults, oldest first.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Vec<Fault> {
    let known = faults::read(rank.image()).unwrap_or_default();
    let fault = |fault: &faults::Fault| {
        let kind = match FaultKind(fault.kind.get()) {
            FaultKind::TRUNCATED => Kind::Truncated,
            FaultKind::FREED_ACTIVE => Kind::FreedActive,
            FaultKind::FAILED => Kind::Failed,
            _ => return None,
        };
        Some(Fault {
            kind,
            function: rank.process().function((fault.function.get() as usize).wrapping_sub(1)),
            place: rank.place(fault.from.get()),
            comm: fault.comm.get(),
            peer: fault.peer.get().cast_signed(),
            tag: fault.tag.get().cast_signed(),
            room: Some(fault.room.get()).filter(|room| *room != 0),
            bytes: fault.bytes.get(),
            error: (kind == Kind::Failed).then(|| class(rank, fault.bytes.get())),
            times: fault.times.get(),
        })
    };
    known.iter().filter_map(fault).collect()
}

/// The name of an error class.
pub(super) fn class<S: Source>(rank: &Rank<'_, S>, class: u64) -> String {
    let value = i64::from((class as u32).cast_signed());
    let name = constant::name_of(rank.process().abi, Category::ERROR, value);
    name.map_or_else(|| format!("error class {value}"), str::to_owned)
}
