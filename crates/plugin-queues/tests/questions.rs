//! The number of callbacks that the plug-in makes: each may be a round trip to another host.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use debugger_host::process::Process;
use debugger_host::queues;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Life};
use mpiscope_image::traffic::{Request, RequestKind};
use mpiscope_job::test_image::TestImage;
use mpiscope_target::{ByteOrder, InMemory, Module, Result, Target};
use mpiscope_testkit::paths;

/// The addresses of the variable with the image's address, and of the image.
const VARIABLE: u64 = 0x1000;
const IMAGE: u64 = 0x10_0000;
const REQUESTS: u64 = 1000;
/// Maximum number of memory reads for that many requests.
const FEW: usize = 200;

/// A process that counts reads.
#[derive(Debug)]
struct Counting {
    memory: InMemory,
    reads: Arc<AtomicUsize>,
}

impl Target for Counting {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.memory.read(address, buf)
    }

    fn width(&self) -> usize {
        self.memory.width()
    }

    fn byte_order(&self) -> ByteOrder {
        self.memory.byte_order()
    }

    fn modules(&self) -> Result<Vec<Module>> {
        self.memory.modules()
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        self.memory.symbol(name)
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn executable(&self) -> Option<std::path::PathBuf> {
        None
    }
}

/// An image with pending receives and a few completed broadcasts.
fn image() -> Vec<u8> {
    let sample = TestImage::new("questions", 0, 4);
    let comm = sample.has_comm(0x8400_0001, "solver", 4);
    let idle = sample.has_comm(0x8400_0002, "idle", 4);
    comm.head.uid.set(mpiscope_image::objects::uid(SectionKind::COMMS, 1));
    idle.head.uid.set(mpiscope_image::objects::uid(SectionKind::COMMS, 2));
    comm.collectives.set(7);
    comm.entered[1].set(5);
    comm.entered[0].set(2);
    idle.entered[0].set(1);
    for n in 0..REQUESTS {
        let (_, request) = sample.writer.new_record::<Request>(SectionKind::REQUESTS, 64).expect("room");
        request.head.handle.set(0xac00_0000 + n);
        request.head.uid.set(mpiscope_image::objects::uid(SectionKind::REQUESTS, n + 1));
        request.head.life.set(Life::LIVE.0);
        request.head.flags.set(Flag::STARTED.0 | Flag::ACTIVE.0);
        request.head.parent.set(comm.head.uid.get());
        request.head.made_from.set(0x40_1234);
        request.kind.set(RequestKind::RECV.0);
        request.object.set(0x8400_0001);
        request.count.set(1);
        request.datatype.set(0x4c00_0405);
    }
    sample.bytes()
}

#[test]
fn reading_a_thousand_requests_takes_few_queries_and_reports_callers_and_counts() {
    let plugin = paths::libmpiscope().expect("build the layer and the plug-in first");
    let reads = Arc::new(AtomicUsize::new(0));
    let memory = InMemory::new(8, ByteOrder::Little)
        .segment(VARIABLE, IMAGE.to_le_bytes().to_vec())
        .segment(IMAGE, image())
        .with_symbol("mpiscope_image", VARIABLE);
    let process = Process::new(Arc::new(Counting { memory, reads: Arc::clone(&reads) }), 0);
    let output =
        queues::dump(plugin.with_file_name("libmpiscope_queues.so").as_os_str(), &process).expect("queues");
    let [solver, idle] = output.communicators.as_slice() else { panic!("{output:?}") };
    let receives = solver.receives.as_ref().expect("receives can be seen");
    assert_eq!(receives.len() as u64, REQUESTS);
    assert!(receives[0].text.iter().any(|line| line == "called before 0x401234"), "{:?}", receives[0]);
    assert_eq!(solver.sends.as_ref().map(Vec::len), Some(0), "an empty queue is one that can be seen");
    let counted = |queue: &queues::Queue| queue.collectives.clone().unwrap_or_default();
    assert_eq!(counted(solver)[..2], [(0, 2, 0), (1, 5, 0)]);
    assert_eq!(
        (counted(idle)[0], counted(idle).len()),
        ((0, 1, 0), 14),
        "counts are those of each communicator"
    );
    let asked = reads.load(Ordering::Relaxed);
    println!("{asked} questions for {REQUESTS} requests");
    assert!(asked < FEW, "{asked} questions");
}
