//! Caches pages of a target.
//!
//! Walking a structure in another process takes many reads of a few bytes, each of which costs a system call
//! or a round trip to a debugger. This wrapper reads whole pages and keeps a bounded number of them. Data is
//! as old as the page, so a cache serves one inspection of the target and is dropped (or
//! [cleared](Cached::clear)) before the next.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{ByteOrder, Module, Result, Target};

const PAGE: u64 = 4096;
/// Longer reads bypass the cache: they copy big tables rather than walk structures.
const LARGEST: usize = 4 * PAGE as usize;

/// A target that reads each page once.
#[derive(Debug)]
pub struct Cached<T> {
    target: T,
    capacity: usize,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    held: HashMap<u64, Box<[u8]>>,
    /// Page numbers in order of insertion; once full, a ring with the oldest at `next`.
    order: Vec<u64>,
    next: usize,
}

impl Pages {
    fn insert(&mut self, number: u64, page: Box<[u8]>, capacity: usize) {
        if self.held.insert(number, page).is_some() {
            return;
        }
        if self.order.len() < capacity {
            self.order.push(number);
        } else if let Some(oldest) = self.order.get_mut(self.next) {
            self.held.remove(&std::mem::replace(oldest, number));
            self.next = (self.next + 1) % capacity;
        }
    }
}

impl<T: Target> Cached<T> {
    /// Keeps up to `pages` pages of 4096 bytes (at least one).
    pub fn new(target: T, pages: usize) -> Self {
        Self { target, capacity: pages.max(1), pages: Mutex::default() }
    }

    /// The target behind the cache.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// Discards all pages, because the target may have run on.
    pub fn clear(&self) {
        *self.lock() = Pages::default();
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies from one page, fetching it if necessary. Returns false if the page cannot be read as a whole.
    fn copy(&self, number: u64, from: usize, buf: &mut [u8]) -> bool {
        let mut pages = self.lock();
        if !pages.held.contains_key(&number) {
            let mut page = vec![0; PAGE as usize].into_boxed_slice();
            let Some(address) = number.checked_mul(PAGE) else { return false };
            if self.target.read(address, &mut page).is_err() {
                return false;
            }
            pages.insert(number, page, self.capacity);
        }
        let bytes = pages.held.get(&number).and_then(|page| page.get(from..from + buf.len()));
        bytes.map(|bytes| buf.copy_from_slice(bytes)).is_some()
    }
}

impl<T: Target> Target for Cached<T> {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        if buf.len() > LARGEST {
            return self.target.read(address, buf);
        }
        let mut done = 0;
        while done < buf.len() {
            let at = address.wrapping_add(done as u64);
            let from = (at % PAGE) as usize;
            let len = (PAGE as usize - from).min(buf.len() - done);
            let Some(part) = buf.get_mut(done..done + len) else { break };
            // A debugger or a fake may have less than a page around the bytes: ask for exactly these.
            if !self.copy(at / PAGE, from, part) {
                return self.target.read(address, buf);
            }
            done += len;
        }
        Ok(())
    }

    fn width(&self) -> usize {
        self.target.width()
    }

    fn byte_order(&self) -> ByteOrder {
        self.target.byte_order()
    }

    fn modules(&self) -> Result<Vec<Module>> {
        self.target.modules()
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        self.target.symbol(name)
    }

    fn pid(&self) -> Option<u32> {
        self.target.pid()
    }

    fn executable(&self) -> Option<PathBuf> {
        self.target.executable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Callbacks;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_page_is_read_once_and_the_number_of_pages_is_bounded() {
        let fetches = AtomicUsize::new(0);
        let fetch = |address: u64, buf: &mut [u8]| {
            fetches.fetch_add(1, Ordering::Relaxed);
            buf.iter_mut().zip(address..).for_each(|(byte, at)| *byte = (at / PAGE) as u8);
            true
        };
        let cached = Cached::new(Callbacks::new(8, ByteOrder::Little, fetch, |_| None).unwrap(), 2);
        for _ in 0..10 {
            assert_eq!(cached.read_u8(0x1008).unwrap(), 1);
            assert_eq!(cached.read_u16(0x1fff).unwrap(), 0x0201);
        }
        assert_eq!(fetches.load(Ordering::Relaxed), 2);
        assert_eq!(cached.read_u8(0x5000).unwrap(), 5);
        assert_eq!(cached.lock().held.len(), 2);
        assert_eq!(cached.read_u8(0x1000).unwrap(), 1);
        assert_eq!(fetches.load(Ordering::Relaxed), 4, "the oldest page had been evicted");
        cached.clear();
        assert_eq!(cached.read_u8(0x1000).unwrap(), 1);
        assert_eq!(fetches.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn readable_bytes_of_a_partly_missing_page_are_read() {
        let cached = Cached::new(crate::InMemory::new(8, ByteOrder::Little).segment(0x1010, vec![7; 4]), 4);
        assert_eq!(cached.read_u32(0x1010).unwrap(), 0x0707_0707);
        assert!(cached.read_u32(0x1012).is_err());
    }
}
