//! The rings of a trace: overwritten calls are counted, and no bytes make a reader fail.
#![allow(unsafe_code)]

mod common;

use common::Memory;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::trace::{Called, Ring, read};
use mpiscope_image::{Image, Writer};

const CALLS: usize = 64;

/// Creates a thread's ring with `written` calls.
fn ring(writer: &Writer, thread: u64, written: u64) -> &'static Ring {
    let (first, call) = writer.new_array::<Called>(SectionKind::TRACE, CALLS, CALLS).unwrap();
    let (_, ring) = writer.new_record::<Ring>(SectionKind::TRACE_RINGS, 4).unwrap();
    // SAFETY: the writer allocated this many contiguous records.
    let calls = unsafe { std::slice::from_raw_parts(call, CALLS) };
    ring.first.set(first);
    ring.capacity.set(CALLS as u64);
    ring.thread.set(thread + 1);
    for number in 0..written {
        ring.write(calls, |call| call.began.set(1000 * thread + number));
    }
    ring
}

fn image(writer: &Writer, memory: &Memory) -> Image<Vec<u8>> {
    Image::open(memory.bytes(writer.header().len.get() as usize)).unwrap()
}

#[test]
fn a_ring_has_the_last_calls_in_order_and_counts_the_others() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    ring(&writer, 0, 3);
    ring(&writer, 5, 1000);
    let kept = read(&image(&writer, &memory)).unwrap();
    let output: Vec<_> = kept
        .iter()
        .map(|kept| {
            (kept.thread, kept.gone, kept.calls.iter().map(|call| call.began.get()).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(output, [(0, 0, vec![0, 1, 2]), (5, 936, (5936..6000).collect())]);
}

#[test]
fn a_call_that_is_being_written_is_omitted() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let ring = ring(&writer, 0, 70);
    ring.written.set(71);
    let kept = read(&image(&writer, &memory)).unwrap();
    assert_eq!((kept[0].calls.len(), kept[0].gone), (CALLS - 1, 8));
}

#[test]
fn damaged_rings_are_rejected_or_empty_and_never_read_beyond_the_image() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let ring = ring(&writer, 0, 100);
    for (first, capacity) in
        [(u64::MAX, 64), (1 << 20, 64), (0, 1 << 40), (0, u64::MAX), (0, 3), (0, 0), (1, 64)]
    {
        ring.first.set(first);
        ring.capacity.set(capacity);
        assert!(read(&image(&writer, &memory)).is_err(), "{first} {capacity}");
    }
    // Two rings that claim the same calls.
    ring.first.set(0);
    ring.capacity.set(CALLS as u64);
    let (_, other) = writer.new_record::<Ring>(SectionKind::TRACE_RINGS, 4).unwrap();
    other.thread.set(2);
    other.capacity.set(CALLS as u64);
    assert!(read(&image(&writer, &memory)).is_err());
}

#[test]
fn random_bytes_in_rings_and_calls_do_not_crash_a_reader() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    ring(&writer, 0, 100);
    let whole = memory.bytes(writer.header().len.get() as usize);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        bytes.truncate(whole.len() - (random() as usize % 4) * 1000);
        if let Ok(kept) = Image::open(bytes).and_then(|image| read(&image)) {
            assert!(kept.iter().all(|kept| kept.calls.len() <= CALLS));
        }
    }
}
