//! The collector: holds the images of a job and makes the report.

use super::follow::{Following, Seen};
use super::hosts::meetings::Role;
use super::hosts::relay::Meeting;
use super::hosts::{FromHost, join};
use super::pace::Pace;
use super::peers::Peer;
use super::protocol::{self, Kind, Message, Received, VERSION};
use super::question::Answers;
use super::rendezvous::Turn;
use crate::open_files;
use mpiscope_job::JobReport;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::model::locate::Locate;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a new connection may take to send its first message.
const PATIENCE: Duration = Duration::from_millis(500);
/// File descriptors reserved for making the report.
const RESERVE: u64 = 32;
/// How long no connections are accepted after `accept` failed. Without the pause, the pending connection
/// would keep waking `poll`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long processes may outlive their launcher before the report is made without their exit status.
const SETTLE: Duration = Duration::from_millis(700);

/// Images and ends of the processes of one job.
#[derive(Debug)]
pub struct Collector {
    listener: UnixListener,
    place: PathBuf,
    pub began: SystemTime,
    /// Whether the socket's name was given up.
    left: bool,
    peers: Vec<Peer>,
    /// Whether the last rank of this host must stay until its evidence has been sent.
    holds: bool,
    /// Whether other hosts are expected to send their data.
    pub gathers: bool,
    /// Where processes that create an intercommunicator find those of other hosts.
    pub meeting: Option<Meeting>,
    problems: Vec<String>,
    /// Whether a nested `mpiscope run` reports what it starts.
    pub inner: bool,
    /// Number of processes missing for lack of file descriptors.
    left_out: usize,
    following: Option<Following>,
    answers: Answers,
    /// When the processes' memory is sampled.
    pace: Pace,
    /// Until when no connections are accepted.
    accept_again: Option<Instant>,
}

impl Collector {
    /// Creates a collector that listens on the socket at `place`.
    pub fn new(listener: UnixListener, place: PathBuf) -> Self {
        Self {
            listener,
            place,
            began: SystemTime::now(),
            left: false,
            peers: Vec::new(),
            holds: false,
            gathers: false,
            meeting: None,
            problems: Vec::new(),
            inner: false,
            left_out: 0,
            following: None,
            answers: Answers::default(),
            pace: Pace::begin(),
            accept_again: None,
        }
    }

    /// Starts following the processes while they run. This starts a thread, so signals must be blocked
    /// before.
    pub fn follow(&mut self) {
        self.following = Following::begin();
    }

    /// Returns what following the processes has found.
    pub fn seen(&self) -> Seen {
        self.following.as_ref().map(Following::seen).unwrap_or_default()
    }

    /// Keeps the last rank of this host from exiting until its data has been sent: schedulers kill everything
    /// once the last rank is gone.
    pub fn hold_last_wrapper(&mut self) {
        self.holds = true;
    }

    /// Releases all wrappers that still wait.
    pub fn release_all(&mut self) {
        self.holds = false;
        self.let_go();
    }

    /// Releases the wrappers whose program has ended.
    fn let_go(&mut self) {
        let (came, running, expected) = self.wrappers();
        let last = running == 0 && expected.is_none_or(|expected| came >= expected);
        let stays = || self.peers.iter().rposition(Peer::waits);
        let stays = if self.holds && last { stays() } else { None };
        let ended = self.peers.iter_mut().enumerate().filter(|(at, peer)| Some(*at) != stays && peer.waits());
        ended.for_each(|(_, peer)| peer.let_go());
    }

    /// Returns the path of the collector's socket.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Gives up the socket's name unless a process has connected meanwhile. Holding the turn keeps other
    /// processes from taking or giving up a name.
    pub fn leave(&mut self, _turn: &Turn) -> bool {
        let before = self.peers.len();
        self.accept();
        let nobody = self.peers.len() == before;
        if nobody {
            let _removed = std::fs::remove_file(&self.place);
            self.left = true;
        }
        nobody
    }

