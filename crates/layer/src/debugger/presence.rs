//! Whether the other side of a new intercommunicator has this library too.
//!
//! A message to processes without it would stay unmatched in their library, or be received by the program: their next
//! call could fail through us. So nothing is sent before both sides know of each other, and they say so beside MPI, over
//! an abstract Unix socket on this host; either side looks whether the other is this user:
//!
//! ```text
//!  one who spawns or accepts                 the child, or one who connects
//!  offer: listens (before the call)
//!           ─────────── the library's call ───────────
//!                                            take: connects, or is refused: nobody is there
//!  taken: says yes ─────────────────────────► reads it: both are here
//! ```
//!
//! Both know the name: for a spawn it is that of the job, for a connection the port, for a join the addresses of the
//! socket. Sides on different hosts do not find each other this way, and then nothing is sent.
#![allow(unsafe_code)]

use super::process_descriptor;
use crate::base::unix_socket::Socket;
use std::ffi::c_int;
use std::mem::size_of;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long the other side may take to come, once the library's call has returned on ours.
const OFFER: Duration = Duration::from_secs(5);
/// How long one who offers may take to return from the library's call.
const TAKE: Duration = Duration::from_secs(20);
/// Offers of the same name that may be open at once: several ranks of a job may spawn.
const PLACES: u32 = 8;
/// What is said.
static YES: u8 = b'y';

/// A socket that does not block.
struct Meeting(Socket);

impl Meeting {
    fn new() -> Option<Self> {
        Socket::new(libc::SOCK_NONBLOCK).map(Self)
    }

    /// Waits until there is something to read or accept.
    fn ready(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let mut poll = libc::pollfd { fd: self.0.descriptor(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry, which is ours.
            let ready = unsafe { libc::poll(&mut poll, 1, left.as_millis() as c_int) };
            if ready > 0 {
                return true;
            }
            // Programs may be interrupted as often as they like.
            let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
            if ready == 0 || !interrupted || left.is_zero() {
                return false;
            }
        }
    }
}

/// What is listened under. The number is that of what is told over it and thereafter: those of another version do not meet.
fn name(key: u64, place: u32) -> Vec<u8> {
    // SAFETY: no arguments, always succeeds.
    let user = unsafe { libc::geteuid() };
    format!("mpiscope/{user}/meet2/{key:016x}/{place}").into_bytes()
}

/// Somebody who listens for the other side.
pub struct Offer(Meeting);

impl Offer {
    /// Listens under a name, before the library's call.
    fn new(key: u64) -> Option<Self> {
        (0..PLACES).find_map(|place| {
            let meeting = Meeting::new()?;
            meeting.0.listen(&name(key, place), 4).then_some(Self(meeting))
        })
    }

    /// After the call: waits for the other side, and answers that we are here. True if both are.
    pub fn taken(self) -> bool {
        let until = Instant::now() + OFFER;
        while self.0.ready(until.saturating_duration_since(Instant::now())) {
            // SAFETY: no address is wanted.
            let other = unsafe {
                let listener = self.0.0.descriptor();
                libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC)
            };
            let Some(other) = Socket::of(other).map(Meeting) else { continue };
            // SAFETY: one byte; a closed connection is an error here, no signal.
            let answered = other.0.is_ours()
                && unsafe {
                    libc::send(other.0.descriptor(), (&raw const YES).cast(), 1, libc::MSG_NOSIGNAL)
                } == 1;
            if answered {
                return true;
            }
        }
        false
    }
}

/// After the library's call: whether somebody who offers under this name is there and has seen us.
pub fn take(key: u64) -> bool {
    let until = Instant::now() + TAKE;
    (0..PLACES).any(|place| {
        let Some(socket) = Meeting::new() else { return false };
        let mut said = 0u8;
        socket.0.connect(&name(key, place))
            && socket.0.is_ours()
            && socket.ready(until.saturating_duration_since(Instant::now()))
            // SAFETY: room for one byte.
            && unsafe { libc::recv(socket.0.descriptor(), (&raw mut said).cast(), 1, 0) } == 1
            && said == YES
    })
}

