//! Start, stop, read, write, reset, readreset. None of them locks or allocates; all are async-signal-safe.
#![allow(unsafe_code)]

use super::handle::{Body, PvarHandleData, fast_read, leaf_read};
use super::inline::{Bits, PvarInline};
use crate::codes::{Error, Result};
use crate::registry::Registry;
use crate::slab::Pinned;
use crate::word::{PvarWord, SessionWord};

type Handle<'a> = Pinned<'a, PvarHandleData, PvarInline>;

/// A Rust type that can hold a scalar value.
pub trait Scalar: Copy + sealed::Sealed {
    /// Converts from the bytes of the value.
    #[doc(hidden)]
    fn from_bytes(bytes: [u8; 8]) -> Self;
    #[doc(hidden)]
    fn to_bytes(self) -> [u8; 8];
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Scalar for $type {
            fn from_bytes(bytes: [u8; 8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
                Self::from_ne_bytes(own)
            }

            fn to_bytes(self) -> [u8; 8] {
                let mut bytes = [0; 8];
                bytes.iter_mut().zip(self.to_ne_bytes()).for_each(|(to, from)| *to = from);
                bytes
            }
        }
    )*};
}

scalars!(i32, u32, i64, u64, f64);

fn handle_start(handle: &Handle<'_>) -> Result<()> {
    if handle.pvar().info.continuous {
        return Err(Error::PVAR_NO_STARTSTOP);
    }
    handle.start(&handle.slot.inline)
}

fn handle_stop(handle: &Handle<'_>) -> Result<()> {
    if handle.pvar().info.continuous {
        return Err(Error::PVAR_NO_STARTSTOP);
    }
    handle.stop(&handle.slot.inline)
}

fn handle_reset(handle: &Handle<'_>) -> Result<()> {
    if handle.pvar().info.readonly {
        return Err(Error::PVAR_NO_WRITE);
    }
    match &handle.body {
        Body::Measured(measured) => {
            measured.view(handle.pvar(), handle.object, &handle.slot.inline).reset()
        }
        Body::Custom { handle, .. } => handle.reset(),
    }
}

fn handle_read(handle: &Handle<'_>, out: &mut [u8]) -> Result<()> {
    match &handle.body {
        Body::Measured(measured) => {
            measured.view(handle.pvar(), handle.object, &handle.slot.inline).read(out)
        }
        Body::Custom { handle, .. } => handle.read(out),
    }
}

fn handle_write(handle: &Handle<'_>, from: &[u8]) -> Result<()> {
    if handle.pvar().info.readonly {
        return Err(Error::PVAR_NO_WRITE);
    }
    match &handle.body {
        Body::Measured(measured) => {
            measured.view(handle.pvar(), handle.object, &handle.slot.inline).write(from)
        }
        Body::Custom { handle, .. } => handle.write(from),
    }
}

fn handle_readreset(handle: &Handle<'_>, out: &mut [u8]) -> Result<()> {
    if !handle.pvar().info.atomic {
        return Err(Error::PVAR_NO_ATOMIC);
    }
    match &handle.body {
        Body::Measured(measured) => {
            measured.view(handle.pvar(), handle.object, &handle.slot.inline).readreset(out)
        }
        Body::Custom { handle, .. } => handle.readreset(out),
    }
}

/// Stores a scalar.
///
/// # Safety
/// `out` must be writable for the size of the variable.
#[inline(always)]
unsafe fn put_raw((bits, width): Bits, out: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if width == 8 {
            out.cast::<u64>().write_unaligned(bits);
        } else {
            out.cast::<u32>().write_unaligned(bits as u32);
        }
    }
}

