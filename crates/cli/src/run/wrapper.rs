//! Form 2: the parent of one rank, and the collector that the first one on a host leaves behind.
#![allow(unsafe_code)]

use super::collector::Collector;
use super::environment::Environment;
use super::hosts::relay::Meeting;
use super::hosts::uplink::{self, Uplink};
use super::protocol::{self, Kind, Message, VERSION};
use super::rendezvous::{self, Folder};
use super::signals::{self, Event, Signals};
use super::watch::{Scope, Watch};
use super::{Options, child, ending, launcher, under_layer};
use crate::open_files;
use crate::render::complain;
use anyhow::{Context, Result};
use mpiscope_job::jobs::launcher_environment::LauncherEnvironment;
use mpiscope_job::model::process::Ending;
use mpiscope_job::sources::procfs;
use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_getfd};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Size of a new image: its header.
const IMAGE_SIZE: u64 = 4096;
/// How long to wait for late ranks if the launcher gave their number, and if it did not.
const LATE: Duration = Duration::from_secs(5);
const LATE_UNKNOWN: Duration = Duration::from_millis(300);
/// How long the last rank of a host waits for the host's data to be sent.
const HELD: Duration = Duration::from_secs(20);

/// Runs one rank and returns its exit status. Whatever is missing for that costs the report, never the program.
pub fn run(options: &Options, layer: &Path, place: &LauncherEnvironment) -> Result<ExitCode> {
    let job = job_of_outer().unwrap_or_else(|| job_name(place));
    let mut environment = under_layer(options, layer, &job)?;
    environment.world_only = true;
    let socket = match find_or_become_collector(&job, options) {
        Ok((name, socket)) => {
            environment.collector = Some(name);
            Some(socket)
        }
        Err(e) => {
            complain(
                "run",
                &format!("no report: the collector cannot be reached ({e}); the program runs anyway"),
            );
            None
        }
    };
    let needed = || Ok((new_image(&job)?, Signals::block()?));
    let ((image, copy), signals) = match needed() {
        Ok(needed) => needed,
        Err(why) => return Ok(unseen(options, &environment, &why)),
    };
    environment.image = Some(image.as_raw_fd());
    let line = Line { socket, lost: Cell::new(None) };
    let rank = place.rank.unwrap_or(u32::MAX);
    line.tell(Kind::WRAPPER, [VERSION, rank, place.local_size.unwrap_or(0)], Some(copy.as_fd()));
    let program = match child::spawn(&options.program, &environment, &signals, child::Tie::Tight) {
        Ok(program) => program,
        Err(e) => {
            line.tell(Kind::ENDED, [0, 127, 0], None);
            return Ok(child::not_started(&options.program, &e));
        }
    };
    // From here on only the rank can write to the image.
    drop(image);
    line.tell(Kind::STARTED, [program.id(), 0, 0], None);
    // Descriptors inherited from the launcher stay open: if the launcher saw the rank's connection close
    // before the rank's end, it would kill us before we could pass on the exit status.
    let ending = child::supervise(program, &signals, None, &|_| ())?;
    match ending {
        Ending::Exit(code) => line.tell(Kind::ENDED, [0, code as u32, 0], None),
        Ending::Signal(signal) => line.tell(Kind::ENDED, [1, signal as u32, 0], None),
    }
    line.end(place);
    signals.mask().restore();
    child::end_like(ending)
}

/// Runs the program in place of this process, which cannot watch it.
fn unseen(options: &Options, environment: &Environment, why: &io::Error) -> ExitCode {
    complain("run", &format!("this rank cannot be watched ({why}); the program runs anyway"));
    let error = child::replace(&options.program, environment);
    child::not_started(&options.program, &error)
}

/// The connection to the collector, if there is one.
struct Line {
    socket: Option<UnixStream>,
    /// Why it broke.
    lost: Cell<Option<io::Error>>,
}

impl Line {
    fn tell(&self, kind: Kind, words: [u32; 3], image: Option<BorrowedFd<'_>>) {
        let socket = self.socket.as_ref();
        if let Some(Err(why)) = socket.map(|s| protocol::send(s, &Message { kind, words }, image)) {
            self.lost.set(Some(why));
        }
    }

