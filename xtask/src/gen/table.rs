//! Reads and writes the rows of `functions.tsv`, and derives the C and Rust types.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::properties::Properties;

/// One parameter: `name:kind:direction:length[:shape]`.
///
/// `length` is `-` for a single value, the name of a parameter or a constant, `*` if only the standard's text
/// defines it, or `n,3` for an array of triples. `shape` is `*`, `**`, ... with `const` before it, and begins
/// with a C type for callbacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub name: String,
    pub kind: String,
    pub direction: String,
    pub length: String,
    pub shape: String,
}

/// One C function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub name: String,
    pub returns: String,
    pub flags: Vec<String>,
    pub params: Vec<Param>,
    pub properties: Properties,
}

impl Row {
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().chain(&self.properties.flags).any(|f| f == flag)
    }

    /// The name of the function with `int` counts.
    pub fn base(&self) -> &str {
        match self.name.strip_suffix("_c") {
            Some(base) if self.has("c") => base,
            _ => &self.name,
        }
    }

    /// Whether the layer has a stub for it.
    pub fn is_traced(&self) -> bool {
        self.properties.class != "tool" && !self.has("untraced")
    }

    /// The first parameter that `accept` accepts.
    pub fn find(&self, accept: impl Fn(&Param) -> bool) -> Option<&Param> {
        self.params.iter().find(|p| accept(p))
    }
}

impl Param {
    /// Whether it is a plain value, not a pointer or array.
    pub fn is_value(&self) -> bool {
        self.shape.is_empty()
    }

    /// Whether it is or points to a single value, not an array.
    pub fn is_single(&self) -> bool {
        self.length == "-"
    }

    pub fn levels(&self) -> usize {
        self.shape.matches('*').count()
    }

    /// The name as a Rust identifier.
    pub fn ident(&self) -> String {
        const KEYWORDS: &[&str] =
            &["type", "assert", "in", "ref", "box", "move", "match", "final", "virtual"];
        if KEYWORDS.contains(&self.name.as_str()) { format!("{}_", self.name) } else { self.name.clone() }
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.name, self.kind, self.direction, self.length)?;
        if !self.shape.is_empty() {
            write!(f, ":{}", self.shape)?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = if self.flags.is_empty() { "-".to_owned() } else { self.flags.join(",") };
        write!(f, "{}\t{}\t{flags}", self.name, self.returns)?;
        self.params.iter().try_for_each(|p| write!(f, "\t{p}"))
    }
}

/// The lines of a table, numbered from 1, without comments and empty lines.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(n, l)| (n + 1, l)).filter(|(_, l)| !l.is_empty() && !l.starts_with('#'))
}

/// Reads `functions.tsv` or `extra.tsv`.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    lines(&text)
        .map(|(number, line)| parse(line).with_context(|| format!("{}:{number}", path.display())))
        .collect()
}

/// Reads one row.
pub fn parse(line: &str) -> Result<Row> {
    let mut fields = line.split('\t');
    let mut next = || fields.next().context("a row needs name, return kind and flags");
    let (name, returns, flags) = (next()?.to_owned(), next()?.to_owned(), next()?);
    let flags = if flags == "-" { Vec::new() } else { flags.split(',').map(str::to_owned).collect() };
    let params = fields.map(parse_param).collect::<Result<_>>()?;
    Ok(Row { name, returns, flags, params, properties: Properties::default() })
}

fn parse_param(text: &str) -> Result<Param> {
    let parts: Vec<&str> = text.split(':').collect();
    let [name, kind, direction, length, rest @ ..] = parts.as_slice() else {
        bail!("`{text}` is not name:kind:direction:length[:shape]");
    };
    Ok(Param {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        direction: (*direction).to_owned(),
        length: (*length).to_owned(),
        shape: rest.first().copied().unwrap_or_default().to_owned(),
    })
}

/// The C types of the kinds, from `kinds.tsv`.
pub struct Kinds(BTreeMap<String, (String, String)>);

impl Kinds {
    pub fn read(path: &Path) -> Result<Kinds> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut kinds = BTreeMap::new();
        for (number, line) in lines(&text) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kind, small, large] = fields.as_slice() else {
                bail!("{}:{number}: three columns expected", path.display());
            };
            kinds.insert((*kind).to_owned(), ((*small).to_owned(), (*large).to_owned()));
        }
        Ok(Kinds(kinds))
    }

    /// All kinds with their C types (small, large or `-`), in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().map(|(kind, (small, large))| (kind.as_str(), small.as_str(), large.as_str()))
    }

    pub fn index(&self, kind: &str) -> Result<usize> {
        self.0.keys().position(|k| k == kind).with_context(|| format!("kind {kind} is not in kinds.tsv"))
    }

    /// The C type of a kind in a function.
    pub fn c_type(&self, row: &Row, kind: &str) -> Result<&str> {
        let (small, large) = self.0.get(kind).with_context(|| format!("kind {kind} is not in kinds.tsv"))?;
        Ok(if row.has("c") && large != "-" { large } else { small })
    }

    /// Whether parameters of a kind are an `int` in a function and wider in its large-count variant. Others,
    /// such as `MPI_Aint` and `MPI_Count`, have the same width in both.
    pub fn widens(&self, row: &Row, kind: &str) -> bool {
        let types = self.0.get(kind).filter(|_| row.has("c") || row.has("has_c"));
        types.is_some_and(|(small, large)| small == "int" && large != "-" && large != "int")
    }

    /// The Rust type of a parameter, as wide as its register on LP64, generic over `A: Abi`.
    pub fn rust_type(&self, row: &Row, param: &Param) -> Result<String> {
        let base = match self.c_type(row, &param.kind)? {
            "-" => return Ok("*const c_void".to_owned()),
            "void" | "MPI_Status" | "MPI_F08_status" => "c_void",
            "char" => "c_char",
            "int" | "MPI_Fint" => "c_int",
            "MPI_Aint" | "MPI_Count" | "MPI_Offset" => "i64",
            "MPI_File" => "usize",
            "MPI_Comm" | "MPI_Group" | "MPI_Datatype" | "MPI_Op" | "MPI_Request" | "MPI_Message"
            | "MPI_Win" | "MPI_Info" | "MPI_Errhandler" | "MPI_Session" => "A::Handle",
            other => bail!("{}: no Rust type for C type {other} of {}", row.name, param.name),
        };
        let always_mut = base == "c_void" && param.kind == "STATUS";
        let pointer = if param.direction == "in" && !always_mut { "*const " } else { "*mut " };
        Ok(format!("{}{base}", pointer.repeat(param.levels())))
    }
}
