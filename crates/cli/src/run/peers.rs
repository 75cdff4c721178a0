//! A process known to the collector: its image, whether it is alive, and how it ended.

use super::ended::{self, CorePlace};
use super::protocol::{self, Kind, Message, Received};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::jobs::placement::Placement;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::model::objects::FileContext;
use mpiscope_job::model::process::{Ending, Process};
use mpiscope_job::model::rank::Rank;
use mpiscope_job::observation;
use mpiscope_job::performance::report::Observed;
use mpiscope_job::performance::report::facts::Facts;
use mpiscope_job::questions::findings::finalizes;
use mpiscope_job::questions::leaks;
use rustix::fs::fstat;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

/// How the end of the process is noticed.
#[derive(Debug)]
enum Watch {
    /// Through the connection of its wrapper.
    Wrapper(UnixStream),
    /// Through its pidfd.
    Process(OwnedFd),
    /// Not at all, or not any more.
    None,
}

/// A process of the job.
#[derive(Debug)]
pub struct Peer {
    image: OwnedFd,
    inode: (u64, u64),
    watch: Watch,
    wrapped: bool,
    rank: Option<u32>,
    /// Number of ranks on this host, if the wrapper knows it.
    pub local_size: Option<u32>,
    pid: u32,
    /// Pid, as seen here, of the process that writes the image. The process itself may be in another pid
    /// namespace and see another number.
    writer: Option<u32>,
    ending: Option<Ending>,
    ended_ns: Option<u64>,
    /// The pidfd of a process that has ended.
    remains: Option<OwnedFd>,
    core: Option<CorePlace>,
    /// When the image was first read after the process ended.
    read_at: OnceLock<Moment>,
    /// Latest known placement and memory of the process; not available after its end.
    placement: Option<Placement>,
}

