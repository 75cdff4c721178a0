//! Records that change while they are copied. The races are forced: a source changes the bytes between two
//! reads of the reader, at exactly the moment required by the test.

mod common;

use common::{Memory, small_image};
use mpiscope_image::layout::{Call, Process, SectionKind, Thread};
use mpiscope_image::{Image, Source};
use std::cell::{Cell, RefCell};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};

/// The change made after a read, given the read's number, offset and length.
type Change<'a> = dyn FnMut(usize, u64, usize, &mut Vec<u8>) + 'a;

/// Bytes that are changed after each read.
struct Changing<'a> {
    bytes: RefCell<Vec<u8>>,
    reads: Cell<usize>,
    change: RefCell<Box<Change<'a>>>,
}

impl<'a> Changing<'a> {
    fn new(bytes: Vec<u8>, change: impl FnMut(usize, u64, usize, &mut Vec<u8>) + 'a) -> Self {
        Self { bytes: bytes.into(), reads: Cell::new(0), change: RefCell::new(Box::new(change)) }
    }
}

impl Source for Changing<'_> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        self.bytes.borrow().as_slice().read(offset, buf)?;
        let number = self.reads.replace(self.reads.get() + 1);
        (self.change.borrow_mut())(number, offset, buf.len(), &mut self.bytes.borrow_mut());
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes.borrow().len() as u64
    }
}

/// Offset of the process record in the small image.
fn process_at() -> u64 {
    let image = Image::open(small_image()).unwrap();
    let header = image.header().unwrap();
    header.directory.iter().find(|s| s.kind.get() == SectionKind::PROCESS.0).unwrap().offset.get()
}

fn put(bytes: &mut [u8], at: u64, value: u64) {
    let at = at as usize;
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
}

fn rank_and_torn<S: Source>(image: &Image<S>) -> (u32, bool) {
    let record = image.all::<Process>(SectionKind::PROCESS).unwrap().remove(0);
    (record.value.rank.get(), record.torn)
}

#[test]
fn a_record_that_changes_while_it_is_copied_is_copied_again() {
    let at = process_at();
    let mut done = false;
    let source = Changing::new(small_image(), |_, offset, len, bytes| {
        // After the copy of the whole record, before the second read of its number: a complete write.
        if offset == at && len == size_of::<Process>() && !done {
            done = true;
            put(bytes, at, 100);
            let rank = at as usize + offset_of!(Process, rank);
            bytes[rank..rank + 4].copy_from_slice(&55u32.to_ne_bytes());
        }
    });
    assert_eq!(rank_and_torn(&Image::open(source).unwrap()), (55, false));
}

#[test]
fn a_write_between_the_first_read_and_the_copy_is_detected() {
    let at = process_at();
    let mut looks = 0;
    let source = Changing::new(small_image(), |_, offset, len, bytes| {
        if offset == at && len == 8 {
            looks += 1;
            if looks == 1 {
                put(bytes, at, 100);
            }
        }
    });
    let image = Image::open(source).unwrap();
    assert!(!rank_and_torn(&image).1);
    drop(image);
    assert!(looks >= 4, "the first copy was accepted after {looks} reads");
}

#[test]
fn a_constantly_changing_record_is_returned_as_torn_in_bounded_time() {
    let at = process_at();
    let mut number = 2;
    let source = Changing::new(small_image(), |_, offset, len, bytes| {
        if offset == at && len == size_of::<Process>() {
            number += 2;
            put(bytes, at, number);
        }
    });
    let image = Image::open(source).unwrap();
    assert_eq!(rank_and_torn(&image), (3, true));
    assert!(image.source().reads.get() < 10_000);
}

#[test]
fn a_writer_that_died_during_a_write_leaves_a_torn_record() {
    let mut bytes = small_image();
    put(&mut bytes, process_at(), 7);
    assert_eq!(rank_and_torn(&Image::open(bytes).unwrap()), (3, true));
}

/// The bytes of a writer in the same process, read one by one.
struct Shared {
    base: usize,
    len: usize,
}

impl Source for Shared {
    #[allow(unsafe_code)]
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        use std::sync::atomic::AtomicU8;
        if offset as usize + buf.len() > self.len {
            return Err("beyond the end".into());
        }
        for (i, byte) in buf.iter_mut().enumerate() {
            // SAFETY: in bounds of memory that is never freed; the writer uses atomics as well.
            *byte =
                unsafe { &*((self.base + offset as usize + i) as *const AtomicU8) }.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len as u64
    }
}

#[test]
fn a_record_that_is_not_torn_is_consistent_while_a_thread_writes() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let (_, thread) = writer.new_record::<Thread>(SectionKind::THREADS, 1).unwrap();
    let image = Image::open(Shared { base: memory.base as usize, len: memory.size }).unwrap();
    let threads = image.table::<Thread>(SectionKind::THREADS).unwrap();
    let write = |n: u64| {
        let call: &Call = &thread.call;
        call.seq.write(|| {
            for word in [&call.since, &call.object, &call.count, &call.peer, &call.tag, &call.extra[3]] {
                word.set(n);
            }
        });
    };
    let stop = AtomicBool::new(false);
    let (mut whole, mut different) = (0, std::collections::BTreeSet::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                write(n);
                // A pause of varying length, so that the reader succeeds occasionally.
                (0..n % 4000).for_each(|_| std::hint::spin_loop());
            }
        });
        // A fast reader may be done before the writer's thread runs.
        for n in 0..30_000_000 {
            if n >= 3000 && different.len() > 1 {
                break;
            }
            let call = image.call(&threads, 0).unwrap();
            if !call.torn {
                let c = call.value;
                let all = [&c.object, &c.count, &c.peer, &c.tag, &c.extra[3]].map(|w| w.get());
                assert_eq!(all, [c.since.get(); 5], "parts of different writes");
                whole += 1;
                different.insert(c.since.get());
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(whole > 0 && different.len() > 1, "{whole} whole copies of {} states", different.len());
}