    /// Waits until the rank may end, and reports if the collector was lost.
    fn end(self, place: &LauncherEnvironment) {
        self.socket.iter().for_each(released);
        if let Some(why) = self.lost.take() {
            let who = place.rank.map_or_else(|| "this rank".to_owned(), |rank| format!("rank {rank}"));
            complain(
                "run",
                &format!("no report of {who}: the collector on this host is gone ({why}); was it killed?"),
            );
        }
    }
}

/// Waits until the collector permits this rank to end. The collector delays the last rank of a host until the
/// host's data has been sent: schedulers kill everything after that rank.
fn released(socket: &UnixStream) {
    let mut word = [0];
    // A collector that is gone releases the rank as well.
    let _gone = socket.set_read_timeout(Some(HELD)).and_then(|()| io::Read::read(&mut &*socket, &mut word));
}

/// Returns the job name set by an `mpiscope run` around the launcher; it is the same on all hosts. That run
/// collects, and watches the job by this name.
fn job_of_outer() -> Option<String> {
    let collects = || std::env::var_os("MPISCOPE_COLLECTOR").is_some_and(|place| Path::new(&place).exists());
    std::env::var("MPISCOPE_JOB").ok().filter(|job| !job.is_empty() && (uplink::wanted() || collects()))
}

/// Derives a name that is the same for all ranks of the job on this host: from the launcher's name for the
/// job, or else from the launcher's pid and start time.
fn job_name(place: &LauncherEnvironment) -> String {
    let key = place.job.clone().unwrap_or_else(|| {
        let launcher = place.pmi_fd.and_then(launcher_at).unwrap_or_else(std::os::unix::process::parent_id);
        let started = procfs::stat(launcher).map(|stat| stat.start_ticks.to_string());
        format!("{launcher}@{}", started.unwrap_or_default())
    });
    // 48 bits are short to type; a collision between jobs of one user on one host is unlikely.
    let hash = mpiscope_job::runtime::hash(key.as_bytes());
    format!("{:012x}", (hash ^ (hash >> 48)) & 0xffff_ffff_ffff)
}

/// Returns the process at the other end of the launcher's connection.
fn launcher_at(fd: RawFd) -> Option<u32> {
    if fd < 0 {
        return None;
    }
    // SAFETY: queries a descriptor inherited from the launcher; nothing closes it meanwhile.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// Makes an image, and a descriptor with which the collector can read it.
fn new_image(job: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let image = memfd_create(format!("mpiscope:{job}"), flags)?;
    ftruncate(&image, IMAGE_SIZE)?;
    // Private to this user; sealed so that it cannot shrink under a reader.
    fchmod(&image, Mode::RUSR | Mode::WUSR)?;
    fcntl_add_seals(&image, SealFlags::SHRINK)?;
    let copy = protocol::read_only(image.as_fd())?;
    Ok((image, copy))
}

/// Connects to the collector of an enclosing `mpiscope run mpirun …`, or else to the collector of this job on
/// this host, starting one if necessary.
fn find_or_become_collector(job: &str, options: &Options) -> io::Result<(PathBuf, UnixStream)> {
    if let Some(place) = std::env::var_os("MPISCOPE_COLLECTOR").map(PathBuf::from)
        && let Ok(socket) = rendezvous::reach(&place)
    {
        return Ok((place, socket));
    }
    let ((place, socket, is_first), unused) = Folder::first(|folder| {
        let place = folder.place(job);
        let turn = folder.turn()?;
        if let Ok(socket) = rendezvous::reach(&place) {
            return Ok((place, socket, false));
        }
        let listener = folder.listen(&place, &turn)?;
        // The others can connect from now on; the collector must not inherit the lock.
        drop(turn);
        fork_collector(listener, (&place, job), folder, options)?;
        let socket = rendezvous::reach(&place)?;
        Ok((place, socket, true))
    })?;
    unused.iter().filter(|_| is_first).for_each(rendezvous::report_unused);
    Ok((place, socket))
}

/// Forks the collector. It gets its own session so that signals for the ranks do not hit it.
fn fork_collector(
    listener: UnixListener,
    (place, job): (&Path, &str),
    folder: &Folder,
    options: &Options,
) -> io::Result<()> {
    // SAFETY: this process has a single thread, so the child may do whatever the parent may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let screen = launcher::standard_error();
            let collector = Collector::new(listener, place.to_owned());
            let work = || detach().and_then(|()| collect(collector, job, folder, options, screen));
            let failed = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
                Ok(Ok(())) => false,
                Ok(Err(why)) => {
                    complain("run", &format!("no report of this host: the collector failed ({why})"));
                    true
                }
                Err(_) => {
                    complain("run", "no report of this host: the collector failed, as said above");
                    true
                }
            };
            // SAFETY: ends the process without running the parent's cleanup.
            unsafe { libc::_exit(i32::from(failed)) }
        }
        _ => Ok(()),
    }
}

