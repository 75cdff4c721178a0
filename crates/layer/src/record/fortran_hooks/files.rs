//! Fortran numbers of files.
//!
//! In C a file is an address in every library. ROMIO (MPICH and its family) assigns a number when the Fortran
//! handle is first requested, in a table that never shrinks. Requesting one would change the process, so the
//! layer records what others are given. Every Fortran binding requests the number when a file is opened, and
//! converts it back in each call.

use super::Behind;
use crate::record::objects::files::numbered;
use std::ffi::c_int;

macro_rules! numbers {
    ($($name:ident $symbol:literal;)*) => {$(
        /// Returns the number of a file.
        ///
        /// # Safety
        /// As for the library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(file: usize) -> c_int {
            static BEHIND: Behind = Behind::new($symbol);
            // SAFETY: the C type of the function: a file is an address in all ABIs.
            let Some(real) = (unsafe { BEHIND.get::<unsafe extern "C" fn(usize) -> c_int>() }) else {
                return 0;
            };
            // SAFETY: the program's argument.
            let number = unsafe { real(file) };
            numbered(file, number);
            number
        }
    )*};
}

macro_rules! handles {
    ($($name:ident $symbol:literal;)*) => {$(
        /// Returns the file with a number.
        ///
        /// # Safety
        /// As for the library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(number: c_int) -> usize {
            static BEHIND: Behind = Behind::new($symbol);
            // SAFETY: the C type of the function.
            let Some(real) = (unsafe { BEHIND.get::<unsafe extern "C" fn(c_int) -> usize>() }) else {
                return 0;
            };
            // SAFETY: the program's argument.
            let file = unsafe { real(number) };
            numbered(file, number);
            file
        }
    )*};
}

numbers! {
    MPI_File_c2f c"MPI_File_c2f";
    PMPI_File_c2f c"PMPI_File_c2f";
    MPI_File_toint c"MPI_File_toint";
    PMPI_File_toint c"PMPI_File_toint";
}

handles! {
    MPI_File_f2c c"MPI_File_f2c";
    PMPI_File_f2c c"PMPI_File_f2c";
    MPI_File_fromint c"MPI_File_fromint";
    PMPI_File_fromint c"PMPI_File_fromint";
}
