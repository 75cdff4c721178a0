//! `crates/layer/hooks/*.tsv`: manual additions to the rules, one file per concern.
//!
//! A row has a selector and tab-separated fields: `before=path`, `after=path`, `bytes=expression`,
//! `note.field=expression` (empty to drop the field), `skip` (the hook is written by hand; the stub stays).
//! The selector is a function's name, which also covers its large-count variant, or `@column=value|value,…`
//! with columns of `properties.tsv`.
//!
//! A function may have hooks from several files. They run in the order of the files' numbers, each given in a
//! separate row: `order`, tab, number. Hooks of one file are in one row, in the order in which they run.
//! Contradictions are rejected: hooks for one function in two rows of a file or in two files with the same
//! number, and two values for a single-valued field.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::table::{Row, lines};

/// The rows of all files.
#[derive(Default)]
pub struct Overlay(Vec<Line>);

struct Line {
    /// File and line, for messages.
    place: String,
    /// The file's order number; files without hooks need none.
    order: Option<u32>,
    selector: Selector,
    fields: Vec<(String, String)>,
}

#[derive(Debug, PartialEq)]
enum Selector {
    /// This function and its large-count variant.
    Function(String),
    /// All functions that have, in each of the columns, one of its values.
    Columns(Vec<(String, Vec<String>)>),
}

/// Fields that a function can have from several rows.
const HOOKS: &[&str] = &["before", "after"];
/// Single-valued fields, in addition to `note.*`.
const SINGLE: &[&str] = &["bytes", "skip"];

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
        rows.extend(file(&text, &path.display().to_string())?);
    }
    Ok(Overlay(rows))
}

/// The rows of one file.
fn file(text: &str, name: &str) -> Result<Vec<Line>> {
    let (mut order, mut rows) = (None, Vec::new());
    for (number, line) in lines(text) {
        let place = format!("{name}:{number}");
        if let Some(value) = line.strip_prefix("order\t") {
            ensure!(
                order.is_none() && rows.is_empty(),
                "{place}: the order must be given once, before all rows"
            );
            order = Some(value.trim().parse().with_context(|| format!("{place}: a number expected"))?);
            continue;
        }
        let (selector, fields) = parse(line).with_context(|| place.clone())?;
        rows.push(Line { place, order, selector, fields });
    }
    Ok(rows)
}

fn parse(line: &str) -> Result<(Selector, Vec<(String, String)>)> {
    let mut columns = line.split('\t').filter(|c| !c.is_empty());
    let selector = selector(columns.next().context("an empty row")?)?;
    let mut fields = Vec::new();
    for column in columns {
        let (field, value) = column.split_once('=').unwrap_or((column, ""));
        if !HOOKS.contains(&field) && !SINGLE.contains(&field) && !field.starts_with("note.") {
            bail!("`{field}` is not one of {}, {} or note.FIELD", HOOKS.join(", "), SINGLE.join(", "));
        }
        fields.push((field.to_owned(), value.to_owned()));
    }
    Ok((selector, fields))
}

fn selector(text: &str) -> Result<Selector> {
    let Some(columns) = text.strip_prefix('@') else { return Ok(Selector::Function(text.to_owned())) };
    let one = |part: &str| {
        let (column, values) =
            part.split_once('=').with_context(|| format!("`{part}` is not column=value"))?;
        ensure!(value(&Row::default(), column).is_some(), "unknown column `{column}`");
        Ok((column.to_owned(), values.split('|').map(str::to_owned).collect()))
    };
    columns.split(',').map(one).collect::<Result<_>>().map(Selector::Columns)
}

/// The value of a column for a function.
fn value<'a>(row: &'a Row, column: &str) -> Option<&'a str> {
    let p = &row.properties;
    let value = match column {
        "class" => &p.class,
        "start" => &p.start,
        "waits" => &p.waits,
        "partners" => &p.partners,
        "moves" => &p.moves,
        "operation" => &p.operation,
        _ => return None,
    };
    Some(if value.is_empty() { "-" } else { value })
}

impl Line {
    fn matches(&self, row: &Row) -> bool {
        match &self.selector {
            Selector::Function(name) => name == row.base() || *name == row.name,
            Selector::Columns(columns) => columns.iter().all(|(column, values)| {
                value(row, column).is_some_and(|value| values.iter().any(|wanted| wanted == value))
            }),
        }
    }

    fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == field)
    }
}

impl Overlay {
    fn of<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Line> {
        self.0.iter().filter(|line| line.matches(row))
    }

    /// The value of a single-valued field.
    pub fn get(&self, row: &Row, field: &str) -> Option<&str> {
        let mut fields = self.0.iter().filter(|line| line.matches(row)).flat_map(|line| &line.fields);
        fields.find(|(name, _)| name == field).map(|(_, value)| value.as_str())
    }

    /// The hooks of a function, in the order in which they run.
    pub fn hooks(&self, row: &Row, field: &str) -> Vec<&str> {
        let mut lines: Vec<&Line> = self.0.iter().filter(|line| line.matches(row)).collect();
        lines.sort_by_key(|line| line.order);
        let fields = lines.into_iter().flat_map(|line| &line.fields);
        fields.filter(|(name, _)| name == field).map(|(_, value)| value.as_str()).collect()
    }

