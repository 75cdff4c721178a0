//! Compares the function table with the symbols of every library and the prototypes of every header on this machine.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, ExitCode};

use mpi_abi::{AbiKind, FUNCTIONS, Function, FunctionId, Kind, Len, Param};
use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    let mut all = vec![
        trial!(every_function_that_a_library_exports_is_in_the_table, needs common::a_library),
        trial!(every_function_of_the_standard_is_exported_by_some_library, needs a_library_of_mpi_5),
        trial!(every_prototype_in_a_header_equals_that_in_the_table, needs common::a_header),
        trial!(every_traced_function_returns_an_error_code),
    ];
    all.extend(common::missing_headers());
    trials::run(all)
}

/// Exported by a library, but not part of any version of the standard.
const NOT_STANDARD: [&str; 1] = ["MPI_Session_set_info"];

/// Lacks a `const` in MPICH 4.0 and Open MPI.
const PREADY_LIST: &str = "MPI_Pready_list";

/// Functions of the C binding that a library exports. Names without a lower-case letter belong to Fortran or
/// are callbacks.
fn exported(library: &std::path::Path) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output()
        .expect("nm must be installed");
    assert!(output.status.success(), "{}: {}", library.display(), String::from_utf8_lossy(&output.stderr));
    let is_code = |kind: &str| matches!(kind, "T" | "W" | "t" | "w" | "i");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let name = fields.last()?.split('@').next()?;
            let kind = fields.get(fields.len().checked_sub(2)?)?;
            let of_c = name.starts_with("MPI_") && name[4..].chars().any(|c| c.is_ascii_lowercase());
            (is_code(kind) && of_c).then(|| name.to_owned())
        })
        .collect()
}

fn every_function_that_a_library_exports_is_in_the_table() {
    for library in common::libraries() {
        let names = exported(&library);
        assert!(names.len() > 380, "{} exports only {} functions", library.display(), names.len());
        let unknown: Vec<&String> = names
            .iter()
            .filter(|n| FunctionId::from_name(n).is_none() && !NOT_STANDARD.contains(&n.as_str()))
            .collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", library.display());
        println!("{}: {} functions", library.display(), names.len());
    }
}

fn every_function_of_the_standard_is_exported_by_some_library() {
    let all: BTreeSet<String> = common::libraries().iter().flat_map(|l| exported(l)).collect();
    // The erratum that added them is newer than the libraries.
    let young = ["MPI_Precv_init_c", "MPI_Psend_init_c"];
    let missing: Vec<&str> =
        FUNCTIONS.iter().map(|f| f.name).filter(|n| !all.contains(*n) && !young.contains(n)).collect();
    assert!(missing.is_empty(), "no library exports {missing:?}");
}

fn a_library_of_mpi_5() -> Option<String> {
    let found = common::libraries().iter().any(|library| library.ends_with("libmpi_abi.so.1"));
    (!found).then(|| "no library of MPI 5.0 is installed".to_owned())
}

/// The C type of a parameter.
fn c_type(function: &Function, param: &Param) -> String {
    let base = param.kind.c_type(function.flags());
    if base == "-" || base == "..." {
        return if base == "-" { param.shape.to_owned() } else { base.to_owned() };
    }
    if let Len::Triples(_) = param.len {
        return format!("{base} (*)[3]");
    }
    match param.shape.strip_prefix("const") {
        Some(pointers) => format!("const {base} {pointers}"),
        None => format!("{base} {}", param.shape),
    }
}

fn every_prototype_in_a_header_equals_that_in_the_table() {
    for header in common::headers() {
        let words = header.declared();
        let mut program = format!("#include <{}>\n", header.file);
        let mut seen = 0;
        for function in FUNCTIONS.iter().filter(|f| words.contains(f.name)) {
            if header.abi != AbiKind::STANDARD && function.name == PREADY_LIST {
                continue;
            }
            let params: Vec<String> = function.params.iter().map(|p| c_type(function, p)).collect();
            let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
            let returns = function.returns.c_type(function.flags());
            // In parentheses, to suppress a function-like macro of the same name.
            let _ = writeln!(program, "{returns} (*const p_{0})({params}) = ({0});", function.name);
            seen += 1;
        }
        assert!(seen > 390, "{header:?} has only {seen} functions of the table");
        let flags = ["-fsyntax-only", "-Werror=incompatible-pointer-types", "-Wno-deprecated-declarations"];
        let output = header.gcc(&flags, &format!("prototypes-{}", header.tag()), &program);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{header:?}:\n{errors}");
        println!("{}/{}: {seen} prototypes", header.dir.display(), header.file);
    }
}

fn every_traced_function_returns_an_error_code() {
    for function in FUNCTIONS.iter().filter(|f| f.is_traced()) {
        assert_eq!(function.returns, Kind::ERROR_CODE, "{}", function.name);
    }
}
