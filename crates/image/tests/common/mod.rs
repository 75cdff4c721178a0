//! A small image, made by the real writer in ordinary memory.
#![allow(unsafe_code)]
#![allow(dead_code)]

use mpiscope_image::layout::{
    Chars, FunctionRecord, HEADER_SIZE, Module, Process, SectionKind, State, Thread,
};
use mpiscope_image::objects::Comm;
use mpiscope_image::{Error, Grow, Image, NewImage, Source, Writer};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that is allocated from the start, and records how much of it the writer requested.
pub struct Memory {
    pub base: *mut u8,
    pub size: usize,
    pub wanted: &'static Wanted,
}

/// Refuses to grow beyond a limit.
pub struct Wanted {
    pub most: AtomicUsize,
    pub limit: usize,
}

impl Grow for Wanted {
    fn grow(&self, len: usize) -> bool {
        self.most.fetch_max(len, Ordering::Relaxed);
        len <= self.limit
    }
}

impl Memory {
    /// Allocates `size` bytes of zeros, of which the writer gets at most `limit`.
    pub fn new(size: usize, limit: usize) -> Self {
        // SAFETY: the layout is not empty; the memory is never freed, as the writer requires.
        let base = unsafe { alloc_zeroed(Layout::from_size_align(size, HEADER_SIZE).unwrap()) };
        let wanted = Box::leak(Box::new(Wanted { most: AtomicUsize::new(HEADER_SIZE), limit }));
        Self { base, size, wanted }
    }

    pub fn writer(&self) -> Writer {
        let new =
            NewImage { base: self.base, reserved: self.size, accessible: HEADER_SIZE, grow: self.wanted };
        // SAFETY: the memory is never freed, and only the writer writes to it.
        unsafe { Writer::new(new).unwrap() }
    }

    /// A copy of the first `len` bytes.
    pub fn bytes(&self, len: usize) -> Vec<u8> {
        assert!(len <= self.size);
        // SAFETY: in bounds; the tests copy only while nothing is being written.
        unsafe { std::slice::from_raw_parts(self.base, len) }.to_vec()
    }
}

/// The bytes of an image with one record of most kinds, truncated to the length stated in the header.
pub fn small_image() -> Vec<u8> {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let (_, process) = writer.new_record::<Process>(SectionKind::PROCESS, 1).unwrap();
    process.seq.write(|| {
        process.rank.set(3);
        process.size.set(4);
        process.abi.set(u32::from(mpi_abi::AbiKind::MPICH.0));
        process.host.set(&Chars::new(b"host"));
    });
    for name in ["MPI_Init", "MPI_Send"] {
        let (_, function) = writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, 2).unwrap();
        function.name.set(&Chars::new(name.as_bytes()));
    }
    let (_, thread) = writer.new_record::<Thread>(SectionKind::THREADS, 1).unwrap();
    thread.call.seq.write(|| thread.call.begin(1));
    let path = writer.text(b"/lib/libmpi.so");
    let (_, module) = writer.new_record::<Module>(SectionKind::MODULES, 1).unwrap();
    module.seq.write(|| {
        module.path.offset.set(path.offset.get());
        module.path.len.set(path.len.get());
    });
    let members = writer.words(&[4, 5, 6]);
    let (_, comm) = writer.new_record::<Comm>(SectionKind::COMMS, 1).unwrap();
    comm.head.seq.write(|| {
        comm.members.offset.set(members.offset.get());
        comm.members.len.set(members.len.get());
    });
    writer.note(7, "a note");
    writer.header().state.set(State::INITIALIZED.0);
    memory.bytes(writer.header().len.get() as usize)
}

/// Reads everything that a reader can read. The result may be an error, but must be returned quickly.
pub fn read_all<S: Source>(source: S) -> Result<u64, Error> {
    use mpiscope_image::layout::Note;
    let image = Image::open(source)?;
    let mut records = 0;
    records += image.all::<Process>(SectionKind::PROCESS)?.len();
    records += image.all::<FunctionRecord>(SectionKind::FUNCTIONS)?.len();
    records += image.all::<Note>(SectionKind::NOTES)?.len();
    for module in image.all::<Module>(SectionKind::MODULES)? {
        records += image.text(&module.value.path, 4096)?.len();
    }
    for comm in image.all::<Comm>(SectionKind::COMMS)? {
        records += image.words(&comm.value.members, 1 << 20)?.len();
    }
    let threads = image.table::<Thread>(SectionKind::THREADS)?;
    for index in 0..threads.len() {
        let thread = image.get::<Thread>(&threads, index)?;
        let call = image.call(&threads, index)?;
        records += thread.value.counters.len() + usize::from(call.torn);
    }
    Ok(records as u64)
}
