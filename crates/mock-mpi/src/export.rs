//! Exports a function under both of its names.

/// Defines `MPI_X` and `PMPI_X` with one body.
macro_rules! export {
    ($($mpi:literal $pmpi:literal fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {$(
        #[unsafe(export_name = $pmpi)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int $body

        const _: () = {
            #[unsafe(export_name = $mpi)]
            unsafe extern "C" fn twin($($argument: $kind),*) -> c_int {
                unsafe { $name($($argument),*) }
            }
        };
    )*};
}
pub(crate) use export;
