//! The users of a registry: the last one to leave invalidates everything that users have made.

use crate::codes::Result;
use crate::registry::Registry;

impl Registry {
    /// Adds a user of the interface. Returns `true` for the first.
    pub fn init(&self) -> bool {
        self.lifecycle.init()
    }

    /// Removes a user. When the last one leaves, all sessions, handles and registrations become invalid.
    ///
    /// Returns `true` for the last.
    ///
    /// # Errors
    /// [`Error::NOT_INITIALIZED`] if there is no user.
    pub fn finalize(&self) -> Result<bool> {
        self.lifecycle.finalize(|| {
            self.free_all_sessions();
            self.free_all_cvar_handles();
            self.free_all_registrations();
        })
    }
}