impl Peer {
    /// Interprets a first message; `sender` is the process at the other end.
    pub fn new(message: Message, image: OwnedFd, socket: UnixStream, sender: Option<Pid>) -> Option<Self> {
        let [version, second, third] = message.words;
        if version != protocol::VERSION {
            return None;
        }
        let stat = fstat(&image).ok()?;
        let mut peer = Self {
            image,
            inode: (stat.st_dev, stat.st_ino),
            watch: Watch::None,
            wrapped: message.kind == Kind::WRAPPER,
            rank: None,
            local_size: None,
            pid: second,
            writer: None,
            ending: None,
            ended_ns: None,
            remains: None,
            core: None,
            read_at: OnceLock::new(),
            placement: None,
        };
        match message.kind {
            Kind::LAYER => match sender.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
                Some(fd) => {
                    peer.watch = Watch::Process(fd);
                    peer.wrote(sender);
                    peer.core = CorePlace::of(peer.pid);
                    peer.look();
                }
                // Already gone, or in another pid namespace (no `sender`); the latter ends with the job.
                None => peer.ended_ns = sender.map(|_| Moment::now().monotonic_ns),
            },
            Kind::WRAPPER => {
                socket.set_nonblocking(true).ok()?;
                peer.watch = Watch::Wrapper(socket);
                peer.rank = Some(second).filter(|rank| *rank != u32::MAX);
                peer.local_size = Some(third).filter(|size| *size > 0);
                peer.pid = 0;
            }
            _ => return None,
        }
        Some(peer)
    }

    /// Records the process at the other end as the writer of the image.
    fn wrote(&mut self, sender: Option<Pid>) {
        self.writer = sender.map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
        if !self.wrapped {
            self.pid = self.writer.unwrap_or(self.pid);
        }
    }

    /// Merges the entries of the wrapper and of the layer for one image, keeping what either knows.
    pub fn join(&mut self, mut other: Self) {
        let writer = other.writer.or(self.writer);
        let placement = other.placement.take().or(self.placement.take());
        if other.wrapped {
            *self = other;
        }
        (self.writer, self.placement) = (writer, placement);
    }

    /// Whether both peers have the same image: it comes from the wrapper and from the layer.
    pub fn same_image(&self, other: &Self) -> bool {
        self.inode == other.inode
    }

    /// Returns a descriptor of the image for reading.
    pub fn image(&self) -> Option<OwnedFd> {
        self.image.try_clone().ok()
    }

    /// Whether the process has a wrapper.
    pub fn wrapped(&self) -> bool {
        self.wrapped
    }

    /// Returns the descriptor to poll for events.
    pub fn watched(&self) -> Option<BorrowedFd<'_>> {
        match &self.watch {
            Watch::Wrapper(socket) => Some(socket.as_fd()),
            Watch::Process(fd) => Some(fd.as_fd()),
            Watch::None => None,
        }
    }

    /// Handles an event of the polled descriptor.
    pub fn update(&mut self) {
        let Watch::Wrapper(socket) = &self.watch else { return self.gone() };
        match protocol::receive(socket) {
            Received::Nothing => {}
            Received::Message(Message { kind: Kind::STARTED, words: [pid, ..] }, _) => {
                self.pid = pid;
                self.core = CorePlace::of(pid);
                self.look();
            }
            Received::Message(Message { kind: Kind::ENDED, words: [how, number, _] }, _) => {
                let number = number as i32;
                self.ending = Some(if how == 0 { Ending::Exit(number) } else { Ending::Signal(number) });
                self.ended_ns = Some(Moment::now().monotonic_ns);
            }
            _ => self.gone(),
        }
    }

    /// Samples the placement and memory of the process while it lives.
    pub fn look(&mut self) {
        if self.ended_ns.is_none()
            && let Some(seen) = Placement::of(self.writer.unwrap_or(self.pid))
        {
            self.placement = Some(seen);
        }
    }

    fn gone(&mut self) {
        if let Watch::Process(process) = std::mem::replace(&mut self.watch, Watch::None) {
            self.ending = self.ending.or_else(|| ended::of_zombie(self.pid));
            self.remains = Some(process);
        }
        self.ended_ns.get_or_insert_with(|| Moment::now().monotonic_ns);
    }

    /// Combines the image with the observed end. An untouched image is a silent process.
    pub fn observe(&self, symbols: &FileSymbols) -> Result<Observed, mpiscope_job::Error> {
        let what = format!("image of process {}", self.pid);
        let fd = self.image.try_clone().map_err(|e| mpiscope_job::Error::NotFound(format!("{what}: {e}")))?;
        let (mut leaks, mut observation, mut facts) = (Vec::new(), None, Facts::default());
        let process = match mpiscope_job::sources::image_source::open_fd(fd, &what) {
            Ok(image) => {
                let damaged = |why| mpiscope_job::Error::Image { what: what.clone(), why };
                let mut process = Process::read(&image, Some(self.moment())).map_err(damaged)?;
                process.pid = self.writer.unwrap_or(process.pid);
                let seen = observation::of_image(&image, &process, symbols);
                // Objects left by a program that did not reach its end are not leaks, unless it crashed in
                // `MPI_Finalize`: libraries may crash there because of leaked objects.
                let crashed = self.end().ending.is_some_and(ended::dumps_core);
                if process.finalized() || crashed && finalizes(&seen) {
                    leaks = leaks::sites(&image, &process, symbols).map_err(damaged)?;
                }
                observation = Some(seen);
                let context = FileContext::new(&process, symbols);
                let placement =
                    Placement::of(self.writer.unwrap_or(self.pid)).or_else(|| self.placement.clone());
                facts = Facts::read(&Rank::new(&image, &process, &context), placement);
                process
            }
            Err(error) if self.wrapped && error.is_untouched() => Process::untouched(),
            Err(e) => return Err(e),
        };
        let ProcessEnd { ending, core, .. } = self.end();
        Ok(Observed {
            leaks,
            observation,
            facts,
            process,
            launcher_rank: self.rank,
            pid: self.pid,
            ended_ns: self.ended_ns,
            later_ns: 0,
            end_unseen: false,
            ending,
            core,
        })
    }

    /// Returns the moment that converts ticks into seconds. Fixed once the process has ended, so that all
    /// times of a run agree.
    fn moment(&self) -> Moment {
        if self.ended_ns.is_some() { *self.read_at.get_or_init(Moment::now) } else { Moment::now() }
    }

    /// Returns how the process ended.
    pub fn end(&self) -> ProcessEnd {
        // Its parent may have reaped it before we looked.
        let ending = self.ending.or_else(|| ended::of_descriptor(self.remains.as_ref()?));
        let dumps = self.ended_ns.is_some() && ending.is_none_or(ended::dumps_core);
        ProcessEnd {
            launcher_rank: self.rank,
            pid: self.pid,
            ended_ns: self.ended_ns,
            ending,
            core: self.core.as_ref().filter(|_| dumps).and_then(CorePlace::file),
            placement: self.placement.clone().map(Box::new),
            read_at: self.ended_ns.map(|_| self.moment()),
        }
    }

    /// Returns the pid on this host of the process that writes the image, if it sent the image itself.
    pub fn writer(&self) -> Option<u32> {
        self.writer
    }

    /// Returns the inode number of the image.
    pub fn inode(&self) -> u64 {
        self.inode.1
    }

    /// Returns the rank assigned by the launcher.
    pub fn launcher_rank(&self) -> Option<u32> {
        self.rank
    }

    /// Whether the program is known to be running.
    pub fn running(&self) -> bool {
        self.ending.is_none() && self.watched().is_some()
    }

    /// Whether the wrapper waits for permission to end.
    pub fn waits(&self) -> bool {
        self.ending.is_some() && matches!(self.watch, Watch::Wrapper(_))
    }

    /// Gives that permission by closing the connection.
    pub fn let_go(&mut self) {
        self.watch = Watch::None;
    }
}
