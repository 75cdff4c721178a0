//! A constant string as a variable.

use mpit::{Error, PvarHandle, PvarProvider, Result, SessionContext};

/// The string.
pub struct Text(pub &'static str);

impl PvarProvider for Text {
    fn open(&self, _object: u64, _session: SessionContext<'_>) -> Result<Box<dyn PvarHandle>> {
        Ok(Box::new(Self(self.0)))
    }
}

impl PvarHandle for Text {
    fn count(&self) -> usize {
        self.0.len() + 1
    }

    fn start(&self) -> Result<()> {
        Err(Error::PVAR_NO_STARTSTOP)
    }

    fn stop(&self) -> Result<()> {
        Err(Error::PVAR_NO_STARTSTOP)
    }

    fn read(&self, out: &mut [u8]) -> Result<()> {
        mpit::strings::return_string(self.0, out);
        Ok(())
    }
}
