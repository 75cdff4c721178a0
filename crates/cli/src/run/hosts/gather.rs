//! The side that reports: hears the hosts of the job while it runs, takes their evidence when it ends.

mod again;
mod looks;
mod refused;

pub use looks::Hosts;

use super::message::{self, LONGEST_EVIDENCE, Message};
use super::sealed::{HANDSHAKE, Sealed, Secret, Side};
use super::{FromHost, PLACE, SECRET, SILENT, patience};
use looks::{Asked, Seen};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::base::clock_offset::{HostClock, Offset};
use mpiscope_job::jobs::announced::{self, Announcement};
use mpiscope_job::jobs::evidence::{self, Evidence};
use mpiscope_job::questions::live::Progress;
use refused::Refused;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Hosts say something every second; one that has been silent for so long is lost.
pub const SILENCE: Duration = Duration::from_secs(8);
/// A host that has said something so lately still saves what it knows, or sends it.
const SPEAKS: Duration = Duration::from_secs(3);
/// Such a host is waited for so many times as long as another one.
const AS_LONG_AS_IT_SPEAKS: u32 = 4;
/// What is said of it then.
const BUSY: &str = "it was still saving what it knows; MPISCOPE_HOST_SECONDS gives it longer";
/// How long ranks may outlive their launcher before their hosts are asked for what there is.
const LATE: Duration = Duration::from_secs(3);
/// What is said if somebody was not heard.
const UNHEARD: &str = "hosts could not be heard for a while: `ulimit -n` and `ulimit -u` limit files and threads of `mpiscope run`";
/// How long nobody is taken in after that failed.
const DEAF: Duration = Duration::from_millis(100);
/// Strangers that are listened to at once.
const MOST_STRANGERS: usize = 256;
/// How often a clock is asked at first: the quickest answer counts.
const ASKED: usize = 4;
/// Clocks drift: each is asked again so long after that, and again.
const ASKED_AGAIN: Duration = Duration::from_secs(10);

/// A host that has proved that it belongs to the job; one that came several times is there several times.
struct Known {
    /// As people see it: two hosts may call themselves the same.
    host: String,
    /// As it is reached.
    name: String,
    id: String,
    ranks: Vec<u32>,
    heard: Instant,
    clock: HostClock,
    /// How far its ranks are.
    progress: Option<Progress>,
    /// What it saw when it was asked last.
    seen: Option<Seen>,
    /// What it sent when that is here, or why it is not.
    outcome: Option<Result<Evidence, String>>,
}

#[derive(Default)]
struct Shared {
    hosts: Mutex<Vec<Known>>,
    news: Condvar,
    strangers: AtomicUsize,
    /// Somebody came for whom there was no descriptor or no thread.
    unheard: AtomicBool,
    refused: Mutex<Refused>,
    /// What hosts are to look for.
    asked: Mutex<Asked>,
    /// When the launcher ended.
    ended: Mutex<Option<Instant>>,
    over: AtomicBool,
    announced: Mutex<Option<Announcement>>,
}

impl Shared {
    fn hosts(&self) -> MutexGuard<'_, Vec<Known>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether ranks run that should have ended with their launcher: then what is known of them now is all there will be.
    fn is_late(&self) -> bool {
        let ended = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.is_some_and(|ended| ended.elapsed() > LATE)
    }

    /// The answer to a host that is there.
    fn next(&self, turn: &mut Turn) -> Message {
        if self.is_late() {
            return Message::Now;
        }
        let wanted = self.wanted();
        if turn.looks || wanted.number == turn.number {
            return Message::Go;
        }
        *turn = Turn { number: wanted.number, looks: true };
        let milliseconds = u64::try_from(wanted.pause.as_millis()).unwrap_or(u64::MAX);
        Message::Look { milliseconds, stacks: wanted.stacks }
    }

    /// What hosts are to look for now.
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

/// What a host has been asked to look for last, and whether it still does.
struct Turn {
    number: u64,
    looks: bool,
}

/// One who has not proved yet that he belongs to the job, as long as it is there.
struct Stranger(Arc<Shared>);

impl Stranger {
    /// None if there are too many.
    fn one_more(shared: &Arc<Shared>) -> Option<Self> {
        let stranger = Self(Arc::clone(shared));
        (shared.strangers.fetch_add(1, Ordering::Relaxed) < MOST_STRANGERS).then_some(stranger)
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.strangers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A host that says nothing, and has not sent what it knows.
pub struct Silent {
    /// Its name.
    pub host: String,
    /// The ranks that its wrappers stand for.
    pub ranks: Vec<u32>,
    /// For how long.
    pub since: Duration,
}

/// Listens until it is asked for what it heard.
pub struct Gather {
    secret: Secret,
    port: u16,
    shared: Arc<Shared>,
}

impl Gather {
    /// Begins to listen.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn begin(job: &str) -> io::Result<Self> {
        let secret = Secret::new()?;
        let listener = TcpListener::bind(("::", 0)).or_else(|_| TcpListener::bind(("0.0.0.0", 0)))?;
        let (port, shared) = (listener.local_addr()?.port(), Arc::new(Shared::default()));
        let (job, key, all) = (job.to_owned(), secret.clone(), Arc::clone(&shared));
        thread::Builder::new().name("gather".into()).spawn(move || accept(&listener, &job, &key, &all))?;
        Ok(Self { secret, port, shared })
    }

    /// What the launcher's environment needs.
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        let addresses = if_addrs::get_if_addrs().unwrap_or_default();
        let addresses = addresses.iter().filter(|one| !one.is_loopback() && !one.is_link_local());
        let addresses: Vec<String> = addresses.map(|one| one.ip().to_string()).collect();
        let place = format!("{} {}", self.port, addresses.join(" "));
        [(PLACE, place.into()), (SECRET, self.secret.text().into())]
    }

