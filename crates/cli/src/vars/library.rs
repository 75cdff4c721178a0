//! Variables of an MPI library, determined by a helper process.

use super::{Options, item, output, query};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Shows the variables of a library.
pub fn vars(options: &Options, library: &str) -> Result<ExitCode> {
    let mut items = query::describe(&find(library)?, &query::own_environment())?;
    item::name_values(&mut items);
    output::show(options, None, &items, false)
}

/// File names of MPI libraries, as the dynamic linker knows them.
const NAMES: [&str; 6] =
    ["libmpi.so", "libmpi.so.12", "libmpi.so.40", "libmpich.so", "libmpich.so.12", "libmpi_abi.so.1"];

/// Finds the library's file: the named file, or the library that belongs to the named launcher.
fn find(library: &str) -> Result<OsString> {
    let path = Path::new(library);
    if library.contains(".so") {
        return match path.canonicalize() {
            Ok(path) => Ok(path.into_os_string()),
            // The dynamic linker may find it by its name alone.
            Err(_) if !library.contains('/') => Ok(library.into()),
            Err(error) => bail!("{library}: {error}"),
        };
    }
    let launcher = if library.contains('/') { Some(path.to_owned()) } else { in_path(library) };
    let Some(launcher) = launcher.filter(|path| path.is_file()) else {
        bail!("{library}: neither a library nor a launcher; name a file such as /opt/mpi/lib/libmpi.so");
    };
    let launcher = launcher.canonicalize()?;
    let prefix = launcher.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let places = ["lib", "lib64", "lib/release"].map(|dir| prefix.join(dir));
    let candidates = places.iter().flat_map(|dir| NAMES.iter().map(|name| dir.join(name)));
    if let Some(found) = candidates.into_iter().find(|file: &PathBuf| is_library(file)) {
        return Ok(found.canonicalize()?.into_os_string());
    }
    // Distributions put the libraries of several MPIs into one directory, under different names.
    let name = launcher.to_string_lossy().into_owned() + library;
    if name.contains("mpich") || name.contains("hydra") {
        Ok("libmpich.so.12".into())
    } else if name.contains("openmpi") || name.contains("orte") || name.contains("prte") {
        Ok("libmpi.so.40".into())
    } else {
        bail!("{library}: no MPI library next to this launcher; name the library's file instead")
    }
}

/// Whether the file is an ELF library; some of these names may be linker scripts.
fn is_library(file: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(file)
        .is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF")
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}
