//! Control variables of a registry, and their handles.
#![allow(unsafe_code)]

use super::handle::CvarHandleData;
use super::{Cvar, CvarInfo, CvarProvider};
use crate::codes::{Bind, Datatype, Error, Result};
use crate::registry::Registry;
use crate::slab::Pinned;
use crate::table::index;
use crate::word::CvarWord;

impl Registry {
    /// Publishes a control variable and returns its index.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] if the name is empty or taken; [`Error::INVALID`] for an unknown datatype, or
    /// an enumeration with a datatype other than `INT`; [`Error::INVALID_INDEX`] for an unknown enumeration.
    pub fn add_cvar(&self, info: CvarInfo, provider: impl CvarProvider) -> Result<usize> {
        if let Some(enumeration) = info.enumeration {
            self.enumeration(enumeration)?;
        }
        if info.datatype.size() == 0 || (info.enumeration.is_some() && info.datatype != Datatype::INT) {
            return Err(Error::INVALID);
        }
        let name = info.name.clone();
        let _adding = self.adding();
        let index = self.cvars.add(&name, 0, Cvar { info, provider: Box::new(provider) })?;
        self.changed();
        Ok(index)
    }

    /// Number of control variables.
    pub fn cvar_count(&self) -> usize {
        self.cvars.len()
    }

    /// The control variable at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    pub fn cvar(&self, at: impl TryInto<usize>) -> Result<&Cvar> {
        self.cvars.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }

    /// The index of the control variable with this name.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`].
    pub fn cvar_index(&self, name: &str) -> Result<usize> {
        self.cvars.find(name, 0)
    }
}

impl Registry {
    /// Allocates a handle of a control variable, bound to `object`, which is ignored if the variable is not
    /// bound to an object. Returns the handle and its number of elements.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`], [`Error::OUT_OF_HANDLES`], and the provider's error for an unsuitable
    /// object.
    pub fn cvar_handle_alloc(&self, cvar: impl TryInto<usize>, object: u64) -> Result<(CvarWord, usize)> {
        let at = index(cvar)?;
        let cvar = self.cvar(at)?;
        let handle = cvar.provider.open(if cvar.info.bind == Bind::NO_OBJECT { 0 } else { object })?;
        let count = handle.count();
        let size = count * cvar.info.datatype.size();
        let is_string = cvar.info.datatype == Datatype::CHAR;
        let data = CvarHandleData { handle, size, writable: cvar.info.scope.writable(), is_string, cvar: at };
        match self.cvar_handles.insert(data, |_, ()| Ok(())) {
            Ok((index, generation)) => Ok((CvarWord::new(index, generation), count)),
            Err(error) => Err(error.unwrap_or(Error::OUT_OF_HANDLES)),
        }
    }

    /// Frees a handle of a control variable.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn cvar_handle_free(&self, handle: CvarWord) -> Result<()> {
        let pinned = self.cvar_handle(handle)?;
        if self.cvar_handles.remove(pinned) { Ok(()) } else { Err(Error::INVALID_HANDLE) }
    }

    pub(crate) fn free_all_cvar_handles(&self) {
        for handle in self.cvar_handles.pins() {
            self.cvar_handles.remove(handle);
        }
    }

    fn cvar_handle(&self, handle: CvarWord) -> Result<Pinned<'_, CvarHandleData, ()>> {
        let (index, generation) = handle.parts().ok_or(Error::INVALID_HANDLE)?;
        self.cvar_handles.pin(index, generation).ok_or(Error::INVALID_HANDLE)
    }

    /// The index of a handle's variable.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn cvar_of(&self, handle: CvarWord) -> Result<usize> {
        Ok(self.cvar_handle(handle)?.cvar)
    }

    /// Size of the whole value of a handle in bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`].
    pub fn cvar_size(&self, handle: CvarWord) -> Result<usize> {
        Ok(self.cvar_handle(handle)?.size)
    }

    /// Reads the value into the first bytes of `out`.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`], [`Error::INVALID`] if `out` is too short, and the provider's errors.
    pub fn cvar_read(&self, handle: CvarWord, out: &mut [u8]) -> Result<()> {
        let handle = self.cvar_handle(handle)?;
        handle.handle.read(out.get_mut(..handle.size).ok_or(Error::INVALID)?)
    }

    /// [`Registry::cvar_read`] for C callers, which pass no length.
    ///
    /// # Errors
    /// As [`Registry::cvar_read`].
    ///
    /// # Safety
    /// If the handle is valid, `out` must be writable for its whole value ([`Registry::cvar_size`]).
    pub unsafe fn cvar_read_raw(&self, handle: CvarWord, out: *mut u8) -> Result<()> {
        let handle = self.cvar_handle(handle)?;
        // SAFETY: guaranteed by the caller; the size cannot change while the handle is pinned.
        handle.handle.read(unsafe { std::slice::from_raw_parts_mut(out, handle.size) })
    }

    /// Writes the value from the first bytes of `from`.
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`]; [`Error::CVAR_SET_NEVER`] for a variable whose scope is constant or
    /// read-only; [`Error::INVALID`] if `from` is too short; and the provider's errors.
    pub fn cvar_write(&self, handle: CvarWord, from: &[u8]) -> Result<()> {
        let handle = self.cvar_handle(handle)?;
        // A string may be shorter than its variable's size.
        let size = if handle.is_string { handle.size.min(from.len()) } else { handle.size };
        handle.write(from.get(..size).ok_or(Error::INVALID)?)
    }

    /// [`Registry::cvar_write`] for C callers.
    ///
    /// # Errors
    /// As [`Registry::cvar_write`].
    ///
    /// # Safety
    /// If the handle is valid, `from` must be readable for its whole value; for a string, only up to the NUL
    /// if that comes earlier.
    pub unsafe fn cvar_write_raw(&self, handle: CvarWord, from: *const u8) -> Result<()> {
        let handle = self.cvar_handle(handle)?;
        let mut size = handle.size;
        if handle.is_string {
            // SAFETY: the caller guarantees that the bytes up to the NUL or the size are readable.
            size = (0..size).find(|&at| unsafe { *from.add(at) } == 0).map_or(size, |nul| nul + 1);
        }
        // SAFETY: guaranteed by the caller.
        handle.write(unsafe { std::slice::from_raw_parts(from, size) })
    }
}
