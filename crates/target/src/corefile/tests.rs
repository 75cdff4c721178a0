use super::*;
use std::time::{Duration, Instant};

/// Builds a core file: one area of notes, one stored segment, one omitted segment.
fn synthetic(width: usize, order: ByteOrder) -> Vec<u8> {
    let put = |out: &mut Vec<u8>, number: u64, size: usize| match order {
        ByteOrder::Little => out.extend_from_slice(&number.to_le_bytes()[..size]),
        ByteOrder::Big => out.extend_from_slice(&number.to_be_bytes()[8 - size..]),
    };
    let words = |list: &[(u64, usize)]| {
        let mut out = Vec::new();
        list.iter().for_each(|(number, size)| put(&mut out, *number, *size));
        out
    };
    let note = |kind: u64, desc: Vec<u8>| {
        let mut out = words(&[(5, 4), (desc.len() as u64, 4), (kind, 4)]);
        out.extend_from_slice(b"CORE\0\0\0\0");
        out.extend_from_slice(&desc);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    };
    let machine: u64 = if width == 8 { 22 } else { 20 };
    let mut status = words(&[(11, 4), (0, 4), (0, 4), (11, 2), (0, 2)]);
    status.extend(words(&[(0, width), (0, width), (4242, 4), (1, 4), (1, 4), (1, 4)]));
    status.extend(words(&[(0, width); 8]));
    status.extend(words(&(0..34).map(|number| (0x100 + number, width)).collect::<Vec<_>>()));
    let mut siginfo = words(&[(11, 4), (0, 4), (1, 4)]);
    siginfo.extend(words(&[(0, width - 4), (0xdead_0008, width)]));
    siginfo.resize(128, 0);
    let mut files = words(&[(2, width), (4096, width)]);
    files.extend(words(&[(0x10000, width), (0x11000, width), (0, width)]));
    files.extend(words(&[(0x30000, width), (0x31000, width), (1, width)]));
    files.extend_from_slice(b"/no/such/program\0/no/such/library\0");
    let auxiliary = words(&[(3, width), (0x10040, width), (0, width), (0, width)]);
    let notes =
        [note(1, status), note(0x5349_4749, siginfo), note(0x4649_4c45, files), note(6, auxiliary)].concat();

    let (header, entry) = if width == 8 { (64, 56) } else { (52, 32) };
    let notes_at = header + 3 * entry;
    let memory_at = notes_at + notes.len();
    let mut out = vec![0x7f, b'E', b'L', b'F', (width / 4) as u8, 1 + u8::from(order == ByteOrder::Big), 1];
    out.resize(16, 0);
    out.extend(words(&[(4, 2), (machine, 2), (1, 4), (0, width), (header as u64, width), (0, width)]));
    out.extend(words(&[(0, 4), (header as u64, 2), (entry as u64, 2), (3, 2), (0, 2), (0, 2), (0, 2)]));
    let mut segment = |kind: u64, flags: u64, at: usize, address: u64, stored: usize, size: u64| {
        let flags = (flags, 4);
        let (first, last) = if width == 8 { (Some(flags), None) } else { (None, Some(flags)) };
        let mut fields = vec![(kind, 4)];
        fields.extend(first);
        fields.extend([
            (at as u64, width),
            (address, width),
            (0, width),
            (stored as u64, width),
            (size, width),
        ]);
        fields.extend(last);
        fields.push((4096, width));
        out.extend(words(&fields));
    };
    segment(4, 0, notes_at, 0, notes.len(), 0);
    segment(1, 6, memory_at, 0x20000, 0x100, 0x1000);
    segment(1, 5, memory_at, 0x10000, 0, 0x1000);
    out.extend(notes);
    out.extend((0..0x100_u16).map(|byte| byte as u8));
    out
}

