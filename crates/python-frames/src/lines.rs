//! The line of an instruction, according to the tables of CPython's code objects (its
//! `Objects/lnotab_notes.txt`, PEP 626, `locations.md`).

use super::layout::Lines;

/// Returns the line of the instruction at offset `at` in bytes.
pub fn line_of(form: Lines, table: &[u8], first_line: u32, at: u32) -> Option<u32> {
    let line = match form {
        Lines::Steps => by_steps(table, i64::from(first_line), i64::from(at)),
        Lines::Ranges => by_ranges(table, i64::from(first_line), i64::from(at)),
        Lines::Locations => by_locations(table, i64::from(first_line), i64::from(at)),
    };
    u32::try_from(line?).ok().filter(|line| *line != 0)
}

/// Pairs of increments: bytes, lines. The line is that of the last step at or before the instruction.
fn by_steps(table: &[u8], mut line: i64, at: i64) -> Option<i64> {
    let mut end = 0;
    for pair in table.chunks_exact(2) {
        let [bytes, lines] = pair else { break };
        end += i64::from(*bytes);
        if end > at {
            break;
        }
        line += i64::from(lines.cast_signed());
    }
    Some(line)
}

/// Pairs: line increment, number of bytes; -128 for instructions without a line.
fn by_ranges(table: &[u8], mut line: i64, at: i64) -> Option<i64> {
    const NO_LINE: i8 = -128;
    let mut end = 0;
    for pair in table.chunks_exact(2) {
        let [bytes, lines] = pair else { break };
        let lines = lines.cast_signed();
        end += i64::from(*bytes);
        line += if lines == NO_LINE { 0 } else { i64::from(lines) };
        if end > at {
            return (lines != NO_LINE).then_some(line);
        }
    }
    None
}

/// Entries that begin with a byte whose top bit is set: their format, and the number of code units that they
/// cover. Line increment and columns follow, depending on the format.
fn by_locations(table: &[u8], mut line: i64, at: i64) -> Option<i64> {
    const UNIT: i64 = 2;
    let mut rest = table;
    let mut end = 0;
    while let Some((first, behind)) = rest.split_first() {
        let (mut bytes, form) = (behind, (first >> 3) & 15);
        end += UNIT * i64::from((first & 7) + 1);
        let known = match form {
            15 => None,
            13 | 14 => Some(signed(&mut bytes)?),
            10..=12 => Some(i64::from(form) - 10),
            _ => Some(0),
        };
        line += known.unwrap_or(0);
        if end > at {
            return known.map(|_| line);
        }
        // Columns are skipped.
        let next = bytes.iter().position(|byte| byte & 0x80 != 0).unwrap_or(bytes.len());
        rest = bytes.get(next..)?;
    }
    None
}

/// Decodes a number with six bits per byte, least significant first; its lowest bit is the sign.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let (mut value, mut shift) = (0_i64, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= i64::from(byte & 0x3f).checked_shl(shift)?;
        if byte & 0x40 == 0 {
            return Some(if value & 1 == 0 { value >> 1 } else { -(value >> 1) });
        }
        shift += 6;
    }
}
