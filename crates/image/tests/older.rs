//! Images whose records are shorter, because fields were added at their ends later.
#![allow(unsafe_code)]

mod common;

use common::Memory;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::one_sided::{self, OneSided, OneSidedKind};
use mpiscope_image::traffic::Traffic;
use mpiscope_image::{Image, Record, W64};
use std::mem::{offset_of, size_of};

/// The first words of a record.
#[repr(C)]
struct First<const WORDS: usize>([W64; WORDS]);

// SAFETY: repr(C), words only.
unsafe impl<const WORDS: usize> Record for First<WORDS> {
    const SEQUENCED: bool = false;
}

/// Number of words of a record before a field.
const fn before(field: usize) -> usize {
    field / size_of::<W64>()
}

/// Reads the calls of an image with one record of this many words, the last of which is 9.
fn calls<const WORDS: usize>() -> Vec<OneSided> {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let (_, record) = writer.new_record::<First<WORDS>>(SectionKind::ONE_SIDED, 4).unwrap();
    let words: [u64; 3] = [1, 7, u64::from(OneSidedKind::PUT.0) | 5 << 32];
    for (word, value) in record.0.iter().zip(words) {
        word.set(value);
    }
    record.0[WORDS - 1].set(9);
    let (calls, wrapped) = one_sided::read(&Image::open(memory.bytes(1 << 20)).unwrap()).unwrap();
    assert!(!wrapped);
    calls
}

#[test]
fn shorter_records_of_one_sided_operations_are_read_and_what_they_lack_is_zero() {
    const WITHOUT_HASH: usize = before(offset_of!(OneSided, digest));
    const WITHOUT_REQUEST: usize = before(offset_of!(OneSided, waited_from));
    for (calls, buffer, digest) in [(calls::<WITHOUT_HASH>(), 9, 0), (calls::<WITHOUT_REQUEST>(), 0, 9)] {
        let [call] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        assert_eq!((call.window.get(), call.kind.get(), call.function.get()), (7, OneSidedKind::PUT.0, 5));
        assert_eq!((call.buffer.get(), call.digest.get()), (buffer, digest));
        assert_eq!((call.waited_from.get(), call.waited_in.get()), (0, 0));
    }
}

#[test]
fn shorter_totals_are_read_as_those_of_a_process_without_buffers_of_collectives() {
    const SHORTER: usize = before(offset_of!(Traffic, ledger_collective_first));
    let memory = Memory::new(1 << 20, 1 << 20);
    let (_, record) = memory.writer().new_record::<First<SHORTER>>(SectionKind::TRAFFIC, 1).unwrap();
    record.0[0].set(3);
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    let table = image.table::<Traffic>(SectionKind::TRAFFIC).unwrap();
    let totals = image.get::<Traffic>(&table, 0).unwrap().value;
    assert_eq!((totals.sent.get(), totals.ledger_collective.get()), (3, 0));
}

#[test]
fn records_that_are_too_short_are_rejected() {
    const TOO_SHORT: usize = before(offset_of!(OneSided, digest)) - 1;
    let memory = Memory::new(1 << 20, 1 << 20);
    memory.writer().new_record::<First<TOO_SHORT>>(SectionKind::ONE_SIDED, 4).unwrap();
    assert!(one_sided::read(&Image::open(memory.bytes(1 << 20)).unwrap()).is_err());
}