/// Offers between the two hooks of a call, by thread.
static OFFERS: Mutex<Vec<(libc::pthread_t, Offer)>> = Mutex::new(Vec::new());

/// Before a call that makes an intercommunicator: offers under this name.
pub fn offer(key: u64) {
    let Some(offer) = Offer::new(key) else { return };
    if let Ok(mut offers) = OFFERS.lock() {
        // SAFETY: no arguments, always succeeds.
        let thread = unsafe { libc::pthread_self() };
        // One that is left from a call which was left by a jump.
        offers.retain(|(other, _)| *other != thread);
        offers.push((thread, offer));
    }
}

/// After the call: takes back what [`offer`] offered.
pub fn offered() -> Option<Offer> {
    let mut offers = OFFERS.lock().ok()?;
    // SAFETY: no arguments, always succeeds.
    let thread = unsafe { libc::pthread_self() };
    let at = offers.iter().position(|(other, _)| *other == thread)?;
    Some(offers.swap_remove(at).1)
}

/// The name for a spawn: parents and children have the job in common.
pub fn of_job() -> u64 {
    let job = crate::base::settings::variable(c"MPISCOPE_JOB").map_or(&b"?"[..], |job| job.to_bytes());
    process_descriptor::hash(&[b"job ", job].concat())
}

/// The name for a connection.
pub fn of_port(port: &[u8]) -> u64 {
    process_descriptor::hash(&[b"port ", port].concat())
}

/// The name for a join over a socket, and whether it is ours to offer; nothing if the addresses do not tell the sides
/// apart.
pub fn of_socket(socket: c_int) -> Option<(u64, bool)> {
    type Name = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;
    let name = |get: Name| {
        let mut bytes = [0u8; size_of::<libc::sockaddr_storage>()];
        let mut len = bytes.len() as libc::socklen_t;
        // SAFETY: the place is as long as `len` says.
        let known = unsafe { get(socket, bytes.as_mut_ptr().cast(), &mut len) } == 0;
        known.then(|| bytes.get(..len as usize).unwrap_or_default().to_vec())
    };
    let (own, peer) = (name(libc::getsockname)?, name(libc::getpeername)?);
    let (first, second) = if own < peer { (&own, &peer) } else { (&peer, &own) };
    (own != peer).then(|| {
        (process_descriptor::hash(&[b"join ", first.as_slice(), second.as_slice()].concat()), own > peer)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::thread;

    fn key(name: &str) -> u64 {
        process_descriptor::hash(format!("{name} {}", std::process::id()).as_bytes())
    }

    #[test]
    fn two_who_are_there_know_it_of_each_other() {
        let key = key("both");
        offer(key);
        let other = thread::spawn(move || take(key));
        assert!(offered().unwrap().taken());
        assert!(other.join().unwrap());
    }

    #[test]
    fn nobody_is_refused_at_once_and_several_may_offer_under_one_name() {
        let key = key("several");
        let begin = Instant::now();
        assert!(!take(key));
        assert!(begin.elapsed() < Duration::from_secs(1));
        let offers: Vec<Offer> = (0..3).map(|_| Offer::new(key).unwrap()).collect();
        let takers: Vec<_> = (0..3).map(|_| thread::spawn(move || take(key))).collect();
        // Whom one of them does not take goes on to the next.
        assert!(offers.into_iter().all(Offer::taken));
        assert!(takers.into_iter().all(|taker| taker.join().unwrap()));
    }

    #[test]
    fn one_who_gives_up_leaves_no_belief_behind() {
        let key = key("gives up");
        let offer = Offer::new(key).unwrap();
        let taker = thread::spawn(move || take(key));
        assert!(offer.0.ready(OFFER));
        drop(offer);
        assert!(!taker.join().unwrap());
    }

    #[test]
    fn both_ends_of_a_socket_agree_on_its_name_and_on_who_offers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        let (one, other) = (of_socket(one.as_raw_fd()).unwrap(), of_socket(other.as_raw_fd()).unwrap());
        assert_eq!(one.0, other.0);
        assert!(one.1 != other.1);
        assert!(of_socket(-1).is_none());
    }
}
