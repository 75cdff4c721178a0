//! Finds out whether the other side of a new intercommunicator also has this library.
//!
//! A message to processes without it would stay unmatched in their MPI library, or be received by the
//! program, whose next call could then fail because of us. So nothing is sent until both sides know of each
//! other. They find out outside of MPI, over a Unix socket in this user's [folder](meeting_place::folder),
//! where no other user can listen or connect; nevertheless each side checks the other's credentials:
//!
//! ```text
//!  spawning or accepting side                child, or connecting side
//!  offer: listens (before the call)
//!                                            come: leaves a mark (before the call)
//!           ─────────── the library's call ───────────
//!                                            take: connects, or is refused: the other side is not there
//!  taken: sends yes ────────────────────────► reads it: both are present
//! ```
//!
//! Both sides know the prefix of the socket's name: for a spawn it is derived from the job's name, for a
//! connection from the port, for a join from the socket's addresses. The rest is unique to each offer.
//! Neither side waits for one that is not there: the library's call returns on one side while the other is in
//! its own call, and has left its mark by then. Sides on different hosts do not find each other this way; if
//! one `mpiscope run` has started both, it brings them together ([`relay`](super::relay)). Otherwise nothing is
//! sent.
#![allow(unsafe_code)]

use super::relay::{Relay, Role};
use crate::base::complaint::complain;
use crate::base::image;
use crate::base::meeting_place::{self, hash};
use crate::base::settings::variable;
use crate::base::unix_socket::Socket;
use std::ffi::c_int;
use std::fs::{self, File, TryLockError};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long the other side may take to connect after the library's call has returned on ours.
const OFFER: Duration = Duration::from_secs(5);
/// How long an offering process may take to return from the library's call.
const TAKE: Duration = Duration::from_secs(20);
/// Number of connections that may be pending at an offer; a peer that gets no answer tries the next offer.
const BACKLOG: c_int = 128;
/// Suffix of socket names, once the socket is listening.
const SUFFIX: &str = ".meet";
/// Suffix of mark names, once the mark is locked by its creator.
const MARK: &str = ".come";
/// How often an offering process checks whether a peer is still on its way.
const LOOK: Duration = Duration::from_millis(20);
/// The answer to a peer.
const YES: u8 = b'y';

/// What both sides of a meeting know, and nobody else uses.
#[derive(Clone, Copy)]
pub struct Key {
    /// On this host.
    here: u64,
    /// Among the hosts of a job.
    anywhere: u64,
}

impl Key {
    fn of(kind: &[u8], what: &[u8]) -> Self {
        let what = [kind, b" ", what].concat();
        Self { here: meeting_place::key(&what), anywhere: hash(&what) }
    }
}

fn nonblocking() -> Option<Socket> {
    Socket::new(libc::SOCK_NONBLOCK)
}

/// Prefix of all names for a key. It contains the version of the protocol from here on, so that different
/// versions do not meet.
fn prefix(key: u64) -> String {
    format!("{key:016x}-4-")
}

/// The folder in which this user's processes meet. If there is none, complains, and they do not.
fn folder() -> Option<PathBuf> {
    let why = match meeting_place::folder() {
        Ok(folder) => return Some(folder),
        Err(why) => why,
    };
    complain(&format!("spawned and connected jobs cannot find each other: {why}"));
    None
}

/// A socket that listens for the other side, at a path in the folder.
pub struct Offer {
    socket: Socket,
    place: PathBuf,
    key: u64,
    /// For the other side, if it is on another host.
    relay: Option<Relay>,
}

impl Offer {
    /// Starts to listen, before the library's call.
    fn new(folder: &Path, key: u64) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (pid, number) = (image::own_pid(), MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("{}{pid}-{number}", prefix(key));
        let (place, made) = (folder.join(format!("{name}{SUFFIX}")), folder.join(name));
        let socket = nonblocking()?;
        // The final name appears only once the socket listens: a refused peer then knows that the listener is
        // gone.
        let listens =
            socket.listen(made.as_os_str().as_bytes(), BACKLOG) && fs::rename(&made, &place).is_ok();
        if !listens {
            let _gone = fs::remove_file(&made);
            complain(
                "cannot create a socket in the directory where spawned and connected jobs find each other",
            );
        }
        listens.then_some(Self { socket, place, key, relay: None })
    }

