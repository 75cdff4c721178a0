//! What the calls of a process were seen to do wrong.

use crate::model::rank::Rank;
use mpi_abi::constant::{self, Category};
use mpiscope_image::Source;
use mpiscope_image::faults::{self, FaultKind};
use serde::{Deserialize, Serialize};

/// A call that did something wrong, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What it was.
    pub kind: Kind,
    /// The function.
    pub function: String,
    /// The line of the user's code.
    pub place: Option<String>,
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator; a negative one is no rank.
    pub peer: i32,
    /// The tag.
    pub tag: i32,
    /// Truncated: room of the receive in bytes, if it is known.
    pub room: Option<u64>,
    /// Truncated: bytes of the message as the library said, which may be those that fitted.
    pub bytes: u64,
    /// Failed: the class of the error, of which this is the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often this was seen at this place.
    pub times: u64,
}

/// What a [`Fault`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message was longer than the receive that it came to.
    Truncated,
    /// A request was freed whose operation was not complete.
    FreedActive,
    /// A call returned an error code.
    Failed,
}

/// Reads those that are remembered, oldest first.
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

fn class<S: Source>(rank: &Rank<'_, S>, class: u64) -> String {
    let value = i64::from((class as u32).cast_signed());
    let name = constant::name_of(rank.process().abi, Category::ERROR, value);
    name.map_or_else(|| format!("error class {value}"), str::to_owned)
}
