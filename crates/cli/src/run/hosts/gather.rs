//! The reporting side: listens to the hosts of the job while it runs, and takes their evidence when it ends.

mod again;
mod looks;
mod refused;
mod snapshots;

pub use looks::Hosts;

use super::meetings::Meetings;
use super::message::{self, Identity, LONGEST_EVIDENCE, Message};
use super::relay;
use super::sealed::{HANDSHAKE, Sealed, Secret, Side};
use super::{Earlier, FromHost, PLACE, SECRET, SILENT, patience};
use looks::{Asked, Seen};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::base::clock_offset::{HostClock, Offset};
use mpiscope_job::jobs::announced::{self, Announcement};
use mpiscope_job::jobs::evidence::{self, Evidence};
use mpiscope_job::questions::live::Progress;
use refused::Refused;
use snapshots::{For, Snapshots};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Hosts send a message every second; a host that has been silent for this long is lost.
pub const SILENCE: Duration = Duration::from_secs(8);
/// A host heard from this recently is still saving or sending its data.
const RECENTLY_HEARD: Duration = Duration::from_secs(3);
/// Factor by which such a host may exceed the normal timeout.
const EXTENSION_WHILE_HEARD: u32 = 4;
/// The message if it exceeds that too.
const STILL_SAVING: &str = "it was still saving its data; set MPISCOPE_HOST_SECONDS to give it more time";
/// How long ranks may outlive their launcher before their hosts are asked for partial results.
const RANKS_MAY_OUTLIVE_LAUNCHER: Duration = Duration::from_secs(3);
/// The message if connections were refused for lack of resources.
const CONNECTIONS_REFUSED: &str = "hosts could not connect for a while: `ulimit -n` and `ulimit -u` limit the files and threads \
                       of `mpiscope run`";
/// How long no connections are accepted after `accept` failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of unauthenticated connections.
const MOST_UNAUTHENTICATED: usize = 256;
/// Number of initial clock queries per host; the fastest answer counts.
const ASKED: usize = 4;
/// Interval between later clock queries, since clocks drift.
const ASKED_AGAIN: Duration = Duration::from_secs(10);

/// An authenticated host. A host that connected several times has several entries.
struct Known {
    /// Name for display, unique even if two hosts have the same name.
    host: String,
    /// Name by which the host is reached.
    name: String,
    id: String,
    ranks: Vec<u32>,
    heard: Instant,
    clock: HostClock,
    /// The latest progress of its ranks.
    progress: Option<Progress>,
    /// The latest answer to a look.
    seen: Option<Seen>,
    /// The latest snapshot, for the case that the host never sends its final evidence.
    snapshot: Option<(Instant, File)>,
    /// The evidence that the host sent, or why there is none; `None` while it is awaited.
    outcome: Option<Result<Evidence, String>>,
}

#[derive(Default)]
struct Shared {
    hosts: Mutex<Vec<Known>>,
    news: Condvar,
    strangers: AtomicUsize,
    /// A connection was refused for lack of a file descriptor or thread.
    unheard: AtomicBool,
    refused: Mutex<Refused>,
    /// The look that hosts are asked for.
    asked: Mutex<Asked>,
    /// When the launcher ended.
    ended: Mutex<Option<Instant>>,
    over: AtomicBool,
    meetings: Arc<Meetings>,
    announced: Mutex<Option<Announcement>>,
}

impl Shared {
    fn hosts(&self) -> MutexGuard<'_, Vec<Known>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether ranks still run that should have ended with their launcher: what is known of them now is all
    /// there will be.
    fn is_late(&self) -> bool {
        let ended = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.is_some_and(|ended| ended.elapsed() > RANKS_MAY_OUTLIVE_LAUNCHER)
    }

    /// Returns the answer to a host's sign of life.
    fn next(&self, turn: &mut Turn) -> Message {
        if self.is_late() {
            return Message::Now;
        }
        if turn.looks.is_some() {
            return Message::Go;
        }
        let wanted = self.wanted();
        if wanted.number == turn.number {
            return turn.snapshots.next(&mut turn.looks);
        }
        (turn.number, turn.looks) = (wanted.number, Some(For::Asked));
        let milliseconds = u64::try_from(wanted.pause.as_millis()).unwrap_or(u64::MAX);
        Message::Look { milliseconds, stacks: wanted.stacks }
    }

