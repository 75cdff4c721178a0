#![allow(missing_docs)]
use super::*;
use mpiscope_image::layout::HEADER_SIZE;
use mpiscope_image::objects::{Op, Session};
use mpiscope_image::{Grow, NewImage};
use std::collections::HashMap;
use std::thread;

struct AllThere;
impl Grow for AllThere {
    fn grow(&self, _: usize) -> bool {
        true
    }
}

/// An image of up to 4 GiB in private memory; only the pages in use take up memory.
pub fn image() -> &'static Writer {
    let len = 4 << 30;
    // SAFETY: a fresh private mapping.
    let base = unsafe {
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        libc::mmap(std::ptr::null_mut(), len, rights, flags | libc::MAP_NORESERVE, -1, 0)
    };
    assert_ne!(base, libc::MAP_FAILED);
    let new = NewImage { base: base.cast(), reserved: len, accessible: HEADER_SIZE, grow: &AllThere };
    // SAFETY: the mapping is never unmapped and not shared.
    Box::leak(Box::new(unsafe { Writer::new(new) }.unwrap()))
}

fn site(number: u32) -> Site {
    Site { function: number, at: u64::from(number), from: 0 }
}

fn table() -> &'static Table<Session> {
    Box::leak(Box::new(Table::new(SectionKind::SESSIONS, 16)))
}

/// A small generator with a fixed seed, so that failures are reproducible.
struct Random(u64);
impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn a_million_random_inserts_and_frees_agree_with_a_map() {
    let (writer, table, mut random) = (image(), table(), Random(7));
    let mut model: HashMap<u64, &'static Session> = HashMap::new();
    let mut uids = std::collections::HashSet::new();
    for step in 0..1_000_000u32 {
        // Handles of a library that hands out neighboring addresses and reuses them.
        let handle = 0x7f00_0000_0000 + 16 * random.below(5000);
        match model.remove(&handle) {
            Some(record) => {
                assert!(std::ptr::eq(table.find(handle).unwrap(), record));
                table.retire(writer, record, site(step));
                assert!(table.find(handle).is_none());
                assert_eq!(record.head.life.get(), Life::FREED.0);
            }
            None => {
                assert!(table.find(handle).is_none());
                let record = table.insert(writer, handle, site(step), |r| r.info.set(handle * 3)).unwrap();
                assert!(uids.insert(record.head.uid.get()), "a uid was assigned twice");
                assert_eq!(record.head.made_by.get(), step as u16);
                model.insert(handle, record);
            }
        }
        if step.is_multiple_of(50_000) {
            for (handle, record) in &model {
                assert!(std::ptr::eq(table.find(*handle).unwrap(), *record));
                assert_eq!((record.head.handle.get(), record.info.get()), (*handle, handle * 3));
            }
            let mut seen = 0;
            table.for_each(|_, record| {
                assert!(model.contains_key(&record.head.handle.get()));
                seen += 1;
            });
            assert_eq!(seen, model.len());
        }
    }
}

#[test]
fn a_million_objects_live_at_once() {
    let (writer, table) = (image(), table());
    let records: Vec<_> =
        (1..=1_000_000u64).map(|h| table.insert(writer, h * 8, Site::NONE, |_| {}).unwrap()).collect();
    for (handle, record) in (8..).step_by(8).zip(&records) {
        assert!(std::ptr::eq(table.find(handle).unwrap(), *record));
    }
    assert!(table.find(8_000_008).is_none());
    for record in &records {
        table.retire(writer, record, Site::NONE);
    }
    assert!(table.find(8).is_none());
}

#[test]
fn the_oldest_tombstones_go_first_and_pinned_ones_stay() {
    let (writer, table) = (image(), table());
    let records: Vec<_> =
        (0..1200).map(|n| table.insert(writer, 1 + n, Site::NONE, |_| {}).unwrap()).collect();
    for record in &records[..1024] {
        table.retire(writer, record, site(1));
    }
    assert!(records[..1024].iter().all(|r| r.head.life.get() == Life::FREED.0));
    assert_eq!(table.pin(writer, 3, true), Some(true));
    for record in &records[1024..1034] {
        table.retire(writer, record, site(1));
    }
    let empty: Vec<_> = (0..1034).filter(|n| records[*n].head.life.get() == Life::EMPTY.0).collect();
    assert_eq!(empty, [0, 1, 3, 4, 5, 6, 7, 8, 9, 10], "ten were too many, and the third is pinned");
    assert_eq!(writer.header().lost[Loss::TOMBSTONES.0 as usize].get(), 10);
    let reused = table.insert(writer, 77_777, Site::NONE, |_| {}).unwrap();
    assert!(std::ptr::eq(reused, records[10]), "the record that was emptied last is reused first");
    assert_eq!(table.pin(writer, 3, false), Some(true));
    assert_eq!(table.pin(writer, 999_999, true), Some(false));
}