    /// Waits for a connection as long as a peer is on its way. Returns whether there is one.
    fn knocked(&self, until: Instant) -> bool {
        while Instant::now() < until {
            // In this order, because a peer that has connected removes its mark.
            let comes = is_coming(&self.place, self.key);
            if self.socket.readable(if comes { LOOK } else { Duration::ZERO }) {
                return true;
            }
            if !comes {
                return false;
            }
        }
        false
    }

    /// After the call: waits for the other side and answers. Returns true if both are present.
    pub fn taken(mut self) -> bool {
        let relay = self.relay.take();
        self.taken_here() || relay.is_some_and(|relay| relay.met(OFFER))
    }

    fn taken_here(&self) -> bool {
        let until = Instant::now() + OFFER;
        while self.knocked(until) {
            let other = self.socket.accept().filter(Socket::is_ours);
            if other.is_some_and(|other| other.send(&[YES])) {
                return true;
            }
        }
        false
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        // A refused peer may already have removed it.
        let _gone = fs::remove_file(&self.place);
    }
}

/// A mark that a process on this host is in the call that will be the other side of an offer. It is locked
/// while its creator lives.
struct Coming {
    place: PathBuf,
    _locked: File,
    /// For the other side, if it is on another host.
    relay: Option<Relay>,
}

impl Coming {
    fn new(folder: &Path, key: u64) -> Option<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (pid, number) = (image::own_pid(), MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("{}{pid}-{number}", prefix(key));
        let (place, made) = (folder.join(format!("{name}{MARK}")), folder.join(format!("{name}.new")));
        let file = File::create_new(&made).ok()?;
        let mark = Self { place, _locked: file, relay: None };
        if mark._locked.try_lock().is_ok() && fs::rename(&made, &mark.place).is_ok() {
            return Some(mark);
        }
        let _gone = fs::remove_file(&made);
        None
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // An offering process may have removed it as a leftover.
        let _gone = fs::remove_file(&self.place);
    }
}

/// Whether a peer is on its way for this key, in the folder of `place`.
fn is_coming(place: &Path, key: u64) -> bool {
    let prefix = prefix(key);
    let Some(entries) = place.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return true };
    let marks = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.as_bytes().starts_with(prefix.as_bytes()) && name.as_bytes().ends_with(MARK.as_bytes())
    });
    marks.map(|entry| entry.path()).any(|mark| is_held(&mark))
}