    /// Returns the look that is currently asked for.
    fn wanted(&self) -> Asked {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, from: Option<IpAddr>) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).add(from);
    }

    fn change(&self, at: usize, change: impl FnOnce(&mut Known)) {
        if let Some(known) = self.hosts().get_mut(at) {
            known.heard = Instant::now();
            change(known);
        }
        self.news.notify_all();
    }
}

/// The look that a host was asked for last, and what it is working on.
struct Turn {
    number: u64,
    looks: Option<For>,
    snapshots: Snapshots,
}

/// A connection that has not yet authenticated.
struct Stranger(Arc<Shared>);

impl Stranger {
    /// Counts one more; `None` if there are too many.
    fn one_more(shared: &Arc<Shared>) -> Option<Self> {
        let stranger = Self(Arc::clone(shared));
        (shared.strangers.fetch_add(1, Ordering::Relaxed) < MOST_UNAUTHENTICATED).then_some(stranger)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.strangers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A host that has gone silent without sending its evidence.
pub struct Silent {
    pub host: String,
    /// The ranks of its wrappers.
    pub ranks: Vec<u32>,
    /// How long it has been silent.
    pub since: Duration,
}

/// Listens until [`finish`](Self::finish) collects the results.
pub struct Gather {
    secret: Secret,
    port: u16,
    shared: Arc<Shared>,
}

impl Gather {
    /// Starts listening.
    ///
    /// # Errors
    /// If no port is available.
    pub fn begin(job: &str) -> io::Result<Self> {
        let secret = Secret::new()?;
        let listener = TcpListener::bind(("::", 0)).or_else(|_| TcpListener::bind(("0.0.0.0", 0)))?;
        let (port, shared) = (listener.local_addr()?.port(), Arc::new(Shared::default()));
        let (job, key, all) = (job.to_owned(), secret.clone(), Arc::clone(&shared));
        thread::Builder::new().name("gather".into()).spawn(move || accept(&listener, &job, &key, &all))?;
        Ok(Self { secret, port, shared })
    }

    /// Returns the variables that the launcher's environment needs.
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        let addresses = if_addrs::get_if_addrs().unwrap_or_default();
        let addresses = addresses.iter().filter(|one| !one.is_loopback() && !one.is_link_local());
        let addresses: Vec<String> = addresses.map(|one| one.ip().to_string()).collect();
        let place = format!("{} {}", self.port, addresses.join(" "));
        [(PLACE, place.into()), (SECRET, self.secret.text().into())]
    }

    /// Returns the hosts, for looks while their ranks run.
    pub fn hosts(&self) -> Hosts {
        Hosts(Arc::clone(&self.shared))
    }

    /// Returns the processes that are about to create an intercommunicator.
    pub fn meetings(&self) -> Arc<Meetings> {
        Arc::clone(&self.shared.meetings)
    }

    /// Returns the hosts currently regarded as lost.
    pub fn silent(&self) -> Vec<Silent> {
        let hosts = self.shared.hosts();
        let again = |at: usize, id: &str| hosts.iter().skip(at + 1).any(|later| later.id == id);
        let open = |known: &Known| !matches!(known.outcome, Some(Ok(_)));
        let all = hosts.iter().enumerate().filter(|(at, known)| open(known) && !again(*at, &known.id));
        let silent = all.map(|(_, known)| Silent {
            host: known.host.clone(),
            ranks: known.ranks.clone(),
            since: known.heard.elapsed(),
        });
        silent.filter(|host| host.since > SILENCE).collect()
    }

    /// Lists connections that were refused or not heard, as sentences.
    pub fn refused(&self) -> Vec<String> {
        let refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).said();
        let unheard = self.shared.unheard.load(Ordering::Relaxed).then(|| CONNECTIONS_REFUSED.to_owned());
        refused.into_iter().chain(unheard).collect()
    }

    /// Called after the launcher has ended. Waits for the data of hosts that still show signs of life, and
    /// returns it.
    pub fn finish(&self) -> Vec<FromHost> {
        self.finish_within(patience())
    }

