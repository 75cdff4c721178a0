//! Bytes that are not an image, or a damaged one: an error in bounded time and memory, never a crash.

mod common;

use common::{read_all, small_image};
use mpiscope_image::layout::{
    BYTE_ORDER, DIRECTORY_LEN, HEADER_SIZE, Header, Section, SectionKind, Text, Thread, Words,
};
use mpiscope_image::objects::Comm;
use mpiscope_image::{Error, Image, Record, Source};
use proptest::prelude::*;
use std::mem::offset_of;

/// Offset of a field of directory entry `index`.
fn entry(index: usize, field: usize) -> usize {
    offset_of!(Header, directory) + index * size_of::<Section>() + field
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[test]
fn a_whole_image_is_read_to_the_last_record() {
    assert!(read_all(small_image()).unwrap() > 768);
}

#[test]
fn an_image_truncated_at_any_length_is_an_error() {
    let whole = small_image();
    for len in
        (0..whole.len()).filter(|len| *len < HEADER_SIZE + 64 || len % 7 == 0 || len + 64 > whole.len())
    {
        let error = read_all(whole[..len].to_vec()).expect_err("a truncated image must be an error");
        match len {
            0..8 => assert_eq!(error, Error::NotAnImage),
            _ => assert!(matches!(error, Error::Corrupt(_)), "{len}: {error}"),
        }
    }
}

#[test]
fn zeros_and_other_files_are_not_images() {
    assert_eq!(read_all(vec![0; 1 << 16]), Err(Error::NotAnImage));
    assert_eq!(read_all(Vec::new()), Err(Error::NotAnImage));
    let mut elf = vec![0; 1 << 16];
    put(&mut elf, 0, b"\x7fELF\x02\x01\x01\0");
    assert_eq!(read_all(elf), Err(Error::NotAnImage));
}

#[test]
fn another_version_byte_order_or_pointer_size_is_named() {
    let with = |at: usize, value: &[u8]| {
        let mut bytes = small_image();
        put(&mut bytes, at, value);
        read_all(bytes).unwrap_err()
    };
    let version = with(offset_of!(Header, version), &9u32.to_ne_bytes());
    assert_eq!(version, Error::Version(9));
    assert!(version.to_string().contains("version 9"));
    let swapped = with(offset_of!(Header, byte_order), &BYTE_ORDER.swap_bytes().to_ne_bytes());
    assert!(matches!(swapped, Error::Foreign(_)));
    assert!(matches!(with(offset_of!(Header, pointer_size), &4u32.to_ne_bytes()), Error::Foreign(_)));
    assert!(matches!(with(offset_of!(Header, byte_order), &[0; 4]), Error::Corrupt(_)));
}

#[test]
fn any_single_flipped_bit_of_header_and_directory_is_handled() {
    let whole = small_image();
    let mut refused = 0;
    for bit in 0..HEADER_SIZE * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // Either the bit does not matter to the reader (a clock, a counter), or the image is rejected.
        match read_all(bytes) {
            Ok(records) => assert!(records < 1 << 20),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 64 + 32, "not even the magic and the version were checked");
}

#[test]
fn impossible_claims_are_rejected_without_following_them() {
    let kinds = {
        let image = Image::open(small_image()).unwrap();
        let header = image.header().unwrap();
        header.directory.iter().map(|s| SectionKind(s.kind.get())).collect::<Vec<_>>()
    };
    let threads = kinds.iter().position(|kind| *kind == SectionKind::THREADS).unwrap();
    let huge = [u64::MAX, 1 << 63, 1 << 40, u64::MAX / size_of::<Thread>() as u64];
    for field in [offset_of!(Section, offset), offset_of!(Section, capacity)] {
        for value in huge {
            let mut bytes = small_image();
            put(&mut bytes, entry(threads, field), &value.to_ne_bytes());
            put(&mut bytes, entry(threads, offset_of!(Section, used)), &u64::MAX.to_ne_bytes());
            assert!(matches!(read_all(bytes), Err(Error::Corrupt(_))));
        }
    }
    for size in [0u32, 1, Thread::LEAST as u32 - 1, u32::MAX] {
        let mut bytes = small_image();
        put(&mut bytes, entry(threads, offset_of!(Section, record_size)), &size.to_ne_bytes());
        assert!(matches!(read_all(bytes), Err(Error::Corrupt(_))), "record size {size}");
    }
    let mut bytes = small_image();
    put(&mut bytes, offset_of!(Header, sections), &(DIRECTORY_LEN as u32 + 1).to_ne_bytes());
    assert!(matches!(read_all(bytes), Err(Error::Corrupt(_))));
}

#[test]
fn a_count_of_used_records_is_limited_to_those_that_fit() {
    let mut bytes = small_image();
    let image = Image::open(bytes.clone()).unwrap();
    let header = image.header().unwrap();
    let at = header.directory.iter().position(|s| s.kind.get() == SectionKind::PROCESS.0).unwrap();
    put(&mut bytes, entry(at, offset_of!(Section, used)), &u64::MAX.to_ne_bytes());
    let table = Image::open(bytes).unwrap().table::<mpiscope_image::layout::Process>(SectionKind::PROCESS);
    assert_eq!(table.unwrap().len(), 1);
}

#[test]
fn texts_and_arrays_are_bounded_by_the_request_and_by_the_image() {
    let bytes = small_image();
    let image = Image::open(bytes.as_slice().to_vec()).unwrap();
    let text = |offset: u64, len: u64| {
        let text = Text::default();
        text.offset.set(offset);
        text.len.set(len);
        text
    };
    assert_eq!(image.text(&text(0, u64::MAX), usize::MAX), Ok(String::new()));
    assert_eq!(image.text(&text(8, u64::MAX), 4).map(|t| t.len()), Ok(4));
    assert!(image.text(&text(u64::MAX, 1), 10).is_err());
    assert!(image.text(&text(bytes.len() as u64 - 2, 3), 10).is_err());
    let words = |offset: u64, len: u64| {
        let words = Words::default();
        words.offset.set(offset);
        words.len.set(len);
        words
    };
    assert_eq!(image.words(&words(0, u64::MAX), usize::MAX), Ok(Vec::new()));
    assert_eq!(image.words(&words(64, u64::MAX), 3).map(|w| w.len()), Ok(3));
    assert!(image.words(&words(64, u64::MAX), usize::MAX).is_err());
    assert!(image.words(&words(u64::MAX - 7, 1), 1).is_err());
}

#[test]
fn text_that_claims_to_be_endless_does_not_exhaust_memory() {
    let image = Image::open(small_image()).unwrap();
    let text = Text::default();
    text.offset.set(64);
    text.len.set(u64::MAX);
    assert!(image.text(&text, usize::MAX).is_err());
}

#[test]
fn a_source_that_fails_is_an_error() {
    struct Gone(u64);
    impl Source for Gone {
        fn read(&self, _: u64, _: &mut [u8]) -> Result<(), String> {
            Err("the process is gone".into())
        }
        fn len(&self) -> u64 {
            self.0
        }
    }
    assert_eq!(read_all(Gone(1 << 20)), Err(Error::Unreadable("the process is gone".into())));
    assert_eq!(read_all(Gone(0)), Err(Error::NotAnImage));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_part_of_an_image_are_handled(
        at in 0usize..HEADER_SIZE + 4096,
        noise in proptest::collection::vec(any::<u8>(), 1..256),
        keep in 0.0f64..1.2,
    ) {
        let mut bytes = small_image();
        let end = (at + noise.len()).min(bytes.len());
        if at < end {
            bytes[at..end].copy_from_slice(&noise[..end - at]);
        }
        bytes.truncate((bytes.len() as f64 * keep) as usize);
        let _survived = read_all(bytes);
    }

    #[test]
    fn any_directory_is_handled_and_its_records_lie_within_the_image(
        entries in proptest::collection::vec((0u32..34, any::<u32>(), any::<u64>(), any::<u64>(), any::<u64>()), 1..20),
        small in any::<bool>(),
    ) {
        let mut bytes = small_image();
        let room = bytes.len() as u64;
        put(&mut bytes, offset_of!(Header, sections), &(entries.len() as u32).to_ne_bytes());
        for (i, (kind, size, offset, capacity, used)) in entries.iter().enumerate() {
            // Random numbers are nearly always absurd; small ones get further.
            let limit = |n: u64, most: u64| if small { n % most } else { n };
            put(&mut bytes, entry(i, 0), &kind.to_ne_bytes());
            put(&mut bytes, entry(i, 4), &(limit(u64::from(*size), 32768) as u32).to_ne_bytes());
            put(&mut bytes, entry(i, 8), &limit(*offset, room).to_ne_bytes());
            put(&mut bytes, entry(i, 16), &limit(*capacity, 64).to_ne_bytes());
            put(&mut bytes, entry(i, 24), &limit(*used, 64).to_ne_bytes());
        }
        let image = Image::open(bytes.clone()).unwrap();
        if let Ok(comms) = image.all::<Comm>(SectionKind::COMMS) {
            prop_assert!(comms.len() as u64 * 20 <= room * 20);
        }
        let _survived = read_all(bytes);
    }
}
