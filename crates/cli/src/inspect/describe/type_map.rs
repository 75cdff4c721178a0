//! Draws a type map: one character per byte, holes as dots.
//!
//! ```text
//!        0  Iiii....DdddddddDddddddd
//!       24  DdddddddC.......
//! ```

use mpiscope_job::model::objects::TypeMap;
use mpiscope_job::model::objects::typemap::Run;
use std::collections::BTreeMap;

/// Bytes per line.
const WIDTH: i64 = 32;
/// Maximum number of lines with data.
const MOST_LINES: usize = 16;
/// Maximum number of elements drawn.
const MOST_ELEMENTS: u64 = 4096;

/// Assigns a letter to each type.
fn letters(map: &TypeMap) -> BTreeMap<&str, char> {
    let mut letters: BTreeMap<&str, char> = BTreeMap::new();
    for run in &map.runs {
        if letters.contains_key(run.datatype.as_str()) {
            continue;
        }
        let name = run.datatype.trim_start_matches("MPI_").to_lowercase();
        let free =
            |letter: &char| letter.is_ascii_lowercase() && !letters.values().any(|used| used == letter);
        let letter = name.chars().find(free).or_else(|| ('a'..='z').find(free)).unwrap_or('x');
        letters.insert(&run.datatype, letter);
    }
    letters
}

/// Returns the lines of the drawing and its legend; empty if it would show nothing.
pub fn lines(map: &TypeMap, lb: i64, extent: i64) -> Vec<String> {
    if map.incomplete || map.cut || extent <= 0 {
        return Vec::new();
    }
    let letters = letters(map);
    let mut drawing = Drawing::new(map, lb, extent);
    for run in &map.runs {
        drawing.draw(run, letters.get(run.datatype.as_str()).copied().unwrap_or('x'));
    }
    let mut lines = drawing.lines();
    let legend: Vec<String> = letters.iter().map(|(name, letter)| format!("{letter} {name}")).collect();
    let overlap = if drawing.holds('#') { ", # overlap" } else { "" };
    let hole =
        if drawing.holds('.') || lines.iter().any(|line| line.ends_with(HOLE)) { ", . hole" } else { "" };
    lines.push(format!("{:>14}  {}{hole}{overlap}; capitals begin an element", "", legend.join(", ")));
    lines
}

/// End of a line that stands for several lines without data.
const HOLE: &str = "bytes, all hole";

/// The first lines with data, by line number.
struct Drawing {
    lines: BTreeMap<i64, String>,
    lb: i64,
    extent: i64,
    elements: u64,
    /// Whether data extends beyond the extent.
    outside: bool,
    /// Whether some lines with data did not fit.
    more: bool,
}

impl Drawing {
    /// Creates the lines that contain data, initially all holes.
    fn new(map: &TypeMap, lb: i64, extent: i64) -> Self {
        let mut drawing =
            Self { lines: BTreeMap::new(), lb, extent, elements: 0, outside: false, more: false };
        for run in &map.runs {
            let bytes = i64::try_from(run.count.saturating_mul(run.size)).unwrap_or(i64::MAX);
            let first = run.displacement.saturating_sub(lb);
            let end = first.saturating_add(bytes);
            drawing.outside |= first < 0 || end > extent;
            let last = end.min(extent).saturating_sub(1).div_euclid(WIDTH);
            let numbers = first.max(0).div_euclid(WIDTH)..=last;
            for number in numbers.take(MOST_LINES + 1) {
                let wide = usize::try_from((extent - number * WIDTH).min(WIDTH)).unwrap_or(0);
                drawing.lines.insert(number, ".".repeat(wide));
                drawing.more |= drawing.lines.len() > MOST_LINES;
                if drawing.more && drawing.lines.len() > MOST_LINES {
                    drawing.lines.pop_last();
                }
            }
        }
        drawing
    }

    fn draw(&mut self, run: &Run, letter: char) {
        let Some((last, _)) = self.lines.last_key_value() else { return };
        let end = (last + 1).saturating_mul(WIDTH);
        for element in 0..run.count {
            self.elements += 1;
            let offset = element.saturating_mul(run.size);
            let start = run.displacement.saturating_sub(self.lb).saturating_add_unsigned(offset);
            if start >= end || self.elements > MOST_ELEMENTS {
                break;
            }
            for byte in 0..i64::try_from(run.size).unwrap_or(0).min(end - start) {
                let letter = if byte == 0 { letter.to_ascii_uppercase() } else { letter };
                self.put(start.saturating_add(byte), letter);
            }
        }
    }

