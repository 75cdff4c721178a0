//! `constants.tsv` from real headers, so that no value is typed by hand.
//!
//! The names are those in the standard ABI's `mpi_abi.h`, and a few that only the older ABIs have. For each
//! of the three headers, a C program is compiled that prints the values of the names that the header defines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Names that are in MPICH's or Open MPI's header but not in the standard ABI's.
const OLDER: &[&str] =
    &["MPI_COMBINER_HINDEXED_INTEGER", "MPI_COMBINER_HVECTOR_INTEGER", "MPI_COMBINER_STRUCT_INTEGER"];

/// Makes Open MPI declare functions removed in MPI-3.0, instead of failing when they are used.
const COMPATIBLE: &str = "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0";

/// Sizes and offsets, which are also constants of an ABI: name, C expression.
const LAYOUT: &[(&str, &str)] = &[
    ("SIZEOF_MPI_Status", "sizeof(MPI_Status)"),
    ("OFFSETOF_MPI_SOURCE", "offsetof(MPI_Status, MPI_SOURCE)"),
    ("OFFSETOF_MPI_TAG", "offsetof(MPI_Status, MPI_TAG)"),
    ("OFFSETOF_MPI_ERROR", "offsetof(MPI_Status, MPI_ERROR)"),
    ("SIZEOF_MPI_Comm", "sizeof(MPI_Comm)"),
    ("SIZEOF_MPI_Request", "sizeof(MPI_Request)"),
    ("SIZEOF_MPI_File", "sizeof(MPI_File)"),
    ("SIZEOF_MPI_Aint", "sizeof(MPI_Aint)"),
    ("SIZEOF_MPI_Count", "sizeof(MPI_Count)"),
    ("SIZEOF_MPI_Offset", "sizeof(MPI_Offset)"),
];

/// Name prefix and category. The first match wins.
const CATEGORIES: &[(&str, &str)] = &[
    ("MPI_T_ERR_", "tool_error"),
    ("MPI_T_VERBOSITY_", "tool_verbosity"),
    ("MPI_T_BIND_", "tool_bind"),
    ("MPI_T_SCOPE_", "tool_scope"),
    ("MPI_T_PVAR_CLASS_", "tool_class"),
    ("MPI_T_CB_", "tool_safety"),
    ("MPI_T_SOURCE_", "tool_order"),
    ("MPI_T_", "tool_handle"),
    ("MPI_ERRCODES_", "address"),
    ("MPI_ERR_", "error"),
    ("MPI_SUCCESS", "error"),
    ("MPI_MAX_", "length"),
    ("MPI_BSEND_OVERHEAD", "length"),
    ("MPI_COMBINER_", "combiner"),
    ("MPI_THREAD_", "thread"),
    ("MPI_COMM_TYPE_", "split_type"),
    ("MPI_LOCK_", "lock"),
    ("MPI_WIN_FLAVOR_", "win_flavor"),
    ("MPI_WIN_UNIFIED", "win_model"),
    ("MPI_WIN_SEPARATE", "win_model"),
    ("MPI_WIN_", "win_key"),
    ("MPI_SEEK_", "seek"),
    ("MPI_ORDER_", "order"),
    ("MPI_DISTRIBUTE_", "distribute"),
    ("MPI_TYPECLASS_", "typeclass"),
    ("MPI_F_", "fortran_status"),
    ("MPI_MODE_NO", "rma_assert"),
    ("MPI_MODE_", "file_mode"),
    ("SIZEOF_", "layout"),
    ("OFFSETOF_", "layout"),
];

const NAMED: &[(&str, &[&str])] = &[
    ("comparison", &["MPI_IDENT", "MPI_CONGRUENT", "MPI_SIMILAR", "MPI_UNEQUAL"]),
    ("topology", &["MPI_CART", "MPI_GRAPH", "MPI_DIST_GRAPH"]),
    ("rank", &["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"]),
    ("tag", &["MPI_ANY_TAG"]),
    ("version", &["MPI_ABI_VERSION", "MPI_ABI_SUBVERSION"]),
    ("offset", &["MPI_DISPLACEMENT_CURRENT"]),
    (
        "comm_key",
        &[
            "MPI_KEYVAL_INVALID",
            "MPI_TAG_UB",
            "MPI_IO",
            "MPI_HOST",
            "MPI_WTIME_IS_GLOBAL",
            "MPI_APPNUM",
            "MPI_LASTUSEDCODE",
            "MPI_UNIVERSE_SIZE",
        ],
    ),
    (
        "address",
        &[
            "MPI_BOTTOM",
            "MPI_IN_PLACE",
            "MPI_BUFFER_AUTOMATIC",
            "MPI_ARGV_NULL",
            "MPI_ARGVS_NULL",
            "MPI_STATUS_IGNORE",
            "MPI_STATUSES_IGNORE",
            "MPI_UNWEIGHTED",
            "MPI_WEIGHTS_EMPTY",
        ],
    ),
];

fn category(name: &str) -> &'static str {
    let named = NAMED.iter().find(|(_, names)| names.contains(&name)).map(|(category, _)| *category);
    let prefix =
        || CATEGORIES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, category)| *category);
    named.or_else(prefix).unwrap_or("other")
}

/// A header: include directory and file name.
struct Header {
    dir: PathBuf,
    file: &'static str,
}

