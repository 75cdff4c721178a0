//! Compiles a C program against every header on this machine and compares its output with the tables.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Command, ExitCode};

use common::Header;
use mpi_abi::{AbiKind, CONSTANTS, PREDEFINED};
use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    let mut all = vec![
        trial!(every_constant_in_a_header_has_the_value_in_the_table, needs common::a_header),
        trial!(every_predefined_handle_in_a_header_has_the_value_in_the_table, needs common::a_header),
        trial!(every_predefined_handle_of_open_mpi_expands_to_the_symbol_in_the_table, needs common::a_header_of_open_mpi),
    ];
    all.extend(common::missing_headers());
    trials::run(all)
}

/// The C expression of a constant: `SIZEOF_` and `OFFSETOF_` names stand for layouts.
fn expression(name: &str) -> String {
    if let Some(field) = name.strip_prefix("OFFSETOF_") {
        return format!("offsetof(MPI_Status, {field})");
    }
    name.strip_prefix("SIZEOF_").map_or_else(|| name.to_owned(), |ty| format!("sizeof({ty})"))
}

/// The values of expressions, as printed by a compiled program.
fn values(header: &Header, what: &str, expressions: &[(&str, String)]) -> BTreeMap<String, i64> {
    let mut program = format!(
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <{}>\nint main(void) {{\n",
        header.file
    );
    for (name, expression) in expressions {
        let _ = writeln!(program, "printf(\"{name} %lld\\n\", (long long)({expression}));");
    }
    program.push_str("return 0; }\n");
    let tag = format!("{what}-{}", header.tag());
    let binary = common::scratch(&tag);
    let output = header.gcc(&["-w", "-o", binary.to_str().unwrap()], &tag, &program);
    assert!(output.status.success(), "{header:?}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&binary).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|l| l.split_once(' ')).map(|(n, v)| (n.to_owned(), v.parse().unwrap())).collect()
}

fn every_constant_in_a_header_has_the_value_in_the_table() {
    for header in common::headers() {
        let words = header.words();
        let known: Vec<(&str, String)> = CONSTANTS
            .iter()
            .filter(|c| c.category.name() == "layout" || words.contains(c.name))
            .map(|c| (c.name, expression(c.name)))
            .collect();
        assert!(known.len() > 180, "{header:?} has only {} constants", known.len());
        let values = values(&header, "constants", &known);
        let wrong: Vec<String> = CONSTANTS
            .iter()
            .filter_map(|c| Some((c.name, c.value(header.abi), *values.get(c.name)?)))
            .filter(|(_, ours, theirs)| *ours != Some(*theirs))
            .map(|(name, ours, theirs)| format!("{name}: table {ours:?}, header {theirs}"))
            .collect();
        assert!(wrong.is_empty(), "{}/{}: {wrong:#?}", header.dir.display(), header.file);
        println!("{}/{}: {} constants", header.dir.display(), header.file, values.len());
    }
}

fn every_predefined_handle_in_a_header_has_the_value_in_the_table() {
    for header in common::headers().iter().filter(|h| h.abi != AbiKind::OPENMPI) {
        let words = header.words();
        let known: Vec<(&str, String)> = PREDEFINED
            .iter()
            .filter(|p| words.contains(p.name))
            // MPICH's handles are `int`s; the table has them as unsigned numbers.
            .map(|p| {
                (p.name, format!("sizeof({0}) == 4 ? (uint32_t)(uintptr_t)({0}) : (uintptr_t)({0})", p.name))
            })
            .collect();
        assert!(known.len() > 90, "{header:?} has only {} handles", known.len());
        let values = values(header, "handles", &known);
        // MPICH up to 4.3 omits types that its configure did not find.
        const DATATYPE_NULL: i64 = 0x0c00_0000;
        let wrong: Vec<String> = PREDEFINED
            .iter()
            .filter_map(|p| Some((p.name, p.value(header.abi), *values.get(p.name)?)))
            .filter(|(_, _, theirs)| header.abi != AbiKind::MPICH || *theirs != DATATYPE_NULL)
            .filter(|(_, ours, theirs)| ours.map(|v| v as i64) != Some(*theirs))
            .map(|(name, ours, theirs)| format!("{name}: table {ours:x?}, header {theirs:x}"))
            .collect();
        assert!(wrong.is_empty(), "{}/{}: {wrong:#?}", header.dir.display(), header.file);
        println!("{}/{}: {} handles", header.dir.display(), header.file, values.len());
    }
}

fn every_predefined_handle_of_open_mpi_expands_to_the_symbol_in_the_table() {
    for header in common::headers().iter().filter(|h| h.abi == AbiKind::OPENMPI) {
        let words = header.words();
        let mut program = format!("#include <{}>\n", header.file);
        for p in PREDEFINED.iter().filter(|p| words.contains(p.name)) {
            let _ = writeln!(program, "@{} = {}", p.name.replace("MPI_", "mpi-"), p.name);
        }
        let output = header.gcc(&["-E", "-P", "-w"], &format!("symbols-{}", header.tag()), &program);
        let text = String::from_utf8(output.stdout).unwrap();
        let mut seen = 0;
        for line in text.lines().filter_map(|l| l.strip_prefix('@')) {
            let (name, expansion) = line.split_once('=').unwrap();
            let name = name.trim().replace("mpi-", "MPI_");
            let symbol = mpi_abi::predefined::by_name(&name).unwrap().openmpi;
            let mut words = expansion.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            assert!(words.any(|word| Some(word) == symbol), "{name}: table {symbol:?}, header {expansion}");
            seen += 1;
        }
        assert!(seen > 90, "{header:?} has only {seen} handles");
        println!("{}: {seen} handles", header.dir.display());
    }
}