/// Whether the creator of a mark is still alive; if not, removes the mark.
fn is_held(mark: &Path) -> bool {
    let Ok(file) = File::open(mark) else { return false };
    match file.try_lock() {
        Ok(()) => {
            let _gone = fs::remove_file(mark);
            false
        }
        // If files cannot be locked, assume that it is.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

/// After the library's call: whether a process that offers under this key is present and has seen us.
pub fn take(key: Key) -> bool {
    let relay = MARKS.with(|mark| mark.relay.take()).flatten();
    folder().is_some_and(|folder| take_in(&folder, key.here)) || relay.is_some_and(|relay| relay.met(TAKE))
}

fn take_in(folder: &Path, key: u64) -> bool {
    let until = Instant::now() + TAKE;
    let prefix = prefix(key);
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let names = entries.flatten().map(|entry| entry.file_name());
    let offers = names.filter(|name| {
        let name = name.as_bytes();
        name.starts_with(prefix.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
    });
    offers.map(|name| folder.join(name)).any(|place| accepted(&place, until))
}

/// Whether the process listening at this path is present and has seen us.
fn accepted(place: &Path, until: Instant) -> bool {
    let Some(socket) = nonblocking() else { return false };
    if !socket.connect(place.as_os_str().as_bytes()) {
        if std::io::Error::last_os_error().raw_os_error() == Some(libc::ECONNREFUSED) {
            // The listener is gone and has left its name behind.
            let _gone = fs::remove_file(place);
        }
        return false;
    }
    socket.is_ours() && socket.byte(until.saturating_duration_since(Instant::now())) == Some(YES)
}

fn thread() -> libc::pthread_t {
    // SAFETY: no arguments, always succeeds.
    unsafe { libc::pthread_self() }
}

/// A value that a thread keeps between the two hooks of a call.
struct ByThread<T>(Mutex<Vec<(libc::pthread_t, T)>>);

impl<T> ByThread<T> {
    /// Stores the thread's value, dropping one left over from a call that was exited by a jump.
    fn put(&self, new: T) {
        drop(self.take());
        if let Ok(mut all) = self.0.lock() {
            all.push((thread(), new));
        }
    }

    /// Removes and returns the thread's value.
    fn take(&self) -> Option<T> {
        let mut all = self.0.lock().ok()?;
        let at = all.iter().position(|(other, _)| *other == thread())?;
        Some(all.swap_remove(at).1)
    }

    /// Changes the thread's value in place.
    fn with<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut all = self.0.lock().ok()?;
        all.iter_mut().find(|(other, _)| *other == thread()).map(|(_, value)| change(value))
    }
}

static OFFERS: ByThread<Offer> = ByThread(Mutex::new(Vec::new()));
static MARKS: ByThread<Coming> = ByThread(Mutex::new(Vec::new()));

/// Before a call that creates an intercommunicator: offers under this key.
pub fn offer(key: Key) {
    if let Some(mut offer) = folder().and_then(|folder| Offer::new(&folder, key.here)) {
        offer.relay = Relay::register(key.anywhere, Role::Offers);
        OFFERS.put(offer);
    }
}

/// After the call: takes the offer that [`offer`] made.
pub fn offered() -> Option<Offer> {
    OFFERS.take()
}

/// Before a call that may be the other side of an offer under this key: leaves a mark. Since every `MPI_Init`
/// is such a call, a missing folder is not reported here but where it matters.
pub fn come(key: Key) {
    come_from(key, || Relay::register(key.anywhere, Role::Comes));
}

/// Before `MPI_Init`, like [`come`]. Only spawned processes get the variable: others need not ask.
pub fn come_if_spawned(key: Key) {
    let spawned = || variable(c"MPISCOPE_SECRET").is_some();
    come_from(key, || spawned().then(|| Relay::register(key.anywhere, Role::Comes)).flatten());
}

fn come_from(key: Key, relay: impl FnOnce() -> Option<Relay>) {
    if let Some(mut mark) = meeting_place::folder().ok().and_then(|folder| Coming::new(&folder, key.here)) {
        mark.relay = relay();
        MARKS.put(mark);
    }
}

/// After the call and [`take`]: removes the mark.
pub fn came() {
    drop(MARKS.take());
}

/// The key for a spawn: parents and children have the same job.
pub fn of_job() -> Key {
    let job = variable(c"MPISCOPE_JOB");
    Key::of(b"job", job.as_ref().map_or(&b"?"[..], |job| job.to_bytes()))
}

/// The key for a connection.
pub fn of_port(port: &[u8]) -> Key {
    Key::of(b"port", port)
}

/// The key for a join over a socket, and whether this side offers; `None` if the addresses do not distinguish
/// the sides.
pub fn of_socket(socket: c_int) -> Option<(Key, bool)> {
    type Name = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;
    let name = |get: Name| {
        let mut bytes = [0u8; size_of::<libc::sockaddr_storage>()];
        let mut len = bytes.len() as libc::socklen_t;
        // SAFETY: the buffer is as long as `len` says.
        let known = unsafe { get(socket, bytes.as_mut_ptr().cast(), &mut len) } == 0;
        known.then(|| bytes.get(..len as usize).unwrap_or_default().to_vec())
    };
    let (own, peer) = (name(libc::getsockname)?, name(libc::getpeername)?);
    let (first, second) = if own < peer { (&own, &peer) } else { (&peer, &own) };
    (own != peer).then(|| (Key::of(b"join", &[first.as_slice(), second.as_slice()].concat()), own > peer))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::thread;

    fn key(name: &str) -> Key {
        Key::of(b"test", format!("{name} {}", std::process::id()).as_bytes())
    }

    fn offer_here(key: Key) -> Offer {
        Offer::new(&folder().unwrap(), key.here).unwrap()
    }

    #[test]
    fn two_processes_that_are_present_find_each_other() {
        let key = key("both");
        offer(key);
        come(key);
        let other = thread::spawn(move || take(key));
        assert!(offered().unwrap().taken());
        assert!(other.join().unwrap());
        came();
    }

    #[test]
    fn taking_without_an_offer_fails_immediately_and_several_may_offer_under_one_key() {
        let key = key("several");
        let begin = Instant::now();
        assert!(!take(key));
        assert!(begin.elapsed() < Duration::from_secs(1));
        let offers: Vec<Offer> = (0..12).map(|_| offer_here(key)).collect();
        come(key);
        let takers: Vec<_> = (0..12).map(|_| thread::spawn(move || take(key))).collect();
        // An offer that one taker misses is taken by another.
        let taken: Vec<_> = offers.into_iter().map(|offer| thread::spawn(|| offer.taken())).collect();
        assert!(taken.into_iter().all(|offer| offer.join().unwrap()));
        assert!(takers.into_iter().all(|taker| taker.join().unwrap()));
        came();
    }

    #[test]
    fn an_offer_waits_only_for_processes_that_are_coming() {
        let key = key("comes");
        let begin = Instant::now();
        assert!(!offer_here(key).taken());
        assert!(begin.elapsed() < OFFER / 2, "nobody comes");
        let offer = offer_here(key);
        come(key);
        let taker = thread::spawn(move || {
            thread::sleep(10 * LOOK);
            take(key)
        });
        assert!(offer.taken() && taker.join().unwrap());
        let (offer, begin) = (offer_here(key), Instant::now());
        came();
        assert!(!offer.taken() && begin.elapsed() < OFFER / 2, "nobody comes any more");
    }

    #[test]
    fn the_marker_of_a_killed_process_is_removed_and_blocks_nobody() {
        let (key, begin) = (key("killed on the way"), Instant::now());
        let mark = folder().unwrap().join(format!("{}1-1{MARK}", prefix(key.here)));
        File::create(&mark).unwrap();
        assert!(!offer_here(key).taken() && begin.elapsed() < OFFER / 2 && !mark.exists());
    }

    #[test]
    fn an_offer_that_is_given_up_convinces_nobody_and_leaves_no_file() {
        let key = key("gives up");
        let offer = offer_here(key);
        let place = offer.place.clone();
        let taker = thread::spawn(move || take(key));
        assert!(offer.socket.readable(OFFER));
        drop(offer);
        assert!(!taker.join().unwrap() && !place.exists());
    }

    #[test]
    fn files_left_by_a_killed_process_are_removed_by_the_next_to_look() {
        let key = key("killed");
        let place = folder().unwrap().join(format!("{}1-1{SUFFIX}", prefix(key.here)));
        let socket = Socket::new(0).unwrap();
        assert!(socket.listen(place.as_os_str().as_bytes(), 1));
        drop(socket);
        assert!(!take(key) && !place.exists());
    }

    /// What another user can do: listen where offers are, and connect to one.
    fn stranger(place: &Path, other: &Path) -> (bool, bool) {
        // SAFETY: the child makes only system calls, on its own memory, and never returns.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let away = libc::setuid(65534) == 0;
                let listens = Socket::new(0).is_some_and(|s| s.listen(other.as_os_str().as_bytes(), 1));
                let connects = Socket::new(0).is_some_and(|s| s.connect(place.as_os_str().as_bytes()));
                libc::_exit(i32::from(!away) << 2 | i32::from(listens) << 1 | i32::from(connects));
            }
            let mut status = 0;
            libc::waitpid(child, &mut status, 0);
            libc::WEXITSTATUS(status)
        };
        assert_eq!(status & 4, 0, "the child did not become somebody else");
        (status & 2 != 0, status & 1 != 0)
    }

    #[test]
    fn another_user_can_neither_replace_an_offer_nor_connect_to_one() {
        // SAFETY: no arguments, always succeeds.
        if unsafe { libc::geteuid() } != 0 {
            return;
        }
        let key = key("stranger");
        let offer = offer_here(key);
        let squatted = offer.place.with_file_name(format!("{}0-0{SUFFIX}", prefix(key.here)));
        assert_eq!(stranger(&offer.place, &squatted), (false, false));
        come(key);
        let taker = thread::spawn(move || take(key));
        assert!(offer.taken() && taker.join().unwrap());
        came();
    }

    #[test]
    fn both_ends_of_a_socket_agree_on_its_name_and_on_who_offers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        let (one, other) = (of_socket(one.as_raw_fd()).unwrap(), of_socket(other.as_raw_fd()).unwrap());
        assert_eq!(one.0.anywhere, other.0.anywhere);
        assert!(one.1 != other.1);
        assert!(of_socket(-1).is_none());
    }
}
