//! Merges the views of several processes of one thing: values that all agree on appear once, the rest by
//! rank.
//!
//! Values are compared, never their rendering, so that text and JSON agree on what differs. The cost grows
//! with the number of distinct values, not with the number of ranks that share them.

use crate::jobs::worlds::Members;
use serde::Serialize;
use serde_json::Value;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A process: index of its world, and its rank there if known.
pub type Who = (usize, Option<u32>);

/// The values of one field, each with the ranks that have it, in order of first occurrence.
#[derive(Debug, Clone)]
pub struct ByRank<T> {
    values: Vec<(Members, T)>,
    places: HashMap<T, usize>,
    /// Number of views that have the field.
    views: usize,
}

impl<T: Eq + Hash + Clone> ByRank<T> {
    fn new() -> Self {
        Self { values: Vec::new(), places: HashMap::new(), views: 0 }
    }

    fn add(&mut self, (world, rank): Who, value: T) {
        self.views += 1;
        let next = self.values.len();
        let place = *self.places.entry(value.clone()).or_insert(next);
        if place == next {
            self.values.push((Members::default(), value));
        }
        if let Some((ranks, _)) = self.values.get_mut(place) {
            ranks.add(world, rank);
        }
    }

    fn join(&mut self, other: Self) {
        let views = self.views + other.views;
        for (ranks, value) in other.values {
            let next = self.values.len();
            match self.places.entry(value.clone()) {
                Entry::Occupied(place) => {
                    if let Some((known, _)) = self.values.get_mut(*place.get()) {
                        known.join(ranks);
                    }
                }
                Entry::Vacant(place) => {
                    place.insert(next);
                    self.values.push((ranks, value));
                }
            }
        }
        self.views = views;
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> &[(Members, T)] {
        &self.values
    }
}

/// Fields of a thing, in the order of its views. A key may occur several times.
#[derive(Debug, Clone)]
pub struct Fields<K, T> {
    fields: Vec<(K, ByRank<T>)>,
    views: usize,
}

impl<K, T> Default for Fields<K, T> {
    fn default() -> Self {
        Self { fields: Vec::new(), views: 0 }
    }
}

impl<K: PartialEq, T: Eq + Hash + Clone> Fields<K, T> {
    /// Adds the view of a process.
    pub fn add(&mut self, who: Who, view: impl IntoIterator<Item = (K, T)>) {
        self.views += 1;
        let mut next = 0;
        for (key, value) in view {
            if let Some(values) = self.field(key, &mut next) {
                values.add(who, value);
            }
        }
    }

    /// Adds the views of another set.
    pub fn join(&mut self, other: Self) {
        self.views += other.views;
        let mut next = 0;
        for (key, theirs) in other.fields {
            if let Some(values) = self.field(key, &mut next) {
                values.join(theirs);
            }
        }
    }

    /// Returns the next field with this key, or inserts one.
    fn field(&mut self, key: K, next: &mut usize) -> Option<&mut ByRank<T>> {
        let known = self.fields.iter().skip(*next).position(|field| field.0 == key).map(|at| *next + at);
        let place = known.unwrap_or_else(|| {
            self.fields.insert(*next, (key, ByRank::new()));
            *next
        });
        *next = place + 1;
        self.fields.get_mut(place).map(|(_, values)| values)
    }

    /// The fields.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &ByRank<T>)> {
        self.fields.iter().map(|(key, values)| (key, values))
    }

    /// The value on which all views agree; `None` if they differ or some lack the field.
    pub fn agreed<'a>(&self, values: &'a ByRank<T>) -> Option<&'a T> {
        match values.values.as_slice() {
            [(_, only)] if values.views == self.views => Some(only),
            _ => None,
        }
    }
}

/// An object that several processes have, with their views of it.
#[derive(Debug, Clone, Default)]
pub struct MergedObject {
    fields: Fields<String, Value>,
}

/// Key of moments: they differ from process to process, and are summarized as a span.
const MOMENT: &str = "seconds";

impl MergedObject {
    /// Adds a process's view. Fields of structures become fields with dotted names: `created.place`.
    ///
    /// # Errors
    /// When the view cannot be represented in JSON.
    pub fn add(&mut self, who: Who, view: &impl Serialize) -> serde_json::Result<()> {
        let mut fields = Vec::new();
        flatten(String::new(), serde_json::to_value(view)?, &mut fields);
        self.fields.add(who, fields);
        Ok(())
    }

