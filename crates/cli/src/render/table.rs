//! Tables that fit the available width.

use super::escape::escape;
use super::fit::{display_width, pieces, terms, wrap, wrap_sum};

/// Blanks between two columns, normally and in little space.
const GAP: usize = 2;
const NARROW_GAP: usize = 1;
/// Minimum width of a column that is narrowed.
const NARROWEST: usize = 7;
/// Indentation of a cell that is shown below its row.
const BELOW: usize = 6;
/// Text of a cell without a value.
const NOTHING: &str = "-";

/// A table: a head and rows with the same number of cells.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// What it contains, for outputs that name every table.
    name: Option<String>,
    /// Whether each column contains numbers, which are right-aligned.
    numbers: Vec<bool>,
}

/// Returns the text, or a dash if there is none.
#[must_use]
pub fn or_dash(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NOTHING.to_owned())
}

impl Table {
    /// Creates an empty table.
    #[must_use]
    pub fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
            name: None,
            numbers: vec![false; head.len()],
        }
    }

    /// Marks columns as numeric.
    #[must_use]
    pub fn numbers(mut self, columns: &[usize]) -> Self {
        for column in columns {
            if let Some(number) = self.numbers.get_mut(*column) {
                *number = true;
            }
        }
        self
    }

    /// Names a table that no line above it names.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the name, if the table has one of its own.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the heads of the columns.
    #[must_use]
    pub fn head(&self) -> &[String] {
        &self.head
    }

    /// Returns the rows, escaped for terminals.
    #[must_use]
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether a column is numeric.
    #[must_use]
    pub fn is_number(&self, column: usize) -> bool {
        self.numbers.get(column).copied().unwrap_or_default()
    }

    /// Appends a row.
    pub fn push(&mut self, row: Vec<String>) {
        let mut row: Vec<String> = row.iter().map(|cell| escape(cell).into_owned()).collect();
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
    }

    /// Lays out the table, head first. If it is too wide, empty columns are omitted and the columns move
    /// closer; if that is not enough, the widest columns are narrowed and their cells wrapped. Before a word would be cut, the last column
    /// moves below each row, and it stays there if words are cut nevertheless: names are cut at underscores before numbers are separated
    /// from their units. If no layout fits, the table becomes a list.
    #[must_use]
    pub fn lines(&self, width: usize) -> Vec<String> {
        let all: Vec<usize> = (0..self.head.len()).collect();
        let natural = |columns: &[usize]| columns.iter().map(|at| self.natural(*at)).collect::<Vec<_>>();
        let widths = natural(&all);
        if total(&widths, GAP) <= width {
            return self.aligned(&all, &widths, GAP);
        }
        let telling: Vec<usize> = all.into_iter().filter(|at| self.tells(*at)).collect();
        let whole_words: Vec<usize> = telling.iter().map(|at| self.longest_piece(*at)).collect();
        let narrow: Vec<usize> = telling.iter().map(|at| self.floor(*at)).collect();
        let widths = natural(&telling);
        let of =
            |(at, least): (&usize, &usize)| if self.is_number(*at) { self.unbroken(*at) } else { *least };
        let whole_numbers: Vec<usize> = telling.iter().zip(&narrow).map(of).collect();
        let fitting = |ways: &[(&Vec<usize>, usize)]| {
            ways.iter().find_map(|(floors, gap)| Some((narrowed(&widths, floors, width, *gap)?, *gap)))
        };
        let unbroken: Vec<usize> = telling.iter().map(|at| self.unbroken(*at)).collect();
        let whole = [&widths, &unbroken].map(|floors| [(floors, GAP), (floors, NARROW_GAP)]);
        if let Some((widths, gap)) = fitting(whole.as_flattened()) {
            return self.aligned(&telling, &widths, gap);
        }
        if let Some(lines) = self.with_last_below(&telling, &unbroken, width) {
            return lines;
        }
        let parts: Vec<usize> =
            telling.iter().zip(&unbroken).map(|(at, whole)| self.parts(*at, *whole)).collect();
        let breaking = fitting(&[
            (&parts, NARROW_GAP),
            (&whole_words, GAP),
            (&whole_words, NARROW_GAP),
            (&whole_numbers, NARROW_GAP),
            (&narrow, NARROW_GAP),
        ]);
        let Some((widths, gap)) = breaking else { return self.list(width) };
        // Cutting fewer words into fewer parts is worth a line for the last column.
        let below = self.with_last_below(&telling, &parts, width);
        below.unwrap_or_else(|| self.aligned(&telling, &widths, gap))
    }

    /// Lays out the last column on separate lines below each row, if it contains text and the others then
    /// fit.
    fn with_last_below(&self, columns: &[usize], floors: &[usize], width: usize) -> Option<Vec<String>> {
        let (last, columns) = columns.split_last()?;
        let widths: Vec<usize> = columns.iter().map(|at| self.natural(*at)).collect();
        let floors = floors.get(..columns.len())?;
        let fitting =
            [GAP, NARROW_GAP].into_iter().find_map(|gap| Some((narrowed(&widths, floors, width, gap)?, gap)));
        let (widths, gap) = fitting.filter(|_| !self.is_number(*last) && columns.len() > 1)?;
        let rows = std::iter::once(&self.head).chain(&self.rows);
        let lines = rows.flat_map(|row| {
            let mut lines = self.row(row, columns, &widths, gap);
            let below = wrap(self.cell(row, *last), width.saturating_sub(BELOW), 0);
            let below = below.iter().filter(|line| !line.is_empty());
            lines.extend(below.map(|line| format!("{:BELOW$}{line}", "")));
            lines
        });
        Some(lines.collect())
    }

    fn cell<'a>(&self, row: &'a [String], column: usize) -> &'a str {
        row.get(column).map_or("", String::as_str)
    }

    fn natural(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.head).chain(&self.rows).map(|row| self.cell(row, column));
        cells.map(display_width).max().unwrap_or(0)
    }

    /// Returns the minimum width of a column in which no word is cut.
    fn longest_piece(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.head).chain(&self.rows).map(|row| self.cell(row, column));
        cells.map(longest_piece).max().unwrap_or(0)
    }

    /// Like [`longest_piece`](Self::longest_piece), but keeps numbers together with their units: only sums are broken.
    fn unbroken(&self, column: usize) -> usize {
        if !self.is_number(column) {
            return self.longest_piece(column);
        }
        let cells = self.rows.iter().flat_map(|row| terms(self.cell(row, column))).map(display_width);
        cells.max().unwrap_or(0).max(longest_piece(self.cell(&self.head, column)))
    }

    /// Like [`unbroken`](Self::unbroken), but cells of text may also be cut at underscores.
    fn parts(&self, column: usize, unbroken: usize) -> usize {
        if self.is_number(column) {
            return unbroken;
        }
        let rows = self.rows.iter().map(|row| self.cell(row, column));
        let parts = rows.flat_map(pieces).flat_map(|piece| piece.trim_end().split_inclusive('_'));
        let longest = parts.map(display_width).max().unwrap_or(0);
        longest.max(longest_piece(self.cell(&self.head, column))).max(self.floor(column)).min(unbroken)
    }

    /// Returns the absolute minimum width of a column: a short word and the head stay whole.
    fn floor(&self, column: usize) -> usize {
        let head = display_width(self.cell(&self.head, column));
        self.natural(column).min(NARROWEST).max(head.min(2 * NARROWEST))
    }

    fn tells(&self, column: usize) -> bool {
        self.rows.iter().any(|row| !matches!(self.cell(row, column), "" | NOTHING))
    }

    fn aligned(&self, columns: &[usize], widths: &[usize], gap: usize) -> Vec<String> {
        let rows = std::iter::once(&self.head).chain(&self.rows);
        rows.flat_map(|row| self.row(row, columns, widths, gap)).collect()
    }

    /// Lays out a row, which takes as many lines as its tallest cell.
    fn row(&self, row: &[String], columns: &[usize], widths: &[usize], gap: usize) -> Vec<String> {
        // Continuation lines keep the indentation of their cell.
        let fit = |(at, width): (&usize, &usize)| match (self.cell(row, *at), self.is_number(*at)) {
            (cell, true) if display_width(cell) > *width => wrap_sum(cell, *width),
            (cell, _) => wrap(cell, *width, margin(cell)),
        };
        let cells: Vec<Vec<String>> = columns.iter().zip(widths).map(fit).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let mut line = String::new();
            let mut end = 0;
            for ((cell, width), column) in cells.iter().zip(widths).zip(columns) {
                let text = cell.get(at).map_or("", String::as_str);
                let is_number = self.numbers.get(*column).copied().unwrap_or_default();
                let pad = if is_number { width.saturating_sub(display_width(text)) } else { 0 };
                line.push_str(&" ".repeat((end + pad).saturating_sub(display_width(&line))));
                line.push_str(text);
                end += width + gap;
            }
            line.trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    /// Shows each row as a paragraph, and each cell with its head.
    fn list(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.rows {
            let indented = row.first().map_or(0, |cell| margin(cell));
            let mut margin = indented;
            for (head, cell) in
                self.head.iter().zip(row).filter(|(_, cell)| !matches!(cell.as_str(), "" | NOTHING))
            {
                let head = match head.trim_start() {
                    "" => String::new(),
                    head => format!("{head}: "),
                };
                let line = format!("{:margin$}{head}{}", "", cell.trim_start());
                lines.extend(wrap(&line, width, margin + 4));
                margin = indented + 2;
            }
        }
        lines
    }
}