impl Registry {
    /// Applies `operation` to a handle, or to all handles of the session except ignored ones.
    fn on_one_or_all(
        &self,
        session: SessionWord,
        handle: PvarWord,
        operation: fn(&Handle<'_>) -> Result<()>,
        ignored: fn(&Handle<'_>) -> bool,
        failure: Error,
    ) -> Result<()> {
        if handle != PvarWord::ALL_HANDLES {
            return operation(&self.session_handle(session, handle)?);
        }
        self.check_session(session)?;
        let mut outcome = Ok(());
        for handle in self.session_handles(session) {
            // Attempt all, even after one has failed.
            if !ignored(&handle) && operation(&handle).is_err() {
                outcome = Err(failure);
            }
        }
        outcome
    }

    /// Starts a variable, or with [`PvarWord::ALL_HANDLES`] all of the session that can be started.
    ///
    /// Starting a started variable has no effect.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`], [`Error::PVAR_NO_STARTSTOP`].
    pub fn pvar_start(&self, session: SessionWord, handle: PvarWord) -> Result<()> {
        let ignored = |handle: &Handle<'_>| handle.pvar().info.continuous;
        self.on_one_or_all(session, handle, handle_start, ignored, Error::PVAR_NO_STARTSTOP)
    }

    /// Stops a variable, or with [`PvarWord::ALL_HANDLES`] all of the session that can be stopped.
    ///
    /// # Errors
    /// As [`Registry::pvar_start`].
    pub fn pvar_stop(&self, session: SessionWord, handle: PvarWord) -> Result<()> {
        let ignored = |handle: &Handle<'_>| handle.pvar().info.continuous;
        self.on_one_or_all(session, handle, handle_stop, ignored, Error::PVAR_NO_STARTSTOP)
    }

    /// Resets a variable to its starting value, or with [`PvarWord::ALL_HANDLES`] all that are not read-only.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`], [`Error::PVAR_NO_WRITE`].
    pub fn pvar_reset(&self, session: SessionWord, handle: PvarWord) -> Result<()> {
        let ignored = |handle: &Handle<'_>| handle.pvar().info.readonly;
        self.on_one_or_all(session, handle, handle_reset, ignored, Error::PVAR_NO_WRITE)
    }

    /// Size of the whole value of a handle in bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`].
    pub fn pvar_size(&self, session: SessionWord, handle: PvarWord) -> Result<usize> {
        Ok(self.session_handle(session, handle)?.size())
    }

    /// Inlined into the code that stores the value: a few nanoseconds matter, and a pair is returned through
    /// memory.
    #[inline(always)]
    fn fast(&self, session: SessionWord, handle: PvarWord) -> Option<Bits> {
        let (index, generation) = handle.parts()?;
        fast_read(self.pvar_handles.slot(index)?, generation, session)
    }

    /// [`Registry::pvar_read_raw`] for an integer that is in memory. Returns `false` for anything else, and
    /// for every error: then call that function.
    ///
    /// For an entry point that handles the most common case without a function call.
    ///
    /// # Safety
    /// As [`Registry::pvar_read_raw`].
    #[inline(always)]
    pub unsafe fn pvar_read_leaf(&self, session: SessionWord, handle: PvarWord, out: *mut u8) -> bool {
        // No closures: the compiler would outline one as long as this.
        let Some((index, generation)) = handle.parts() else { return false };
        let Some(slot) = self.pvar_handles.slot(index) else { return false };
        let Some(bits) = leaf_read(slot, generation, session) else { return false };
        // SAFETY: guaranteed by the caller for this scalar.
        unsafe { put_raw(bits, out) };
        true
    }

    /// Reads the value, `count` elements of the datatype, into the first bytes of `out`.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`] (also for [`PvarWord::ALL_HANDLES`]),
    /// [`Error::INVALID`] if `out` is too short, and the provider's errors.
    #[inline]
    pub fn pvar_read(&self, session: SessionWord, handle: PvarWord, out: &mut [u8]) -> Result<()> {
        if let Some((bits, width)) = self.fast(session, handle)
            && out.len() >= width
        {
            let bytes = bits.to_ne_bytes();
            out.iter_mut().zip(bytes.iter().take(width)).for_each(|(to, from)| *to = *from);
            return Ok(());
        }
        self.read_pinned(session, handle, out)
    }

    #[inline(never)]
    fn read_pinned(&self, session: SessionWord, handle: PvarWord, out: &mut [u8]) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        handle_read(&handle, out.get_mut(..handle.size()).ok_or(Error::INVALID)?)
    }

    /// [`Registry::pvar_read`] for C callers, which pass no length.
    ///
    /// # Errors
    /// As [`Registry::pvar_read`].
    ///
    /// # Safety
    /// If the handle is valid in the session, `out` must be writable for its whole value
    /// ([`Registry::pvar_size`]). It need not be aligned.
    #[inline(always)]
    pub unsafe fn pvar_read_raw(&self, session: SessionWord, handle: PvarWord, out: *mut u8) -> Result<()> {
        if let Some(bits) = self.fast(session, handle) {
            // SAFETY: guaranteed by the caller for this scalar.
            unsafe { put_raw(bits, out) };
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.read_pinned_raw(session, handle, out) }
    }

    #[inline(never)]
    unsafe fn read_pinned_raw(&self, session: SessionWord, handle: PvarWord, out: *mut u8) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        // SAFETY: guaranteed by the caller; the size cannot change while the handle is pinned.
        handle_read(&handle, unsafe { std::slice::from_raw_parts_mut(out, handle.size()) })
    }