fn open(bytes: &[u8]) -> Result<Core> {
    // Thousands of files: in memory if the system has such a directory.
    let folder =
        [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find(|path| path.is_dir()).unwrap();
    let file = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Core::open(file.path())
}

#[test]
fn a_core_file_of_any_width_and_byte_order_is_read() {
    for (width, order) in
        [(4, ByteOrder::Big), (4, ByteOrder::Little), (8, ByteOrder::Big), (8, ByteOrder::Little)]
    {
        let core = open(&synthetic(width, order)).unwrap();
        assert_eq!((core.width(), core.byte_order()), (width, order));
        let expected = if order == ByteOrder::Big { 0x0405_0607 } else { 0x0706_0504 };
        assert_eq!(core.read_u32(0x20004).unwrap(), expected);
        let thread = &core.threads()[0];
        assert_eq!((thread.tid, thread.signal), (4242, 11));
        // Register n holds 0x100 + n. 64-bit: s390x, whose second word is the program counter; 32-bit: POWER.
        let expected = if width == 8 { (Some(0x101), Some(0x111)) } else { (Some(0x120), Some(0x101)) };
        assert_eq!((thread.pc, thread.sp), expected);
        let crash = core.crash().unwrap();
        assert_eq!(
            (crate::signal_name(crash.signal), crash.fault_address),
            (Some("SIGSEGV"), Some(0xdead_0008))
        );
        assert_eq!(core.executable().unwrap(), Path::new("/no/such/program"));
        let modules = core.modules().unwrap();
        assert_eq!(modules.len(), 1, "only what has code");
        assert_eq!((modules[0].start, modules[0].bias), (0x10000, 0x10000));
        assert_eq!(core.missing(), None);
        assert!(core.symbol("main").is_err(), "no file to look into is not the same as no symbol");
    }
}

#[test]
fn reading_memory_missing_from_the_core_is_an_error_with_the_reason() {
    let core = open(&synthetic(8, ByteOrder::Little)).unwrap();
    let why = |address| core.read_u64(address).unwrap_err().to_string();
    assert!(why(0x20100).contains("coredump_filter"), "{}", why(0x20100));
    assert!(why(0x200fc).contains("coredump_filter"), "half of it is there: {}", why(0x200fc));
    assert!(why(0x10000).contains("missing or has changed"), "{}", why(0x10000));
    assert!(why(0x50000).contains("not in the core file"), "{}", why(0x50000));
    assert!(core.read_u64(u64::MAX - 3).unwrap_err().is_bad_address());
}

#[test]
fn a_truncated_core_file_reports_how_much_is_missing() {
    let whole = synthetic(8, ByteOrder::Little);
    let core = open(&whole[..whole.len() - 0x80]).unwrap();
    assert_eq!(core.missing(), Some(0x80));
    let writable = core.segments().iter().find(|segment| segment.writable).unwrap();
    assert_eq!((writable.stored, core.present(writable)), (0x100, 0x80));
    assert_eq!(core.read_u8(0x2007f).unwrap(), 0x7f);
    assert!(core.read_u8(0x20080).unwrap_err().to_string().contains("cut off"));
}

#[test]
fn a_file_that_is_not_a_core_file_is_named() {
    let own = Core::open(std::env::current_exe().unwrap()).unwrap_err();
    assert!(matches!(own, Error::NotCore { .. }), "{own}");
    assert!(matches!(open(b""), Err(Error::Elf { .. })));
    assert!(matches!(open(b"#!/bin/sh\nexit 0\n"), Err(Error::Elf { .. })));
    assert!(matches!(Core::open("/dev/null"), Err(Error::Io { .. })));
    assert!(matches!(Core::open("/"), Err(Error::Io { .. })));
}

/// Pseudorandom numbers, equal in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Asks everything that can be asked; any answers will do, as long as they come.
fn exercise(bytes: &[u8]) {
    let Ok(core) = open(bytes) else { return };
    let _ =
        (core.modules(), core.symbol("environ"), core.executable(), core.missing(), core.crash().cloned());
    for segment in core.segments().iter().take(64) {
        for address in [segment.address, segment.address.wrapping_add(segment.stored), u64::MAX] {
            let _ = (core.read_u64(address), core.read_c_string(address, 4096), core.read_pointer(address));
        }
    }
}

fn mutate(core: &[u8], rounds: usize, seed: u64) {
    let start = Instant::now();
    let mut numbers = Numbers(seed);
    // The tables are at the front; changes to mere memory have no effect.
    let tables = core.len().min(8192);
    for round in 0..rounds {
        let mut bytes = core.to_vec();
        let at = numbers.below(tables);
        match round % 4 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << numbers.below(8),
            2 => {
                let end = (at + numbers.below(64)).min(bytes.len());
                bytes[at..end].fill(0);
            }
            _ => {
                let end = (at + 1 + numbers.below(8)).min(bytes.len());
                bytes[at..end].fill(0xff);
            }
        }
        exercise(&bytes);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?} for {rounds} cores", start.elapsed());
}

#[test]
fn damaged_synthetic_cores_give_answers_or_errors_in_bounded_time() {
    for (width, order) in [(4, ByteOrder::Big), (8, ByteOrder::Little)] {
        mutate(&synthetic(width, order), 2000, 0x9e37_79b9_7f4a_7c15);
    }
}

#[test]
fn every_byte_of_the_headers_may_have_its_largest_value() {
    let core = synthetic(8, ByteOrder::Little);
    for at in 0..64 + 3 * 56 {
        let mut bytes = core.clone();
        bytes[at] = 0xff;
        exercise(&bytes);
        bytes[at & !7..(at & !7) + 8].fill(0xff);
        exercise(&bytes);
    }
}
