//! Errors observed in a process's calls.

use super::epochs;
use crate::model::objects;
use crate::model::rank::Rank;
use mpi_abi::constant::{self, Category};
use mpiscope_image::Source;
use mpiscope_image::faults::{self, FaultKind};
use mpiscope_image::layout::SectionKind;
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
    /// If truncated: size of the receive buffer in bytes, if known. If the ends differ: size at the target.
    pub room: Option<u64>,
    /// If truncated: size of the message as reported by the library, which may be only the part that fitted. If
    /// the ends differ: size at the origin.
    pub bytes: u64,
    /// If failed: the error class of the latest failure. If untimely: why it was made at the wrong time, `without
    /// a lock`. If freed: the kind of object.
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
    /// A call on a window was made at the wrong time, and the library let it pass.
    Untimely,
    /// The two ends of a one-sided operation have different elements.
    EndsDiffer,
    /// A call was given the handle of an object that had been freed.
    FreedHandle,
}

impl Fault {
    /// Formats `MPI_Win_unlock at a.c:9 was called without a lock…` for a call at the wrong time.
    #[must_use]
    pub fn untimely(&self) -> Option<String> {
        let why = self.error.as_deref().filter(|_| self.kind == Kind::Untimely)?;
        let at = self.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        Some(format!("{}{at} was called on a window {why}, which the library did not report", self.function))
    }
}

/// Reads the recorded faults, oldest first.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Vec<Fault> {
    let known = faults::read(rank.image()).unwrap_or_default();
    let fault = |fault: &faults::Fault| {
        let kind = match FaultKind(fault.kind.get()) {
            FaultKind::TRUNCATED => Kind::Truncated,
            FaultKind::FREED_ACTIVE => Kind::FreedActive,
            FaultKind::FAILED => Kind::Failed,
            FaultKind::UNTIMELY => Kind::Untimely,
            FaultKind::ENDS_DIFFER => Kind::EndsDiffer,
            FaultKind::FREED_HANDLE => Kind::FreedHandle,
            _ => return None,
        };
        let number = fault.function.get().wrapping_sub(1);
        Some(Fault {
            kind,
            function: rank.process().function(number as usize),
            place: rank.place(fault.from.get()),
            comm: fault.comm.get(),
            peer: fault.peer.get().cast_signed(),
            tag: fault.tag.get().cast_signed(),
            room: Some(fault.room.get()).filter(|room| *room != 0 || kind == Kind::EndsDiffer),
            bytes: fault.bytes.get(),
            error: match kind {
                Kind::Failed => Some(class(rank, fault.bytes.get())),
                Kind::Untimely => Some(untimely(rank, number, fault)?),
                Kind::FreedHandle => Some(object_kind(fault.bytes.get())?.to_owned()),
                Kind::Truncated | Kind::FreedActive | Kind::EndsDiffer => None,
            },
            times: fault.times.get(),
        })
    };
    known.iter().filter_map(fault).collect()
}

/// The name of the kind of objects in a section.
fn object_kind(section: u64) -> Option<&'static str> {
    Some(objects::Kind::of_section(SectionKind(u32::try_from(section).ok()?))?.noun())
}

/// Why a window call was made at the wrong time.
fn untimely<S: Source>(rank: &Rank<'_, S>, function: u32, fault: &faults::Fault) -> Option<String> {
    let function = rank.process().functions.get(function)?;
    epochs::recorded(function, &fault.open_epochs(), i64::from(fault.peer.get().cast_signed()))
}

/// The name of an error class.
pub(super) fn class<S: Source>(rank: &Rank<'_, S>, class: u64) -> String {
    let value = i64::from((class as u32).cast_signed());
    let name = constant::name_of(rank.process().abi, Category::ERROR, value);
    name.map_or_else(|| format!("error class {value}"), str::to_owned)
}
