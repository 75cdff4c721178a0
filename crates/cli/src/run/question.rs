//! Answers queries (`mpiscope report JOB`) about what a collector has seen of its running job.
//!
//! The client connects to the collector's socket, sends a message without an image and reads to the end of
//! the stream: JSON, as stored in evidence files. The collector uses one thread per answer, so that a slow
//! reader does not keep it from serving the ranks.

use super::follow::Seen;
use super::protocol::{self, Kind, Message, VERSION};
use super::rendezvous;
use mpiscope_job::base::json;
use mpiscope_job::jobs::job::Job;
use mpiscope_job::performance::monitor::Followed;
use mpiscope_job::sources::procfs::{self, Environment};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Timeout for an answer, which takes one scan of all ranks of the host and the transfer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Upper limit on the bytes of an answer: the sender is not trusted to keep it small.
const MOST_BYTES: usize = 1 << 28;
/// Maximum number of concurrent queries.
const MOST: usize = 4;

/// The answers under way.
#[derive(Debug, Default)]
pub struct Answers {
    /// One reference for each answer under way, plus our own.
    under_way: Arc<()>,
}

impl Answers {
    /// Answers a query; closes the connection without an answer if there are too many.
    pub fn give(&self, seen: Seen, socket: UnixStream) {
        let slot = Arc::clone(&self.under_way);
        if Arc::strong_count(&slot) > MOST + 1 {
            return;
        }
        let answer = move || {
            // A client that has gone away needs no answer.
            let _gone = write(&seen.now(), socket);
            drop(slot);
        };
        // Without a thread there is no answer, and the client reports that.
        let _none = thread::Builder::new().name("answer".into()).spawn(answer);
    }
}

fn write(followed: &Followed, socket: UnixStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut out = BufWriter::new(socket);
    json::write(&mut out, followed)?;
    out.flush()
}

/// Asks the collector on this host what it has seen so far of the job.
///
/// # Errors
/// The reason why that is not known, as part of a sentence.
pub fn ask(job: &Job) -> Result<Followed, String> {
    let place = place(job).ok_or("no `mpiscope run` that follows it can be found from here")?;
    read(&place, job.owner).map_err(|why| format!("`mpiscope run`, which follows it, cannot be asked: {why}"))
}

/// Returns the path of the job's collector, from the environment of its ranks. The collector of an enclosing
/// run has a different name.
fn place(job: &Job) -> Option<PathBuf> {
    let name = rendezvous::name(&job.name);
    // Process ids in evidence from other hosts are not valid here.
    let here = job.images.iter().filter(|image| image.about().is_none());
    let holders: BTreeSet<u32> = here.flat_map(|image| &image.holders).map(|holder| holder.pid).collect();
    holders.into_iter().filter_map(place_known_to).find(|place| place.file_name() == Some(name.as_ref()))
}

fn place_known_to(pid: u32) -> Option<PathBuf> {
    of_environment(&procfs::environment(pid).ok()?)
}

fn of_environment(environment: &Environment) -> Option<PathBuf> {
    let place = environment.get("MPISCOPE_COLLECTOR")?.to_str()?;
    Some(place).filter(|place| place.starts_with('/')).map(PathBuf::from)
}

fn read(place: &Path, owner: u32) -> io::Result<Followed> {
    let socket = connected(place)?;
    let listener = socket_peercred(&socket)?.uid.as_raw();
    if listener != owner {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("the listener there belongs to user {listener}"),
        ));
    }
    protocol::send(&socket, &Message { kind: Kind::QUESTION, words: [VERSION, 0, 0] }, None)?;
    let answer = whole(socket, Instant::now() + PATIENCE)?;
    if answer.is_empty() {
        return Err(io::Error::other("it did not answer"));
    }
    let part: Followed = serde_json::from_slice(&answer)?;
    // Merging into an empty value bounds what an untrusted sender claims.
    let mut followed = Followed::default();
    followed.take_in(part, None);
    Ok(followed)
}

/// Connects without blocking on a listener that does not accept connections.
fn connected(place: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(place)?)?;
    let socket = UnixStream::from(socket);
    socket.set_nonblocking(false)?;
    Ok(socket)
}

/// Reads the whole stream until the deadline `end`, even if the sender only trickles bytes.
fn whole(mut socket: UnixStream, end: Instant) -> io::Result<Vec<u8>> {
    let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || all.len() > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its answer is incomplete"));
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut part) {
            Ok(0) => return Ok(all),
            Ok(count) => all.extend(part.iter().take(count)),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::os::unix::net::UnixListener;

    /// Asks one question of a listener, and returns what is made of the answer.
    fn asked(give: impl FnOnce(UnixStream) + Send + 'static, owner: u32) -> io::Result<Followed> {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("x.collector");
        let listener = UnixListener::bind(&place).unwrap();
        let other = thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            give(socket);
        });
        let read = read(&place, owner);
        other.join().unwrap();
        read
    }

    fn hear(socket: &UnixStream) {
        let protocol::Received::Message(message, None) = protocol::receive(socket) else {
            panic!("no question")
        };
        assert_eq!((message.kind, message.words[0]), (Kind::QUESTION, VERSION));
    }

    #[test]
    fn questions_are_answered_and_answers_accepted_only_from_the_jobs_owner() {
        let us = geteuid().as_raw();
        let answer = |socket: UnixStream| {
            hear(&socket);
            Answers::default().give(Seen::default(), socket);
        };
        let followed = asked(answer, us).unwrap();
        assert!(followed.windows((f64::INFINITY, &[]), |_, _, _| 0).is_none());
        let refused = asked(drop, us + 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn missing_and_partial_answers_are_errors() {
        let us = geteuid().as_raw();
        let nothing = asked(|socket| hear(&socket), us).unwrap_err();
        assert!(nothing.to_string().contains("did not answer"), "{nothing}");
        let half = |mut socket: UnixStream| {
            hear(&socket);
            socket.write_all(b"{\"sum\":").unwrap();
        };
        assert!(asked(half, us).is_err());
    }

    #[test]
    fn an_endless_answer_times_out() {
        let (here, mut there) = UnixStream::pair().unwrap();
        there.write_all(b"{").unwrap();
        let soon = Instant::now() + Duration::from_millis(30);
        assert_eq!(whole(here, soon).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn excess_concurrent_questions_are_closed() {
        let answers = Answers::default();
        let _under_way: Vec<_> = (0..MOST).map(|_| Arc::clone(&answers.under_way)).collect();
        let (here, mut there) = UnixStream::pair().unwrap();
        answers.give(Seen::default(), here);
        let mut answer = Vec::new();
        there.read_to_end(&mut answer).unwrap();
        assert!(answer.is_empty());
    }

    #[test]
    fn the_collectors_path_is_the_one_in_the_ranks_environment_and_absolute() {
        let of = |text: &str| of_environment(&Environment::new(text.as_bytes().to_vec()));
        assert_eq!(of("A=1\0MPISCOPE_COLLECTOR=/x/y.collector\0"), Some("/x/y.collector".into()));
        assert_eq!((of("A=1\0"), of("MPISCOPE_COLLECTOR=y\0"), of("")), (None, None, None));
    }
}