    /// All `note.` fields that the overlay names for a function.
    pub fn notes(&self, row: &Row) -> Vec<(&str, &str)> {
        let fields = self.0.iter().filter(|line| line.matches(row)).flat_map(|line| &line.fields);
        fields.filter_map(|(name, value)| Some((name.strip_prefix("note.")?, value.as_str()))).collect()
    }

    /// Fails on a row that matches no function, most likely a typo, and on rows that contradict each other.
    pub fn check(&self, rows: &[Row]) -> Result<()> {
        for line in &self.0 {
            let any = rows.iter().any(|row| row.is_traced() && line.matches(row));
            ensure!(any, "{}: it matches no traced function", line.place);
            let hooks = HOOKS.iter().any(|field| line.has(field));
            ensure!(!hooks || line.order.is_some(), "{}: a file with hooks needs an order", line.place);
        }
        rows.iter().filter(|row| row.is_traced()).try_for_each(|row| self.check_one(row))
    }

    fn check_one(&self, row: &Row) -> Result<()> {
        let lines: Vec<&Line> = self.of(row).collect();
        for (at, one) in lines.iter().enumerate() {
            for other in &lines[at + 1..] {
                let both = one.fields.iter().map(|(field, _)| field).find(|field| other.has(field));
                let Some(field) = both else { continue };
                let ordered = HOOKS.contains(&field.as_str()) && one.order != other.order;
                ensure!(
                    ordered,
                    "{} and {} contradict each other: `{field}` of {}",
                    one.place,
                    other.place,
                    row.name
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::table;

    fn row(name: &str, flags: &str, start: &str) -> Row {
        let mut row = table::parse(&format!("{name}\tERROR_CODE\t{flags}")).unwrap();
        row.properties.class = "collective".to_owned();
        row.properties.start = start.to_owned();
        row
    }

    fn overlay(files: &[&str]) -> Overlay {
        let files = files.iter().enumerate();
        Overlay(files.flat_map(|(number, text)| file(text, &format!("file{number}")).unwrap()).collect())
    }

    #[test]
    fn a_row_serves_a_function_and_its_large_count_variant() {
        let overlay = overlay(&["order\t1\nMPI_Bcast\tbefore=a::b\n"]);
        for row in [row("MPI_Bcast", "has_c", ""), row("MPI_Bcast_c", "c", "")] {
            assert_eq!(overlay.hooks(&row, "before"), ["a::b"]);
        }
        assert!(overlay.hooks(&row("MPI_Ibcast", "has_c", "nonblocking"), "before").is_empty());
    }

    #[test]
    fn columns_select_all_functions_that_have_one_of_the_values() {
        let overlay = overlay(&["order\t1\n@class=collective,start=-|begin\tbefore=a::b\n"]);
        assert_eq!(overlay.hooks(&row("MPI_Bcast", "-", ""), "before"), ["a::b"]);
        assert!(overlay.hooks(&row("MPI_Ibcast", "-", "nonblocking"), "before").is_empty());
        assert!(parse("@colour=red\tskip").is_err());
    }

    #[test]
    fn hooks_run_in_the_order_stated_in_the_files_and_not_by_file_name() {
        let rows = [row("MPI_Bcast", "-", "")];
        let files = overlay(&["order\t2\nMPI_Bcast\tbefore=late\n", "order\t1\nMPI_Bcast\tbefore=early\n"]);
        files.check(&rows).unwrap();
        assert_eq!(files.hooks(&rows[0], "before"), ["early", "late"]);
    }

    #[test]
    fn contradictory_rows_are_rejected() {
        let rows = [row("MPI_Bcast", "has_c", ""), row("MPI_Bcast_c", "c", "")];
        for files in [
            // The same function twice in a file: directly, through its variant, and through a column.
            &["order\t1\nMPI_Bcast\tbefore=a\nMPI_Bcast\tbefore=b\n"][..],
            &["order\t1\nMPI_Bcast\tbefore=a\nMPI_Bcast_c\tbefore=a\n"],
            &["order\t1\nMPI_Bcast\tafter=a\n@class=collective\tafter=b\n"],
            // Two files with the same order.
            &["order\t1\nMPI_Bcast\tbefore=a\n", "order\t1\nMPI_Bcast\tbefore=b\n"],
            // Two values for a single-valued field.
            &["MPI_Bcast\tbytes=a\n", "order\t1\nMPI_Bcast\tbytes=b\n"],
            // No order; no such function.
            &["MPI_Bcast\tbefore=a\n"],
            &["order\t1\nMPI_Bcats\tbefore=a\n"],
        ] {
            assert!(overlay(files).check(&rows).is_err(), "{files:?}");
        }
    }

    #[test]
    fn a_misspelled_field_is_rejected() {
        assert!(parse("MPI_Send\tbefor=x").is_err());
        assert!(parse("MPI_Send\tbefore=x\tskip").is_ok());
    }
}
