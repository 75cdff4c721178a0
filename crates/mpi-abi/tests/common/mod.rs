//! The MPI headers and libraries on this machine, and gcc.
//!
//! The search covers libraries fetched by `cargo xtask mpi`, the system's packages, and the directories in
//! the environment variable `MPISCOPE_TEST_MPI_INCLUDES`, given as `abi:directory;abi:directory` with the ABI
//! `standard`, `mpich` or `openmpi`.

#![allow(dead_code)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Trial;
use mpi_abi::AbiKind;
use mpiscope_testkit::{paths, trials};

/// A header and its ABI.
#[derive(Debug)]
pub struct Header {
    pub abi: AbiKind,
    pub dir: PathBuf,
    pub file: &'static str,
}

fn fetched() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(paths::mpi_dir()).into_iter();
    let mut dirs: Vec<PathBuf> = folders.flatten().filter_map(Result::ok).map(|e| e.path()).collect();
    dirs.sort();
    dirs
}

fn multiarch() -> PathBuf {
    PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH))
}

/// All headers.
pub fn headers() -> Vec<Header> {
    let mut headers: Vec<Header> = Vec::new();
    let mut dirs: Vec<PathBuf> = fetched().iter().map(|d| d.join("include")).collect();
    dirs.extend([multiarch().join("mpich/include"), multiarch().join("openmpi/include")]);
    for dir in dirs {
        if dir.join("mpi_abi.h").exists() {
            headers.push(Header { abi: AbiKind::STANDARD, dir: dir.clone(), file: "mpi_abi.h" });
        }
        let Ok(text) = std::fs::read_to_string(dir.join("mpi.h")) else { continue };
        let abi = if text.contains("OMPI_MAJOR_VERSION") {
            AbiKind::OPENMPI
        } else if text.contains("MPICH_VERSION") {
            AbiKind::MPICH
        } else {
            panic!("the ABI of {} is unknown", dir.display());
        };
        headers.push(Header { abi, dir, file: "mpi.h" });
    }
    headers.extend(named());
    headers
}

/// One ignored test for each ABI without a header.
pub fn missing_headers() -> Vec<Trial> {
    let headers = headers();
    let missing = AbiKind::ALL.into_iter().filter(|abi| !headers.iter().any(|header| header.abi == *abi));
    let reason = "no header is installed; `cargo xtask mpi` fetches some";
    missing.map(|abi| trials::ignored(&format!("on::{}", abi.name()), reason)).collect()
}

/// Requires a header of any library; returns the reason if there is none.
pub fn a_header() -> Option<String> {
    headers().is_empty().then(|| "no MPI header is installed; `cargo xtask mpi` fetches some".to_owned())
}

/// Requires a header of Open MPI; returns the reason if there is none.
pub fn a_header_of_open_mpi() -> Option<String> {
    let lacks = !headers().iter().any(|header| header.abi == AbiKind::OPENMPI);
    lacks.then(|| "no Open MPI header is installed; `cargo xtask mpi` fetches one".to_owned())
}

/// Requires any library; returns the reason if there is none.
pub fn a_library() -> Option<String> {
    libraries().is_empty().then(|| "no MPI library is installed; `cargo xtask mpi` fetches some".to_owned())
}

fn named() -> Vec<Header> {
    let text = std::env::var("MPISCOPE_TEST_MPI_INCLUDES").unwrap_or_default();
    let one = |entry: &str| {
        let (abi, dir) = entry.split_once(':')?;
        let abi = AbiKind::ALL.into_iter().find(|a| a.name() == abi)?;
        Some(Header {
            abi,
            dir: dir.into(),
            file: if abi == AbiKind::STANDARD { "mpi_abi.h" } else { "mpi.h" },
        })
    };
    text.split(';')
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            one(entry).unwrap_or_else(|| panic!("MPISCOPE_TEST_MPI_INCLUDES: cannot read `{entry}`"))
        })
        .collect()
}

/// The C libraries themselves.
pub fn libraries() -> Vec<PathBuf> {
    const NAMES: [&str; 4] = ["libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1", "libmpich.so.12"];
    let mut dirs: Vec<PathBuf> = fetched().iter().map(|d| d.join("lib")).collect();
    dirs.push(multiarch());
    dirs.iter().flat_map(|d| NAMES.map(|n| d.join(n))).filter(|p| p.exists()).collect()
}

impl Header {
    /// Runs gcc with this header's directory and text on its standard input.
    pub fn gcc(&self, args: &[&str], name: &str, program: &str) -> std::process::Output {
        let source = scratch(&format!("{name}.c"));
        std::fs::write(&source, program).unwrap();
        // Makes Open MPI declare functions removed in MPI-3.0, instead of failing when they are used.
        let compatible = "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0";
        Command::new("gcc")
            .arg(compatible)
            .args(args)
            .arg("-I")
            .arg(&self.dir)
            .arg(&source)
            .output()
            .expect("gcc must be installed")
    }

    /// Words in the header, without the library's variables (which are not constants).
    pub fn words(&self) -> BTreeSet<String> {
        let program = self.preprocessed(&["-E", "-P", "-w"]);
        let mut words = split(&self.preprocessed(&["-E", "-dM", "-w"]));
        words.extend(split(&program));
        for variable in program.split(';').filter(|s| s.contains("extern") && !s.contains('(')) {
            words = &words - &split(variable);
        }
        words
    }

    /// Words in the header's declarations, without macros.
    pub fn declared(&self) -> BTreeSet<String> {
        split(&self.preprocessed(&["-E", "-P", "-w"]))
    }

    fn preprocessed(&self, args: &[&str]) -> String {
        let name = format!("words-{}-{:?}", self.tag(), std::thread::current().id());
        let output = self.gcc(args, &name, &format!("#include <{}>\n", self.file));
        assert!(output.status.success(), "{self:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A name for scratch files.
    pub fn tag(&self) -> String {
        let path = format!("{}-{}", self.dir.display(), self.file);
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }
}

fn split(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect()
}

/// A path for a scratch file.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