    fn finish_within(&self, patience: Duration) -> Vec<FromHost> {
        let began = Instant::now();
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(began);
        let mut hosts = self.shared.hosts();
        loop {
            let passed = began.elapsed();
            let is_waited_for = |known: &Known| {
                let silent = known.heard.elapsed();
                known.outcome.is_none()
                    && silent <= SILENCE
                    && (passed < patience || silent <= RECENTLY_HEARD)
            };
            if passed >= patience * EXTENSION_WHILE_HEARD || !hosts.iter().any(is_waited_for) {
                break;
            }
            let wait = Duration::from_millis(200);
            hosts = self.shared.news.wait_timeout(hosts, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        self.shared.over.store(true, Ordering::Relaxed);
        again::once(std::mem::take(&mut *hosts)).into_iter().map(given).collect()
    }
}

fn given(known: Known) -> FromHost {
    let why = busy_or_silent(&known);
    let evidence = known.outcome.unwrap_or(Err(why));
    let heard = known.heard;
    let earlier = known.snapshot.filter(|_| evidence.is_err()).and_then(|(at, file)| {
        Some(Earlier { evidence: opened(file).ok()?, before: heard.saturating_duration_since(at) })
    });
    FromHost {
        host: known.host,
        ranks: known.ranks,
        clock: Some(known.clock),
        evidence,
        earlier,
        is_snapshot: false,
    }
}

/// Explains why nothing came from a host that gave no reason itself.
fn busy_or_silent(known: &Known) -> String {
    if known.heard.elapsed() <= RECENTLY_HEARD { STILL_SAVING.to_owned() } else { SILENT.to_owned() }
}

fn accept(listener: &TcpListener, job: &str, secret: &Secret, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(socket) = socket else {
            // Out of descriptors: without a pause, the pending connection would keep waking this loop.
            shared.unheard.store(true, Ordering::Relaxed);
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let Some(stranger) = Stranger::one_more(shared) else {
            shared.refuse(socket.peer_addr().ok().map(|peer| peer.ip()));
            continue;
        };
        let (job, secret, all) = (job.to_owned(), secret.clone(), Arc::clone(shared));
        let hear = move || {
            let from = socket.peer_addr().ok().map(|peer| peer.ip());
            let sealed = Sealed::make(socket, &secret, Side::Gatherer);
            drop(stranger);
            match sealed {
                Ok(sealed) => hear(sealed, &job, &all),
                // A client that does not know the secret gets no answer.
                Err(_) => all.refuse(from),
            }
        };
        // Without a thread the host is not heard, and is missing from the report.
        if thread::Builder::new().name("host".into()).stack_size(1 << 20).spawn(hear).is_err() {
            shared.unheard.store(true, Ordering::Relaxed);
        }
    }
}

/// Serves a connection, from its first message to its last.
fn hear(mut host: Sealed, job: &str, shared: &Shared) {
    let first = host.patience(HANDSHAKE).and_then(|()| message::receive(&mut host));
    match first {
        Ok(Message::Hello { job: theirs, from }) if theirs == job => hear_host(host, from, job, shared),
        Ok(Message::Meet { job: theirs, key, role }) if theirs == job => {
            let _gone = relay::answer(host, &shared.meetings, key, role);
        }
        _ => {}
    }
}

/// Serves one host.
fn hear_host(mut host: Sealed, from: Identity, job: &str, shared: &Shared) {
    let Ok(at) = greet(&mut host, from, job, shared) else { return };
    let outcome = listen(&mut host, at, shared).map_err(|why| reason(&why));
    // Opened outside the lock.
    let outcome = outcome.and_then(opened);
    shared.change(at, |known| {
        // A host that came again has another connection by now.
        let outcome = known.outcome.get_or_insert(outcome);
        known.snapshot.take_if(|_| outcome.is_ok());
    });
    let _gone = message::send(&mut host, &Message::Taken);
}

fn greet(host: &mut Sealed, from: Identity, job: &str, shared: &Shared) -> io::Result<usize> {
    let (theirs, offset) = ask(host)?;
    let mut clock = HostClock::new(theirs, offset);
    for _ in 1..ASKED {
        let (theirs, offset) = ask(host)?;
        clock.add(theirs, offset);
    }
    message::send(host, &Message::Go)?;
    let mut hosts = shared.hosts();
    let shown = again::shown(&hosts, &from);
    hosts.push(Known {
        host: shown,
        name: from.host,
        id: from.id,
        ranks: Vec::new(),
        heard: Instant::now(),
        clock,
        progress: None,
        seen: None,
        snapshot: None,
        outcome: None,
    });
    // Commands run on this host find the job's other hosts by the announcement.
    let names = again::names(&hosts);
    let mut announced = shared.announced.lock().unwrap_or_else(PoisonError::into_inner);
    announced::announce_again(&mut announced, job, &names, from.slurm);
    Ok(hosts.len() - 1)
}

/// Queries the host's clock and its offset from ours.
fn ask(host: &mut Sealed) -> io::Result<(u64, Offset)> {
    let sent = Moment::now().monotonic_ns;
    message::send(host, &Message::Time)?;
    match message::receive(host)? {
        Message::Clock(theirs) => Ok((theirs, Offset::of(sent, theirs, Moment::now().monotonic_ns))),
        other => Err(message::unexpected(&other)),
    }
}

/// Handles messages until the evidence has arrived.
fn listen(host: &mut Sealed, at: usize, shared: &Shared) -> io::Result<File> {
    host.patience(SILENCE)?;
    let mut timed = Instant::now();
    // Looks requested before the host connected do not concern it.
    let mut turn = Turn { number: shared.wanted().number, looks: None, snapshots: Snapshots::new() };
    let mut tells = again::Tells::default();
    loop {
        match message::receive(host) {
            Ok(Message::Alive(ranks)) => {
                shared.change(at, |known| known.ranks = ranks);
                if timed.elapsed() > ASKED_AGAIN {
                    let (theirs, offset) = ask(host)?;
                    shared.change(at, |known| known.clock.add(theirs, offset));
                    timed = Instant::now();
                }
                let news = tells.news(&shared.hosts());
                if let Some(names) = news {
                    message::send(host, &Message::Hosts(names))?;
                }
                message::send(host, &shared.next(&mut turn))?;
            }
            Ok(Message::Progress(now)) => shared.change(at, |known| known.progress = Some(now)),
            Ok(Message::Seen(len)) if len <= LONGEST_EVIDENCE => {
                saw(host, (len, at), &mut turn, shared)?;
                message::send(host, &Message::Taken)?;
            }
            Ok(Message::Evidence(len)) if len <= LONGEST_EVIDENCE => return take(host, len, at, shared),
            Ok(other) => return Err(message::unexpected(&other)),
            // A host that is merely slow will speak again.
            Err(why) if timed_out(&why) && !shared.over.load(Ordering::Relaxed) => {
                let known = shared.hosts().get(at).map(|known| known.heard.elapsed());
                if known.is_none_or(|silent| silent > patience()) {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, SILENT));
                }
            }
            Err(why) => return Err(why),
        }
    }
}

