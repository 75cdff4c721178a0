//! Info hints: key/value pairs that users set and receive as copies.

/// Hints in the order in which their keys first appeared; each key occurs once.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Hints(Vec<(String, String)>);

impl Hints {
    /// Creates an empty set of hints.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a hint or replaces its value.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }

    /// [`Hints::set`] as a builder.
    #[must_use]
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.set(key, value);
        self
    }

    /// The value of a key, if present.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Whether there are no hints.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies the values of supported hints, that is, of keys that already exist here; others are ignored.
    pub(crate) fn update(&mut self, from: &Self) {
        for (key, value) in from.iter() {
            if let Some((_, old)) = self.0.iter_mut().find(|(k, _)| k == key) {
                value.clone_into(old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_takes_supported_hints_and_leaves_the_rest() {
        let mut hints = Hints::new().with("a", "1").with("b", "2");
        hints.update(&Hints::new().with("b", "3").with("unknown", "4"));
        assert_eq!(hints, Hints::new().with("a", "1").with("b", "3"));
    }
}
