//! A thread that is running again, with a copy of its stack.

use super::stop::Stopped;
use mpiscope_target::{ByteOrder, Live, Module, Result, Target};
use std::path::PathBuf;

/// A running process, with the stack that a thread had when it was stopped.
pub struct Copied<'a> {
    pub live: &'a Live,
    pub stopped: &'a Stopped,
}

impl Target for Copied<'_> {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        let inside = address.checked_sub(self.stopped.stack_at).and_then(|at| {
            let at = usize::try_from(at).ok()?;
            self.stopped.stack.get(at..at.checked_add(buf.len())?)
        });
        match inside {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.live.read(address, buf),
        }
    }

    fn width(&self) -> usize {
        self.live.width()
    }

    fn byte_order(&self) -> ByteOrder {
        self.live.byte_order()
    }

    fn modules(&self) -> Result<Vec<Module>> {
        self.live.modules()
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        self.live.symbol(name)
    }

    fn pid(&self) -> Option<u32> {
        self.live.pid()
    }

    fn executable(&self) -> Option<PathBuf> {
        self.live.executable()
    }
}