/// Receives a host's answer to a look.
fn saw(host: &mut Sealed, (len, at): (u64, usize), turn: &mut Turn, shared: &Shared) -> io::Result<()> {
    let file = if len == 0 { None } else { Some(take(host, len, at, shared)?) };
    if turn.looks.take() == Some(For::Snapshot) {
        turn.snapshots.taken();
        let file = file.map(|file| (Instant::now(), file));
        shared.change(at, |known| known.snapshot = file.or(known.snapshot.take()));
        return Ok(());
    }
    let evidence = file.map_or_else(|| Err("none of its ranks could be read".to_owned()), opened);
    shared.change(at, |known| known.seen = Some(Seen { number: turn.number, evidence }));
    Ok(())
}

/// Opens what a host sent.
fn opened(file: File) -> Result<Evidence, String> {
    evidence::read(Path::new("what it sent"), Box::new(file)).map_err(|why| why.to_string())
}

fn reason(why: &io::Error) -> String {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match why.kind() {
        UnexpectedEof | ConnectionReset | BrokenPipe => {
            "its connection was closed: was the host lost, or the whole job killed there?".to_owned()
        }
        _ => why.to_string(),
    }
}

fn timed_out(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn take(host: &mut Sealed, len: u64, at: usize, shared: &Shared) -> io::Result<File> {
    // Without a name, so that nothing of it remains if this process is killed.
    let mut file = tempfile::tempfile()?;
    let mut left = len;
    let mut buffer = vec![0; 64 << 10];
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let piece = buffer.get_mut(..most).unwrap_or_default();
        let n = host.read(piece)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        io::Write::write_all(&mut file, piece.get(..n).unwrap_or_default())?;
        left = left.saturating_sub(n as u64);
        shared.change(at, |_| ());
    }
    file.rewind()?;
    Ok(file)
}

impl Drop for Gather {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        *self.shared.announced.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // Wakes the listener, which then ends.
        let _woken =
            TcpStream::connect_timeout(&([127, 0, 0, 1], self.port).into(), Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests;
