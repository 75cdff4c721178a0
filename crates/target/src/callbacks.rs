//! A target behind a debugger's callbacks.
//!
//! The debugger interfaces of MPI (`mqs_*`, `mpidbg_*`) let a plug-in ask for bytes, for the address of a
//! symbol and for the sizes of types, and for nothing else: no modules, no process id. The closures belong to
//! the plug-in, which also relies on the debugger's guarantee that these interfaces are used from one thread
//! at a time.

use std::path::PathBuf;

use crate::{ByteOrder, Error, Module, Result, Target};

/// A target made of closures.
pub struct Callbacks<F, S> {
    fetch: F,
    find_symbol: S,
    width: usize,
    order: ByteOrder,
}

impl<F, S> Callbacks<F, S>
where
    F: Fn(u64, &mut [u8]) -> bool + Send + Sync,
    S: Fn(&str) -> Option<u64> + Send + Sync,
{
    /// `fetch` fills a buffer with raw target bytes and returns whether that succeeded; `find_symbol` returns
    /// the address of a symbol; `width` is the target's `pointer_size` as reported by the debugger.
    ///
    /// # Errors
    /// [`Error::Width`] when the width is neither 4 nor 8.
    pub fn new(width: usize, order: ByteOrder, fetch: F, find_symbol: S) -> Result<Self> {
        if width != 4 && width != 8 {
            return Err(Error::Width(width));
        }
        Ok(Self { fetch, find_symbol, width, order })
    }
}

impl<F, S> Target for Callbacks<F, S>
where
    F: Fn(u64, &mut [u8]) -> bool + Send + Sync,
    S: Fn(&str) -> Option<u64> + Send + Sync,
{
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        // An empty read need not reach the debugger.
        if buf.is_empty() || (self.fetch)(address, buf) {
            return Ok(());
        }
        Err(Error::Fetch { address, len: buf.len() })
    }

    fn width(&self) -> usize {
        self.width
    }

    fn byte_order(&self) -> ByteOrder {
        self.order
    }

    fn modules(&self) -> Result<Vec<Module>> {
        Ok(Vec::new())
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        Ok((self.find_symbol)(name))
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn executable(&self) -> Option<PathBuf> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_symbols_come_from_the_closures() {
        let memory = [0x0a, 0x0b, 0x0c, 0x0d];
        let fetch = |address: u64, buf: &mut [u8]| {
            let from = address as usize;
            memory.get(from..from + buf.len()).map(|bytes| buf.copy_from_slice(bytes)).is_some()
        };
        let find = |name: &str| (name == "MPIR_dll_name").then_some(2);
        let target = Callbacks::new(4, ByteOrder::Big, fetch, find).unwrap();
        assert_eq!(target.read_pointer(0).unwrap(), 0x0a0b_0c0d);
        assert!(matches!(target.read_u32(1), Err(Error::Fetch { address: 1, len: 4 })));
        assert_eq!(target.symbol("MPIR_dll_name").unwrap(), Some(2));
        assert_eq!(target.symbol("nothing").unwrap(), None);
    }

    #[test]
    fn a_pointer_of_three_bytes_is_rejected() {
        let made = Callbacks::new(3, ByteOrder::Little, |_, _: &mut [u8]| true, |_| None);
        assert!(matches!(made, Err(Error::Width(3))));
    }
}
