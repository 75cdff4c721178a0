//! Bindings of other languages: separate libraries that call the C functions.

/// Name parts of libraries with a Fortran binding.
const BINDINGS: [&str; 4] = ["fort", "mpifh", "usempi", "mpi_f"];

/// Whether the library at this path is, judging by its name, the Fortran binding of an MPI library.
#[must_use]
pub fn is_fortran(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("lib") && name.contains("mpi") && BINDINGS.iter().any(|part| name.contains(part))
}

/// Whether the library at this path is the Python binding of MPI: the extension module of mpi4py. A wheel has
/// one for each ABI.
#[must_use]
pub fn is_python(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next());
    folder == Some("mpi4py") && name.starts_with("MPI.") && name.ends_with(".so")
}

/// Name prefixes of libraries that every program has or that belong to MPI.
const OF_THE_SYSTEM: [&str; 13] = [
    "libc.so",
    "libc-",
    "ld-",
    "libpthread",
    "libm.so",
    "libmpi",
    "libopen-",
    "libpmi",
    "libgomp",
    "libstdc++",
    "libgfortran",
    "libmpiscope",
    "linux-vdso",
];

/// Whether the library at this path is one that every program has or that belongs to MPI: a thread in such a
/// library is there on behalf of another library.
#[must_use]
pub fn is_of_the_system(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    OF_THE_SYSTEM.iter().any(|begins| name.starts_with(begins))
}

/// Name prefixes of the libraries through which MPI libraries communicate: UCX, libfabric, verbs, libevent,
/// the plug-ins of Open MPI and so on.
const TRANSPORTS: [&str; 14] = [
    "libuc",
    "libfabric",
    "libibverbs",
    "librdmacm",
    "libmlx",
    "libpsm",
    "libefa",
    "libevent",
    "libprrte",
    "mca_",
    "libhcoll",
    "libsharp",
    "libcuda",
    "libhsa",
];

/// Whether threads of an MPI library may run in the library at this path, judging by its name: one that every
/// program has, one that belongs to MPI, or one through which MPI libraries communicate.
#[must_use]
pub fn serves_mpi(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    // The providers of libfabric share a suffix.
    is_of_the_system(path)
        || TRANSPORTS.iter().any(|begins| name.starts_with(begins))
        || name.ends_with("-fi.so")
}

#[cfg(test)]
mod tests {
    use super::{is_fortran, is_of_the_system, is_python, serves_mpi};

    #[test]
    fn libraries_that_serve_mpi_are_distinguished_from_those_of_the_program() {
        for name in [
            "/usr/lib/libucs.so.0",
            "/opt/ompi/mca_btl_tcp.so",
            "libevent_core-2.1.so.7",
            "/opt/prov/libtcp-fi.so",
        ] {
            assert!(serves_mpi(name), "{name}");
        }
        for name in ["/usr/lib/libzmq.so.5", "/home/u/solver", "/home/libucs/solver", "/usr/bin/python3.11"] {
            assert!(!serves_mpi(name), "{name}");
        }
    }

    #[test]
    fn system_libraries_are_distinguished_from_libraries_that_call_mpi() {
        for name in ["/lib/x86_64-linux-gnu/libc.so.6", "ld-linux-x86-64.so.2", "/opt/lib/libmpi.so.12"] {
            assert!(is_of_the_system(name), "{name}");
        }
        for name in ["/usr/lib/libpetsc_real.so.3.18", "/opt/lib/libhdf5.so", "/home/libc/libmodel.so"] {
            assert!(!is_of_the_system(name), "{name}");
        }
    }

    #[test]
    fn the_extension_module_of_mpi4py_is_the_binding_of_python() {
        let at = |name: &str| format!("/home/u/lib/python3.11/site-packages/{name}");
        assert!(is_python(&at("mpi4py/MPI.mpich.cpython-311-x86_64-linux-gnu.so")));
        assert!(is_python(&at("mpi4py/MPI.abi3.so")));
        assert!(!is_python(&at("mpi4py/dl.abi3.so")) && !is_python(&at("MPI.abi3.so")));
    }

    #[test]
    fn the_bindings_of_all_libraries_are_recognized_by_name() {
        for name in [
            "/usr/lib/x86_64-linux-gnu/libmpichfort.so.12",
            "/opt/lib/libmpifort.so.12",
            "/opt/lib/libmpi_mpifh.so.40",
            "/opt/lib/libmpi_usempif08.so.40",
            "/opt/lib/libmpi_usempi_ignore_tkr.so.40",
        ] {
            assert!(is_fortran(name), "{name}");
        }
        for name in ["/opt/lib/libmpi.so.12", "/home/fort/libmpi.so", "/home/mpi_f/a.out", "libgfortran.so.5"]
        {
            assert!(!is_fortran(name), "{name}");
        }
    }
}
