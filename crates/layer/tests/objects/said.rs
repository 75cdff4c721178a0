//! A program's report on its objects; the format is described in `programs/say.h`.

use std::collections::BTreeMap;

/// An object as reported by the program.
#[derive(Debug)]
pub struct Object {
    pub label: String,
    pub kind: String,
    pub handle: u64,
    values: BTreeMap<String, String>,
}

/// Everything that one rank reported.
#[derive(Debug, Default)]
pub struct Said {
    pub objects: Vec<Object>,
}

impl Said {
    pub fn parse(text: &str) -> Self {
        Self { objects: text.lines().map(Object::parse).collect() }
    }

    pub fn find(&self, label: &str) -> &Object {
        self.objects
            .iter()
            .find(|o| o.label == label)
            .unwrap_or_else(|| panic!("the program reported nothing about {label}"))
    }
}

impl Object {
    fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_else(|| panic!("'{line}' is truncated")).to_owned();
        let (label, kind, handle) = (next(), next(), next());
        let handle = u64::from_str_radix(&handle, 16).unwrap_or_else(|_| panic!("{line}"));
        let values = words
            .map(|w| w.split_once('=').unwrap_or_else(|| panic!("{line}: {w}")))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        Self { label, kind, handle, values }
    }

    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}
