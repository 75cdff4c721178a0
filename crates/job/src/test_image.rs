//! Images as a rank's layer writes them, for tests of readers: created by the real [`Writer`] in a real
//! memory file.
#![allow(unsafe_code)]
#![allow(clippy::missing_panics_doc, clippy::unwrap_used)]

use crate::base::clock::Moment;
use mpi_abi::AbiKind;
use mpiscope_image::layout::{
    Chars, ClockKind, FunctionRecord, Process, Recording, SectionKind, State, Thread,
};
use mpiscope_image::objects::{Comm, Flag, Life, uid};
use mpiscope_image::{Grow, NewImage, Writer};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

/// Address space reserved for an image.
const RESERVED: usize = 64 << 20;

/// A rank that writes its image.
pub struct TestImage {
    /// The memory file.
    pub fd: OwnedFd,
    /// The image.
    pub writer: Writer,
    /// The main thread's record.
    pub thread: &'static Thread,
    process: &'static Process,
}

/// Extends a memory file.
struct Longer(RawFd);

impl Grow for Longer {
    fn grow(&self, len: usize) -> bool {
        // SAFETY: resizes a file that the test owns.
        unsafe { libc::ftruncate(self.0, len as libc::off_t) == 0 }
    }
}

/// Creates a memory file with the name by which jobs are found.
pub fn memory_file(job: &str) -> OwnedFd {
    let name = std::ffi::CString::new(format!("mpiscope:{job}")).unwrap();
    // SAFETY: a new descriptor, owned from here on.
    unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0);
        libc::ftruncate(fd, 4096);
        libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK);
        OwnedFd::from_raw_fd(fd)
    }
}

impl TestImage {
    /// A rank that has passed `MPI_Init` of an MPICH library and has made a few calls.
    pub fn new(job: &str, rank: u32, size: u32) -> Self {
        Self::on(memory_file(job), job, rank, size)
    }

    /// Creates the image in an existing memory file.
    pub fn on(fd: OwnedFd, job: &str, rank: u32, size: u32) -> Self {
        let raw = fd.as_raw_fd();
        // SAFETY: reserves address space over a file that the test owns; only what `Longer` has made
        // accessible is touched. The mapping stays for the life of the process, as the layer's does.
        let writer = unsafe {
            let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            let base = libc::mmap(std::ptr::null_mut(), RESERVED, read_write, shared, raw, 0);
            assert_ne!(base, libc::MAP_FAILED);
            let grow: &'static Longer = Box::leak(Box::new(Longer(raw)));
            Writer::new(NewImage { base: base.cast(), reserved: RESERVED, accessible: 4096, grow }).unwrap()
        };
        let (_, process) = writer.new_record::<Process>(SectionKind::PROCESS, 1).unwrap();
        let sample = Self { thread: thread(&writer), process, writer, fd };
        sample.begin_clock();
        sample.identify(job, rank, size);
        sample
    }

    fn begin_clock(&self) {
        let header = self.writer.header();
        let now = Moment::now();
        header.clock.kind.set(ClockKind::MONOTONIC.0);
        header.clock.start_ticks.set(now.monotonic_ns);
        header.clock.start_ns.set(now.monotonic_ns);
        header.clock.start_unix_ns.set(now.unix_ns);
        header.clock.latest_ticks.set(now.monotonic_ns + 1_000_000_000);
        header.clock.latest_ns.set(now.monotonic_ns + 1_000_000_000);
        header.pid.atomic().store(std::process::id(), Ordering::Release);
    }

    fn identify(&self, job: &str, rank: u32, size: u32) {
        let p = self.process;
        let put = |to: &'static Chars<256>, text: &str| to.set(&Chars::new(text.as_bytes()));
        p.seq.write(|| {
            p.pid.set(std::process::id());
            p.rank.set(rank);
            p.size.set(size);
            p.abi.set(u32::from(AbiKind::MPICH.0));
            p.mpi_version.set(4 << 16);
            p.recording.set(Recording::CALLS.0 | Recording::TIMES.0);
            p.init_enter.set(Moment::now().monotonic_ns);
            p.init_leave.set(Moment::now().monotonic_ns);
            put(&p.host, "samplehost");
            put(&p.library, "MPICH Version: 4.0.2\n");
            put(&p.command, "./sample 1 2");
            p.world.set(&Chars::new(format!("world of {job}").as_bytes()));
            p.job.set(&Chars::new(job.as_bytes()));
        });
        self.state(State::INITIALIZED);
    }

    /// Makes it another rank, on another host.
    pub fn becomes(&self, rank: u32, host: &str) {
        self.process.seq.write(|| {
            self.process.rank.set(rank);
            self.process.host.set(&Chars::new(host.as_bytes()));
        });
    }

