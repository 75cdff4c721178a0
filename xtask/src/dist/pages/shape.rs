//! Compares the output of two runs of the same command, ignoring times, process ids, handles and line
//! breaks.

/// A line of the page that begins with one of these matches any text.
const LEFT_OUT: [&str; 2] = ["...", "[...]"];

/// How much of a command's output is the same in every run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All lines, in this order.
    Whole,
    /// A report of times: its rows, their order, and the ranks with the minimum and maximum vary.
    OfTimes,
}

/// Returns the first expected part that was not printed. Parts are separated by omissions and must appear in
/// order. In a report of times, lines may appear in any order, and rows of functions may be missing.
pub fn missing(page: &[String], printed: &str, shape: Shape) -> Option<String> {
    let printed = words(printed, shape);
    let mut at = 0;
    for part in parts(page, shape) {
        let wanted = words(&part, shape);
        let begin = if shape == Shape::OfTimes { 0 } else { at };
        let rest = printed.get(begin..).unwrap_or_default();
        match rest.windows(wanted.len().max(1)).position(|window| window == wanted) {
            Some(found) => at = begin + found + wanted.len(),
            None if shape == Shape::OfTimes && is_left_out(&wanted, &printed) => {}
            None => return Some(nearest(&wanted, rest, &part)),
        }
    }
    None
}

/// Whether this is a function's row and that function has no row in the output.
fn is_left_out(row: &[String], printed: &[String]) -> bool {
    let function = row.first().filter(|word| word.starts_with("MPI_"));
    function.is_some_and(|function| !printed.contains(function))
        && printed.iter().any(|word| word.starts_with("MPI_"))
}

fn parts(page: &[String], shape: Shape) -> Vec<String> {
    let left_out = |line: &String| LEFT_OUT.contains(&line.trim());
    let parts: Vec<String> = match shape {
        Shape::OfTimes => page.iter().filter(|line| !left_out(line)).cloned().collect(),
        Shape::Whole => page.split(left_out).map(|part| part.join("\n")).collect(),
    };
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Describes how much of a part was found.
fn nearest(wanted: &[String], printed: &[String], part: &str) -> String {
    let begins = |length: usize| printed.windows(length).any(|window| Some(window) == wanted.get(..length));
    let most = (1..=wanted.len()).take_while(|length| begins(*length)).last().unwrap_or(0);
    let from = most.saturating_sub(4);
    let around = wanted.get(from..(most + 3).min(wanted.len())).unwrap_or_default().join(" ");
    format!(
        "{part}\n(first different word: {:?} in \"{around}\")",
        wanted.get(most).map_or("", String::as_str)
    )
}

/// The words of a text, with `#` for values that differ between runs.
fn words(text: &str, shape: Shape) -> Vec<String> {
    let text = text.replace("..", " .. ");
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace().map(word) {
        let word = match shape {
            Shape::OfTimes if is_rank(&word) => "@#".to_owned(),
            // Whether a time is estimated depends on the duration of earlier calls.
            Shape::OfTimes => word.trim_start_matches('~').to_owned(),
            Shape::Whole => word,
        };
        let word = with_number_before(word, &mut found);
        // A time or a range of times: whether all ranks have the same time varies.
        let end = without_stop(&word);
        let range = [(TIME, "..", TIME), (NUMBER, "to", NUMBER), (NUMBER, "to", TIME)].iter().any(
            |(from, joint, to)| end == *to && found.ends_with(&[(*from).to_owned(), (*joint).to_owned()]),
        );
        if range {
            found.truncate(found.len() - 2);
        }
        found.push(word);
    }
    found
}

/// Joins a unit of time with the number before it: `12.3 us` may be `1.20 ms` in the next run.
fn with_number_before(word: String, found: &mut Vec<String>) -> String {
    let unit = without_stop(&word);
    let is_number = |before: &mut String| {
        let before = before.trim_start_matches(['~', '+', '-', '(']);
        before == NUMBER || before.parse::<u8>().is_ok()
    };
    if !UNITS.contains(&unit) {
        return word;
    }
    match found.pop_if(is_number) {
        Some(number) => {
            let sign = number.trim_end_matches(|c: char| c == '#' || c.is_ascii_digit());
            format!("{sign}{TIME}{}", word.get(unit.len()..).unwrap_or_default())
        }
        None => word,
    }
}

fn without_stop(word: &str) -> &str {
    word.trim_end_matches([',', ';', ':', '.', ')'])
}

fn is_rank(word: &str) -> bool {
    word.strip_prefix('@').is_some_and(|rank| rank == "#" || rank.parse::<u32>().is_ok())
}

const UNITS: [&str; 4] = ["ns", "us", "ms", "s"];
const TIME: &str = "#s";
const NUMBER: &str = "#";

fn word(word: &str) -> String {
    let mut shape = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            let (separator, after) = rest.split_at(rest.chars().next().map_or(1, char::len_utf8));
            shape += separator;
            rest = after;
            continue;
        }
        let (token, after) = rest.split_at(end);
        let stop = token.trim_end_matches('.');
        // A source line is the same in every run.
        let fixed = shape.ends_with(".c:");
        let handle = shape.ends_with("id:") || shape.ends_with("#-");
        shape += if fixed || stop.is_empty() { stop } else { token_shape(stop, handle) };
        shape += token.get(stop.len()..).unwrap_or_default();
        rest = after;
    }
    shape
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.'
}

