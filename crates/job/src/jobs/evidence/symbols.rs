//! Names for addresses, saved with the images.

use crate::base::modules::ModuleFacts;
use crate::model::locate::Locate;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names for addresses, by file and address in the file: the processes of a job share most of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Symbols {
    files: BTreeMap<String, File>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct File {
    /// By return address.
    calls: BTreeMap<u64, String>,
    /// Names of predefined objects, by address.
    exports: BTreeMap<u64, Vec<String>>,
}

impl Symbols {
    /// Whether the predefined objects of a file are known.
    pub(crate) fn has_exports(&self, module: &ModuleFacts) -> bool {
        self.files.get(&module.path).is_some_and(|file| !file.exports.is_empty())
    }
}

impl Locate for Symbols {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        self.files.get(&module.path)?.calls.get(&return_address.wrapping_sub(module.bias)).cloned()
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        let exports = self.files.get(&module.path).map(|file| &file.exports);
        for (address, names) in exports.into_iter().flatten() {
            names.iter().for_each(|name| each(name, address.wrapping_add(module.bias)));
        }
    }
}

impl Locate for Arc<Symbols> {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        self.as_ref().call(module, return_address)
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        self.as_ref().exports(module, each);
    }
}

/// Forwards questions and keeps the answers.
pub struct Recorder<'a> {
    inner: &'a dyn Locate,
    found: RefCell<Symbols>,
    /// Files whose exports are known.
    exported: RefCell<BTreeSet<String>>,
}

impl<'a> Recorder<'a> {
    /// Creates a recorder of the answers of `inner`.
    pub fn new(inner: &'a dyn Locate) -> Self {
        Self { inner, found: RefCell::default(), exported: RefCell::default() }
    }

    /// Returns everything that was answered.
    pub fn into_symbols(self) -> Symbols {
        self.found.into_inner()
    }

    fn keep_exports(&self, module: &ModuleFacts) {
        if !self.exported.borrow_mut().insert(module.path.clone()) {
            return;
        }
        let mut found = self.found.borrow_mut();
        self.inner.exports(module, &mut |name, address| {
            let file = found.files.entry(module.path.clone()).or_default();
            let names = file.exports.entry(address.wrapping_sub(module.bias)).or_default();
            names.push(name.to_owned());
        });
    }
}

impl Locate for Recorder<'_> {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        let offset = return_address.wrapping_sub(module.bias);
        let known = |found: &Symbols| found.files.get(&module.path)?.calls.get(&offset).cloned();
        if let Some(known) = known(&self.found.borrow()) {
            return Some(known);
        }
        let place = self.inner.call(module, return_address)?;
        let mut found = self.found.borrow_mut();
        found.files.entry(module.path.clone()).or_default().calls.insert(offset, place.clone());
        Some(place)
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        self.keep_exports(module);
        self.found.borrow().exports(module, each);
    }

    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        self.keep_exports(module);
        self.found.borrow().symbol(module, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Locate for Known {
        fn call(&self, _: &ModuleFacts, return_address: u64) -> Option<String> {
            (return_address == 0x5010).then(|| "a.c:3".to_owned())
        }

        fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
            each("ompi_mpi_int", module.bias + 0x20);
        }
    }

    fn module(bias: u64) -> ModuleFacts {
        ModuleFacts { path: "/app".into(), bias, start: bias, end: bias + 0x1000 }
    }

    #[test]
    fn a_symbol_looked_up_once_is_known_in_another_process_at_other_addresses() {
        let recorder = Recorder::new(&Known);
        assert_eq!(recorder.call(&module(0x5000), 0x5010).as_deref(), Some("a.c:3"));
        assert_eq!(recorder.call(&module(0x5000), 0x5011), None);
        assert_eq!(recorder.symbol(&module(0x5000), 0x5020).as_deref(), Some("ompi_mpi_int"));
        let text = serde_json::to_string(&recorder.into_symbols()).unwrap();
        let symbols: Symbols = serde_json::from_str(&text).unwrap();
        assert_eq!(symbols.call(&module(0x9000), 0x9010).as_deref(), Some("a.c:3"));
        assert_eq!(symbols.call(&module(0x9000), 0x5010), None);
        assert_eq!(symbols.symbol(&module(0x9000), 0x9020).as_deref(), Some("ompi_mpi_int"));
    }
}
