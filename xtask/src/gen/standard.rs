//! Converts the standard's machine-readable description (`apis.json`) to the rows of `functions.tsv`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::properties::Properties;
use super::table::{Param, Row};

/// The package that contains `apis.json`. Another version may describe another MPI standard; the tests would
/// show it.
const PACKAGE: &str = "pympistandard==0.2.0";

#[derive(Deserialize)]
struct Entry {
    name: String,
    attributes: Attributes,
    parameters: Vec<Parameter>,
    return_kind: String,
}

#[derive(Deserialize)]
struct Attributes {
    c_expressible: bool,
    callback: bool,
    predefined_function: Option<String>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    kind: String,
    param_direction: String,
    constant: Value,
    func_type: String,
    large_only: bool,
    length: Value,
    pointer: Option<bool>,
    suppress: String,
}

/// Fetches the package into `target/` with pip and unpacks `apis.json`. Needs the network once.
pub fn fetch(target: &Path) -> Result<PathBuf> {
    let dir = target.join("standard");
    let json = dir.join("pympistandard/data/apis.json");
    if json.exists() {
        return Ok(json);
    }
    std::fs::create_dir_all(&dir)?;
    let dest = dir.to_str().context("the target directory is not UTF-8")?;
    run("python3", &["-m", "pip", "download", "--quiet", "--no-deps", "--dest", dest, PACKAGE])?;
    let wheel = std::fs::read_dir(&dir)?
        .filter_map(Result::ok)
        .map(|e| e.path())
        .find(|p| p.extension().is_some_and(|e| e == "whl"))
        .with_context(|| format!("pip downloaded no wheel to {dest}"))?;
    run("python3", &["-m", "zipfile", "-e", wheel.to_str().context("path is not UTF-8")?, dest])?;
    ensure!(json.exists(), "{} has no pympistandard/data/apis.json", wheel.display());
    Ok(json)
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let status =
        Command::new(program).args(args).status().with_context(|| format!("cannot run {program}"))?;
    ensure!(status.success(), "`{program} {}` failed; is the network available?", args.join(" "));
    Ok(())
}

/// All C functions sorted by name, each `_c` variant after its base.
pub fn rows(json: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(json).with_context(|| format!("cannot read {}", json.display()))?;
    let entries: BTreeMap<String, Entry> = serde_json::from_str(&text)
        .with_context(|| format!("{} has an unexpected format", json.display()))?;
    let mut rows = Vec::new();
    for entry in entries.values() {
        let attributes = &entry.attributes;
        if !attributes.c_expressible || attributes.callback || attributes.predefined_function.is_some() {
            continue;
        }
        let has_c = entry.parameters.iter().any(|p| p.kind.starts_with("POLY") && !hidden(p));
        rows.push(row(entry, false, has_c)?);
        if has_c {
            rows.push(row(entry, true, false)?);
        }
    }
    Ok(rows)
}

/// Whether the parameter is not in the C binding.
fn hidden(p: &Parameter) -> bool {
    p.suppress.split_whitespace().any(|s| s == "c_parameter")
}

fn row(entry: &Entry, is_c: bool, has_c: bool) -> Result<Row> {
    let shown = |p: &&Parameter| !hidden(p) && (is_c || !p.large_only);
    let params: Vec<Param> =
        entry.parameters.iter().filter(shown).map(|p| param(p, is_c)).collect::<Result<_>>()?;
    let mut row = Row {
        name: format!("{}{}", entry.name, if is_c { "_c" } else { "" }),
        returns: entry.return_kind.clone(),
        flags: Vec::new(),
        params,
        properties: Properties::default(),
    };
    let flags = [
        ("c", is_c),
        ("has_c", has_c || matches!(entry.name.as_str(), "MPI_Psend_init" | "MPI_Precv_init")),
        ("variadic", row.params.iter().any(|p| p.kind == "VARARGS")),
    ];
    row.flags = flags.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()).collect();
    if row.name == "MPI_Info_create_env" {
        correct_info_create_env(&mut row)?;
    }
    Ok(row)
}

/// The data has `char argv[]`; the standard and every header have `char *argv[]`.
fn correct_info_create_env(row: &mut Row) -> Result<()> {
    let argv = row.params.iter_mut().find(|p| p.name == "argv").context("MPI_Info_create_env has no argv")?;
    argv.shape = "**".to_owned();
    Ok(())
}

fn param(p: &Parameter, is_c: bool) -> Result<Param> {
    let length = match &p.length {
        Value::Null => "-".to_owned(),
        Value::String(s) if s.is_empty() => "*".to_owned(),
        Value::String(s) => s.clone(),
        Value::Array(dims) => dims.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => bail!("{}: unknown length {other}", p.name),
    };
    let is_const = p.constant == Value::Bool(true) || p.constant == "true";
    let levels = levels(p);
    let function = match p.kind.as_str() {
        "POLYFUNCTION" if is_c => format!("{}_c", p.func_type),
        "POLYFUNCTION" | "FUNCTION" => p.func_type.clone(),
        _ => String::new(),
    };
    let shape =
        format!("{}{function}{}", if is_const && levels > 0 { "const" } else { "" }, "*".repeat(levels));
    Ok(Param {
        name: p.name.clone(),
        kind: p.kind.clone(),
        direction: p.param_direction.clone(),
        length,
        shape,
    })
}

/// Number of pointers in the C declaration, counting arrays as pointers.
fn levels(p: &Parameter) -> usize {
    let array = !p.length.is_null();
    let pointer = p.pointer;
    match p.kind.as_str() {
        "VARARGS" => 0,
        "STRING_2DARRAY" | "ARGUMENT_LIST" => 3,
        "STRING_ARRAY" => 2,
        "BUFFER" | "C_BUFFER" | "C_BUFFER2" | "STRING" | "EXTRA_STATE" | "EXTRA_STATE2" | "ATTRIBUTE_VAL"
        | "ATTRIBUTE_VAL_10" | "STATUS" | "FUNCTION" | "POLYFUNCTION" | "TOOL_MPI_OBJ" | "F08_STATUS"
        | "F90_STATUS" => 1,
        _ if array => 1,
        _ if pointer == Some(false) => 0,
        _ => usize::from(p.param_direction != "in" || pointer == Some(true)),
    }
}
