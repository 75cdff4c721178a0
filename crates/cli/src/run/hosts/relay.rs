//! Serves a process that is about to create an intercommunicator ([`super::meetings`]): asks on its behalf, and
//! passes on the answer. Single bytes follow the first message on the process's socket:
//!
//! | byte | from | meaning |
//! | --- | --- | --- |
//! | `h` | collector | registered: make the call |
//! | `r` | process | the call has returned and has created an intercommunicator |
//! | `y` or `n` | collector | whether the other side is there |
//!
//! A process that closes the socket withdraws. If the first `mpiscope run` cannot be reached, the collector
//! closes it, and the process continues without an answer.

use super::meetings::{Meetings, Registered, Role};
use super::message::{self, Message};
use super::sealed::{Sealed, Secret};
use super::{PLACE, SECRET, uplink};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long the first `mpiscope run` may take to register a process, which waits for that.
const REGISTER: Duration = Duration::from_secs(2);
/// How long it may take to answer: longer than it waits for the other side.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a call may take. An accepting process may wait for days.
const CALL: Duration = Duration::from_secs(30 * 24 * 3600);

const REGISTERED: u8 = b'h';
const READY: u8 = b'r';

/// Where a collector asks.
#[derive(Debug, Clone)]
pub enum Meeting {
    /// In this process, the first `mpiscope run`.
    Here(Arc<Meetings>),
    /// In another process.
    There { place: String, secret: Secret, job: String },
}

impl Meeting {
    /// For the collector of a host: the process that gathers, if there is one.
    pub fn above(job: &str) -> Option<Self> {
        let place = std::env::var(PLACE).ok()?;
        let secret = Secret::parse(&std::env::var(SECRET).ok()?)?;
        Some(Self::There { place, secret, job: job.to_owned() })
    }

    /// Serves a process in the background.
    pub fn serve(&self, process: UnixStream, key: u64, role: Role) {
        let meeting = self.clone();
        let serve = move || meeting.ask(process, key, role);
        // Without a thread or a connection the process gets no answer: its tables lack the other side.
        let _unserved = thread::Builder::new().name("meeting".into()).spawn(serve);
    }

    fn ask(&self, mut process: UnixStream, key: u64, role: Role) -> io::Result<()> {
        process.set_read_timeout(None)?;
        let mut registration = self.register(key, role)?;
        process.write_all(&[REGISTERED])?;
        let mut said = [0];
        process.read_exact(&mut said)?;
        if said != [READY] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let met = registration.meets()?;
        process.write_all(&[if met { b'y' } else { b'n' }])
    }

    fn register(&self, key: u64, role: Role) -> io::Result<Registration> {
        match self {
            Self::Here(meetings) => Ok(Registration::Here(Some(meetings.register(key, role)))),
            Self::There { place, secret, job } => {
                let mut up = uplink::connect(place, secret)?;
                up.patience(REGISTER)?;
                message::send(&mut up, &Message::Meet { job: job.clone(), key, role })?;
                match message::receive(&mut up)? {
                    Message::Go => Ok(Registration::There(Box::new(up))),
                    other => Err(message::unexpected(&other)),
                }
            }
        }
    }
}

enum Registration {
    Here(Option<Registered>),
    There(Box<Sealed>),
}

impl Registration {
    fn meets(&mut self) -> io::Result<bool> {
        match self {
            Self::Here(registered) => Ok(registered.take().is_some_and(Registered::meets)),
            Self::There(up) => {
                up.patience(ANSWER)?;
                message::send(up, &Message::Ready)?;
                match message::receive(up)? {
                    Message::Met(met) => Ok(met),
                    other => Err(message::unexpected(&other)),
                }
            }
        }
    }
}

/// The side of the first `mpiscope run`: serves a host's collector that asks for one of its processes.
pub fn answer(mut host: Sealed, meetings: &Arc<Meetings>, key: u64, role: Role) -> io::Result<()> {
    let registered = meetings.register(key, role);
    host.patience(CALL)?;
    message::send(&mut host, &Message::Go)?;
    match message::receive(&mut host)? {
        Message::Ready => message::send(&mut host, &Message::Met(registered.meets())),
        other => Err(message::unexpected(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::Gather;
    use super::*;
    use std::ffi::OsString;

    /// A process that uses this collector, once it is registered.
    fn process(meeting: &Meeting, key: u64, role: Role) -> UnixStream {
        let (mut process, collector) = UnixStream::pair().unwrap();
        meeting.serve(collector, key, role);
        assert_eq!(read(&mut process), Some(REGISTERED));
        process
    }

    fn read(process: &mut UnixStream) -> Option<u8> {
        let mut byte = [0];
        process.read_exact(&mut byte).ok().map(|()| byte[0])
    }

    fn there(gather: &Gather, secret: Option<Secret>) -> Meeting {
        let text = |value: &OsString| value.to_str().unwrap().to_owned();
        let [(_, place), (_, key)] = gather.variables();
        let port = text(&place).split(' ').next().unwrap().to_owned();
        let secret = secret.or_else(|| Secret::parse(&text(&key))).unwrap();
        Meeting::There { place: format!("{port} 127.0.0.1"), secret, job: "job".into() }
    }

    #[test]
    fn a_process_here_and_one_on_another_host_meet_and_a_third_does_not() {
        let gather = Gather::begin("job").unwrap();
        let (here, there) = (Meeting::Here(gather.meetings()), there(&gather, None));
        let mut parent = process(&here, 7, Role::Offers);
        let mut child = process(&there, 7, Role::Comes);
        let mut other = process(&there, 8, Role::Comes);
        [&mut parent, &mut child, &mut other].iter_mut().for_each(|one| one.write_all(&[READY]).unwrap());
        assert_eq!([&mut parent, &mut child, &mut other].map(read), [b'y', b'y', b'n'].map(Some));
    }

    #[test]
    fn a_process_that_closes_its_socket_withdraws() {
        let gather = Gather::begin("job").unwrap();
        let (mut parent, there) =
            (process(&Meeting::Here(gather.meetings()), 7, Role::Offers), there(&gather, None));
        drop(process(&there, 7, Role::Comes));
        parent.write_all(&[READY]).unwrap();
        assert_eq!(read(&mut parent), Some(b'n'));
    }

    #[test]
    fn without_the_secret_nobody_is_registered() {
        let gather = Gather::begin("job").unwrap();
        let (mut child, collector) = UnixStream::pair().unwrap();
        there(&gather, Some(Secret::new().unwrap())).serve(collector, 7, Role::Comes);
        assert_eq!(read(&mut child), None);
    }
}