    /// The level of thread support, by its place among the four.
    pub fn thread_level(&self, level: u32) {
        self.process.seq.write(|| self.process.thread_level.set(level));
    }

    /// Enables recording of something beyond calls and times.
    pub fn records(&self, what: Recording) {
        let bits = self.process.recording.get() | what.0;
        self.process.seq.write(|| self.process.recording.set(bits));
    }

    /// Sets how far the rank has come.
    pub fn state(&self, state: State) {
        if state == State::FINALIZED {
            self.process.seq.write(|| self.process.finalize_leave.set(Moment::now().monotonic_ns));
        }
        self.writer.header().state.set(state.0);
    }

    /// Records that `MPI_Finalize` has returned while sessions are open.
    pub fn leaves_world(&self) {
        self.process.seq.write(|| self.process.finalize_enter.set(Moment::now().monotonic_ns));
    }

    /// Records that the rank called `MPI_Abort`.
    pub fn abort(&self, code: i32) {
        self.process.seq.write(|| {
            self.process.abort_code.set(i64::from(code) as u64);
            self.process.aborted_at.set(Moment::now().monotonic_ns);
        });
        self.state(State::ABORTED);
    }

    /// Returns the number of a function in this image.
    pub fn number(&self, name: &str) -> usize {
        mpi_abi::FunctionId::from_name(name).map(|id| usize::from(id.0)).unwrap()
    }

    /// Records that the rank has completed calls.
    pub fn called(&self, name: &str, count: u64, nanoseconds: u64, bytes: u64) {
        let counter = &self.thread.counters[self.number(name)];
        counter.count.add_mine(count);
        counter.ticks.add_mine(nanoseconds);
        counter.bytes.add_mine(bytes);
        self.thread.mpi_ticks.add_mine(nanoseconds);
        self.thread.call.completed.add_mine(count);
    }

    /// Records that the rank has entered a call, given communicator, datatype, count, peer and tag.
    pub fn enters(&self, name: &str, [comm, datatype, count]: [u64; 3], peer: i32, tag: i32) {
        let call = &self.thread.call;
        call.seq.write(|| {
            call.begin(self.number(name) as u32);
            call.since.set(Moment::now().monotonic_ns);
            call.object.set(comm);
            call.datatype.set(datatype);
            call.count.set(count);
            call.peer.set(i64::from(peer) as u64);
            call.tag.set(i64::from(tag) as u64);
            call.return_address.set(0x1234);
        });
    }

    /// Records that the rank has entered the collective with this number on its communicator.
    pub fn enters_collective(&self, name: &str, comm: (u64, &Comm), number: u64, root: i32) {
        comm.1.collectives.set(number);
        self.enters(name, [comm.0, 0, 0], root, 0);
        let call = &self.thread.call;
        let [.., noted] = &call.extra;
        call.seq.write(|| noted.set(number));
    }

    /// Records that the rank has left the call.
    pub fn leaves(&self) {
        let call = &self.thread.call;
        let function = call.open().unwrap();
        call.seq.write(|| {
            call.end(function);
            call.completed.set(call.completed.get() + 1);
            call.since.set(Moment::now().monotonic_ns);
        });
    }

    /// Records that the rank has created a communicator.
    pub fn has_comm(&self, handle: u64, name: &str, size: u32) -> &'static Comm {
        self.shares_comm(handle, name, size, 0)
    }

    /// The same with an identity shared with other ranks.
    pub fn shares_comm(&self, handle: u64, name: &str, size: u32, identity: u64) -> &'static Comm {
        let (index, comm) = self.writer.new_record::<Comm>(SectionKind::COMMS, 8).unwrap();
        comm.head.seq.write(|| {
            comm.head.uid.set(uid(SectionKind::COMMS, index + 1));
            comm.head.handle.set(handle);
            comm.head.identity.set(identity);
            comm.head.life.set(Life::LIVE.0);
            comm.head.flags.set(Flag::COMMITTED.0);
            comm.size.set(size);
            comm.rank.set(self.process.rank.get());
            comm.name.set(&Chars::new(name.as_bytes()));
        });
        comm
    }

    /// Returns all bytes, like a saved file.
    pub fn bytes(&self) -> Vec<u8> {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::from(self.fd.try_clone().unwrap());
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }
}

fn thread(writer: &Writer) -> &'static Thread {
    for function in mpi_abi::FunctionId::all() {
        let (_, record) =
            writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, mpi_abi::COUNT).unwrap();
        record.name.set(&Chars::new(function.name().as_bytes()));
    }
    let (_, thread) = writer.new_record::<Thread>(SectionKind::THREADS, 2).unwrap();
    thread.tid.set(std::process::id());
    thread.generation.set(1);
    thread
}
