//! The side of a host: tells the one who gathers that it is there, and sends what it knows in the end.

use super::super::evidence;
use super::super::follow::Seen;
use super::message::{self, Identity, Message};
use super::sealed::{Sealed, Secret, Side};
use super::{PLACE, SECRET, patience};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::jobs::announced::{self, Announcement};
use mpiscope_job::jobs::scheduler::SlurmId;
use std::env;
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long one address may take to answer.
const CONNECT: Duration = Duration::from_secs(3);
/// How often the host says that it is there.
const BEAT: Duration = Duration::from_secs(1);

/// How long after a connection was lost another one is tried.
const AGAIN: Duration = Duration::from_secs(5);

/// Whether somebody gathers.
pub fn wanted() -> bool {
    env::var_os(PLACE).is_some() && env::var_os(SECRET).is_some()
}

enum News {
    Ranks(Vec<u32>),
    Evidence(PathBuf),
}

/// The connection, which a thread of its own keeps.
pub struct Uplink {
    news: Sender<News>,
    thread: JoinHandle<io::Result<()>>,
}

impl Uplink {
    /// Connects, if somebody gathers; the program does not wait for it. `seen` is what is seen of the ranks while they run.
    pub fn begin(job: &str, seen: Seen) -> Option<Self> {
        let place = env::var(PLACE).ok()?;
        let secret = Secret::parse(&env::var(SECRET).ok()?)?;
        let (news, hears) = channel();
        let job = job.to_owned();
        let work = move || keep(&place, &secret, &job, &seen, &hears);
        let thread = thread::Builder::new().name("uplink".into()).spawn(work).ok()?;
        Some(Self { news, thread })
    }

    /// These ranks are here.
    pub fn ranks(&self, ranks: Vec<u32>) {
        // A connection that failed is reported in the end.
        let _gone = self.news.send(News::Ranks(ranks));
    }

    /// Sends the evidence, and waits until it is there.
    ///
    /// # Errors
    /// When it is not; then it is to be used otherwise.
    pub fn deliver(self, evidence: &Path) -> io::Result<()> {
        let _gone = self.news.send(News::Evidence(evidence.to_owned()));
        drop(self.news);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the connection failed, as said above")))
    }
}

/// Port and addresses.
fn addresses(place: &str) -> Option<Vec<SocketAddr>> {
    let mut words = place.split_whitespace();
    let port: u16 = words.next()?.parse().ok()?;
    Some(words.filter_map(|word| Some(SocketAddr::new(word.parse::<IpAddr>().ok()?, port))).collect())
}

fn connect(place: &str, secret: &Secret) -> io::Result<Sealed> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address to connect to");
    for address in addresses(place).unwrap_or_default() {
        let made = TcpStream::connect_timeout(&address, CONNECT);
        match made.and_then(|socket| Sealed::make(socket, secret, Side::Host)) {
            Ok(sealed) => return Ok(sealed),
            // On another network the address may be somebody else's.
            Err(why) => last = io::Error::new(why.kind(), format!("{address}: {why}")),
        }
    }
    Err(last)
}

/// Keeps the connection, and makes another one when it is lost: networks come back, and the ranks here may run for long.
fn keep(place: &str, secret: &Secret, job: &str, seen: &Seen, news: &Receiver<News>) -> io::Result<()> {
    let mut line = Line { others: Others { job, announced: None }, seen, news, ranks: Vec::new() };
    // Where no connection is possible at first, none is later.
    let mut up = line.begin(place, secret)?;
    loop {
        let why = match line.talk(&mut up) {
            Ok(Some(file)) => return send(&mut up, &file),
            Ok(None) => return Ok(()),
            Err(why) if is_answer(&why) => return Err(why),
            Err(why) => why,
        };
        up = loop {
            match news.recv_timeout(AGAIN) {
                Ok(News::Ranks(now)) => line.ranks = now,
                Ok(News::Evidence(file)) => {
                    let mut up = line.begin(place, secret).map_err(|_| why)?;
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

/// Whether the other side was there, and does not want to go on.
fn is_answer(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

/// What is said on the connections, one after the other.
struct Line<'a> {
    others: Others<'a>,
    seen: &'a Seen,
    news: &'a Receiver<News>,
    ranks: Vec<u32>,
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
        Ok(up)
    }

    /// Says that this host is there, until there is something to send; nothing if that is done.
    fn talk(&mut self, up: &mut Sealed) -> io::Result<Option<PathBuf>> {
        loop {
            match self.news.recv_timeout(BEAT) {
                Ok(News::Ranks(now)) => self.ranks = now,
                Ok(News::Evidence(file)) => return Ok(Some(file)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("nothing to send")),
            }
            message::send(up, &Message::Alive(self.ranks.clone()))?;
            match answer(up, &mut self.others)? {
                Message::Go => {}
                Message::Now => {
                    return send_now(up, &mut self.others, self.seen, &self.ranks).map(|()| None);
                }
                other => return Err(message::unexpected(&other)),
            }
        }
    }
}

/// Whoever looks at the job from this host finds the others by what is announced here.
struct Others<'a> {
    job: &'a str,
    announced: Option<Announcement>,
}

/// What the other side says when it knows what time it is here, and this one who the others are.
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

fn send(up: &mut Sealed, evidence: &Path) -> io::Result<()> {
    let mut file = File::open(evidence)?;
    let len = file.metadata()?.len();
    message::send(up, &Message::Evidence(len))?;
    io::copy(&mut io::Read::take(&mut file, len), up)?;
    match message::receive(up)? {
        Message::Taken => Ok(()),
        other => Err(message::unexpected(&other)),
    }
}

/// Ranks here outlive their launcher: what is known of them at this moment. Saving it may take longer than a host may be silent.
fn send_now(up: &mut Sealed, others: &mut Others<'_>, seen: &Seen, ranks: &[u32]) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("evidence");
    let (done, over) = channel();
    let job = others.job;
    let saved = thread::scope(|scope| {
        let save = || evidence::keep(job, &file) && evidence::add(seen, &file);
        scope.spawn(move || done.send(save()));
        loop {
            match over.recv_timeout(BEAT) {
                Ok(saved) => return Ok(saved),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
            message::send(up, &Message::Alive(ranks.to_vec()))?;
            match answer(up, others)? {
                Message::Go | Message::Now => {}
                other => return Err(message::unexpected(&other)),
            }
        }
    })?;
    if saved { send(up, &file) } else { Err(io::Error::other("nothing can be saved")) }
}

/// This host, as the one who gathers is to know it.
fn identity() -> Identity {
    let here = mpiscope_job::sources::host_identity::HostIdentity::here();
    let slurm = SlurmId::of_process(std::process::id()).map(|id| id.to_string());
    Identity { host: here.name.clone(), id: here.key(), slurm }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_read_and_others_passed_over() {
        let found = addresses("4711 10.0.0.1 x fe80::1 ::1").unwrap();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.1:4711", "[fe80::1]:4711", "[::1]:4711"]);
        assert_eq!(addresses("x 10.0.0.1"), None);
        assert_eq!(addresses("7"), Some(Vec::new()));
    }
}