/// Runs the collector of a host without ranks of the launcher; started by the first process spawned there.
pub fn stand_in(options: &Options) -> Result<ExitCode> {
    let job = std::env::var("MPISCOPE_JOB").context("MPISCOPE_JOB is not set: only the layer starts this")?;
    detach()?;
    Folder::first(|folder| {
        let place = folder.place(&job);
        let turn = folder.turn()?;
        // If several were started at once, one is enough.
        if rendezvous::reach(&place).is_err() {
            let listener = folder.listen(&place, &turn)?;
            drop(turn);
            collect(Collector::new(listener, place), &job, folder, options, None)?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Detaches from everything of the rank except standard error, where the report goes.
fn detach() -> io::Result<()> {
    rustix::process::setsid()?;
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // SAFETY: replaces standard input and output, which no Rust object owns.
    unsafe {
        libc::dup2(null.as_raw_fd(), 0);
        libc::dup2(null.as_raw_fd(), 1);
    }
    close_inherited();
    Ok(())
}

/// Closes unneeded inherited descriptors, above all the connection to the launcher: while it is open, the
/// launcher does not notice that the rank is gone. Our own descriptors are all marked close-on-exec.
fn close_inherited() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let fds: Vec<RawFd> = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    for fd in fds.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: queries and closes descriptors that no Rust object owns: those are close-on-exec.
        unsafe {
            if fcntl_getfd(BorrowedFd::borrow_raw(fd)).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC)) {
                libc::close(fd);
            }
        }
    }
}

/// Runs the collector until all ranks of this host have ended or a signal asks it to end. Schedulers send signals
/// to all processes; those that programs use for other purposes, such as checkpoints, do not end it.
fn collect(
    mut collector: Collector,
    job: &str,
    folder: &Folder,
    options: &Options,
    screen: Option<File>,
) -> io::Result<()> {
    open_files::as_many_as_allowed();
    let signals = Signals::block()?;
    collector.hold_last_wrapper();
    collector.follow();
    collector.meeting = Meeting::above(job);
    let up = Uplink::begin(job, collector.seen());
    let scope = Scope::part(up.as_ref().map(Uplink::told));
    let watch = Watch::begin(job, options, screen.as_ref().and_then(|screen| screen.try_clone().ok()), scope);
    let mut quiet_since = Instant::now();
    loop {
        let (came, _, expected) = collector.wrappers();
        let here = collector.running();
        up.iter().for_each(|up| up.ranks(collector.launcher_ranks()));
        watch.ranks(collector.launcher_ranks());
        let late = if expected.is_some() || collector.peers().is_empty() { LATE } else { LATE_UNKNOWN };
        let complete = came > 0 && expected.is_some_and(|n| came >= n);
        if here {
            quiet_since = Instant::now();
        }
        if !here && (complete || quiet_since.elapsed() > late) && collector.leave(&folder.turn()?) {
            break;
        }
        let timeout = (!here).then(|| late.saturating_sub(quiet_since.elapsed()) + Duration::from_millis(1));
        if collector.wait(signals.as_fd(), timeout)? {
            let came: Vec<libc::c_int> = sent(&signals).collect();
            if came.iter().any(|signal| signals::ends_jobs(*signal)) {
                watch.last_look();
            }
            if came.iter().any(|signal| signals::kills_jobs(*signal)) {
                break;
            }
        }
    }
    collector.settle();
    if !collector.peers().is_empty() {
        ending::end(&mut collector, job, options, up, watch, screen);
    }
    Ok(())
}

fn sent(signals: &Signals) -> impl Iterator<Item = libc::c_int> {
    std::iter::from_fn(|| signals.next()).filter_map(|event| match event {
        Event::Sent(signal) | Event::Terminal(signal) => Some(signal),
        Event::Child => None,
    })
}
