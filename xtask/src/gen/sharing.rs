//! Determines which functions share a hook: those whose hooks would do the same with their arguments. A
//! function and its large-count variant differ only in the width of counts, which a shared hook derives from
//! the called function. A parameter that the hook does not use is passed as a word, whatever its type.

use std::collections::BTreeMap;

use anyhow::Result;

use super::table::{Kinds, Param, Row};

/// The hook to generate for a function.
pub struct Hook<'a> {
    pub row: &'a Row,
    /// The macro and its arguments before the function.
    pub head: String,
    pub arguments: Vec<Argument>,
    pub blocks: Blocks,
}

/// Name and text of each block, without braces.
pub type Blocks = Vec<(&'static str, String)>;

/// A parameter of a hook.
pub struct Argument {
    pub name: String,
    /// Its type in an unshared hook.
    pub own: String,
    /// Its type in a shared hook.
    pub shared: Shared,
}

/// The way a shared hook treats a parameter.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shared {
    /// Only passed on.
    Word,
    /// An `int` or an `MPI_Count`.
    Count,
    /// An array of counts.
    Vector,
    /// Has the same type in all functions.
    Typed(String),
}

impl Shared {
    /// The type in the generated text.
    pub fn rust_type(&self) -> &str {
        match self {
            Shared::Word => "usize",
            Shared::Count => "Count",
            Shared::Vector => "Vector",
            Shared::Typed(own) => own,
        }
    }
}

impl<'a> Hook<'a> {
    /// A hook that the layer enters by its address: registers are assigned alike whatever the types are.
    pub fn new(row: &'a Row, kinds: &Kinds, head: String, blocks: Blocks) -> Result<Self> {
        Self::with(row, kinds, head, blocks, |_| Shared::Word, |param, own| shared(row, param, kinds, own))
    }

    /// A function called by hooks: only the types of unused pointers may differ.
    pub fn called(row: &'a Row, kinds: &Kinds, blocks: Blocks) -> Result<Self> {
        let typed = |own: &str| Shared::Typed(own.to_owned());
        let unused = |own: &str| typed(if own.starts_with('*') { "*const c_void" } else { own });
        Self::with(row, kinds, String::new(), blocks, unused, |_, own| typed(own))
    }

    fn with(
        row: &'a Row,
        kinds: &Kinds,
        head: String,
        blocks: Blocks,
        unused: impl Fn(&str) -> Shared,
        used: impl Fn(&Param, &str) -> Shared,
    ) -> Result<Self> {
        let mut hook = Hook { row, head, arguments: Vec::new(), blocks };
        for param in &row.params {
            let own = kinds.rust_type(row, param)?;
            let shared = if hook.uses(param) { used(param, &own) } else { unused(&own) };
            hook.arguments.push(Argument { name: param.ident(), own, shared });
        }
        Ok(hook)
    }

    /// Whether the hook does more with a parameter than pass it on.
    fn uses(&self, param: &Param) -> bool {
        let name = param.ident();
        self.blocks.iter().any(|(block, text)| {
            // A function without arguments in the overlay gets all arguments.
            let all =
                matches!(*block, "before" | "after") && paths(text).iter().any(|path| !path.contains('('));
            all || words(text).any(|(word, is_name)| is_name && word == name)
        })
    }

    /// The key that is equal for hooks that can be shared.
    fn key(&self) -> (&str, Vec<&Shared>, Vec<String>) {
        let number = |word: &str| self.arguments.iter().position(|argument| argument.name == word);
        let numbered = |text: &str| {
            words(text)
                .map(|(word, is_name)| match number(word).filter(|_| is_name) {
                    Some(number) => format!("${number}"),
                    None => word.to_owned(),
                })
                .collect()
        };
        let blocks = self.blocks.iter().map(|(_, text)| numbered(text)).collect();
        (&self.head, self.arguments.iter().map(|argument| &argument.shared).collect(), blocks)
    }
}

fn shared(row: &Row, param: &Param, kinds: &Kinds, own: &str) -> Shared {
    match own {
        "c_int" | "i64" if kinds.widens(row, &param.kind) => Shared::Count,
        "*const c_int" | "*const i64" if kinds.widens(row, &param.kind) => Shared::Vector,
        _ => Shared::Typed(own.to_owned()),
    }
}

