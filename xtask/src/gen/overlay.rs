//! `crates/layer/hooks/*.tsv`: what people add to the rules, one file a concern. Kept by hand.
//!
//! A row is a function's name, or a pattern with `*`, and fields separated by tabs: `before=path`, `after=path`,
//! `bytes=expression`, `note.field=expression` (empty to drop the field), `skip` (the hook is written by hand; the stub stays).
//! `before` and `after` of all rows that match are called, files in the order of their names; of the other fields the
//! last row wins.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::table::{Row, lines};

/// The rows of the overlay.
pub struct Overlay(Vec<(String, Vec<(String, String)>)>);

const FIELDS: &[&str] = &["before", "after", "bytes", "skip"];

/// Reads all files of the overlay.
pub fn read(folder: &Path) -> Result<Overlay> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "tsv"));
    files.sort();
    let mut rows = Vec::new();
    for path in files {
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for (number, line) in lines(&text) {
            rows.push(parse(line).with_context(|| format!("{}:{number}", path.display()))?);
        }
    }
    Ok(Overlay(rows))
}

fn parse(line: &str) -> Result<(String, Vec<(String, String)>)> {
    let mut columns = line.split('\t').filter(|c| !c.is_empty());
    let pattern = columns.next().context("an empty row")?.to_owned();
    let mut fields = Vec::new();
    for column in columns {
        let (field, value) = column.split_once('=').unwrap_or((column, ""));
        if !FIELDS.contains(&field) && !field.starts_with("note.") {
            bail!("`{field}` is not one of {} or note.FIELD", FIELDS.join(", "));
        }
        fields.push((field.to_owned(), value.to_owned()));
    }
    Ok((pattern, fields))
}

impl Overlay {
    /// What the overlay says of one field of one function.
    pub fn get(&self, function: &str, field: &str) -> Option<&str> {
        let rows = self.0.iter().rev().filter(|(pattern, _)| matches(pattern, function));
        rows.flat_map(|(_, fields)| fields).find(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// What every row that matches the function says of one field, in order.
    pub fn all(&self, function: &str, field: &str) -> Vec<&str> {
        let rows = self.0.iter().filter(|(pattern, _)| matches(pattern, function));
        rows.flat_map(|(_, fields)| fields)
            .filter(|(name, _)| name == field)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// All `note.` fields that the overlay names for a function.
    pub fn notes(&self, function: &str) -> Vec<(&str, &str)> {
        let rows = self.0.iter().filter(|(pattern, _)| matches(pattern, function));
        rows.flat_map(|(_, fields)| fields)
            .filter_map(|(name, value)| Some((name.strip_prefix("note.")?, value.as_str())))
            .collect()
    }

    /// Fails on a row that no function matches: most likely a slip of the pen.
    pub fn all_match(&self, rows: &[Row]) -> Result<()> {
        for (pattern, _) in &self.0 {
            let any = rows.iter().any(|row| row.is_traced() && matches(pattern, &row.name));
            ensure!(any, "crates/layer/hooks: `{pattern}` matches no traced function");
        }
        Ok(())
    }
}

/// Shell-like matching with `*` only.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.strip_prefix(head).is_some_and(|rest| (0..=rest.len()).any(|at| matches(tail, &rest[at..])))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, parse};

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("MPI_Wait*", "MPI_Waitall"));
        assert!(matches("MPI_*_init*", "MPI_Send_init_c"));
        assert!(!matches("MPI_Wait", "MPI_Waitall"));
        assert!(!matches("MPI_*_c", "MPI_Send"));
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        assert!(parse("MPI_Send\tbefor=x").is_err());
        assert!(parse("MPI_Send\tbefore=x\tskip").is_ok());
    }
}
