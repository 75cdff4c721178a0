//! Tables in simulated memory of any width and byte order, for tests.

use mpiscope_target::{ByteOrder, InMemory};

/// The base address of the memory.
pub const BASE: u64 = 0x10_0000;

/// Memory that is filled from front to back. The block comes first.
pub struct Memory {
    pub width: usize,
    pub order: ByteOrder,
    pub bytes: Vec<u8>,
}

/// One process in a table.
#[derive(Clone, Copy)]
pub struct Proc<'a> {
    pub host: &'a str,
    pub executable: &'a str,
    pub world: &'a str,
    pub pid: i32,
    pub rank: i32,
    pub spawned: Option<(&'a str, i32, i32)>,
}

impl Memory {
    /// Creates an empty block of version 1.
    pub fn new(width: usize, order: ByteOrder) -> Self {
        let mut memory = Self { width, order, bytes: vec![0; 64 + 8 * width] };
        memory.bytes[..7].copy_from_slice(b"MPI2\x7f\x01\x01");
        memory
    }

    pub fn end(&self) -> u64 {
        BASE + self.bytes.len() as u64
    }

    fn encode(&self, value: u64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    /// Writes a number at an offset of the block.
    pub fn put(&mut self, offset: usize, value: u64, size: usize) {
        let bytes = self.encode(value, size);
        self.bytes[offset..offset + size].copy_from_slice(&bytes);
    }

    /// Sets one of the eight addresses of the block.
    pub fn address(&mut self, index: usize, value: u64) {
        self.put(16 + index * self.width, value, self.width);
    }

    /// Sets one of the four integers after them.
    pub fn int(&mut self, index: usize, value: i32) {
        self.put(16 + 8 * self.width + 4 * index, u64::from(value as u32), 4);
    }

    pub fn text(&mut self, text: &str) -> u64 {
        let at = self.end();
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        at
    }

    /// Adds words, each as (value, size), at an aligned address, which is returned.
    pub fn words(&mut self, words: &[(u64, usize)]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.end();
        for (value, size) in words {
            let bytes = self.encode(*value, *size);
            self.bytes.extend(bytes);
        }
        at
    }

    /// Publishes a process table.
    pub fn processes(&mut self, processes: &[Proc<'_>]) {
        let width = self.width;
        let mut words = Vec::new();
        for process in processes {
            let spawned = process.spawned.map_or(0, |(world, rank, sequence)| {
                let world = self.text(world);
                self.words(&[(world, width), (rank as u32 as u64, 4), (sequence as u32 as u64, 4)])
            });
            let texts = [process.host, process.executable].map(|text| self.text(text));
            let world = self.text(process.world);
            words.extend([(texts[0], width), (texts[1], width), (spawned, width), (world, width)]);
            words.extend([(process.pid as u32 as u64, 4), (process.rank as u32 as u64, 4)]);
        }
        let at = self.words(&words);
        self.address(5, at);
        self.int(0, processes.len() as i32);
    }

    /// Publishes a directory table (`which` 1) or a metadirectory table (2), packed or in natural layout.
    pub fn directory(&mut self, which: usize, entries: &[(&str, &str, i32)], packed: bool) {
        let width = self.width;
        let mut words = Vec::new();
        for (host, executable, pid) in entries {
            let texts = [host, executable].map(|text| self.text(text));
            words.extend([(texts[0], width), (texts[1], width), (*pid as u32 as u64, 4)]);
            if !packed && width == 8 {
                words.push((0, 4));
            }
        }
        let at = self.words(&words);
        self.address(5 + which, at);
        self.int(which, entries.len() as i32);
    }

    /// Publishes the location of the metadirectory.
    pub fn meta(&mut self, host: &str, executable: &str, pid: i32) {
        let texts = [host, executable].map(|text| self.text(text));
        self.address(2, texts[0]);
        self.address(3, texts[1]);
        self.int(3, pid);
    }

    pub fn target(&self, pid: u32) -> InMemory {
        // Memory is mapped in pages.
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        InMemory::new(self.width, self.order)
            .segment(BASE, bytes)
            .with_symbol("MPI2DD_info", BASE)
            .with_pid(pid)
    }
}
