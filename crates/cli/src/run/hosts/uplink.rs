//! The host's side: sends signs of life to the gatherer, and finally the evidence.

use super::super::evidence;
use super::super::follow::Seen;
use super::message::{self, Identity, Message};
use super::sealed::{Sealed, Secret, Side};
use super::{PLACE, SECRET, patience};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::jobs::announced::{self, Announcement};
use mpiscope_job::jobs::scheduler::SlurmId;
use mpiscope_job::questions::live::Progress;
use std::env;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connection timeout per address.
const CONNECT: Duration = Duration::from_secs(3);
/// Interval between signs of life.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Interval between attempts to reconnect.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(5);

/// The error if the gatherer was connected and has ended.
const GONE: &str = "`mpiscope run` in front of the launcher has ended";

/// Whether an error of [`Uplink::deliver`] says that the gatherer has ended.
pub fn is_gone(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::ConnectionAborted
}

/// Whether a process gathers.
pub fn wanted() -> bool {
    env::var_os(PLACE).is_some() && env::var_os(SECRET).is_some()
}

enum News {
    Ranks(Vec<u32>),
    Evidence(File),
}

/// The connection, maintained by a thread.
pub struct Uplink {
    news: Sender<News>,
    told: Told,
    thread: JoinHandle<io::Result<()>>,
}

/// Progress of this host's ranks, shared with the thread that passes it to the gatherer, which then watches
/// them.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<(bool, Option<Progress>)>>);

impl Told {
    fn state(&self) -> MutexGuard<'_, (bool, Option<Progress>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the progress. Returns false if no gatherer is connected.
    pub fn progress(&self, now: Option<Progress>) -> bool {
        let mut state = self.state();
        state.1 = now;
        state.0
    }

    /// Whether a gatherer is connected.
    pub fn is_connected(&self) -> bool {
        self.state().0
    }

    fn connected(&self, is: bool) {
        self.state().0 = is;
    }

    /// Handles the end of the connection. A gatherer that received everything has also reported on it.
    fn over<T>(&self, ended: &io::Result<T>) {
        if ended.is_err() {
            self.connected(false);
        }
    }

    fn now(&self) -> Option<Progress> {
        self.state().1.clone()
    }
}

impl Uplink {
    /// Connects in the background if a process gathers. `seen` is what is seen of the ranks while they run.
    pub fn begin(job: &str, seen: Seen) -> Option<Self> {
        let place = env::var(PLACE).ok()?;
        let secret = Secret::parse(&env::var(SECRET).ok()?)?;
        let (news, hears) = channel();
        let (job, told) = (job.to_owned(), Told::default());
        let tells = told.clone();
        let work = move || {
            let ended = keep(&place, &secret, &job, (&seen, &tells), &hears);
            tells.over(&ended);
            ended
        };
        let thread = thread::Builder::new().name("uplink".into()).spawn(work).ok()?;
        Some(Self { news, told, thread })
    }

    /// Returns the place to put the progress of this host's ranks.
    pub fn told(&self) -> Told {
        self.told.clone()
    }

    /// Sets the ranks of this host.
    pub fn ranks(&self, ranks: Vec<u32>) {
        // A failed connection is reported at the end.
        let _gone = self.news.send(News::Ranks(ranks));
    }

    /// Sends the evidence and waits until it has been received.
    ///
    /// # Errors
    /// If it was not received; the caller must then use it otherwise.
    pub fn deliver(self, evidence: &File) -> io::Result<()> {
        let _gone = self.news.send(News::Evidence(evidence.try_clone()?));
        drop(self.news);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the connection failed, as said above")))
    }
}

/// Parses a port and addresses.
fn addresses(place: &str) -> Option<Vec<SocketAddr>> {
    let mut words = place.split_whitespace();
    let port: u16 = words.next()?.parse().ok()?;
    Some(words.filter_map(|word| Some(SocketAddr::new(word.parse::<IpAddr>().ok()?, port))).collect())
}

