//! The registry's categories: an acyclic graph that only grows.

use super::Registry;
use crate::category::{Category, Member};
use crate::codes::{Error, Result};
use crate::table::index;

impl Registry {
    /// Adds an empty category and returns its index.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] if the name is empty or taken.
    pub fn add_category(&self, name: &str, desc: &str) -> Result<usize> {
        let _adding = self.adding();
        let category = Category::new(name.to_owned(), desc.to_owned());
        let index = self.categories.add(name, 0, category)?;
        self.changed();
        Ok(index)
    }

    /// Appends a member to a category. A member that is already there keeps its position.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`] if the category or the member does not exist; [`Error::INVALID`] if the
    /// member is a category that contains this one, directly or through others.
    pub fn add_to_category(&self, category: usize, member: Member) -> Result<()> {
        let _adding = self.adding();
        let parent = self.category(category)?;
        let exists = match member {
            Member::Cvar(i) => self.cvars.get(i).is_some(),
            Member::Pvar(i) => self.pvars.get(i).is_some(),
            Member::Event(i) => self.events.get(i).is_some(),
            Member::Category(i) => self.categories.get(i).is_some(),
        };
        if !exists {
            return Err(Error::INVALID_INDEX);
        }
        if let Member::Category(child) = member
            && self.reaches(child, category)
        {
            return Err(Error::INVALID);
        }
        if parent.with(|members| members.add(member)) {
            self.changed();
        }
        Ok(())
    }

    /// Whether `goal` is the category `from` or contained in it at any depth.
    fn reaches(&self, from: usize, goal: usize) -> bool {
        let mut seen = vec![false; self.categories.len()];
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            if next == goal {
                return true;
            }
            match seen.get_mut(next) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            open.extend(self.categories.get(next).map(Category::categories).unwrap_or_default());
        }
        false
    }

    /// Number of categories.
    pub fn category_count(&self) -> usize {
        self.categories.len()
    }

    /// The category at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    pub fn category(&self, at: impl TryInto<usize>) -> Result<&Category> {
        self.categories.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }

    /// The index of the category with this name.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`].
    pub fn category_index(&self, name: &str) -> Result<usize> {
        self.categories.find(name, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_category_never_contains_itself_directly_or_through_others() {
        let registry = Registry::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| registry.add_category(name, "").unwrap());
        assert_eq!(registry.add_to_category(a, Member::Category(a)), Err(Error::INVALID));
        registry.add_to_category(a, Member::Category(b)).unwrap();
        registry.add_to_category(b, Member::Category(c)).unwrap();
        assert_eq!(registry.add_to_category(c, Member::Category(a)), Err(Error::INVALID));
        assert_eq!(registry.add_to_category(b, Member::Category(a)), Err(Error::INVALID));
        registry.add_to_category(a, Member::Category(c)).unwrap();
        assert_eq!(registry.category(a).unwrap().categories(), [b, c]);
    }

    #[test]
    fn the_update_number_grows_with_every_addition_and_only_then() {
        let registry = Registry::new();
        let mut last = registry.category_changed();
        let mut grown = |what: &str, expected: bool| {
            let now = registry.category_changed();
            assert_eq!(now > last, expected, "{what}");
            last = now;
        };
        let a = registry.add_category("a", "").unwrap();
        grown("category", true);
        let b = registry.add_category("b", "").unwrap();
        grown("category", true);
        registry.add_to_category(a, Member::Category(b)).unwrap();
        grown("member", true);
        registry.add_to_category(a, Member::Category(b)).unwrap();
        grown("member again", false);
        assert!(registry.add_to_category(b, Member::Pvar(0)).is_err());
        assert!(registry.add_category("a", "").is_err());
        grown("failures", false);
    }

    #[test]
    fn indices_out_of_range_or_negative_and_unknown_names_are_errors() {
        let registry = Registry::new();
        registry.add_category("a", "about a").unwrap();
        assert_eq!(registry.category(0).unwrap().desc(), "about a");
        assert_eq!(registry.category(1).err(), Some(Error::INVALID_INDEX));
        assert_eq!(registry.category(-1).err(), Some(Error::INVALID_INDEX));
        assert_eq!(registry.category_index("a"), Ok(0));
        assert_eq!(registry.category_index("b"), Err(Error::INVALID_NAME));
        assert_eq!(registry.add_to_category(0, Member::Event(0)), Err(Error::INVALID_INDEX));
        assert_eq!(registry.add_to_category(7, Member::Category(0)), Err(Error::INVALID_INDEX));
    }
}