#[test]
fn a_pin_written_by_a_debugger_holds_until_another_object_has_the_record() {
    let (writer, table) = (image(), table());
    let record = table.insert(writer, 1, Site::NONE, |_| {}).unwrap();
    record.head.pinned.set(1);
    table.retire(writer, record, site(1));
    let free_many = |first: u64| {
        for n in 0..1030 {
            let other = table.insert(writer, first + n, Site::NONE, |_| {}).unwrap();
            table.retire(writer, other, site(1));
        }
    };
    free_many(1000);
    assert_eq!((record.head.life.get(), record.head.handle.get()), (Life::FREED.0, 1));
    record.head.pinned.set(0);
    free_many(3000);
    assert_ne!(record.head.handle.get(), 1, "it may be reused once the debugger clears the mark");
    let other = table.insert(writer, 5000, Site::NONE, |_| {}).unwrap();
    assert_eq!(other.head.pinned.get(), 0, "a new object is not pinned");
}

#[test]
fn a_handle_reused_before_its_free_has_returned_is_a_new_object() {
    let (writer, table) = (image(), table());
    let old = table.insert(writer, 5, Site::NONE, |_| {}).unwrap();
    // One thread is inside the call that frees it while another gets the handle again.
    table.mark(old);
    let new = table.insert(writer, 5, Site::NONE, |_| {}).unwrap();
    assert_eq!(old.head.life.get(), Life::MARKED.0, "the call that frees it turns it into a tombstone");
    table.retire(writer, old, site(9));
    assert_eq!((old.head.life.get(), old.head.freed_by.get()), (Life::FREED.0, 9));
    assert!(std::ptr::eq(table.find(5).unwrap(), new));
    assert_ne!(old.head.uid.get(), new.head.uid.get());
    // The free was not seen.
    let newest = table.insert(writer, 5, Site::NONE, |_| {}).unwrap();
    assert_eq!((new.head.life.get(), new.head.freed_by.get()), (Life::FREED.0, 0));
    assert!(std::ptr::eq(table.find(5).unwrap(), newest));
}

#[test]
fn a_free_that_failed_leaves_the_object_alive() {
    let (writer, table) = (image(), table());
    let record = table.insert(writer, 5, Site::NONE, |_| {}).unwrap();
    table.mark(record);
    assert!(table.find(5).is_some(), "it exists while the call runs");
    table.unmark(record);
    assert_eq!(record.head.life.get(), Life::LIVE.0);
}

#[test]
fn a_tombstone_that_becomes_live_again_is_found_and_not_reused() {
    let (writer, table) = (image(), table());
    let records: Vec<_> = (0..3).map(|n| table.insert(writer, 1 + n, Site::NONE, |_| {}).unwrap()).collect();
    for record in &records {
        table.retire(writer, record, site(1));
    }
    let middle = table.tombstone(writer, records[1].head.uid.get()).unwrap();
    table.revive(writer, middle, site(2));
    assert!(std::ptr::eq(table.find(2).unwrap(), records[1]));
    for n in 0..1022u64 {
        let other = table.insert(writer, 100 + n, Site::NONE, |_| {}).unwrap();
        table.retire(writer, other, site(1));
    }
    assert_eq!(records[0].head.life.get(), Life::FREED.0, "two and 1022 tombstones are the maximum");
    table.retire(writer, middle, site(3));
    assert_eq!(records[0].head.life.get(), Life::EMPTY.0);
    assert_eq!(records[1].head.life.get(), Life::FREED.0);
}

#[test]
fn threads_never_miss_their_own_objects_while_others_come_and_go() {
    const THREADS: u64 = 4;
    let (writer, table): (_, &'static Table<Op>) =
        (image(), Box::leak(Box::new(Table::new(SectionKind::OPS, 4))));
    static RUNNING: AtomicU64 = AtomicU64::new(THREADS);
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            RUNNING.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let churn = |thread: u64| {
        let _leave = Leave;
        let mut random = Random(thread * 77 + 1);
        // The handles of all threads are adjacent, so that removals shift other threads' entries.
        let mut own: HashMap<u64, &'static Op> = HashMap::new();
        for step in 0..400_000u32 {
            let handle = (1 + random.below(64)) * THREADS + thread;
            match own.remove(&handle) {
                Some(record) => {
                    let found = table.find(handle).expect("a live object was missed");
                    assert!(std::ptr::eq(found, record));
                    assert_eq!(found.function.get(), handle ^ 0xabcd);
                    table.mark(record);
                    table.retire(writer, record, site(step));
                }
                None => {
                    assert!(table.find(handle).is_none(), "a freed object was found");
                    let fill = |r: &'static Op| r.function.set(handle ^ 0xabcd);
                    own.insert(handle, table.insert(writer, handle, site(step), fill).unwrap());
                }
            }
            for (handle, record) in own.iter().take(3) {
                assert!(std::ptr::eq(table.find(*handle).expect("a live object was missed"), *record));
            }
        }
        // Growth while other threads read: many more objects, once.
        for n in 0..5000 {
            table.insert(writer, (1 << 32) + n * THREADS + thread, site(0), |_| {}).unwrap();
        }
    };
    thread::scope(|scope| {
        let looker = scope.spawn(|| {
            let mut looks = 0u64;
            while RUNNING.load(Ordering::Relaxed) != 0 {
                looks += 1;
                if let Some(record) = table.find(looks % 260) {
                    // It may be freed by now, but it is a record of this table.
                    assert_eq!(record.head.uid.get() & 0xff, u64::from(SectionKind::OPS.0));
                }
            }
            looks
        });
        let workers: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || churn(t))).collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert!(looker.join().unwrap() > 0);
    });
}
