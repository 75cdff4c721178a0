//! Items listed by `mpiscope vars`: variables, enumerations, categories, event types.

use mpiscope_job::Members;
use mpiscope_job::model::objects::Reference;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An item. The layer describes it as a line of JSON with one value; in a job there may be several values.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Item {
    /// `cvar`, `pvar`, `event`, `enumeration` or `category`.
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    pub name: String,
    pub desc: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub datatype: String,
    /// Index of the enumeration that names its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enumeration: Option<usize>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verbosity: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub flags: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// Number of elements of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    #[serde(skip_serializing)]
    pub(super) value: Option<String>,
    #[serde(skip_serializing)]
    pub(super) provenance: String,
    /// The values, with the ranks that hold them.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Held>,
    /// Names of array elements, as far as they have names.
    #[serde(skip)]
    pub elements: Arc<[String]>,
    /// What a tool needs to read it: an object of this kind, `MPI_Init`, or to run inside the process.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub needs: String,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub problem: String,
    /// Values and names of an enumeration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<(i64, String)>,
    /// Indices of a category's members.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cvars: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pvars: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<usize>,
}

/// The object that a variable is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Object {
    /// The object's common reference. If several ranks share the object, it refers to the first of them.
    #[serde(flatten)]
    reference: Reference,
}

impl Object {
    /// Wraps a reference.
    pub fn of(reference: Reference) -> Self {
        Self { reference }
    }

    /// Whether both are the same object: either one object shared by all ranks, or the same predefined object
    /// of each rank.
    pub fn is_same(&self, other: &Self) -> bool {
        let (one, other) = (&self.reference, &other.reference);
        let shared = one.identity.0 != 0 && one.identity == other.identity;
        let predefined = one.predefined && one.name == other.name;
        one.kind == other.kind && (shared || predefined || one == other)
    }

    /// Returns the object's name, for display.
    pub fn label(&self) -> String {
        self.reference.label()
    }
}

/// Number of a process's world, and its rank there, if known.
pub type Place = (usize, Option<u32>);

/// A process: its index among those shown, and its place in the job.
pub type Who = (usize, Place);

/// A value with its origin and the ranks that hold it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Held {
    /// The value; elements are separated by spaces.
    pub value: String,
    /// The value's name in the variable's enumeration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub named: String,
    /// `default`, `environment`, `written` or `other`; empty for performance variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The ranks that hold the value; absent outside of a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Members>,
    /// The processes that hold it: not every process has a rank.
    #[serde(skip)]
    pub(super) holders: BTreeMap<usize, Place>,
    /// The object whose value this is, if the variable is bound to objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Object>,
}

impl Item {
    /// Parses the layer's description.
    ///
    /// # Errors
    /// If the line was not written by the layer.
    pub fn of_line(line: &str) -> serde_json::Result<Self> {
        let mut item: Self = serde_json::from_str(line)?;
        if let Some(value) = item.value.take() {
            let from = std::mem::take(&mut item.provenance);
            item.values.push(Held { value, from, ..Held::default() });
        }
        Ok(item)
    }

    /// Whether a control variable has a non-default value anywhere.
    pub fn is_changed(&self) -> bool {
        self.kind == "cvar" && self.values.iter().any(|held| held.from != "default")
    }

    /// Returns one variable for each object with values, in the order of their appearance.
    pub fn by_object(&self) -> Vec<(&Object, Self)> {
        let mut found: Vec<(&Object, Self)> = Vec::new();
        for held in &self.values {
            let Some(object) = &held.object else { continue };
            match found.iter_mut().find(|(known, _)| known.is_same(object)) {
                Some((_, item)) => item.values.push(held.clone()),
                None => found.push((object, Self { values: vec![held.clone()], ..self.clone() })),
            }
        }
        found
    }

    /// Returns the value held by the most ranks.
    pub fn most(&self) -> Option<&Held> {
        let many = |held: &&Held| held.holders.len();
        // The first of several maxima.
        self.values.iter().rev().max_by_key(many)
    }

    /// Records that a process holds this value, replacing any earlier one.
    pub fn hold(&mut self, value: String, from: &str, who: Who) {
        self.hold_of(None, value, from, who);
    }