/// Connects to the process that gathers.
pub fn connect(place: &str, secret: &Secret) -> io::Result<Sealed> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address to connect to");
    for address in addresses(place).unwrap_or_default() {
        let made = TcpStream::connect_timeout(&address, CONNECT);
        match made.and_then(|socket| Sealed::make(socket, secret, Side::Host)) {
            Ok(sealed) => return Ok(sealed),
            // On another network the address may belong to a different machine.
            Err(why) => last = io::Error::new(why.kind(), format!("{address}: {why}")),
        }
    }
    Err(last)
}

/// Keeps the connection, and reconnects when it is lost: networks recover, and the ranks may run for long.
fn keep(
    place: &str,
    secret: &Secret,
    job: &str,
    (seen, told): (&Seen, &Told),
    news: &Receiver<News>,
) -> io::Result<()> {
    let others = Others { job, announced: None };
    let mut line = Line { others, seen, told, said: None, news, ranks: Vec::new(), reached: None };
    // If the first connection fails, later ones will too.
    let mut up = line.begin(place, secret)?;
    loop {
        let why = match line.talk(&mut up) {
            Ok(Some(file)) => return send(&mut up, &file).map_err(|why| line.undelivered(why)),
            Ok(None) => return Ok(()),
            Err(why) if is_answer(&why) => return Err(why),
            Err(why) => why,
        };
        told.connected(false);
        up = loop {
            match news.recv_timeout(RECONNECT_INTERVAL) {
                Ok(News::Ranks(now)) => line.ranks = now,
                Ok(News::Evidence(file)) => {
                    let mut up = line.begin(place, secret).map_err(|_| line.undelivered(why))?;
                    message::send(&mut up, &Message::Alive(line.ranks.clone()))?;
                    answer(&mut up, &mut line.others)?;
                    return send(&mut up, &file);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(why),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Ok(up) = line.begin(place, secret) {
                break up;
            }
        };
    }
}

/// Whether the error is a deliberate answer of the peer, which does not want to continue.
fn is_answer(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

/// The state of the conversation; it outlives single connections.
struct Line<'a> {
    others: Others<'a>,
    seen: &'a Seen,
    told: &'a Told,
    /// The progress sent last.
    said: Option<Progress>,
    news: &'a Receiver<News>,
    ranks: Vec<u32>,
    /// The address of the gatherer, if it was ever connected.
    reached: Option<SocketAddr>,
}

impl Line<'_> {
    fn begin(&mut self, place: &str, secret: &Secret) -> io::Result<Sealed> {
        let mut up = connect(place, secret)?;
        message::send(&mut up, &Message::Hello { job: self.others.job.to_owned(), from: identity() })?;
        match answer(&mut up, &mut self.others)? {
            Message::Go => {}
            other => return Err(message::unexpected(&other)),
        }
        up.patience(patience())?;
        self.said = None;
        self.reached = up.peer();
        self.told.connected(true);
        Ok(up)
    }

    /// Returns the error for data that was not received. Where nobody listens any more, nobody will take it.
    fn undelivered(&self, why: io::Error) -> io::Error {
        let refuses = |address| {
            let made = TcpStream::connect_timeout(&address, CONNECT);
            made.is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused)
        };
        match self.reached.is_some_and(refuses) {
            true => io::Error::new(io::ErrorKind::ConnectionAborted, GONE),
            false => why,
        }
    }

    /// Sends signs of life until there is evidence to send; `None` if it has already been sent.
    fn talk(&mut self, up: &mut Sealed) -> io::Result<Option<File>> {
        loop {
            match self.news.recv_timeout(HEARTBEAT) {
                Ok(News::Ranks(now)) => self.ranks = now,
                Ok(News::Evidence(file)) => return Ok(Some(file)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("nothing to send")),
            }
            self.say_progress(up)?;
            message::send(up, &Message::Alive(self.ranks.clone()))?;
            match answer(up, &mut self.others)? {
                Message::Go => {}
                Message::Look { milliseconds, stacks } => {
                    self.look(up, Duration::from_millis(milliseconds), stacks)?;
                }
                Message::Now => return self.send_now(up).map(|()| None),
                other => return Err(message::unexpected(&other)),
            }
        }
    }

    fn say_progress(&mut self, up: &mut Sealed) -> io::Result<()> {
        let now = self.told.now();
        if let Some(now) = now.filter(|now| self.said.as_ref() != Some(now)) {
            message::send(up, &Message::Progress(now.clone()))?;
            self.said = Some(now);
        }
        Ok(())
    }

    /// Takes snapshots of the ranks, which may hang, and sends the result.
    fn look(&mut self, up: &mut Sealed, pause: Duration, stacks: bool) -> io::Result<()> {
        let job = self.others.job;
        if let Some(file) = self.saving(up, || evidence::of_host(job, pause, stacks))? {
            return deliver(up, &file, Message::Seen);
        }
        message::send(up, &Message::Seen(0))?;
        taken(up)
    }

    /// Sends the current state of ranks that outlive their launcher.
    fn send_now(&mut self, up: &mut Sealed) -> io::Result<()> {
        let (job, seen) = (self.others.job, self.seen);
        match self.saving(up, || evidence::at_the_end(job, &[], seen))? {
            Some(file) => send(up, &file),
            None => Err(io::Error::other("nothing can be saved")),
        }
    }

    /// Runs `save` while sending signs of life, as it may take longer than the silence allowed for a host.
    fn saving(
        &mut self,
        up: &mut Sealed,
        save: impl FnOnce() -> Option<File> + Send,
    ) -> io::Result<Option<File>> {
        let (done, over) = channel();
        thread::scope(|scope| {
            scope.spawn(move || done.send(save()));
            loop {
                match over.recv_timeout(HEARTBEAT) {
                    Ok(saved) => return Ok(saved),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                }
                message::send(up, &Message::Alive(self.ranks.clone()))?;
                match answer(up, &mut self.others)? {
                    Message::Go | Message::Now | Message::Look { .. } => {}
                    other => return Err(message::unexpected(&other)),
                }
            }
        })
    }
}

