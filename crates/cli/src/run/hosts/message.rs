//! The messages between a host and the gatherer: a length and a line of JSON, followed by the file itself
//! after `Evidence` and `Seen`.

use super::meetings::Role;
use super::sealed::Sealed;
use mpiscope_job::base::json;
use mpiscope_job::questions::live::Progress;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// Maximum length of a message; longer ones are rejected. The list of a host's ranks is the longest.
const LONGEST: u32 = 1 << 20;
/// Maximum length of an evidence file; longer ones are rejected.
pub const LONGEST_EVIDENCE: u64 = 8 << 30;

/// The identity of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name, for display.
    pub host: String,
    /// A unique identifier.
    pub id: String,
    /// The Slurm job that its ranks run in, if any: the gatherer is outside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slurm: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Host: identifies itself and its job.
    Hello {
        /// The name of the job.
        job: String,
        from: Identity,
    },
    /// Host, instead of `Hello`, on a connection of its own: a process is about to create an intercommunicator.
    Meet {
        /// The name of the job.
        job: String,
        /// What both sides have in common.
        key: u64,
        /// The process's side.
        role: Role,
    },
    /// Host, after `Meet`: the process has created it.
    Ready,
    /// Gatherer, after `Ready`: whether a process of the other side is there.
    Met(bool),
    /// Gatherer: queries the host's clock.
    Time,
    /// Host: its `CLOCK_MONOTONIC`, in nanoseconds.
    Clock(u64),
    /// Gatherer: the hosts of the job that have connected so far.
    Hosts(Vec<String>),
    /// Gatherer: carry on.
    Go,
    /// Gatherer: the launcher has ended; send what you have.
    Now,
    /// Gatherer: take two snapshots and send the result.
    Look {
        /// Interval between the snapshots.
        milliseconds: u64,
        /// Whether to include stacks, which stops each thread for a moment.
        stacks: bool,
    },
    /// Host, periodically: a sign of life, with the ranks it has seen.
    Alive(Vec<u32>),
    /// Host, before `Alive`: the progress of its ranks, if that has changed.
    Progress(Progress),
    /// Host: the snapshots follow, as a file of this many bytes; 0 if there is none.
    Seen(u64),
    /// Host: its final file follows, of this many bytes.
    Evidence(u64),
    /// Gatherer: the file has arrived.
    Taken,
}

pub fn send(to: &mut Sealed, message: &Message) -> io::Result<()> {
    let text = json::text(message)?;
    let len = u32::try_from(text.len()).map_err(io::Error::other)?;
    to.write_all(&[&len.to_be_bytes(), text.as_slice()].concat())
}

/// Waits for a message.
pub fn receive(from: &mut Sealed) -> io::Result<Message> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len);
    if len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; len as usize];
    from.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Makes the error for an unexpected message.
pub fn unexpected(message: &Message) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected message {message:?}"))
}
