//! The distribution's MPI libraries for AArch64, unpacked into a folder, without root and without changing
//! the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

pub const TARGET: &str = "aarch64-unknown-linux-gnu";
pub const CC: &str = "aarch64-linux-gnu-gcc";
pub const EMULATOR: &str = "qemu-aarch64";
const PACKAGES: [&str; 4] = ["libmpich-dev", "mpich", "libopenmpi-dev", "openmpi-bin"];
const SOURCES: [&str; 2] = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"];

/// One of the distribution's MPI libraries.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    /// The native build of the same library, whose launcher is used.
    pub native: &'static str,
    /// The path of its headers below the root.
    pub include: &'static str,
    /// The path of the library below the root.
    pub library: &'static str,
    /// The environment variable that sets its installation prefix.
    pub prefix: Option<&'static str>,
}

pub const FAMILIES: [Family; 2] = [
    Family {
        name: "mpich-4.0",
        native: "mpich-4.0",
        include: "usr/include/aarch64-linux-gnu/mpich",
        library: "usr/lib/aarch64-linux-gnu/libmpich.so.12",
        prefix: None,
    },
    Family {
        name: "openmpi-4.1",
        native: "openmpi-4.1",
        include: "usr/lib/aarch64-linux-gnu/openmpi/include",
        library: "usr/lib/aarch64-linux-gnu/libmpi.so.40",
        prefix: Some("OPAL_PREFIX"),
    },
];

/// Fetches the libraries and returns the root of the AArch64 system; an error says why that is not possible.
pub fn fetch() -> Result<PathBuf> {
    for tool in [CC, EMULATOR, "apt-get", "dpkg-deb"] {
        paths::in_path(tool).with_context(|| {
            format!("{tool} not found (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)")
        })?;
    }
    let home = paths::target_dir().join("aarch64-system");
    let root = home.join("root");
    if home.join("complete").is_file() {
        return Ok(root);
    }
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    for folder in ["state/lists/partial", "cache/archives/partial", "root"] {
        fs::create_dir_all(home.join(folder))?;
    }
    fs::write(home.join("status"), "")?;
    quiet(apt(&home)?.arg("update"))?;
    quiet(apt(&home)?.args(["--yes", "--download-only", "install"]).args(PACKAGES))?;
    for package in fs::read_dir(home.join("cache/archives"))? {
        let package = package?.path();
        if package.extension().is_some_and(|end| end == "deb") {
            quiet(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&root))?;
        }
    }
    fs::remove_dir_all(home.join("cache"))?;
    fs::write(home.join("complete"), "")?;
    Ok(root)
}

/// apt for AArch64 with its own folders.
fn apt(home: &Path) -> Result<Command> {
    let sources = SOURCES.iter().map(Path::new).find(|file| file.is_file());
    let sources = sources.context("no list of Debian package sources")?;
    let folder = |name: &str| home.join(name).display().to_string();
    let options = [
        "APT::Architecture=arm64".to_owned(),
        "APT::Architectures=arm64".to_owned(),
        "APT::Install-Recommends=false".to_owned(),
        "Debug::NoLocking=true".to_owned(),
        format!("Dir::State={}", folder("state")),
        format!("Dir::State::status={}", folder("status")),
        format!("Dir::Cache={}", folder("cache")),
        "Dir::Etc::SourceParts=/dev/null".to_owned(),
        format!("Dir::Etc::SourceList={}", sources.display()),
    ];
    let mut command = Command::new("apt-get");
    command.arg("-qq").args(options.iter().flat_map(|option| ["-o", option.as_str()]));
    Ok(command)
}

fn quiet(command: &mut Command) -> Result<()> {
    let output = command.env("DEBIAN_FRONTEND", "noninteractive").output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
