//! A growing table of named entries: lookup by index takes no lock, lookup by name uses a hash map.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{PoisonError, RwLock};

use crate::codes::{Error, Result};
use crate::table::AppendVec;

/// FNV-1a: names are short and come from programs, not from attackers.
pub(crate) struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Entries of the same name differ in a second key: the class of a performance variable, 0 for all others.
type Index = HashMap<Box<str>, Vec<(u32, usize)>, BuildHasherDefault<NameHasher>>;

pub(crate) struct Named<T> {
    entries: AppendVec<T>,
    index: RwLock<Index>,
}

impl<T> Named<T> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: AppendVec::new(),
            index: RwLock::new(HashMap::with_hasher(BuildHasherDefault::new())),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.entries.get(index)
    }

    /// Adds an entry. The name must be new, not empty and without NUL.
    pub(crate) fn add(&self, name: &str, key: u32, entry: T) -> Result<usize> {
        if name.is_empty() || name.contains('\0') {
            return Err(Error::INVALID_NAME);
        }
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        if index.get(name).is_some_and(|same| same.iter().any(|(k, _)| *k == key)) {
            return Err(Error::INVALID_NAME);
        }
        let place = self.entries.push(entry).map_err(|_| Error::MEMORY)?;
        index.entry(name.into()).or_default().push((key, place));
        Ok(place)
    }

    pub(crate) fn find(&self, name: &str, key: u32) -> Result<usize> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let same = index.get(name).ok_or(Error::INVALID_NAME)?;
        same.iter().find(|(k, _)| *k == key).map(|(_, place)| *place).ok_or(Error::INVALID_NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_unique_only_for_its_key() {
        let table = Named::new();
        assert_eq!(table.add("queue", 1, 'a'), Ok(0));
        assert_eq!(table.add("queue", 2, 'b'), Ok(1));
        assert_eq!(table.add("queue", 1, 'c'), Err(Error::INVALID_NAME));
        assert_eq!(table.find("queue", 2), Ok(1));
        assert_eq!(table.find("queue", 3), Err(Error::INVALID_NAME));
        assert_eq!(table.find("queu", 1), Err(Error::INVALID_NAME));
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn a_name_has_at_least_one_character_and_no_nul() {
        let table = Named::new();
        assert_eq!(table.add("", 0, ()), Err(Error::INVALID_NAME));
        assert_eq!(table.add("a\0b", 0, ()), Err(Error::INVALID_NAME));
    }
}
