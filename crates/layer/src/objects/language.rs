//! In which language a call was made.
//!
//! The libraries' Fortran bindings call the C functions, so a call from Fortran comes from the library that has the
//! binding. Its name says so.

use crate::resolve::object_of;
use std::ffi::c_void;

/// Parts of the names of libraries with a Fortran binding.
const BINDINGS: [&str; 4] = ["fort", "mpifh", "usempi", "mpi_f"];

/// Whether the code at this address belongs to a Fortran binding. Slow: asks the dynamic linker.
pub fn is_fortran(address: u64) -> bool {
    object_of(address as usize as *const c_void).is_some_and(|path| is_binding(&path.to_string_lossy()))
}

/// Whether a library with this path is a Fortran binding.
pub fn is_binding(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("lib") && name.contains("mpi") && BINDINGS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::is_binding;

    #[test]
    fn the_bindings_of_all_libraries_are_known_by_name() {
        for name in [
            "/usr/lib/x86_64-linux-gnu/libmpichfort.so.12",
            "/opt/lib/libmpifort.so.12",
            "/opt/lib/libmpi_mpifh.so.40",
            "/opt/lib/libmpi_usempif08.so.40",
            "/opt/lib/libmpi_usempi_ignore_tkr.so.40",
        ] {
            assert!(is_binding(name), "{name}");
        }
        for name in ["/opt/lib/libmpi.so.12", "/home/fort/libmpi.so", "/home/mpi_f/a.out", "libgfortran.so.5"]
        {
            assert!(!is_binding(name), "{name}");
        }
    }
}