/// The hooks in order, each with those that it also serves. Functions selected by `own` get an unshared hook.
pub fn groups<'a, 'b>(
    hooks: &'b [Hook<'a>],
    own: impl Fn(&Row) -> bool,
) -> Vec<(&'b Hook<'a>, Vec<&'b Hook<'a>>)> {
    let mut groups: Vec<(&Hook, Vec<&Hook>)> = Vec::new();
    let mut places = BTreeMap::new();
    for hook in hooks {
        if own(hook.row) {
            groups.push((hook, Vec::new()));
            continue;
        }
        match places.get(&hook.key()) {
            Some(&place) => {
                let (_, also): &mut (&Hook, Vec<&Hook>) = &mut groups[place];
                also.push(hook);
            }
            None => {
                places.insert(hook.key(), groups.len());
                groups.push((hook, Vec::new()));
            }
        }
    }
    groups
}

/// The paths in a `before` or `after` block, each with its arguments.
fn paths(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let top = |c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    };
    text.split(top).filter(|path| !path.trim().is_empty()).collect()
}

/// Splits the text into identifiers and the pieces between them. Each comes with a flag saying whether it may
/// be the name of a parameter, that is, not part of a path, a method or a field of a note.
fn words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let before = &text[..text.len() - rest.len()];
        let (word, after) = rest.split_at(end);
        rest = after;
        let is_name = is_word(first) && !before.ends_with([':', '.']) && !after.starts_with(':');
        Some((word, is_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::table::parse;

    fn kinds() -> Kinds {
        Kinds::read(&crate::r#gen::root().join("crates/mpi-abi/spec/kinds.tsv")).unwrap()
    }

    /// Has a count, an array of counts, and an address, which has the same width in both variants.
    fn row(name: &str, flags: &str, buffer: &str) -> Row {
        let counts = "count:POLYXFER_NUM_ELEM_NNI:in:-\tcounts:POLYXFER_NUM_ELEM_NNI:in:*:const*\t\
                      stride:POLYDISPLACEMENT_AINT_COUNT:in:-";
        parse(&format!("{name}\tERROR_CODE\t{flags}\t{buffer}:BUFFER:in:-:const*\t{counts}")).unwrap()
    }

    fn hook<'a>(row: &'a Row, after: &str) -> Hook<'a> {
        let blocks = vec![("note", "count: count".to_owned()), ("after", after.to_owned())];
        Hook::new(row, &kinds(), "rare_hook! {\n".to_owned(), blocks).unwrap()
    }

    #[test]
    fn a_function_and_its_large_count_variant_share_a_hook() {
        let rows = [row("MPI_Scan", "has_c", "buf"), row("MPI_Scan_c", "c", "buf")];
        let hooks: Vec<Hook> = rows.iter().map(|row| hook(row, "a::b(counts, stride)")).collect();
        let groups = groups(&hooks, |_| false);
        let [(first, also)] = &groups[..] else { panic!("one hook") };
        assert_eq!((first.row.name.as_str(), also[0].row.name.as_str()), ("MPI_Scan", "MPI_Scan_c"));
        let types: Vec<&str> = first.arguments.iter().map(|a| a.shared.rust_type()).collect();
        assert_eq!(types, ["usize", "Count", "Vector", "i64"]);
    }

    #[test]
    fn functions_share_a_hook_regardless_of_parameter_names_but_only_if_it_does_the_same() {
        let rows = [row("MPI_A", "-", "buf"), row("MPI_B", "-", "place"), row("MPI_C", "-", "buf")];
        let texts = ["a::b(buf.addr())", "a::b(place.addr())", "a::c(buf.addr())"];
        let hooks: Vec<Hook> = rows.iter().zip(texts).map(|(row, text)| hook(row, text)).collect();
        let shared: Vec<usize> = groups(&hooks, |_| false).iter().map(|(_, also)| also.len()).collect();
        assert_eq!(shared, [1, 0]);
    }

    #[test]
    fn a_function_marked_for_a_separate_hook_has_one() {
        let rows = [row("MPI_Send", "has_c", "buf"), row("MPI_Send_c", "c", "buf")];
        let hooks: Vec<Hook> = rows.iter().map(|row| hook(row, "")).collect();
        assert_eq!(groups(&hooks, |row| row.name == "MPI_Send").len(), 2);
    }

    #[test]
    fn a_path_without_arguments_gets_all_parameters() {
        let row = row("MPI_A", "-", "buf");
        let is_word = |text| hook(&row, text).arguments[0].shared == Shared::Word;
        assert!(!is_word("a::b(c, d), a::e") && is_word("a::b(c, d)") && is_word("buf::c(x.buf)"));
    }
}
