//! A process as other processes see it: location, executable and rank.
#![allow(unsafe_code)]

use crate::base::image;
use crate::base::meeting_place::hash;
use crate::record::{modules, process};
use std::mem::size_of;

/// Marks a descriptor, and contains its version.
const MARK: u32 = 0x4d50_0001;

/// Host, executable, process and rank, exchanged between ranks in a fixed size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ProcessDescriptor {
    mark: u32,
    /// Process ID on its host.
    pub pid: i32,
    /// Rank in its world.
    pub rank: i32,
    _pad: u32,
    /// When the process started, in the kernel's ticks since boot.
    pub started: u64,
    host: [u8; 72],
    executable: [u8; 4000],
}

/// Size of a descriptor in bytes.
pub const SIZE: usize = size_of::<ProcessDescriptor>();
const _: () = assert!(SIZE == 4096);

impl ProcessDescriptor {
    /// Describes this process.
    pub fn own(rank: i32) -> Self {
        let mut descriptor = Self {
            mark: MARK,
            pid: image::own_pid() as i32,
            rank,
            _pad: 0,
            started: start_of("self").unwrap_or(0),
            host: [0; 72],
            executable: [0; 4000],
        };
        fill(&mut descriptor.host, process::host().as_bytes());
        fill(&mut descriptor.executable, &modules::executable());
        descriptor
    }

    /// Parses the bytes of another process; `None` if they are not a descriptor.
    pub fn from_bytes(bytes: &[u8; SIZE]) -> Option<Self> {
        // SAFETY: integers and bytes only, so that every bit pattern is valid; the source may be unaligned.
        let mut descriptor: Self = unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() };
        // Terminate the text inside its field, whatever the other process wrote.
        descriptor.host.last_mut().into_iter().chain(descriptor.executable.last_mut()).for_each(|b| *b = 0);
        (descriptor.mark == MARK && descriptor.pid > 0).then_some(descriptor)
    }

    /// The descriptor's bytes.
    pub fn as_bytes(&self) -> &[u8; SIZE] {
        // SAFETY: integers and bytes without padding, of exactly this size.
        unsafe { &*std::ptr::from_ref(self).cast::<[u8; SIZE]>() }
    }

    /// The host's name.
    pub fn host(&self) -> &[u8] {
        text(&self.host)
    }

    /// Path of the executable.
    pub fn executable(&self) -> &[u8] {
        text(&self.executable)
    }

    /// Whether both are the same process.
    pub fn same(&self, other: &Self) -> bool {
        (self.pid, self.started, self.host()) == (other.pid, other.started, other.host())
    }

    /// The name of the world whose rank 0 this is: unique over all jobs that may ever meet. Fits the image's
    /// field.
    pub fn world(&self) -> String {
        let host = String::from_utf8_lossy(self.host()).into_owned();
        let host = if host.len() > 32 { format!("{:016x}", hash(host.as_bytes())) } else { host };
        format!("{host}:{}:{}", self.pid, self.started)
    }
}

fn fill(to: &mut [u8], from: &[u8]) {
    let room = to.len().saturating_sub(1);
    for (to, from) in to.iter_mut().take(room).zip(from) {
        *to = *from;
    }
}

fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

/// When a process started, in the kernel's ticks since boot: field 22 of its stat.
pub fn start_of(pid: &str) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The command name is in parentheses and may contain anything; there are no parentheses after it.
    let end = stat.iter().rposition(|b| *b == b')')?;
    let rest = String::from_utf8_lossy(stat.get(end + 1..)?).into_owned();
    rest.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_round_trips_as_bytes_and_other_bytes_are_rejected() {
        let descriptor = ProcessDescriptor::own(3);
        let again = ProcessDescriptor::from_bytes(descriptor.as_bytes()).unwrap();
        assert!(again.same(&descriptor) && again.rank == 3 && !again.executable().is_empty());
        assert!(descriptor.started > 0);
        assert!(ProcessDescriptor::from_bytes(&[0; SIZE]).is_none());
    }

    #[test]
    fn worlds_of_long_host_names_fit_the_image() {
        let mut descriptor = ProcessDescriptor::own(0);
        descriptor.host = [b'x'; 72];
        descriptor.host[71] = 0;
        descriptor.pid = i32::MAX;
        descriptor.started = u64::MAX;
        assert!(descriptor.world().len() < 64, "{}", descriptor.world());
    }
}
