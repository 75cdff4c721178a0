//! Runs a single-process program on every library that has its header here, to check the sizes of the
//! predefined datatypes and the byte count in the private part of a status, which no header documents.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use common::Header;
use libtest_mimic::Trial;
use mpi_abi::{Abi, AbiKind, Mpich, ObjectKind, OpenMpi, PREDEFINED, Standard};
use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    let mut all = vec![
        trial!(sizes_of_datatypes_and_byte_counts_of_statuses_equal_those_of_the_libraries, needs common::a_header),
    ];
    all.extend(common::missing_headers());
    all.extend(common::headers().iter().filter(|header| library(header).is_none()).map(lonely));
    trials::run(all)
}

/// Size in bytes of the message that the program sends to itself.
const MESSAGE: usize = 12_345;

/// A header without its library.
fn lonely(header: &Header) -> Trial {
    trials::ignored(&format!("on::{}", header.tag()), "a header is installed without its library")
}

/// The library that belongs to a header.
fn library(header: &Header) -> Option<PathBuf> {
    let names: &[&str] = match header.abi {
        AbiKind::STANDARD => &["libmpi_abi.so.1"],
        AbiKind::MPICH => &["libmpi.so.12", "libmpich.so.12"],
        _ => &["libmpi.so.40"],
    };
    // By name rather than `..`, because Debian's include directories are symbolic links.
    let above = |levels: usize| header.dir.ancestors().nth(levels).map(Path::to_owned).unwrap_or_default();
    let dirs = [above(1).join("lib"), above(2)];
    dirs.iter().flat_map(|d| names.iter().map(move |n| d.join(n))).find(|p| p.exists())
}

fn program(header: &Header) -> String {
    let words = header.words();
    let mut text = format!("#include <stdio.h>\n#include <{}>\n", header.file);
    let _ = writeln!(text, "static char out[{MESSAGE}], in[{MESSAGE}];");
    text.push_str(
        "int main(int argc, char **argv) {\n int size; MPI_Status status;\n MPI_Init(&argc, &argv);\n",
    );
    for p in PREDEFINED.iter().filter(|p| p.kind == ObjectKind::DATATYPE && p.size.is_some()) {
        if words.contains(p.name) {
            let _ = writeln!(
                text,
                " if ({0} != MPI_DATATYPE_NULL) {{ MPI_Type_size({0}, &size); printf(\"{0} %d\\n\", size); }}",
                p.name
            );
        }
    }
    let _ = writeln!(
        text,
        " MPI_Sendrecv(out, {MESSAGE}, MPI_BYTE, 0, 7, in, {MESSAGE}, MPI_BYTE, 0, 7, MPI_COMM_SELF, &status);"
    );
    text.push_str(
        " printf(\"status \");\n for (unsigned i = 0; i < sizeof status; i++) printf(\"%02x\", ((unsigned char *)&status)[i]);\n\
         \n printf(\"\\n\");\n MPI_Finalize();\n return 0;\n}\n",
    );
    text
}

/// The program's output: names and values.
fn run(header: &Header, library: &Path) -> BTreeMap<String, String> {
    let tag = format!("run-{}", header.tag());
    let binary = common::scratch(&tag);
    let dir = library.parent().unwrap().canonicalize().unwrap();
    let rpath = format!("-Wl,-rpath,{}", dir.display());
    let args = [
        "-w",
        "-o",
        binary.to_str().unwrap(),
        &rpath,
        "-Wl,--allow-shlib-undefined,--no-as-needed",
        library.to_str().unwrap(),
    ];
    let output = header.gcc(&args, &tag, &program(header));
    assert!(output.status.success(), "{header:?}: {}", String::from_utf8_lossy(&output.stderr));
    let mut command = Command::new("timeout");
    command.arg("60").arg(&binary);
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    if header.abi == AbiKind::OPENMPI && dir.join("../include/mpi.h").exists() {
        // A relocated installation needs its location.
        command.env("OPAL_PREFIX", dir.parent().unwrap());
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{header:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|l| l.split_once(' ')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

fn check_sizes(header: &Header, printed: &BTreeMap<String, String>) {
    let mut seen = 0;
    for p in &PREDEFINED {
        let Some(size) = printed.get(p.name).and_then(|s| s.parse::<u64>().ok()) else { continue };
        // Open MPI reports size 0 for types that its compiler did not support.
        if size != 0 {
            assert_eq!(Some(size), p.size, "{} in {}", p.name, header.dir.display());
            seen += 1;
        }
    }
    assert!(seen > 50, "{header:?}: {printed:?}");
}

fn check_status<A: Abi>(status: &[u8]) {
    let int = |at: usize| i32::from_ne_bytes(status[at..at + 4].try_into().unwrap());
    assert_eq!(status.len(), A::STATUS_SIZE);
    assert_eq!(int(A::STATUS_SOURCE), 0);
    assert_eq!(int(A::STATUS_TAG), 7);
    if A::CODE != AbiKind::STANDARD {
        assert_eq!(A::status_bytes(status), Some(MESSAGE as u64), "{:?}", A::CODE);
        assert_eq!(A::status_cancelled(status), Some(false), "{:?}", A::CODE);
    }
}

fn sizes_of_datatypes_and_byte_counts_of_statuses_equal_those_of_the_libraries() {
    for header in common::headers() {
        // A missing library is reported as a separate, ignored test.
        let Some(library) = library(&header) else { continue };
        let printed = run(&header, &library);
        check_sizes(&header, &printed);
        let hex = &printed["status"];
        let status: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        match header.abi {
            AbiKind::STANDARD => check_status::<Standard>(&status),
            AbiKind::MPICH => check_status::<Mpich>(&status),
            _ => check_status::<OpenMpi>(&status),
        }
        println!("{}: {} answers", library.display(), printed.len());
    }
}