    /// The hosts, to be looked at while their ranks run.
    pub fn hosts(&self) -> Hosts {
        Hosts(Arc::clone(&self.shared))
    }

    /// The hosts that are lost as far as anybody knows.
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

    /// Who came and was refused or not heard, each in a sentence.
    pub fn refused(&self) -> Vec<String> {
        let refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).said();
        let unheard = self.shared.unheard.load(Ordering::Relaxed).then(|| UNHEARD.to_owned());
        refused.into_iter().chain(unheard).collect()
    }

    /// The launcher has ended, and with it, soon, the job: waits for what its hosts have to say, as long as they are there, and gives it.
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
                known.outcome.is_none() && silent <= SILENCE && (passed < patience || silent <= SPEAKS)
            };
            if passed >= patience * AS_LONG_AS_IT_SPEAKS || !hosts.iter().any(is_waited_for) {
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
    FromHost { host: known.host, ranks: known.ranks, clock: Some(known.clock), evidence }
}

/// Why there is nothing of a host that has not said why.
fn busy_or_silent(known: &Known) -> String {
    if known.heard.elapsed() <= SPEAKS { BUSY.to_owned() } else { SILENT.to_owned() }
}

fn accept(listener: &TcpListener, job: &str, secret: &Secret, shared: &Arc<Shared>) {
    for socket in listener.incoming() {
        if shared.over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(socket) = socket else {
            // Without a descriptor whoever waits would be found at once, again and again.
            shared.unheard.store(true, Ordering::Relaxed);
            thread::sleep(DEAF);
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
                // Who does not know the secret gets no answer, and costs nobody anything.
                Err(_) => all.refuse(from),
            }
        };
        // Without a thread the host is not heard, and missed in the report.
        if thread::Builder::new().name("host".into()).stack_size(1 << 20).spawn(hear).is_err() {
            shared.unheard.store(true, Ordering::Relaxed);
        }
    }
}

/// One host, from its first word to its last.
fn hear(mut host: Sealed, job: &str, shared: &Shared) {
    let Ok(at) = greet(&mut host, job, shared) else { return };
    let outcome = listen(&mut host, at, shared).map_err(|why| reason(&why));
    // Opened while others are heard; the file is open from now on, and may lose its name.
    let outcome = outcome.and_then(|file| evidence::open(file.path()).map_err(|why| why.to_string()));
    shared.change(at, |known| {
        // A host that came again has another connection by now.
        known.outcome.get_or_insert(outcome);
    });
    let _gone = message::send(&mut host, &Message::Taken);
}

fn greet(host: &mut Sealed, job: &str, shared: &Shared) -> io::Result<usize> {
    host.patience(HANDSHAKE)?;
    let Message::Hello { job: theirs, from } = message::receive(host)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if theirs != job {
        return Err(io::ErrorKind::InvalidData.into());
    }
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
        outcome: None,
    });
    // Whoever looks at the job from here finds its hosts by that.
    let names = again::names(&hosts);
    let mut announced = shared.announced.lock().unwrap_or_else(PoisonError::into_inner);
    announced::announce_again(&mut announced, job, &names, from.slurm);
    Ok(hosts.len() - 1)
}

/// What time is it there, and how far is that from ours?
fn ask(host: &mut Sealed) -> io::Result<(u64, Offset)> {
    let sent = Moment::now().monotonic_ns;
    message::send(host, &Message::Time)?;
    match message::receive(host)? {
        Message::Clock(theirs) => Ok((theirs, Offset::of(sent, theirs, Moment::now().monotonic_ns))),
        other => Err(message::unexpected(&other)),
    }
}

/// Until the evidence is here.
fn listen(host: &mut Sealed, at: usize, shared: &Shared) -> io::Result<NamedTempFile> {
    host.patience(SILENCE)?;
    let mut timed = Instant::now();
    // What others were asked for before it came is not asked of it.
    let mut turn = Turn { number: shared.wanted().number, looks: false };
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
                let seen = saw(host, len, at, shared)?;
                turn.looks = false;
                shared.change(at, |known| known.seen = Some(Seen { number: turn.number, evidence: seen }));
                message::send(host, &Message::Taken)?;
            }
            Ok(Message::Evidence(len)) if len <= LONGEST_EVIDENCE => return take(host, len, at, shared),
            Ok(other) => return Err(message::unexpected(&other)),
            // A host that is only slow speaks again.
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

/// What a host sees that was asked to look.
fn saw(host: &mut Sealed, len: u64, at: usize, shared: &Shared) -> io::Result<Result<Evidence, String>> {
    if len == 0 {
        return Ok(Err("no rank of it could be looked at".to_owned()));
    }
    let file = take(host, len, at, shared)?;
    Ok(evidence::open(file.path()).map_err(|why| why.to_string()))
}

fn reason(why: &io::Error) -> String {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match why.kind() {
        UnexpectedEof | ConnectionReset | BrokenPipe => {
            "its connection ended: was it lost, or all of the job killed there?".to_owned()
        }
        _ => why.to_string(),
    }
}

fn timed_out(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn take(host: &mut Sealed, len: u64, at: usize, shared: &Shared) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
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
    File::rewind(file.as_file_mut())?;
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
