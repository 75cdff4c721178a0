//! Fits text into a given width. Widths are in terminal columns: some characters take two, some none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns that a terminal needs for the text.
#[must_use]
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Shortens the text to the width, marking the omission with dots.
#[must_use]
pub fn shorten(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (head, _) = split_at_width(text, width.saturating_sub(3));
    format!("{}{}", head.trim_end(), ".".repeat(width.min(3)))
}

/// Wraps the text into lines of at most `width` columns, indenting all but the first. Lines break at spaces,
/// or else after a joint: a character that separates parts of paths, sets and source lines, or else after an
/// underscore. Text without any of them is cut anywhere.
#[must_use]
pub fn wrap(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = indent.min(width / 2);
    let mut lines = Vec::new();
    let mut rest = text;
    loop {
        let margin = if lines.is_empty() { 0 } else { indent };
        let room = width - margin;
        if rest.width() <= room {
            lines.push(format!("{}{rest}", " ".repeat(margin)));
            return lines;
        }
        let (line, next) = cut(rest, room);
        lines.push(format!("{}{}", " ".repeat(margin), line.trim_end()));
        if next.is_empty() {
            return lines;
        }
        rest = next;
    }
}

/// Characters after which a word may be broken.
const JOINTS: [char; 8] = ['/', ',', ';', ':', '=', '|', ')', ']'];

/// Returns the positions where a text may be broken: after joints, but not between a file name and its line
/// number.
fn joints(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    text.match_indices(JOINTS).map(|(at, joint)| (at + joint.len(), joint)).filter_map(move |(end, joint)| {
        let before_number = text.get(end..)?.starts_with(|c: char| c.is_ascii_digit());
        (joint != ":" || !before_number).then_some(end)
    })
}

/// Returns the pieces of a text that wrapping keeps whole.
pub fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_inclusive(' ');
    words.flat_map(|word| {
        let ends: Vec<usize> = joints(word).filter(|end| *end < word.len()).chain([word.len()]).collect();
        let starts = std::iter::once(0).chain(ends.clone());
        starts.zip(ends).filter_map(|(start, end)| word.get(start..end))
    })
}

/// Signs after which a sum may be broken.
const SIGNS: [&str; 2] = [" + ", " = "];

/// Returns the terms of a sum, each with the sign that follows it: `1.2 s =`, `0.8 s +`, `0.4 s`.
pub fn terms(text: &str) -> impl Iterator<Item = &str> {
    let signs = SIGNS.iter().flat_map(|sign| text.match_indices(sign));
    let mut ends: Vec<usize> = signs.map(|(at, sign)| at + sign.len()).chain([text.len()]).collect();
    ends.sort_unstable();
    let starts = std::iter::once(0).chain(ends.clone());
    starts.zip(ends).filter_map(|(start, end)| text.get(start..end)).map(str::trim)
}

/// Wraps numbers into lines of at most `width` columns: behind the signs of a sum, so that each number stays next to its
/// unit, unless one of the terms is too long for that.
#[must_use]
pub fn wrap_sum(text: &str, width: usize) -> Vec<String> {
    if terms(text).any(|term| term.width() > width) {
        return wrap(text, width, 0);
    }
    let mut lines: Vec<String> = Vec::new();
    for term in terms(text) {
        match lines.last_mut().filter(|line| line.width() + 1 + term.width() <= width) {
            Some(line) => *line = format!("{line} {term}"),
            None => lines.push(term.to_owned()),
        }
    }
    lines
}

/// Returns the indentation of a text in columns.
#[must_use]
pub fn indentation(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Splits a text that is too long into its first line and the rest.
fn cut(text: &str, room: usize) -> (&str, &str) {
    let (head, tail) = split_at_width(text, room);
    if tail.starts_with(' ') {
        return (head, tail.trim_start_matches(' '));
    }
    let start = indentation(head);
    let blank = head.rfind(' ').filter(|at| *at > start);
    let behind = |at: &usize| *at > start + 1 && *at <= head.len();
    let joint = joints(text).rfind(behind).or_else(|| head.rfind(':').map(|at| at + 1).filter(behind));
    // Do not break at a space if that leaves the line mostly empty.
    let blank = blank.filter(|at| joint.is_none() || *at >= head.len() / 3);
    let part = || head.rfind('_').map(|at| at + 1).filter(behind);
    let end = blank.or(joint).or_else(part).unwrap_or(head.len());
    let (line, next) = text.split_at(end);
    (line, next.trim_start_matches(' '))
}

/// Splits the text so that the first part is as wide as possible, but at least one character.
fn split_at_width(text: &str, width: usize) -> (&str, &str) {
    let mut columns = 0;
    for (at, c) in text.char_indices() {
        columns += c.width().unwrap_or(0);
        if columns > width && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_continue_indented() {
        assert_eq!(wrap("  one two three four", 12, 4), ["  one two", "    three", "    four"]);
        assert_eq!(wrap("short", 12, 4), ["short"]);
    }

    #[test]
    fn a_file_and_its_line_stay_together_if_they_can() {
        assert_eq!(
            pieces("in MPI_Recv at src/ring.c:12").collect::<Vec<_>>(),
            ["in ", "MPI_Recv ", "at ", "src/", "ring.c:12"]
        );
        assert_eq!(wrap("/home/me/ring.c:12", 15, 0), ["/home/me/", "ring.c:12"]);
        assert_eq!(wrap("ring.c:12", 8, 0), ["ring.c:", "12"]);
        assert_eq!(wrap("kind: some", 7, 0), ["kind:", "some"]);
    }

    #[test]
    fn a_sum_breaks_behind_its_signs_and_no_number_loses_its_unit() {
        assert_eq!(terms("1.2 s = 0.8 s + 0.4 s").collect::<Vec<_>>(), ["1.2 s =", "0.8 s +", "0.4 s"]);
        assert_eq!(wrap_sum("1.2 s = 0.8 s + 0.4 s", 16), ["1.2 s = 0.8 s +", "0.4 s"]);
        assert_eq!(wrap_sum("1.2 s = 0.8 s + 0.4 s", 9), ["1.2 s =", "0.8 s +", "0.4 s"]);
        assert_eq!(wrap_sum("12 + 3 open", 8), ["12 +", "3 open"]);
        assert_eq!(wrap_sum("22.3 ms", 4), ["22.3", "ms"], "there is no other way");
    }

    #[test]
    fn a_path_breaks_at_its_separators_without_loss() {
        let path = "/home/somebody/projects/solver/source/time_step.c:1234";
        let lines = wrap(path, 20, 2);
        assert!(lines.iter().all(|line| display_width(line) <= 20), "{lines:?}");
        assert_eq!(lines.iter().map(|line| line.trim_start()).collect::<String>(), path);
        assert_eq!(lines[0], "/home/somebody/");
        let word = "x".repeat(50);
        assert_eq!(wrap(&word, 20, 0).concat(), word);
    }

    #[test]
    fn characters_count_with_their_displayed_width() {
        assert_eq!(display_width("求解器"), 6);
        assert_eq!(wrap("求解器求解器", 7, 0), ["求解器", "求解器"]);
        assert_eq!((shorten("求解器求解器", 9), shorten("solver", 6)), ("求解器...".into(), "solver".into()));
    }

    #[test]
    fn wrapping_terminates_at_any_width() {
        assert_eq!(wrap("求解", 1, 4), ["求", "解"]);
        assert_eq!(wrap("ab", 0, 0), ["a", "b"]);
    }
}
