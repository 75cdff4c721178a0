//! Finds out whether the other side of a new intercommunicator also has this library if it is on another
//! host of the same `mpiscope run`: asks the collector of this host, which asks the first `mpiscope run`
//! (`run/hosts/relay.rs` of `cli` describes the messages). Elsewhere there is nobody to ask.

use crate::base::collector;
use crate::base::settings::variable;
use crate::base::unix_socket::Socket;
use std::time::Duration;

/// How long registering may take. The library's call waits for it.
const REGISTER: Duration = Duration::from_secs(3);
/// What an answer may take beyond the time for which it is worth waiting.
const LATE: Duration = Duration::from_secs(3);

const REGISTERED: u8 = b'h';
const READY: &[u8] = b"r";
const YES: u8 = b'y';

/// The role of this process.
#[derive(Clone, Copy)]
pub enum Role {
    /// It spawns or accepts.
    Offers,
    /// It was spawned, or connects.
    Comes,
}

/// This process is registered until this is dropped.
pub struct Relay(Socket);

impl Relay {
    /// Registers this process, before the library's call.
    pub fn register(key: u64, role: Role) -> Option<Self> {
        variable(c"MPISCOPE_UPLINK")?;
        Self::at(collector::reach()?, key, role)
    }

    fn at(socket: Socket, key: u64, role: Role) -> Option<Self> {
        let (low, high) = (key as u32, (key >> 32) as u32);
        let kind = match role {
            Role::Offers => b"MPSO",
            Role::Comes => b"MPSM",
        };
        let message = collector::message(kind, [collector::VERSION, low, high]);
        (socket.send(&message) && socket.byte(REGISTER) == Some(REGISTERED)).then_some(Self(socket))
    }

    /// After the call: returns whether the other side is present and has found us.
    pub fn met(self, limit: Duration) -> bool {
        self.0.send(READY) && self.0.byte(limit + LATE) == Some(YES)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream;
    use std::thread;
    use std::time::Instant;

    /// Acts as a collector that sends these bytes: one after the first message, one after the next. Returns
    /// what it has read.
    fn asked(answers: &'static [u8], key: u64, role: Role) -> (Option<bool>, Vec<u8>) {
        let (ours, mut collector) = UnixStream::pair().unwrap();
        let serve = thread::spawn(move || {
            let mut read = vec![0; 16];
            collector.read_exact(&mut read).unwrap();
            for answer in answers.split_inclusive(|_| true) {
                collector.write_all(answer).unwrap();
                let mut more = [0];
                let n = collector.read(&mut more).unwrap();
                read.extend(more.iter().take(n));
            }
            read
        });
        let relay = Relay::at(Socket::of(ours.into_raw_fd()).unwrap(), key, role);
        let met = relay.map(|relay| relay.met(Duration::from_secs(20)));
        (met, serve.join().unwrap())
    }

    #[test]
    fn the_collector_gets_the_agreed_bytes_and_its_answer_counts() {
        let (met, read) = asked(b"hy", 0x0102_0304_0506_0708, Role::Offers);
        let words = [1u32, 0x0506_0708, 0x0102_0304].map(u32::to_ne_bytes).concat();
        assert_eq!((met, read), (Some(true), [b"MPSO".to_vec(), words, b"r".to_vec()].concat()));
        let (met, read) = asked(b"hn", 0, Role::Comes);
        assert_eq!(met, Some(false));
        assert!(read.starts_with(b"MPSM"));
    }

    #[test]
    fn a_collector_that_does_not_answer_delays_a_call_only_for_a_while() {
        let (ours, _silent) = UnixStream::pair().unwrap();
        let begin = Instant::now();
        assert!(Relay::at(Socket::of(ours.into_raw_fd()).unwrap(), 7, Role::Offers).is_none());
        let delay = begin.elapsed();
        assert!(delay >= REGISTER && delay < REGISTER + Duration::from_secs(20), "{delay:?}");
    }

    #[test]
    fn without_an_answer_nothing_is_known() {
        assert_eq!(asked(b"", 7, Role::Comes).0, None);
        assert_eq!(asked(b"h", 7, Role::Comes).0, Some(false));
    }
}
