//! Places recorded as module and offset while a job runs and resolved afterward: symbol files are large, and
//! reading them would take time from the job.

use crate::base::modules::{ModuleFacts, Modules};
use crate::model::locate::{self, Locate};

/// Separates the parts of a recorded place. Paths do not contain it in practice; one that does is shown
/// unchanged.
const MARK: char = '\u{1}';

/// Records the place of a call.
pub fn noted(modules: &Modules, return_address: u64) -> Option<String> {
    modules.words(return_address, |address| match modules.of_call(address) {
        Some(module) => Some(mark(module, address)),
        None => (address != 0).then(|| format!("{address:#x}")),
    })
}

fn mark(module: &ModuleFacts, return_address: u64) -> String {
    let offset = return_address.wrapping_sub(module.bias);
    format!("{MARK}{}{MARK}{offset:x}{MARK}", module.path)
}

/// Records places instead of resolving them.
pub struct Noting;

impl Locate for Noting {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        Some(mark(module, return_address))
    }

    fn exports(&self, _: &ModuleFacts, _: &mut dyn FnMut(&str, u64)) {}
}

/// Resolves the places contained in a text.
pub fn in_words(text: &str, symbols: &dyn Locate) -> String {
    let mut words = String::new();
    let mut parts = text.split(MARK);
    words.push_str(parts.next().unwrap_or_default());
    while let Some(path) = parts.next() {
        let offset = parts.next().and_then(|offset| u64::from_str_radix(offset, 16).ok());
        let whole = |offset| {
            let module = ModuleFacts { path: path.to_owned(), bias: 0, start: 0, end: u64::MAX };
            locate::place(&vec![module].into(), symbols, offset)
        };
        match offset.and_then(whole) {
            Some(place) => words.push_str(&place),
            None => words.push_str(path),
        }
        words.push_str(parts.next().unwrap_or_default());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::locate::NoSymbols;

    #[test]
    fn a_recorded_place_is_the_same_in_all_processes_and_is_named_as_in_other_views() {
        let module = |bias| ModuleFacts { path: "/bin/heat".into(), bias, start: bias, end: bias + 0x1000 };
        let notes =
            [0x40_0000, 0x70_0000].map(|bias| noted(&vec![module(bias)].into(), bias + 0x123).unwrap());
        assert_eq!(notes[0], notes[1]);
        let text = format!("computing after MPI_Send at {}, and on", notes[0]);
        assert_eq!(in_words(&text, &NoSymbols), "computing after MPI_Send at heat+0x123, and on");
        assert_eq!(in_words("computing", &NoSymbols), "computing");
        assert_eq!(noted(&Modules::default(), 0x77).as_deref(), Some("0x77"));
    }
}