/// The announcement by which commands run on this host find the other hosts.
struct Others<'a> {
    job: &'a str,
    announced: Option<Announcement>,
}

/// Receives an answer. Clock queries and host lists that come first are handled here.
fn answer(up: &mut Sealed, others: &mut Others<'_>) -> io::Result<Message> {
    loop {
        match message::receive(up)? {
            Message::Hosts(names) => {
                announced::announce_again(&mut others.announced, others.job, &names, identity().slurm);
            }
            Message::Time => message::send(up, &Message::Clock(Moment::now().monotonic_ns))?,
            other => return Ok(other),
        }
    }
}

/// Sends the final file.
fn send(up: &mut Sealed, evidence: &File) -> io::Result<()> {
    deliver(up, evidence, Message::Evidence)
}

fn deliver(up: &mut Sealed, mut file: &File, announced: impl Fn(u64) -> Message) -> io::Result<()> {
    io::Seek::rewind(&mut file)?;
    let len = file.metadata()?.len();
    message::send(up, &announced(len))?;
    io::copy(&mut io::Read::take(&mut file, len), up)?;
    taken(up)
}

fn taken(up: &mut Sealed) -> io::Result<()> {
    match message::receive(up)? {
        Message::Taken => Ok(()),
        other => Err(message::unexpected(&other)),
    }
}

/// Returns the identity of this host.
fn identity() -> Identity {
    let here = mpiscope_job::sources::host_identity::HostIdentity::here();
    let slurm = SlurmId::of_process(std::process::id()).map(|id| id.to_string());
    Identity { host: here.name.clone(), id: here.key(), slurm }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_has_sent_its_data_prints_nothing_unless_its_connection_failed() {
        for (ended, is_heard) in [(Ok(()), true), (Err(io::Error::from(io::ErrorKind::BrokenPipe)), false)] {
            let told = Told::default();
            told.connected(true);
            told.over(&ended);
            assert_eq!(told.progress(None), is_heard);
        }
    }

    #[test]
    fn addresses_of_both_families_are_parsed_and_others_skipped() {
        let found = addresses("4711 10.0.0.1 x fe80::1 ::1").unwrap();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.1:4711", "[fe80::1]:4711", "[::1]:4711"]);
        assert_eq!(addresses("x 10.0.0.1"), None);
        assert_eq!(addresses("7"), Some(Vec::new()));
    }
}
