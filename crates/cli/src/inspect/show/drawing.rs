//! A type map drawn: one character a byte, holes as dots.
//!
//! ```text
//!        0  Iiii....DdddddddDddddddd
//!       24  DdddddddC.......
//! ```

use mpiscope_job::objects::TypeMap;
use std::collections::BTreeMap;

/// Bytes of a line.
const WIDTH: i64 = 32;
/// Lines that are drawn.
const MOST_LINES: i64 = 16;
/// Elements that are drawn.
const MOST_ELEMENTS: u64 = 4096;

/// The letter of each type.
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

/// The lines of the drawing and of its legend; none if it would say nothing.
pub fn lines(map: &TypeMap, lb: i64, extent: i64) -> Vec<String> {
    if map.incomplete || map.cut || extent <= 0 {
        return Vec::new();
    }
    let letters = letters(map);
    let shown = extent.min(WIDTH * MOST_LINES);
    let Ok(len) = usize::try_from(shown) else { return Vec::new() };
    let mut bytes = vec!['.'; len];
    let mut elements = 0;
    let mut outside = false;
    for run in &map.runs {
        let letter = letters.get(run.datatype.as_str()).copied().unwrap_or('x');
        for element in 0..run.count {
            elements += 1;
            let offset = element.saturating_mul(run.size);
            let start = run.displacement.saturating_sub(lb).saturating_add_unsigned(offset);
            if start >= shown || elements > MOST_ELEMENTS {
                break;
            }
            for byte in 0..i64::try_from(run.size).unwrap_or(0) {
                let at = usize::try_from(start.saturating_add(byte)).ok().and_then(|at| bytes.get_mut(at));
                match at {
                    // A byte that belongs to two elements.
                    Some(at) if *at != '.' => *at = '#',
                    Some(at) => *at = if byte == 0 { letter.to_ascii_uppercase() } else { letter },
                    None => outside = true,
                }
            }
        }
    }
    let mut lines: Vec<String> = bytes
        .chunks(WIDTH as usize)
        .zip(0i64..)
        .map(|(chunk, line)| {
            format!("{:>14}  {}", lb.saturating_add(line * WIDTH), chunk.iter().collect::<String>())
        })
        .collect();
    if extent > shown {
        lines.push(format!("{:>14}  {} more bytes", "...", extent - shown));
    } else if outside {
        lines.push(format!("{:>14}  data beyond the extent is not drawn", ""));
    }
    let legend: Vec<String> = letters.iter().map(|(name, letter)| format!("{letter} {name}")).collect();
    let overlap = if bytes.contains(&'#') { ", # overlap" } else { "" };
    let hole = if bytes.contains(&'.') { ", . hole" } else { "" };
    lines.push(format!("{:>14}  {}{hole}{overlap}; capitals begin an element", "", legend.join(", ")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::objects::typemap::Run;

    fn run(datatype: &str, displacement: i64, count: u64, size: u64) -> Run {
        Run { datatype: datatype.into(), displacement, count, size }
    }

    #[test]
    fn holes_are_dots_and_every_type_has_a_letter() {
        let runs = vec![run("MPI_INT", 0, 1, 4), run("MPI_DOUBLE", 8, 3, 8), run("MPI_CHAR", 32, 1, 1)];
        let told = lines(&TypeMap { runs, ..TypeMap::default() }, 0, 40);
        let drawn: Vec<&str> = told.iter().map(|line| line.trim()).collect();
        assert_eq!(drawn[0], "0  Iiii....DdddddddDdddddddDddddddd");
        assert_eq!(drawn[1], "32  C.......");
        assert_eq!(drawn[2], "c MPI_CHAR, d MPI_DOUBLE, i MPI_INT, . hole; capitals begin an element");
    }

    #[test]
    fn overlaps_are_marked_and_a_negative_lower_bound_is_the_first_byte() {
        let runs = vec![run("MPI_INT", -4, 2, 4), run("MPI_CHAR", -3, 1, 1)];
        let told = lines(&TypeMap { runs, ..TypeMap::default() }, -4, 8);
        assert_eq!(told[0].trim(), "-4  I#iiIiii");
        assert!(told[1].contains("# overlap"));
    }

    #[test]
    fn two_types_with_the_same_first_letter_have_different_ones() {
        let runs = vec![run("MPI_INT", 0, 1, 4), run("MPI_INTEGER", 4, 1, 4)];
        assert_eq!(lines(&TypeMap { runs, ..TypeMap::default() }, 0, 8)[0].trim(), "0  IiiiNnnn");
    }

    #[test]
    fn what_is_huge_is_cut_and_what_is_not_known_is_not_drawn() {
        let runs = vec![run("MPI_INT", 0, u64::MAX, 4)];
        let told = lines(&TypeMap { runs, ..TypeMap::default() }, 0, i64::MAX);
        assert_eq!(told.len(), 18);
        assert!(lines(&TypeMap { incomplete: true, ..TypeMap::default() }, 0, 8).is_empty());
    }
}
