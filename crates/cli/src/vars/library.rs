//! Variables of an MPI library, asked by a helper process.

use super::{Options, show};
use crate::exit;
use crate::run::environment::find_layer;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// One line of the layer's description: a variable, enumeration, category or event type.
#[derive(Debug, Serialize, Deserialize)]
pub struct Item {
    pub kind: String,
    pub index: usize,
    pub name: String,
    #[serde(default)]
    pub desc: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub datatype: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub verbosity: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub flags: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provenance: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub problem: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub items: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cvars: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pvars: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<usize>,
}

/// Asks and shows.
pub fn vars(options: &Options, library: &str) -> Result<ExitCode> {
    let file = find(library)?;
    let items = ask(&file)?;
    let wanted = |item: &&Item| {
        options.found(&item.name, &item.desc)
            && (!options.changed || matches!(item.provenance.as_str(), "environment" | "written"))
    };
    if options.categories {
        show::tree(&items, options.json)?;
    } else {
        show::list(&items.iter().filter(wanted).collect::<Vec<_>>(), options.json)?;
    }
    let problem = items.iter().any(|item| !item.problem.is_empty());
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// The file names of MPI libraries, as the dynamic linker knows them.
const NAMES: [&str; 6] =
    ["libmpi.so", "libmpi.so.12", "libmpi.so.40", "libmpich.so", "libmpich.so.12", "libmpi_abi.so.1"];

/// The library's file: the one that was named, or the one beside the launcher that was named.
fn find(library: &str) -> Result<OsString> {
    let path = Path::new(library);
    if library.contains(".so") {
        return match path.canonicalize() {
            Ok(path) => Ok(path.into_os_string()),
            // The dynamic linker may know it by its name alone.
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
        bail!("{library}: no MPI library beside this launcher; name the library's file instead")
    }
}

/// Some of these names may be text for the linker.
fn is_library(file: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(file)
        .is_ok_and(|mut file| file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF")
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn ask(library: &OsString) -> Result<Vec<Item>> {
    let layer = find_layer()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["vars", "--describe"]);
    command.env_remove("MPISCOPE_COLLECTOR").env_remove("MPISCOPE_IMAGE_FD");
    let mut preload = layer.into_os_string();
    preload.push(":");
    preload.push(library);
    command.env("LD_PRELOAD", preload);
    let name = library.to_string_lossy();
    let output = command.output().with_context(|| format!("{name}: the helper cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: the helper ended with {}: {}", output.status, said.trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with("{\"kind\""));
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("{name}: {line}"))).collect()
}
