//! Invalid tables: every one yields an error or less, in bounded time.

use crate::memory::{BASE, Memory, Proc};
use mpiscope_job::jobs::acquire::mpi2dd;
use mpiscope_job::jobs::acquire::{Error, mpir};
use mpiscope_target::{ByteOrder, InMemory, Module, Target};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn good() -> Memory {
    let mut memory = Memory::new(8, ByteOrder::Little);
    let entry = |pid| Proc { host: "h", executable: "/a", world: "w", pid, rank: pid - 10, spawned: None };
    memory.processes(&[entry(10), entry(11)]);
    memory.directory(1, &[("h", "/a", 12), ("h", "/a", 13)], true);
    memory.meta("h", "/a", 10);
    memory
}

/// Reads a changed block, in bounded time.
fn read(change: impl FnOnce(&mut Memory)) -> Result<mpi2dd::Block, Error> {
    let mut memory = good();
    change(&mut memory);
    let begin = Instant::now();
    let result = mpi2dd::read(&memory.target(10)).map(Option::unwrap);
    assert!(begin.elapsed() < Duration::from_secs(5));
    result
}

#[test]
fn unchanged_tables_are_accepted() {
    let block = read(|_| {}).unwrap();
    assert_eq!((block.processes.len(), block.directories.len()), (2, 2));
}

#[test]
fn huge_and_negative_counts_are_rejected_without_allocating() {
    for (index, count) in [(0, i32::MAX), (0, -1), (1, i32::MAX), (1, -7), (2, 1 << 30)] {
        let error = read(|memory| memory.int(index, count)).unwrap_err();
        assert!(matches!(error, Error::Table { .. }), "{error}");
    }
}

#[test]
fn a_count_beyond_the_table_is_an_error() {
    assert!(read(|memory| memory.int(0, 1000)).is_err());
}

#[test]
fn bad_addresses_are_errors() {
    for index in [2, 3, 4, 5, 6] {
        assert!(read(|memory| memory.address(index, 0xdead_0000)).is_err(), "address {index}");
        assert!(read(|memory| memory.address(index, u64::MAX)).is_err(), "address {index}");
    }
}

#[test]
fn other_versions_and_magic_bytes_are_reported() {
    let error = read(|memory| memory.bytes[5] = 9).unwrap_err().to_string();
    assert!(error.contains("version 9"), "{error}");
    let error = read(|memory| memory.bytes[0] = b'X').unwrap_err().to_string();
    assert!(error.contains("MPI2"), "{error}");
}

#[test]
fn an_impossible_process_id_is_rejected() {
    let error = read(|memory| {
        memory.processes(&[Proc { host: "h", executable: "/a", world: "w", pid: -3, rank: 0, spawned: None }])
    });
    assert!(error.is_err());
}

#[test]
fn an_unterminated_string_is_rejected() {
    let error = read(|memory| {
        let at = memory.end();
        memory.bytes.extend(std::iter::repeat_n(b'x', 100_000));
        memory.address(2, at);
    });
    assert!(error.is_err());
}

#[test]
fn the_size_of_mpirs_table_is_bounded() {
    let mut memory = good();
    let size = memory.words(&[(0x7fff_ffff, 4)]);
    let table = memory.words(&[(BASE, 8)]);
    let target = memory.target(1).with_symbol("MPIR_Breakpoint", 1);
    let target = target.with_symbol("MPIR_proctable", table).with_symbol("MPIR_proctable_size", size);
    assert!(mpir::read(&target).is_err());
}

/// Shows broken memory for the first reads, like a process that is changing its tables.
struct Changing {
    broken: InMemory,
    whole: InMemory,
    looks: AtomicUsize,
}

impl Changing {
    fn now(&self) -> &InMemory {
        if self.looks.load(Ordering::Relaxed) < 3 { &self.broken } else { &self.whole }
    }
}

impl Target for Changing {
    fn read(&self, address: u64, buf: &mut [u8]) -> mpiscope_target::Result<()> {
        if address == BASE {
            self.looks.fetch_add(1, Ordering::Relaxed);
        }
        self.now().read(address, buf)
    }
    fn width(&self) -> usize {
        8
    }
    fn byte_order(&self) -> ByteOrder {
        ByteOrder::Little
    }
    fn modules(&self) -> mpiscope_target::Result<Vec<Module>> {
        Ok(Vec::new())
    }
    fn symbol(&self, name: &str) -> mpiscope_target::Result<Option<u64>> {
        self.whole.symbol(name)
    }
    fn pid(&self) -> Option<u32> {
        Some(10)
    }
    fn executable(&self) -> Option<PathBuf> {
        None
    }
}

#[test]
fn a_changing_table_is_reread_until_it_is_consistent() {
    let whole = good();
    let mut broken = good();
    broken.int(0, 5000);
    let target = Changing { broken: broken.target(10), whole: whole.target(10), looks: AtomicUsize::new(0) };
    let block = mpi2dd::read(&target).unwrap().unwrap();
    assert_eq!(block.processes.len(), 2);
    assert!(target.looks.load(Ordering::Relaxed) >= 3);
}

#[test]
fn every_flipped_byte_gives_a_block_or_an_error() {
    let memory = good();
    for at in 0..memory.bytes.len() {
        let mut changed = good();
        changed.bytes[at] ^= 0xff;
        // The result may be wrong, but reading ends and does not go beyond the existing memory.
        let _block_or_error = mpi2dd::read(&changed.target(10));
    }
}
