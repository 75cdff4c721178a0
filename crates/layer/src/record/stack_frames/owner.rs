//! The owner of the code at an address.

use crate::record::{modules, process};
use mpi_abi::binding;
use std::sync::{Mutex, PoisonError};

/// The owner of the code at an address: a nonzero number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(pub u8);

impl Owner {
    /// No loaded file, or one in a directory beyond the maximum number.
    pub const UNKNOWN: Self = Self(1);
    /// System libraries, which every program has, and MPI: their code runs on behalf of other code.
    pub const SYSTEM: Self = Self(2);
    /// The executable.
    pub const PROGRAM: Self = Self(3);
    /// The libraries of the first directory; further directories have the following numbers.
    const FIRST_DIRECTORY: u8 = 4;

    /// Whether this is the user's code with respect to a library of the owner `other`: the program itself, or
    /// a library that was not installed together with it.
    #[inline]
    pub fn is_user_of(self, other: Self) -> bool {
        self == Self::PROGRAM || (self.0 >= Self::FIRST_DIRECTORY && self != other)
    }
}

/// Directories with libraries, in the order of their first use.
static DIRECTORIES: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Returns the owner of the code before a return address.
#[cold]
pub fn of(address: u64) -> Owner {
    let at = address.wrapping_sub(1);
    let (mut owner, mut is_first) = (Owner::UNKNOWN, true);
    modules::visit(&mut |_, code, path| {
        if code.contains(&at) {
            owner = if is_first { Owner::PROGRAM } else { of_library(path) };
        }
        is_first = false;
    });
    owner
}

fn of_library(path: &[u8]) -> Owner {
    let text = String::from_utf8_lossy(path);
    let is_mpi = process::record().is_some_and(|process| process.library_path.text() == text);
    if is_mpi || binding::is_fortran(&text) || binding::is_of_the_system(&text) {
        return Owner::SYSTEM;
    }
    let directory = path.rsplitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
    let mut known = DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = known.iter().position(|other| other == directory).unwrap_or_else(|| {
        known.push(directory.to_vec());
        known.len() - 1
    });
    u8::try_from(index)
        .ok()
        .and_then(|index| index.checked_add(Owner::FIRST_DIRECTORY))
        .map_or(Owner::UNKNOWN, Owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_uses_every_library_but_libraries_in_one_directory_do_not_use_each_other() {
        let [hdf5, high_level, other] =
            ["/opt/hdf5/lib/libhdf5.so.1", "/opt/hdf5/lib/libhdf5_hl.so.1", "/home/u/libmodel.so"]
                .map(|path| of_library(path.as_bytes()));
        assert!(!high_level.is_user_of(hdf5) && other.is_user_of(hdf5) && hdf5.is_user_of(other));
        assert!(Owner::PROGRAM.is_user_of(hdf5));
        for nobody in
            [Owner::UNKNOWN, Owner::SYSTEM, of_library(b"/lib/libc.so.6"), of_library(b"/x/libmpifort.so.12")]
        {
            assert!(!nobody.is_user_of(hdf5), "{nobody:?}");
        }
    }

    #[test]
    fn code_of_the_executable_belongs_to_the_program_and_other_memory_to_nobody() {
        assert_eq!(of(of as *const () as u64 + 1), Owner::PROGRAM);
        assert_eq!(of(libc::getpid as *const () as u64 + 1), Owner::SYSTEM);
        assert_eq!(of(16), Owner::UNKNOWN);
    }
}