/// `#` if the token differs between runs; otherwise the token itself. Single-digit numbers are ranks and
/// tags, and stay.
fn token_shape(token: &str, handle: bool) -> &str {
    let digits = token.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = digits.len() < token.len();
    let hexadecimal = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit());
    // A commit may begin with a letter.
    let has_digit = token.chars().any(|c| c.is_ascii_digit());
    let identity = hexadecimal(token) && token.len() >= 5 && (handle || has_digit);
    match digits {
        _ if identity || token.strip_prefix("0x").is_some_and(hexadecimal) => NUMBER,
        digits if number && UNITS.contains(&digits) => TIME,
        // `2m05s`, `1h40m`
        digits if number && is_long(digits) => TIME,
        "" if token.contains('.') || token.len() > 1 => NUMBER,
        _ => token,
    }
}

/// Whether `rest` is `2m05s` or `1h40m` without the first number.
fn is_long(rest: &str) -> bool {
    let rest = rest.strip_prefix('m').zip(Some('s')).or_else(|| rest.strip_prefix('h').zip(Some('m')));
    rest.and_then(|(rest, last)| rest.strip_suffix(last))
        .is_some_and(|digits| digits.len() == 2 && digits.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        words(one, Shape::Whole) == words(other, Shape::Whole)
    }

    #[test]
    fn only_times_process_ids_handles_and_line_breaks_may_differ() {
        assert!(same("ring.c:12, for 1.40 s", "ring.c:12,\n    for 20.0 ms..2m05s"));
        assert!(same("made 94.0 ms..97.0 ms, after", "made 1h40m, after"));
        assert!(same("made 0.094 to 0.097 s after", "made 0.027 s after"));
        assert!(same("0  vm  17915  in call", "0 vm 42 in call"));
        assert!(same("job 22970-bad2ae: rank", "job 31-cdefab: rank"));
        assert!(same("id:d4a450d1  0x84000001", "id:deadbeef  0xc4000003"));
        assert!(same("(commit e3262a9b7336)", "(commit 0bbef94fcaf8)"));
        assert!(!same("ring.c:12", "ring.c:13"));
        assert!(!same("deadlock: 0 -> 3 -> 2", "deadlock: 0 -> 2 -> 3"));
        assert!(!same("tag 7 on", "tag 8 on"));
        assert!(!same("MPI_Recv", "MPI_Send"));
    }

    #[test]
    fn an_ellipsis_matches_any_text_and_the_order_must_match() {
        let page = ["a", "...", "c"].map(str::to_owned);
        assert_eq!(missing(&page, "a\nb\nc", Shape::Whole), None);
        assert!(missing(&page, "c\nb\na", Shape::Whole).unwrap().starts_with('c'));
    }

    #[test]
    fn in_a_report_of_times_rows_may_be_reordered_or_missing_and_ranks_may_differ() {
        let page =
            ["MPI_Send 1.20 s @1", "MPI_Recv 20.0 ms @0", "MPI_Init 1.00 ms @0", "end"].map(str::to_owned);
        let same = |printed: &str| missing(&page, printed, Shape::OfTimes).is_none();
        assert!(same("MPI_Recv ~30.0 ms @2\nMPI_Send 0 s @3\nend"));
        assert!(!same("MPI_Recv 30.0 ms\nMPI_Send 1.00 s @3\nend"), "a row without its rank");
        assert!(!same("MPI_Recv 30.0 ms @2\nMPI_Send 1.00 s @3"), "no end");
        assert!(!same("end"), "no row at all");
    }
}
