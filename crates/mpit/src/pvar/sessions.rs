//! Allocation and freeing of sessions and their handles. May lock and allocate.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::handle::{Body, PvarHandleData};
use super::inline::PvarInline;
use super::measured::Measured;
use super::session::Session;
use super::{Pvar, SessionContext};
use crate::codes::{Bind, Error, Result};
use crate::registry::Registry;
use crate::slab::Pinned;
use crate::word::{PvarWord, SessionWord};

impl Registry {
    /// Creates a performance experiment session.
    ///
    /// # Errors
    /// [`Error::OUT_OF_SESSIONS`].
    pub fn pvar_session_create(&self) -> Result<SessionWord> {
        let (index, generation) =
            self.sessions.insert(Session::default(), |_, ()| Ok(())).map_err(|_| Error::OUT_OF_SESSIONS)?;
        Ok(SessionWord::new(index, generation))
    }

    /// Frees a session and its handles.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`].
    pub fn pvar_session_free(&self, session: SessionWord) -> Result<()> {
        let pinned = self.pin_session(session)?;
        let handles = Arc::clone(&pinned.handles);
        if !self.sessions.remove(pinned) {
            return Err(Error::INVALID_SESSION);
        }
        // Freeing runs a provider's code, which may call back here, so not under the lock.
        let handles = std::mem::take(&mut *handles.lock().unwrap_or_else(PoisonError::into_inner));
        for (index, generation) in handles.known {
            let _ = self.pvar_handles.pin(index, generation).map(|handle| self.pvar_handles.remove(handle));
        }
        Ok(())
    }

    pub(crate) fn free_all_sessions(&self) {
        let words: Vec<_> = self.sessions.pins().map(|s| SessionWord::new(s.index, s.generation)).collect();
        for session in words {
            // A session that another thread frees at the same time is freed as well.
            let _ = self.pvar_session_free(session);
        }
    }

    fn pin_session(&self, session: SessionWord) -> Result<Pinned<'_, Session, ()>> {
        let (index, generation) = session.parts().ok_or(Error::INVALID_SESSION)?;
        self.sessions.pin(index, generation).ok_or(Error::INVALID_SESSION)
    }

    /// Checks that the session is valid. Takes no pin.
    pub(super) fn check_session(&self, session: SessionWord) -> Result<()> {
        let (index, generation) = session.parts().ok_or(Error::INVALID_SESSION)?;
        let live = self.sessions.slot(index).is_some_and(|slot| slot.state.is_live(generation));
        if live { Ok(()) } else { Err(Error::INVALID_SESSION) }
    }

    /// All handles of a session, each pinned in turn.
    pub(super) fn session_handles(
        &self,
        session: SessionWord,
    ) -> impl Iterator<Item = Pinned<'_, PvarHandleData, PvarInline>> {
        let handles = self.pvar_handles.pins();
        handles.filter(move |handle| handle.slot.inline.session.load(Ordering::Acquire) == session.0)
    }

    /// Pins a handle of this session.
    pub(super) fn session_handle(
        &self,
        session: SessionWord,
        handle: PvarWord,
    ) -> Result<Pinned<'_, PvarHandleData, PvarInline>> {
        let pinned = handle
            .parts()
            .and_then(|(index, generation)| self.pvar_handles.pin(index, generation))
            .filter(|pinned| pinned.slot.inline.session.load(Ordering::Acquire) == session.0);
        // A handle of this session proves the session; without one, check which of the two is invalid.
        match pinned {
            Some(pinned) => Ok(pinned),
            None => self.check_session(session).and(Err(Error::INVALID_HANDLE)),
        }
    }

    /// Allocates a handle of a variable, bound to `object`, which is ignored if the variable is unbound.
    ///
    /// Returns the handle and its number of elements. A continuous variable is measured from now on; any
    /// other is stopped.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_INDEX`], [`Error::OUT_OF_HANDLES`], and the instrument's
    /// error for an unsuitable object, by convention [`Error::INVALID_HANDLE`].
    pub fn pvar_handle_alloc(
        &self,
        session: SessionWord,
        pvar: impl TryInto<usize>,
        object: u64,
    ) -> Result<(PvarWord, usize)> {
        let pinned = self.pin_session(session)?;
        let pvar = self.pvar(pvar)?;
        let object = if pvar.info.bind == Bind::NO_OBJECT { 0 } else { object };
        let data = PvarHandleData::new(pvar, object, body(pvar, object, &pinned)?);
        let count = data.count();
        let word = self.insert_handle(session, pvar, data)?;
        let is_live = |index, generation| {
            self.pvar_handles.slot(index).is_some_and(|slot| slot.state.is_live(generation))
        };
        pinned.handles.lock().unwrap_or_else(PoisonError::into_inner).add(word, is_live);
        // If the session was freed in the meantime, it did not see this handle.
        if let Err(error) = self.check_session(session) {
            let _ = self.pvar_handles.pin(word.0, word.1).map(|handle| self.pvar_handles.remove(handle));
            return Err(error);
        }
        Ok((PvarWord::new(word.0, word.1), count))
    }

    fn insert_handle(&self, session: SessionWord, pvar: &Pvar, data: PvarHandleData) -> Result<(usize, u32)> {
        let continuous = pvar.info.continuous;
        if continuous {
            pvar.activate();
        }
        let inserted = self.pvar_handles.insert(data, |data, inline| {
            inline.prepare(session, continuous);
            data.begin(inline, continuous)
        });
        if inserted.is_err() && continuous {
            pvar.deactivate();
        }
        inserted.map_err(|error| error.unwrap_or(Error::OUT_OF_HANDLES))
    }

    /// Frees a handle of this session.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`].
    pub fn pvar_handle_free(&self, session: SessionWord, handle: PvarWord) -> Result<()> {
        let pinned = self.session_handle(session, handle)?;
        if self.pvar_handles.remove(pinned) { Ok(()) } else { Err(Error::INVALID_HANDLE) }
    }

    /// Number of sessions, and number of handles of performance variables, in use.
    pub fn pvar_usage(&self) -> (usize, usize) {
        (self.sessions.pins().count(), self.pvar_handles.pins().count())
    }
}

fn body(pvar: &Pvar, object: u64, session: &Session) -> Result<Body> {
    match (pvar.instrument(), pvar.custom()) {
        (Some(instrument), _) => {
            let binding = instrument.bind(object)?;
            Ok(Body::Measured(Measured::new(pvar, object, binding)?))
        }
        (None, Some(provider)) => {
            let handle = provider.open(object, SessionContext { attachment: &session.attachment })?;
            let count = handle.count();
            Ok(Body::Custom { handle, count })
        }
        (None, None) => Err(Error::NOT_SUPPORTED),
    }
}
