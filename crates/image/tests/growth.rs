//! Tables that grow through several sections, records that have grown since, and full images.
#![allow(unsafe_code)]

mod common;

use common::Memory;
use mpiscope_image::layout::{FunctionRecord, HEADER_SIZE, Loss, Note, SectionKind, Text, Words};
use mpiscope_image::objects::{Comm, File, Head};
use mpiscope_image::{Error, Image, Record, W64};
use proptest::prelude::*;

#[test]
fn an_index_continues_across_all_sections_of_its_kind() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    for wanted in 0..100u64 {
        let (index, comm) = writer.new_record::<Comm>(SectionKind::COMMS, 3).unwrap();
        assert_eq!(index, wanted);
        comm.head.seq.write(|| comm.head.uid.set(1000 + index));
        // Another kind in between, so that the sections of one kind are not adjacent.
        writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, 1).unwrap();
    }
    let image = Image::open(memory.bytes(writer.header().len.get() as usize)).unwrap();
    let table = image.table::<Comm>(SectionKind::COMMS).unwrap();
    assert_eq!(table.len(), 100);
    for index in 0..100 {
        let comm = image.get::<Comm>(&table, index).unwrap();
        assert_eq!((comm.index, comm.value.head.uid.get(), comm.torn), (index, 1000 + index, false));
        assert_eq!(writer.record::<Comm>(SectionKind::COMMS, index).unwrap().head.uid.get(), 1000 + index);
    }
    assert!(matches!(image.get::<Comm>(&table, 100), Err(Error::Corrupt(_))));
    assert!(writer.record::<Comm>(SectionKind::COMMS, 100).is_none());
    let sections = |kind: SectionKind| {
        let header = image.header().unwrap();
        header
            .directory
            .iter()
            .filter(|s| s.kind.get() == kind.0)
            .map(|s| s.capacity.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(sections(SectionKind::COMMS), [3, 6, 12, 24, 48, 96]);
}

#[test]
fn a_table_opened_before_it_grew_still_shows_its_old_records() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let (_, first) = writer.new_record::<Comm>(SectionKind::COMMS, 1).unwrap();
    first.head.seq.write(|| first.head.uid.set(77));
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    let before = image.table::<Comm>(SectionKind::COMMS).unwrap();
    writer.new_record::<Comm>(SectionKind::COMMS, 1).unwrap();
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    assert_eq!(before.len(), 1);
    assert_eq!(image.get::<Comm>(&before, 0).unwrap().value.head.uid.get(), 77);
    assert_eq!(image.table::<Comm>(SectionKind::COMMS).unwrap().len(), 2);
}

/// A file record from before data accesses were counted.
#[repr(C)]
struct ShortFile {
    head: Head,
    rest: [W64; 17],
}

// SAFETY: repr(C), words only, with a sequence number first.
unsafe impl Record for ShortFile {
    const SEQUENCED: bool = true;
}

#[test]
fn fields_added_later_read_as_zero_and_records_that_are_too_short_are_rejected() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    for uid in [5, 6] {
        let (_, file) = writer.new_record::<ShortFile>(SectionKind::FILES, 4).unwrap();
        file.head.seq.write(|| {
            file.head.uid.set(uid);
            file.rest.iter().for_each(|word| word.set(u64::MAX));
        });
    }
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    let files = image.all::<File>(SectionKind::FILES).unwrap();
    let first = &files[0].value;
    assert_eq!((files.len(), first.head.uid.get(), first.disp.get()), (2, 5, u64::MAX));
    assert_eq!((first.reads.get(), first.written_bytes.get(), first.ticks.get()), (0, 0, 0));
    writer.new_record::<Head>(SectionKind::WINDOWS, 1).unwrap();
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    assert!(image.table::<mpiscope_image::objects::Window>(SectionKind::WINDOWS).is_err());
}

#[test]
fn a_full_image_rejects_new_records_and_keeps_the_old_ones() {
    let memory = Memory::new(1 << 20, HEADER_SIZE + 65536);
    let writer = memory.writer();
    let mut made = 0;
    while writer.new_record::<Comm>(SectionKind::COMMS, 8).is_some() {
        made += 1;
        assert!(made < 10_000, "the limit was not reached");
    }
    assert!(made >= 8);
    let len = writer.header().len.get() as usize;
    assert!(len <= HEADER_SIZE + 65536, "the header claims too much");
    let image = Image::open(memory.bytes(len)).unwrap();
    assert_eq!(image.table::<Comm>(SectionKind::COMMS).unwrap().len(), made);
    let text = writer.text(&vec![b'x'; 1 << 19]);
    assert_eq!((text.offset.get(), text.len.get()), (0, 0));
    assert_eq!(writer.header().lost[Loss::STRINGS.0 as usize].get(), 1);
}

#[test]
fn a_repeated_note_is_counted_and_a_different_one_is_added() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    for text in ["one", "two", "one", "one"] {
        writer.note(5, text);
    }
    let image = Image::open(memory.bytes(1 << 20)).unwrap();
    let notes = image.all::<Note>(SectionKind::NOTES).unwrap();
    let notes: Vec<_> =
        notes.iter().map(|n| (n.value.text.text().into_owned(), n.value.count.get())).collect();
    assert_eq!(notes, [("one".to_owned(), 3), ("two".to_owned(), 1)]);
}

#[test]
fn a_second_writer_on_the_same_bytes_keeps_the_header() {
    let memory = Memory::new(1 << 20, 1 << 20);
    memory.writer().new_record::<Comm>(SectionKind::COMMS, 1).unwrap();
    assert_eq!(memory.writer().header().sections.get(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn texts_and_arrays_are_read_back_as_they_were_written(
        items in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..3000)), 0..40),
    ) {
        let memory = Memory::new(8 << 20, 8 << 20);
        let writer = memory.writer();
        let mut texts: Vec<(Text, String)> = Vec::new();
        let mut arrays: Vec<(Words, Vec<u64>)> = Vec::new();
        for (text, bytes) in items {
            if text {
                let value = String::from_utf8_lossy(&bytes).into_owned();
                texts.push((writer.text(value.as_bytes()), value));
            } else {
                let value: Vec<u64> = bytes.iter().map(|b| u64::from(*b) << 40).collect();
                arrays.push((writer.words(&value), value));
            }
        }
        let image = Image::open(memory.bytes(writer.header().len.get() as usize)).unwrap();
        for (text, value) in &texts {
            prop_assert_eq!(&image.text(text, usize::MAX).unwrap(), value);
        }
        for (words, value) in &arrays {
            prop_assert_eq!(&image.words(words, usize::MAX).unwrap(), value);
            prop_assert_eq!(words.offset.get() % 8, 0);
        }
        prop_assert_eq!(writer.header().lost[Loss::STRINGS.0 as usize].get(), 0);
    }
}
