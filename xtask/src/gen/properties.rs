//! `properties.tsv`: the properties of each function's calls. One row serves a function and its large-count
//! variant.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::notes::Note;
use super::table::{Kinds, Row, lines};

/// The columns of one row, unparsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    pub class: String,
    pub start: String,
    pub waits: String,
    pub partners: String,
    pub completes: String,
    pub moves: String,
    pub flags: Vec<String>,
    /// The blocking function that performs the same operation: usually the function itself.
    pub operation: String,
    /// The name prefix of the parameters whose count and datatype are significant on every process.
    pub side: String,
}

/// All rows, by name.
pub struct Table(BTreeMap<String, Properties>);

impl Table {
    pub fn read(path: &Path) -> Result<Table> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut rows = BTreeMap::new();
        for (number, line) in lines(&text) {
            let (name, row) = parse(line).with_context(|| format!("{}:{number}", path.display()))?;
            ensure!(rows.insert(name.clone(), row).is_none(), "{}:{number}: {name} again", path.display());
        }
        for (name, row) in &rows {
            ensure!(rows.contains_key(&row.operation), "{name}: unknown function {}", row.operation);
        }
        Ok(Table(rows))
    }

    /// Assigns each function its row; fails if either is left over.
    pub fn join(mut self, rows: &mut [Row]) -> Result<()> {
        for row in rows.iter_mut() {
            let properties =
                self.0.get(row.base()).with_context(|| format!("{} has no properties", row.name))?;
            row.properties = properties.clone();
            row.properties.side =
                self.0.get(&properties.operation).map(|p| p.side.clone()).unwrap_or_default();
        }
        self.0.retain(|name, _| !rows.iter().any(|row| row.name == *name));
        ensure!(self.0.is_empty(), "properties of unknown functions: {:?}", self.0.keys());
        Ok(())
    }
}

fn parse(line: &str) -> Result<(String, Properties)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[name, class, start, waits, partners, completes, moves, flags, operation, side] = columns.as_slice()
    else {
        bail!("ten columns expected");
    };
    let text = |column: &str| if column == "-" { String::new() } else { column.to_owned() };
    let properties = Properties {
        class: text(class),
        start: text(start),
        waits: text(waits),
        partners: text(partners),
        completes: text(completes),
        moves: text(moves),
        flags: text(flags).split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect(),
        operation: if operation == "-" { name.to_owned() } else { operation.to_owned() },
        side: text(side),
    };
    Ok((name.to_owned(), properties))
}

/// The properties in Rust. A word that [`mpi_abi::properties`] does not define is a compile error.
pub fn rust(row: &Row) -> String {
    let p = &row.properties;
    let code = |name: &str, word: &str, none: &str| {
        let word = if word.is_empty() { none.to_owned() } else { constant(word) };
        format!("{name}: {}::{word}", name[..1].to_uppercase() + &name[1..])
    };
    let flags = row.flags.iter().chain(&p.flags).fold(String::from("Flags::NONE"), |all, flag| {
        let one = format!("Flags::{}", constant(flag));
        if all == "Flags::NONE" { one } else { format!("{all}.with({one})") }
    });
    let codes = [
        code("class", &p.class, "UNKNOWN"),
        code("start", &p.start, "NONE"),
        code("waits", &p.waits, "NOTHING"),
        code("partners", &p.partners, "NONE"),
        code("completes", &p.completes, "NONE"),
        code("moves", &p.moves, "NONE"),
    ];
    format!("Properties {{ {}, flags: {flags} }}", codes.join(", "))
}

fn constant(word: &str) -> String {
    word.to_uppercase().replace('-', "_")
}

/// The fields of a call's record that the hook sets, in Rust.
pub fn fields(row: &Row, kinds: &Kinds, note: &[Note]) -> Result<String> {
    let mut fields = Vec::new();
    for (field, value) in note {
        fields.push(match field.as_str() {
            "object" => format!("object: Some(ObjectKind::{})", object_kind(row, kinds, value)?),
            "peer" => format!("peer: Some(Role::{})", role(value)),
            "extra0" => "receive: true".to_owned(),
            "extra1" => continue,
            "other" => format!("other: Some(ObjectKind::{})", object_kind(row, kinds, value)?),
            flag => format!("{flag}: true"),
        });
    }
    Ok(match fields.is_empty() {
        true => "Fields::NONE".to_owned(),
        false => format!("Fields {{ {}, ..Fields::NONE }}", fields.join(", ")),
    })
}

/// The kind of an object from the C type of its parameter: `MPI_Win` is `WIN`. A kind that
/// `mpi_abi::ObjectKind` does not define is a compile error.
fn object_kind(row: &Row, kinds: &Kinds, value: &str) -> Result<String> {
    let name = value.trim_start_matches("at(").trim_end_matches(')');
    let param = row.find(|p| p.ident() == name).with_context(|| format!("{}: no {name}", row.name))?;
    let c_type = kinds.c_type(row, &param.kind)?;
    let kind =
        c_type.strip_prefix("MPI_").with_context(|| format!("{}: {c_type} is not a handle", row.name))?;
    Ok(kind.to_uppercase())
}

fn role(param: &str) -> &'static str {
    match param {
        "dest" => "Destination",
        "source" => "Source",
        "root" => "Root",
        _ => "Other",
    }
}
