//! A target that exists only in memory, for tests of code that reads targets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::{ByteOrder, Error, Module, Result, Target};

/// Explicitly given segments, symbols and modules, of any width and byte order.
#[derive(Debug, Clone)]
pub struct InMemory {
    width: usize,
    order: ByteOrder,
    segments: BTreeMap<u64, Vec<u8>>,
    symbols: BTreeMap<String, u64>,
    modules: Vec<Module>,
    pid: Option<u32>,
}

impl InMemory {
    /// Creates an empty target whose pointers have `width` bytes.
    pub fn new(width: usize, order: ByteOrder) -> Self {
        let (segments, symbols) = (BTreeMap::new(), BTreeMap::new());
        Self { width, order, segments, symbols, modules: Vec::new(), pid: None }
    }

    /// Adds memory. Segments must not overlap; a read does not cross from one into the next.
    pub fn segment(mut self, address: u64, bytes: Vec<u8>) -> Self {
        self.segments.insert(address, bytes);
        self
    }

    /// Adds a symbol.
    pub fn with_symbol(mut self, name: &str, address: u64) -> Self {
        self.symbols.insert(name.to_owned(), address);
        self
    }

    /// Adds a module; the first is the executable.
    pub fn with_module(mut self, module: Module) -> Self {
        self.modules.push(module);
        self
    }

    /// Sets the target's process id.
    pub fn with_pid(mut self, pid: u32) -> Self {
        self.pid = Some(pid);
        self
    }
}

impl Target for InMemory {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        let bytes = self.segments.range(..=address).next_back().and_then(|(start, bytes)| {
            let from = usize::try_from(address - start).ok()?;
            bytes.get(from..from.checked_add(buf.len())?)
        });
        let why = "no segment holds them";
        buf.copy_from_slice(bytes.ok_or(Error::Unreadable { address, len: buf.len(), why })?);
        Ok(())
    }

    fn width(&self) -> usize {
        self.width
    }

    fn byte_order(&self) -> ByteOrder {
        self.order
    }

    fn modules(&self) -> Result<Vec<Module>> {
        Ok(self.modules.clone())
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.symbols.get(name).copied())
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn executable(&self) -> Option<PathBuf> {
        self.modules.first().map(|module| module.path.clone())
    }
}