/// The table, from the headers that `cargo xtask mpi` fetched.
pub fn tsv(target: &Path) -> Result<String> {
    let mpich = target.join("mpi/mpich-5.0/include");
    let openmpi = target.join("mpi/openmpi-5.0/include");
    let standard = Header { dir: mpich.clone(), file: "mpi_abi.h" };
    let names = names(&standard)?;
    let headers = [standard, Header { dir: mpich, file: "mpi.h" }, Header { dir: openmpi, file: "mpi.h" }];
    let work = target.join("headers");
    std::fs::create_dir_all(&work)?;
    let columns: Vec<BTreeMap<String, i64>> =
        headers.iter().map(|header| values(header, &names, &work)).collect::<Result<_>>()?;
    let mut text = String::from(
        "# Integer constants of the three ABIs, from their headers (`cargo xtask gen --from-headers`).\n\
         # '-': the header does not have the name, or it is a variable of the library instead of a constant.\n\
         # name\tcategory\tstandard\tMPICH\tOpen MPI\n",
    );
    for (category, name) in names.iter().map(|name| (category(name), name)).collect::<BTreeSet<_>>() {
        let cells: Vec<String> =
            columns.iter().map(|c| c.get(name).map_or_else(|| "-".to_owned(), i64::to_string)).collect();
        if cells.iter().any(|c| c != "-") {
            let _ = writeln!(text, "{name}\t{category}\t{}", cells.join("\t"));
        }
    }
    Ok(text)
}

/// Names of integer constants in the standard ABI's header, without handles and functions.
fn names(header: &Header) -> Result<BTreeSet<String>> {
    let path = header.dir.join(header.file);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}; run `cargo xtask mpi` first", path.display()))?;
    let mut names: BTreeSet<String> = OLDER.iter().map(|s| (*s).to_owned()).collect();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = match words.as_slice() {
            ["#define", name, value, ..] if !value.starts_with("((MPI_") || is_number_cast(value) => name,
            [name, "=", ..] => name,
            _ => continue,
        };
        let is_constant = name.starts_with("MPI_")
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        let is_alias = words.get(2).is_some_and(|v| v.starts_with("MPI_")) && words[0] == "#define";
        let of_library = matches!(*name, "MPI_VERSION" | "MPI_SUBVERSION");
        if is_constant && !is_alias && !of_library {
            names.insert((*name).to_owned());
        }
    }
    names.extend(LAYOUT.iter().map(|(name, _)| (*name).to_owned()));
    Ok(names)
}

/// Whether the value is a cast to a type other than an opaque object.
fn is_number_cast(value: &str) -> bool {
    ["((MPI_Offset)", "((MPI_Status*)", "((MPI_T_"].iter().any(|cast| value.starts_with(cast))
}

/// Compiles and runs a program that prints the values of the names that a header defines.
fn values(header: &Header, names: &BTreeSet<String>, work: &Path) -> Result<BTreeMap<String, i64>> {
    let known = known(header)?;
    let mut program =
        format!("#include <stddef.h>\n#include <stdio.h>\n#include <{}>\nint main(void) {{\n", header.file);
    for name in names {
        let layout = LAYOUT.iter().find(|(layout, _)| layout == name).map(|(_, expression)| *expression);
        if layout.is_some() || known.contains(name.as_str()) {
            let expression = layout.unwrap_or(name);
            let _ = writeln!(program, "printf(\"{name} %lld\\n\", (long long)({expression}));");
        }
    }
    program.push_str("return 0; }\n");
    let (source, binary) = (work.join("constants.c"), work.join("constants"));
    std::fs::write(&source, program)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-w", COMPATIBLE]).arg("-I").arg(&header.dir).arg(&source).arg("-o").arg(&binary);
    let status = gcc.status().context("cannot run gcc")?;
    ensure!(status.success(), "gcc failed on {} with {}", source.display(), header.dir.display());
    let output = Command::new(&binary).output()?;
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .map(|line| {
            let (name, value) = line.split_once(' ').context("the program printed an unexpected line")?;
            Ok((name.to_owned(), value.parse()?))
        })
        .collect()
}

/// Identifiers that a header defines as macros or enumerators, without variables of the library.
fn known(header: &Header) -> Result<BTreeSet<String>> {
    let path = header.dir.join(header.file);
    let run = |args: &[&str]| -> Result<String> {
        let output = Command::new("gcc").args(args).arg("-I").arg(&header.dir).arg(&path).output()?;
        ensure!(output.status.success(), "gcc cannot read {}", path.display());
        Ok(String::from_utf8(output.stdout)?)
    };
    let macros = run(&["-E", "-dM", "-w", COMPATIBLE])?;
    let text = run(&["-E", "-P", "-w", COMPATIBLE])?;
    let mut known: BTreeSet<String> =
        macros.lines().filter_map(|l| l.split_whitespace().nth(1)).map(str::to_owned).collect();
    let words = |s: &str| -> Vec<String> {
        s.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    for statement in text.split(';').filter(|s| s.contains("enum")) {
        known.extend(words(statement));
    }
    for statement in text.split(';').filter(|s| s.contains("extern") && !s.contains('(')) {
        for word in words(statement) {
            known.remove(&word);
        }
    }
    Ok(known)
}