    /// Waits until `other` is readable or the timeout expires, and handles messages of the ranks meanwhile.
    /// Returns whether `other` is readable.
    pub fn wait(&mut self, other: BorrowedFd<'_>, timeout: Option<Duration>) -> io::Result<bool> {
        let accept_again = self.accept_again.map(|until| until.saturating_duration_since(Instant::now()));
        let accept_again = accept_again.filter(|left| !left.is_zero());
        let until = self.look().min(accept_again.unwrap_or(Duration::MAX));
        let timeout = timeout.map_or(until, |timeout| timeout.min(until));
        let heard = if accept_again.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        let watched: Vec<usize> = (0..self.peers.len())
            .filter(|i| self.peers.get(*i).is_some_and(|p| p.watched().is_some()))
            .collect();
        let mut fds =
            vec![PollFd::from_borrowed_fd(other, PollFlags::IN), PollFd::new(&self.listener, heard)];
        fds.extend(
            self.peers.iter().filter_map(Peer::watched).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        for (index, _) in watched.iter().zip(ready.iter().skip(2)).filter(|(_, ready)| **ready) {
            if let Some(peer) = self.peers.get_mut(*index) {
                peer.update();
            }
        }
        if ready.get(1) == Some(&true) {
            self.accept();
        }
        self.let_go();
        Ok(ready.first() == Some(&true))
    }

    /// Samples the processes if it is time. Returns the time until the next sample.
    fn look(&mut self) -> Duration {
        if self.pace.is_due(Instant::now()) {
            self.pace.sample(|| self.peers.iter_mut().for_each(Peer::look));
        }
        self.pace.wait(Instant::now())
    }

    /// Accepts all pending connections.
    fn accept(&mut self) {
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(why) => return self.not_accepted(&why),
            };
            // Only this user and root can connect, and root may only ask questions.
            let sender = socket_peercred(&socket).ok();
            let ours = sender.is_some_and(|s| s.uid == rustix::process::geteuid());
            if ours || sender.is_some_and(|s| s.uid.is_root()) {
                self.greet(socket, sender.map(|s| s.pid), ours);
            }
        }
    }

    /// Handles a failure of `accept`: either nothing is pending, or the connection cannot be accepted now and
    /// stays pending.
    fn not_accepted(&mut self, why: &io::Error) {
        let nobody =
            [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted, io::ErrorKind::ConnectionAborted];
        if nobody.contains(&why.kind()) {
            return;
        }
        if self.accept_again.is_none() {
            let limit = "raise the limit with `ulimit -n` before the job";
            self.problems.push(format!("processes could not connect for a while ({why}): {limit}"));
        }
        self.accept_again = Some(Instant::now() + ACCEPT_PAUSE);
    }

    fn greet(&mut self, socket: UnixStream, sender: Option<rustix::process::Pid>, ours: bool) {
        let ready = socket.set_nonblocking(false).and_then(|()| socket.set_read_timeout(Some(PATIENCE)));
        if ready.is_err() {
            return;
        }
        let (message, image) = match protocol::receive(&socket) {
            Received::Message(message, None) if message.kind == Kind::QUESTION => {
                if let Some(following) = &self.following {
                    self.answers.give(following.seen(), socket);
                }
                return;
            }
            _ if !ours => return,
            Received::Message(Message { kind: Kind::OFFERS, words }, None) => {
                return self.meet(socket, words, Role::Offers);
            }
            Received::Message(Message { kind: Kind::COMES, words }, None) => {
                return self.meet(socket, words, Role::Comes);
            }
            Received::Message(message, None) if message.kind == Kind::INNER => {
                self.inner = true;
                return;
            }
            // Making the report needs file descriptors as well.
            Received::Message(_, Some(_)) if open_files::nearly_all(&socket, RESERVE) => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            Received::Message(message, Some(image)) => (message, image),
            // A client that only checks whether a collector is listening.
            Received::Closed => return,
            _ => {
                let who = sender.map_or_else(|| "a process".to_owned(), |pid| format!("process {pid}"));
                return self
                    .problems
                    .push(format!("{who} connected but handed over no image: it is missing here"));
            }
        };
        let Some(peer) = Peer::new(message, image, socket, sender) else {
            self.problems.push(
                "a process speaks another version of the protocol: libmpiscope.so and mpiscope differ".into(),
            );
            return;
        };
        match self.peers.iter_mut().find(|known| known.same_image(&peer)) {
            Some(known) => known.join(peer),
            None => {
                self.pace.hurry(Instant::now());
                if let Some((following, image)) = self.following.as_ref().zip(peer.image()) {
                    following.add(image);
                }
                self.peers.push(peer);
            }
        }
    }

    /// Serves a process that is about to create an intercommunicator. Without other hosts, or with another
    /// version of the layer, it gets no answer.
    fn meet(&self, socket: UnixStream, [version, low, high]: [u32; 3], role: Role) {
        if let Some(meeting) = self.meeting.as_ref().filter(|_| version == VERSION) {
            meeting.serve(socket, u64::from(high) << 32 | u64::from(low), role);
        }
    }

    /// Returns the known processes, in the order in which they connected.
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// Returns how many wrappers have connected, how many of them are still running, and how many are
    /// expected.
    pub fn wrappers(&self) -> (usize, usize, Option<usize>) {
        let wrapped = || self.peers.iter().filter(|p| p.wrapped());
        let expected = wrapped().filter_map(|p| p.local_size).max();
        (wrapped().count(), wrapped().filter(|p| p.running()).count(), expected.map(|n| n as usize))
    }

    /// Whether any process runs here. This includes spawned processes, which have no wrapper.
    pub fn running(&self) -> bool {
        self.peers.iter().any(Peer::running)
    }

    /// Handles pending connections after the launcher has ended, and waits a moment for the ranks to end.
    pub fn settle(&mut self) {
        let until = Instant::now() + SETTLE;
        self.accept();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.peers.iter().any(Peer::running) {
                return;
            }
            // There is no other descriptor to wait for, so the listener is passed twice.
            let Ok(listener) = self.listener.as_fd().try_clone_to_owned() else { return };
            if self.wait(listener.as_fd(), Some(left)).is_err() {
                return;
            }
        }
    }

    /// Returns how each process ended, keyed by its image's inode number.
    pub fn ends(&self) -> Vec<(u64, ProcessEnd)> {
        self.peers.iter().map(|peer| (peer.inode(), peer.end())).collect()
    }

    /// Returns the ranks that the launcher assigned to the processes of this host.
    pub fn launcher_ranks(&self) -> Vec<u32> {
        self.peers.iter().filter_map(Peer::launcher_rank).collect()
    }

    /// Makes the report from the current state and from the data of other hosts.
    pub fn report(&self, command: String, others: &[FromHost]) -> JobReport {
        let (mut observed, mut problems) = join::observed(others);
        problems.splice(0..0, self.problems.iter().cloned());
        problems.extend((self.left_out > 0).then(|| {
            let missing = match self.left_out {
                1 => "1 process is".to_owned(),
                some => format!("{some} processes are"),
            };
            format!("{missing} missing here: too many open files (`ulimit -n`, `ulimit -Hn`)")
        }));
        let symbols = FileSymbols::default();
        for peer in &self.peers {
            match peer.observe(&symbols) {
                Ok(mut one) => {
                    // Times of other hosts are converted to this clock.
                    let seen = one.observation.as_mut().filter(|_| !others.is_empty());
                    seen.into_iter().for_each(|seen| seen.by_clock(0, |ns| ns));
                    observed.push(one);
                }
                Err(e) => problems.push(e.to_string()),
            }
        }
        let (seen, unseen) = join::followed(self.following.as_ref().map(|_| self.seen().now()), others);
        let seen = seen.as_ref().map(|seen| (seen, &symbols as &dyn Locate));
        let mut report = JobReport::followed(command, observed, seen);
        join::clocks(&mut report, others);
        join::order(&mut report);
        problems.extend(unseen);
        problems.extend(self.gathers.then(|| join::missing(&report, others)).flatten());
        report.notes.extend(problems.into_iter().map(|text| (text, Default::default())));
        report
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // Another collector may have taken a name that was given up.
        if !self.left {
            let _removed = std::fs::remove_file(&self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_cannot_be_accepted_waits_without_busy_polling() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("place");
        let listener = UnixListener::bind(&place).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut collector = Collector::new(listener, place.clone());
        let (silent, _other) = UnixStream::pair().unwrap();
        let client = UnixStream::connect(&place).unwrap();
        drop(client);
        for _ in 0..3 {
            collector.not_accepted(&io::Error::from_raw_os_error(libc::EMFILE));
        }
        assert!(matches!(collector.problems.as_slice(), [one] if one.contains("ulimit -n")));
        let began = Instant::now();
        collector.wait(silent.as_fd(), Some(ACCEPT_PAUSE / 2)).unwrap();
        assert!(began.elapsed() >= ACCEPT_PAUSE / 2, "nobody is looked at");
        std::thread::sleep(ACCEPT_PAUSE);
        let began = Instant::now();
        collector.wait(silent.as_fd(), Some(10 * ACCEPT_PAUSE)).unwrap();
        assert!(began.elapsed() < 5 * ACCEPT_PAUSE, "whoever waits is let in");
    }
}