    /// Like [`hold`](Self::hold), for the value of an object.
    pub fn hold_of(&mut self, object: Option<&Object>, value: String, from: &str, (at, place): Who) {
        let same = |held: &Held| match (&held.object, object) {
            (Some(one), Some(other)) => one.is_same(other),
            (None, None) => true,
            _ => false,
        };
        for held in self.values.iter_mut().filter(|held| same(held)) {
            if held.holders.remove(&at).is_some() {
                held.ranks = Some(held.holders.values().copied().collect());
            }
        }
        self.values.retain(|held| held.ranks.is_none() || !held.holders.is_empty());
        let known =
            self.values.iter_mut().find(|held| same(held) && held.value == value && held.from == from);
        let held = match known {
            Some(held) => held,
            None => {
                let object = object.cloned();
                self.values.push(Held { value, from: from.to_owned(), object, ..Held::default() });
                let last = self.values.len() - 1;
                &mut self.values[last]
            }
        };
        held.holders.insert(at, place);
        held.ranks.get_or_insert_default().add(place.0, place.1);
    }

    /// Sets the name of this value, on all ranks.
    pub fn name_value(&mut self, value: &str, name: &str) {
        for held in self.values.iter_mut().filter(|held| held.value == value) {
            name.clone_into(&mut held.named);
        }
    }
}

/// Names values and array elements by the library's enumerations, where the image did not.
pub fn name_values(items: &mut [Item]) {
    let enumerations: Vec<Item> = items.iter().filter(|item| item.kind == "enumeration").cloned().collect();
    for item in items {
        if let Some(names) =
            enumerations.iter().find(|names| names.index.is_some_and(|i| item.enumeration == Some(i)))
        {
            for held in item.values.iter_mut().filter(|held| held.named.is_empty()) {
                let name = names.items.iter().find(|(value, _)| value.to_string() == held.value);
                held.named = name.map(|(_, name)| name.clone()).unwrap_or_default();
            }
        }
        // Our descriptions name the enumeration of the elements.
        let by_item =
            |names: &&Item| item.desc.contains(&format!("item i of the enumeration '{}'", names.name));
        if let Some(names) =
            enumerations.iter().find(by_item).filter(|_| item.kind == "pvar" && item.elements.is_empty())
        {
            item.elements = names.items.iter().map(|(_, name)| name.clone()).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_an_enumeration_gets_its_name() {
        let lines = [
            r#"{"kind":"enumeration","index":3,"name":"switch","items":[[0,"off"],[1,"on"]]}"#,
            r#"{"kind":"cvar","index":0,"name":"a","enumeration":3,"value":"1","provenance":"default"}"#,
        ];
        let mut items: Vec<Item> = lines.map(|line| Item::of_line(line).unwrap()).into();
        name_values(&mut items);
        assert_eq!(items[1].values[0].named, "on");
        assert_eq!((items[1].values[0].from.as_str(), items[1].is_changed()), ("default", false));
    }

    #[test]
    fn a_rank_holds_one_value_and_the_most_common_one_is_reported() {
        let mut item = Item { kind: "cvar".into(), ..Item::default() };
        for (value, from, rank) in
            [("1", "default", 0), ("2", "written", 1), ("2", "written", 2), ("2", "written", 0)]
        {
            item.hold(value.into(), from, (rank, (0, Some(rank as u32))));
        }
        assert_eq!(item.values.len(), 1);
        assert_eq!(item.most().unwrap().ranks.as_ref().unwrap().to_string(), "[0-2]");
        assert!(item.is_changed());
    }

    #[test]
    fn equal_ranks_of_two_worlds_and_processes_without_a_rank_hold_values_of_their_own() {
        let mut item = Item { kind: "pvar".into(), ..Item::default() };
        let places = [(0, Some(0)), (1, Some(0)), (1, Some(1)), (2, None), (2, None)];
        for (who, value) in places.into_iter().enumerate().zip(["5", "4", "4", "3", "2"]) {
            item.hold(value.into(), "", who);
        }
        let held = |held: &Held| (held.value.clone(), held.ranks.as_ref().unwrap().named());
        let all: Vec<_> = item.values.iter().map(held).collect();
        let nobody = "a process of unknown rank";
        let wanted = [("5", "rank 0"), ("4", "ranks 1.[0-1]"), ("3", nobody), ("2", nobody)];
        assert_eq!(all, wanted.map(|(value, ranks)| (value.to_owned(), ranks.to_owned())));
    }
}