    /// Adds the views of another, similar object.
    pub fn join(&mut self, other: Self) {
        self.fields.join(other.fields);
    }

    /// Returns the form for JSON.
    #[must_use]
    pub fn report(&self) -> Merged<'_> {
        let mut merged = Merged::default();
        for (name, values) in self.fields.iter() {
            if let Some(value) = self.fields.agreed(values) {
                merged.agreed.insert(name, value);
            } else if let Some(span) = span(name, values) {
                merged.spans.insert(name, span);
            } else {
                let by_rank = values.values().iter().map(|(ranks, value)| Differing { ranks, value });
                merged.differs.insert(name, by_rank.collect());
            }
        }
        merged
    }
}

/// What the processes that have an object report about it. Field names are those of the object, with dots for
/// nested structures.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Merged<'a> {
    /// Fields with one value everywhere.
    pub agreed: BTreeMap<&'a str, &'a Value>,
    /// Moments that differ, in seconds: the first and the last.
    pub spans: BTreeMap<&'a str, (f64, f64)>,
    /// Fields that differ, or that some processes lack: each value with the ranks that have it.
    pub differs: BTreeMap<&'a str, Vec<Differing<'a>>>,
}

/// A value that some of the ranks have.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differing<'a> {
    /// The ranks that have it.
    pub ranks: &'a Members,
    /// The value.
    pub value: &'a Value,
}

fn flatten(name: String, value: Value, fields: &mut Vec<(String, Value)>) {
    let Value::Object(members) = value else { return fields.push((name, value)) };
    for (key, value) in members {
        let name = if name.is_empty() { key } else { format!("{name}.{key}") };
        flatten(name, value, fields);
    }
}

fn span(name: &str, values: &ByRank<Value>) -> Option<(f64, f64)> {
    if name.rsplit('.').next() != Some(MOMENT) {
        return None;
    }
    let moments = values.values().iter().map(|(_, value)| value.as_f64()).collect::<Option<Vec<_>>>()?;
    let (least, most) =
        (moments.iter().copied().reduce(f64::min)?, moments.iter().copied().reduce(f64::max)?);
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_appear_once_moments_become_a_span_and_the_rest_is_listed_by_rank() {
        let mut merged = MergedObject::default();
        for (rank, seconds, handle) in [(0, 0.5, "0x1"), (1, 0.25, "0x2"), (2, 0.5, "0x1")] {
            let mut view = json!({"size": 4, "handle": handle, "created": {"function": "MPI_Comm_dup", "seconds": seconds}});
            if rank == 1 {
                view["info"] = json!("there");
            }
            merged.add((0, Some(rank)), &view).unwrap();
        }
        let report = serde_json::to_value(merged.report()).unwrap();
        assert_eq!(
            report,
            json!({
                "agreed": {"created.function": "MPI_Comm_dup", "size": 4},
                "spans": {"created.seconds": [0.25, 0.5]},
                "differs": {
                    "handle": [{"ranks": "[0,2]", "value": "0x1"}, {"ranks": "1", "value": "0x2"}],
                    "info": [{"ranks": "1", "value": "there"}],
                },
            })
        );
    }

    #[test]
    fn repeated_keys_keep_their_order() {
        let mut fields: Fields<&str, u32> = Fields::default();
        fields.add((0, Some(0)), [("attribute", 1), ("attribute", 2), ("end", 9)]);
        fields.add((0, Some(1)), [("attribute", 1), ("attribute", 3), ("end", 9)]);
        let agreed: Vec<(&str, Option<u32>)> =
            fields.iter().map(|(key, values)| (*key, fields.agreed(values).copied())).collect();
        assert_eq!(agreed, [("attribute", Some(1)), ("attribute", None), ("end", Some(9))]);
    }

    #[test]
    fn merging_a_hundred_thousand_different_ranks_is_fast() {
        let mut fields: Fields<&str, u32> = Fields::default();
        (0..100_000).for_each(|rank| fields.add((0, Some(rank)), [("handle", rank)]));
        assert_eq!(fields.iter().next().unwrap().1.values().len(), 100_000);
    }
}
