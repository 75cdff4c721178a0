//! Facts about an object before they become text: labeled values, moments, and lines of drawings.

/// Width of a label in columns.
const LABEL: usize = 17;

/// The subject of a fact; facts of several processes are merged by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Heading,
    Label(String),
    /// A standalone line.
    Line(String),
}

/// The value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    Text(String),
    /// Milliseconds after the start.
    Moment(u64),
}

/// A fact about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The subject.
    pub key: Key,
    pub value: Value,
    /// Whether it concerns the reporting process itself; useless if several processes are merged.
    pub here: bool,
}

impl Fact {
    /// Makes the first line.
    pub fn heading(text: String) -> Self {
        Self { key: Key::Heading, value: Value::Text(text), here: false }
    }

    /// Makes a line without a label.
    pub fn line(text: String) -> Self {
        Self { key: Key::Line(text.clone()), value: Value::Text(text), here: false }
    }

    /// Returns the fact as text.
    pub fn text(&self) -> String {
        let mark = if self.here { "  <- this process" } else { "" };
        let value = match &self.value {
            Value::Text(text) => format!("{text}{mark}"),
            Value::Moment(ms) => moment(*ms),
        };
        self.key.before(&value)
    }
}

impl Key {
    /// Puts the label before a value.
    pub fn before(&self, value: &str) -> String {
        match self {
            Self::Heading | Self::Line(_) => value.to_owned(),
            Self::Label(label) => format!("  {label:<LABEL$} {value}").trim_end().to_owned(),
        }
    }
}

/// Makes a labeled value.
pub fn field(label: &str, value: &str) -> Fact {
    Fact { key: Key::Label(label.to_owned()), value: Value::Text(value.to_owned()), here: false }
}

/// Makes a fact about the items omitted from a list of which `most` are shown, if any.
pub fn left_out(all: usize, most: usize, what: &str) -> Option<Fact> {
    let rest = all.checked_sub(most).filter(|rest| *rest > 0)?;
    Some(field("", &format!("and {rest} more {what}")))
}

/// Makes a moment; merging several processes turns it into a span.
pub fn when(label: &str, seconds: f64) -> Fact {
    let ms = (seconds.max(0.0) * 1e3).round() as u64;
    Fact { key: Key::Label(label.to_owned()), value: Value::Moment(ms), here: false }
}

fn moment(ms: u64) -> String {
    format!("{} after the start", crate::render::moment(ms as f64 / 1e3))
}

/// Formats the span from the first moment to the last.
pub fn span(first: u64, last: u64) -> String {
    format!("{:.3} to {}", first as f64 / 1e3, moment(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omitted_list_items_are_counted() {
        assert_eq!((left_out(0, 12, "calls"), left_out(12, 12, "calls")), (None, None));
        assert!(left_out(15, 12, "calls").is_some_and(|fact| fact.text().ends_with("and 3 more calls")));
    }
}
