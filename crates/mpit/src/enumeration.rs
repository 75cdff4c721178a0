//! Enumerations: names for the values of an `MPI_INT` variable or for the elements of an event.

/// An enumeration: named values in a fixed order.
#[derive(Debug, Clone)]
pub struct Enumeration {
    name: String,
    items: Vec<(i32, String)>,
}

impl Enumeration {
    /// Creates an enumeration without items.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), items: Vec::new() }
    }

    /// Appends an item.
    #[must_use]
    pub fn item(mut self, value: i32, name: impl Into<String>) -> Self {
        self.items.push((value, name.into()));
        self
    }

    /// Appends items whose values are their indices.
    #[must_use]
    pub fn items<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let first = self.items.len() as i32;
        self.items.extend(names.into_iter().zip(first..).map(|(name, value)| (value, name.into())));
        self
    }

    /// The name of the enumeration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the enumeration has no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The value and name of the item at an index.
    pub fn get(&self, index: usize) -> Option<(i32, &str)> {
        self.items.get(index).map(|(value, name)| (*value, name.as_str()))
    }

    /// The name of a value.
    pub fn name_of(&self, value: i32) -> Option<&str> {
        self.items.iter().find(|(v, _)| *v == value).map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_and_values() {
        let colors = Enumeration::new("color").item(7, "red").items(["green", "blue"]);
        assert_eq!(colors.len(), 3);
        assert_eq!(colors.get(0), Some((7, "red")));
        assert_eq!(colors.get(2), Some((2, "blue")));
        assert_eq!(colors.get(3), None);
        assert_eq!(colors.name_of(1), Some("green"));
        assert_eq!(colors.name_of(3), None);
    }
}