/// Returns the indentation of a cell.
fn margin(cell: &str) -> usize {
    cell.len() - cell.trim_start().len()
}

/// Returns the width of the longest part of a cell that must not be cut.
fn longest_piece(cell: &str) -> usize {
    let margin = margin(cell);
    let pieces = pieces(cell.trim_start()).map(|piece| display_width(piece.trim_end()));
    pieces.max().map_or(0, |piece| margin + piece)
}

/// Narrows the widest columns until all fit; `None` if they would fall below their floors.
fn narrowed(widths: &[usize], floors: &[usize], room: usize, gap: usize) -> Option<Vec<usize>> {
    let mut widths = widths.to_vec();
    while total(&widths, gap) > room {
        let gives =
            |at: &usize| widths.get(*at).zip(floors.get(*at)).is_some_and(|(width, least)| width > least);
        let widest = (0..widths.len()).filter(gives).max_by_key(|at| widths.get(*at).copied())?;
        *widths.get_mut(widest)? -= 1;
    }
    Some(widths)
}

fn total(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(head: &[&str], rows: &[&[&str]]) -> Table {
        let mut table = Table::new(head);
        rows.iter().for_each(|row| table.push(row.iter().map(|cell| (*cell).to_owned()).collect()));
        table
    }

    #[test]
    fn columns_are_aligned_and_names_cannot_control_the_terminal() {
        let table = table(&["A", "B"], &[&["x\x1b[2J", "y"], &["求解", "z"]]);
        assert_eq!(table.lines(80), ["A         B", r"x\x1b[2J  y", "求解      z"]);
    }

    #[test]
    fn overlong_cells_take_several_lines_without_loss() {
        let rows: &[&[&str]] = &[&["[0,2-5]", "-", "MPI_Recv", "/home/me/a/long/path/solver.c:17"]];
        let lines = table(&["RANK", "TAG", "CALL", "WHERE"], rows).lines(40);
        assert_eq!(
            lines,
            [
                "RANK     CALL      WHERE",
                "[0,2-5]  MPI_Recv  /home/me/a/long/path/",
                "                   solver.c:17"
            ]
        );
        assert!(lines.iter().all(|line| display_width(line) <= 40));
    }

    #[test]
    fn a_long_name_is_cut_at_an_underscore_before_a_number_loses_its_unit() {
        let rows: &[&[&str]] =
            &[&["MPI_File_write_at_all_begin", "22.3 ms", "681 us"], &["MPI_Wait", "1 s", "2 s"]];
        let lines = table(&["FUNCTION", "TIME", "LEAST"], rows).numbers(&[1, 2]).lines(38);
        let wanted = [
            "FUNCTION                  TIME  LEAST",
            "MPI_File_write_at_all_ 22.3 ms 681 us",
            "begin",
            "MPI_Wait                   1 s    2 s",
        ];
        assert!(lines.iter().all(|line| display_width(line) <= 38), "{lines:#?}");
        assert!(lines[1].ends_with("22.3 ms 681 us") && lines[2] == "begin", "{lines:#?} {wanted:?}");
    }

    #[test]
    fn a_sum_that_is_too_wide_is_broken_behind_its_sign() {
        let rows: &[&[&str]] = &[&["MPI_Recv", "12 + 3 open", "33.9 s = 33.1 s + 800 ms", "a.c:1"]];
        let table = table(&["FUNCTION", "CALLS", "TIME", "WHERE"], rows).numbers(&[1, 2]);
        let lines = table.lines(45);
        let wanted = [
            "FUNCTION        CALLS             TIME  WHERE",
            "MPI_Recv  12 + 3 open         33.9 s =  a.c:1",
            "                       33.1 s + 800 ms",
        ];
        assert_eq!(lines, wanted);
        for width in 24..50 {
            let lines = table.lines(width);
            let cut = |line: &String| line.ends_with(" 3") || line.trim_start().starts_with("open");
            assert!(!lines.iter().any(cut), "{width}: {lines:#?}");
        }
    }

    #[test]
    fn the_last_column_moves_below_each_row_before_a_word_is_broken() {
        let place = "norm+0x1c in libvectors.so.2 (from heat.c:31)";
        let rows: &[&[&str]] =
            &[&["MPI_Allreduce", "1200", "1.1s", place], &["MPI_Send", "7", "2ms", "a.c:9"]];
        let lines = table(&["FUNCTION", "CALLS", "TIME", "WHERE"], rows).numbers(&[1, 2]).lines(38);
        assert_eq!(
            lines,
            [
                "FUNCTION       CALLS  TIME",
                "      WHERE",
                "MPI_Allreduce   1200  1.1s",
                "      norm+0x1c in libvectors.so.2",
                "      (from heat.c:31)",
                "MPI_Send           7   2ms",
                "      a.c:9",
            ]
        );
    }

    #[test]
    fn the_last_column_moves_below_each_row_before_names_are_cut_into_more_parts() {
        let rows: &[&[&str]] =
            &[&["MPI_File_write_at_all", "data/the_whole_checkpoint_0000.nc", "4", "31.8 MB", "io.c:165"]];
        let lines = table(&["FUNCTION", "ON", "CALLS", "BYTES", "WHERE"], rows).numbers(&[2, 3]).lines(52);
        assert!(lines.iter().any(|line| line.starts_with("MPI_File_write_")), "{lines:#?}");
        assert_eq!(lines.last().unwrap().trim(), "io.c:165", "{lines:#?}");
    }

    #[test]
    fn columns_move_closer_before_a_cell_is_wrapped() {
        let rows: &[&[&str]] = &[&["0", "in call", "3.63 s", "ring.c:12"]];
        let table = table(&["RANK", "STATE", "AGE", "WHERE"], rows);
        assert_eq!(table.lines(31), ["RANK STATE   AGE    WHERE", "0    in call 3.63 s ring.c:12"]);
        assert_eq!(table.lines(32), ["RANK  STATE    AGE     WHERE", "0     in call  3.63 s  ring.c:12"]);
    }

    #[test]
    fn a_number_stays_next_to_its_unit_if_there_is_room_elsewhere() {
        let table =
            table(&["FUNCTION", "BYTES SENT"], &[&["MPI_File_write_at_all", "19.7 MB"]]).numbers(&[1]);
        let lines = [
            "FUNCTION                BYTES",
            "                         SENT",
            "MPI_File_write_at_all 19.7 MB",
        ];
        assert_eq!(table.lines(29), lines);
    }

    #[test]
    fn continuation_lines_are_indented_like_their_first_line() {
        let table = table(&["  SHARE", "A"], &[&["  communication efficiency", "1"]]);
        assert_eq!(table.lines(18), ["  SHARE          A", "  communication  1", "  efficiency"]);
    }

    #[test]
    fn a_table_that_cannot_fit_becomes_a_list() {
        let rows: &[&[&str]] = &[&["[0-3]", "in call", "MPI_Recv", "a.c:1"]];
        let lines = table(&["RANK", "STATE", "CALL", "WHERE"], rows).lines(19);
        assert_eq!(lines, ["RANK: [0-3]", "  STATE: in call", "  CALL: MPI_Recv", "  WHERE: a.c:1"]);
        let rows: &[&[&str]] = &[&["  MPI_Recv", "w", "4 open", "33.9 s", "a.c:1"]];
        let lines = table(&["  FUNCTION", "", "CALLS", "TIME", "WHERE"], rows).list(30);
        let wanted =
            ["  FUNCTION: MPI_Recv", "    w", "    CALLS: 4 open", "    TIME: 33.9 s", "    WHERE: a.c:1"];
        assert_eq!(lines, wanted);
    }
}