    fn put(&mut self, at: i64, letter: char) {
        let Some(line) = self.lines.get_mut(&at.div_euclid(WIDTH)) else { return };
        let Ok(column) = usize::try_from(at.rem_euclid(WIDTH)) else { return };
        // A byte that belongs to two elements.
        let letter = if line.get(column..=column) == Some(".") { letter } else { '#' };
        if column < line.len() {
            line.replace_range(column..=column, letter.encode_utf8(&mut [0; 4]));
        }
    }

    fn holds(&self, letter: char) -> bool {
        self.lines.values().any(|line| line.contains(letter))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = 0;
        for (number, line) in &self.lines {
            self.gap(next, *number, &mut lines);
            lines.push(format!("{:>14}  {line}", self.lb.saturating_add(number * WIDTH)));
            next = number + 1;
        }
        let rest = self.extent.saturating_sub(next.saturating_mul(WIDTH));
        if self.more {
            lines.push(format!("{:>14}  {rest} more bytes", "..."));
        } else {
            self.gap(next, next + rest.max(0).saturating_add(WIDTH - 1) / WIDTH, &mut lines);
        }
        if self.outside {
            lines.push(format!("{:>14}  data beyond the extent is not drawn", ""));
        }
        lines
    }

    /// Adds lines without data: a single one is drawn, several are replaced by their length.
    fn gap(&self, from: i64, to: i64, lines: &mut Vec<String>) {
        let bytes = to.saturating_mul(WIDTH).min(self.extent).saturating_sub(from * WIDTH);
        match to - from {
            ..=0 => {}
            1 => {
                let dots = ".".repeat(usize::try_from(bytes).unwrap_or(0));
                lines.push(format!("{:>14}  {dots}", self.lb.saturating_add(from * WIDTH)));
            }
            _ => lines.push(format!("{:>14}  {bytes} {HOLE}", "...")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(datatype: &str, displacement: i64, count: u64, size: u64) -> Run {
        Run { datatype: datatype.into(), displacement, count, size }
    }

    #[test]
    fn holes_are_dots_and_every_type_has_a_letter() {
        let runs = vec![run("MPI_INT", 0, 1, 4), run("MPI_DOUBLE", 8, 3, 8), run("MPI_CHAR", 32, 1, 1)];
        let lines = lines(&TypeMap { runs, ..TypeMap::default() }, 0, 40);
        let drawn: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(drawn[0], "0  Iiii....DdddddddDdddddddDddddddd");
        assert_eq!(drawn[1], "32  C.......");
        assert_eq!(drawn[2], "c MPI_CHAR, d MPI_DOUBLE, i MPI_INT, . hole; capitals begin an element");
    }

    #[test]
    fn overlaps_are_marked_and_a_negative_lower_bound_is_the_first_byte() {
        let runs = vec![run("MPI_INT", -4, 2, 4), run("MPI_CHAR", -3, 1, 1)];
        let lines = lines(&TypeMap { runs, ..TypeMap::default() }, -4, 8);
        assert_eq!(lines[0].trim(), "-4  I#iiIiii");
        assert!(lines[1].contains("# overlap"));
    }

    #[test]
    fn two_types_with_the_same_initial_get_different_letters() {
        let runs = vec![run("MPI_INT", 0, 1, 4), run("MPI_INTEGER", 4, 1, 4)];
        assert_eq!(lines(&TypeMap { runs, ..TypeMap::default() }, 0, 8)[0].trim(), "0  IiiiNnnn");
    }

    #[test]
    fn long_holes_take_one_line_and_the_data_after_them_is_drawn() {
        let runs = vec![run("MPI_INT", 4, 1, 4), run("MPI_INT", 64, 1, 4), run("MPI_INT", 3200, 2, 4)];
        let lines = lines(&TypeMap { runs, ..TypeMap::default() }, 0, 6400);
        let drawn: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        let wanted = [
            "0  ....Iiii........................".to_owned(),
            format!("32  {}", ".".repeat(32)),
            format!("64  Iiii{}", ".".repeat(28)),
            "...  3104 bytes, all hole".to_owned(),
            format!("3200  IiiiIiii{}", ".".repeat(24)),
            "...  3168 bytes, all hole".to_owned(),
            "i MPI_INT, . hole; capitals begin an element".to_owned(),
        ];
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn huge_types_are_truncated_and_unknown_parts_are_not_drawn() {
        let runs = vec![run("MPI_INT", 0, u64::MAX, 4)];
        let drawn = lines(&TypeMap { runs, ..TypeMap::default() }, 0, i64::MAX);
        assert_eq!(drawn.len(), 18);
        assert!(lines(&TypeMap { incomplete: true, ..TypeMap::default() }, 0, 8).is_empty());
    }
}
