//! What a host and the one who gathers say to each other: a length, a line of JSON; after `Evidence` the file itself.

use super::sealed::Sealed;
use mpiscope_job::questions::live::Progress;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};

/// A message longer than this is not believed; the list of ranks of a host is the longest.
const LONGEST: u32 = 1 << 20;
/// An evidence file longer than this is not taken.
pub const LONGEST_EVIDENCE: u64 = 8 << 30;

/// Who a host is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name, for people.
    pub host: String,
    /// What tells it from all others.
    pub id: String,
    /// What its ranks run in, if that is a job of Slurm's: who gathers is outside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slurm: Option<String>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Host: who it is, and of which job.
    Hello {
        /// The name of the job.
        job: String,
        /// The host.
        from: Identity,
    },
    /// Gatherer: what time is it?
    Time,
    /// Host: by its `CLOCK_MONOTONIC`, in nanoseconds.
    Clock(u64),
    /// Gatherer: on which hosts the job is, as far as they have come.
    Hosts(Vec<String>),
    /// Gatherer: go on.
    Go,
    /// Gatherer: the launcher has ended; send what there is.
    Now,
    /// Gatherer: look twice, so many milliseconds apart, and send what you see.
    Look {
        /// How far apart.
        milliseconds: u64,
        /// Whether the stacks are wanted: each thread is stopped for a moment.
        stacks: bool,
    },
    /// Host, now and then: it is there, and has seen these ranks.
    Alive(Vec<u32>),
    /// Host, before that: how far its ranks are, if that is not what it said last.
    Progress(Progress),
    /// Host: what it saw follows, a file of so many bytes; none if there was nothing.
    Seen(u64),
    /// Host: the last file, of so many bytes, follows.
    Evidence(u64),
    /// Gatherer: all is here.
    Taken,
}

/// Sends one.
pub fn send(to: &mut Sealed, message: &Message) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let len = u32::try_from(text.len()).map_err(io::Error::other)?;
    to.write_all(&[&len.to_be_bytes(), text.as_slice()].concat())
}

/// Waits for one.
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

/// A message where another one was expected.
pub fn unexpected(message: &Message) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected message {message:?}"))
}