    /// Writes the value from the first bytes of `from`.
    ///
    /// # Errors
    /// [`Error::INVALID_SESSION`], [`Error::INVALID_HANDLE`] (also for [`PvarWord::ALL_HANDLES`]),
    /// [`Error::PVAR_NO_WRITE`], [`Error::INVALID`] if `from` is too short or the value is out of range.
    pub fn pvar_write(&self, session: SessionWord, handle: PvarWord, from: &[u8]) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        handle_write(&handle, from.get(..handle.size()).ok_or(Error::INVALID)?)
    }

    /// [`Registry::pvar_write`] for C callers.
    ///
    /// # Errors
    /// As [`Registry::pvar_write`].
    ///
    /// # Safety
    /// If the handle is valid in the session, `from` must be readable for its whole value.
    pub unsafe fn pvar_write_raw(
        &self,
        session: SessionWord,
        handle: PvarWord,
        from: *const u8,
    ) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        // SAFETY: guaranteed by the caller; the size cannot change while the handle is pinned.
        handle_write(&handle, unsafe { std::slice::from_raw_parts(from, handle.size()) })
    }

    /// Reads and resets atomically: counts added concurrently by other threads, or read and reset by them,
    /// are neither lost nor seen twice. For an array, this holds per element.
    ///
    /// # Errors
    /// As [`Registry::pvar_read`], plus [`Error::PVAR_NO_ATOMIC`].
    pub fn pvar_readreset(&self, session: SessionWord, handle: PvarWord, out: &mut [u8]) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        handle_readreset(&handle, out.get_mut(..handle.size()).ok_or(Error::INVALID)?)
    }

    /// [`Registry::pvar_readreset`] for C callers.
    ///
    /// # Errors
    /// As [`Registry::pvar_readreset`].
    ///
    /// # Safety
    /// As [`Registry::pvar_read_raw`].
    pub unsafe fn pvar_readreset_raw(
        &self,
        session: SessionWord,
        handle: PvarWord,
        out: *mut u8,
    ) -> Result<()> {
        let handle = self.session_handle(session, handle)?;
        if handle.pvar().info.atomic
            && let Some(bits) = handle.slot.inline.take()
        {
            // SAFETY: guaranteed by the caller for this scalar.
            unsafe { put_raw(bits, out) };
            return Ok(());
        }
        // SAFETY: guaranteed by the caller; the size cannot change while the handle is pinned.
        handle_readreset(&handle, unsafe { std::slice::from_raw_parts_mut(out, handle.size()) })
    }

    /// Returns the value of a scalar as a Rust type of the same width as its datatype.
    ///
    /// # Errors
    /// As [`Registry::pvar_read`]; [`Error::INVALID`] if the widths differ.
    pub fn pvar_value<T: Scalar>(&self, session: SessionWord, handle: PvarWord) -> Result<T> {
        if self.pvar_size(session, handle)? != size_of::<T>() {
            return Err(Error::INVALID);
        }
        let mut bytes = [0; 8];
        self.pvar_read(session, handle, &mut bytes)?;
        Ok(T::from_bytes(bytes))
    }

    /// [`Registry::pvar_value`], with an atomic reset.
    ///
    /// # Errors
    /// As [`Registry::pvar_readreset`]; [`Error::INVALID`] if the widths differ.
    pub fn pvar_take<T: Scalar>(&self, session: SessionWord, handle: PvarWord) -> Result<T> {
        if self.pvar_size(session, handle)? != size_of::<T>() {
            return Err(Error::INVALID);
        }
        let mut bytes = [0; 8];
        self.pvar_readreset(session, handle, &mut bytes)?;
        Ok(T::from_bytes(bytes))
    }

    /// Writes a scalar.
    ///
    /// # Errors
    /// As [`Registry::pvar_write`]; [`Error::INVALID`] if the widths differ.
    pub fn pvar_set<T: Scalar>(&self, session: SessionWord, handle: PvarWord, value: T) -> Result<()> {
        if self.pvar_size(session, handle)? != size_of::<T>() {
            return Err(Error::INVALID);
        }
        self.pvar_write(session, handle, &value.to_bytes())
    }
}
