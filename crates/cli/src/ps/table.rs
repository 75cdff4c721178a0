//! The table as text: columns as wide as needed, no colour, ASCII unless the program's own names are not.

use super::rows::{CELLS, Row};

/// Widest column; what is longer is cut, but for the last column.
const WIDEST: usize = 40;

/// The lines, with a head.
pub fn lines(rows: &[Row]) -> Vec<String> {
    let [host, state, call, peer, tag, comm, count, datatype, place] = CELLS;
    let head = ["RANK", host, "PID", state, call, peer, tag, comm, count, datatype, "AGE", place];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(columns));
    align(&table)
}

fn columns(row: &Row) -> Vec<String> {
    let mut cells = row.cells.clone();
    let ranks = if row.ranks.is_empty() { "-".to_owned() } else { row.ranks.to_string() };
    let pid = match row.pids.as_slice() {
        [only] => only.to_string(),
        several => format!("x{}", several.len()),
    };
    let place = cells.pop().unwrap_or_default();
    let mut columns = vec![ranks];
    columns.extend(cells.drain(..1));
    columns.push(pid);
    columns.append(&mut cells);
    columns.push(row.age.map_or_else(|| "-".to_owned(), age));
    columns.push(place);
    columns
}

/// `42 s`, or `5-42 s` when the ranks differ.
pub fn age((least, most): (f64, f64)) -> String {
    let (low, high) = (duration(least), duration(most));
    if low == high { high } else { format!("{low}..{high}") }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_999_5 => format!("{:.0}us", s * 1e6),
        s if s < 0.999_5 => format!("{:.0}ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1}s"),
        s if s < 6000.0 => format!("{}m{:02}s", s as u64 / 60, s as u64 % 60),
        s => format!("{}h{:02}m", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// Columns side by side. What programs put into names cannot control the terminal.
pub fn align(table: &[Vec<String>]) -> Vec<String> {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let cut = |cell: &String, last: bool| -> String {
        let clean = cell.chars().map(|c| if c.is_control() { '?' } else { c });
        if last { clean.collect() } else { clean.take(WIDEST).collect() }
    };
    let table: Vec<Vec<String>> = table
        .iter()
        .map(|row| row.iter().enumerate().map(|(i, cell)| cut(cell, i + 1 == columns)).collect())
        .collect();
    let width =
        |i: usize| table.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short_and_a_range_when_ranks_differ() {
        assert_eq!(age((0.000_012, 0.000_012)), "12us");
        assert_eq!(age((0.5, 42.04)), "500ms..42.0s");
        assert_eq!(age((125.0, 7260.0)), "2m05s..2h01m");
    }

    #[test]
    fn columns_line_up_and_names_cannot_control_the_terminal() {
        let table = vec![vec!["A".to_owned(), "B".into()], vec!["x\x1b[2J".to_owned(), "y".into()]];
        assert_eq!(align(&table), ["A      B", "x?[2J  y"]);
    }
}
