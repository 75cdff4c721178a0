//! The comments in programs that say what must be found: `NAME RANKS KIND [WORD [VALUE]]…`, and the line
//! where it must be found: `here: NAME`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;
use mpiscope_testkit::program::Needs;

/// A source file with programs that are run by name.
#[derive(Debug)]
pub struct Source {
    pub file: &'static str,
    pub needs: Needs,
}

impl Source {
    /// A file in C that any library can run.
    pub const fn c(file: &'static str) -> Self {
        Self { file, needs: Needs::Nothing }
    }

    /// The file name without its extension.
    pub fn program(&self) -> &'static str {
        self.file.split('.').next().unwrap_or_default()
    }

    /// How its comments begin and end.
    fn delimiters(&self) -> (&'static str, &'static str) {
        match Path::new(self.file).extension().and_then(|extension| extension.to_str()) {
            Some("f90") => ("! ", ""),
            Some("py") => ("# ", ""),
            _ => ("/* ", " */"),
        }
    }

    /// Reads each comment that begins with this word; `read` gets the rest of it and, by name, the lines
    /// marked with `here: NAME`, counted from 1.
    pub fn read<T>(
        &self,
        word: &str,
        read: impl Fn(&str, &dyn Fn(&str) -> Option<usize>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let text = fs::read_to_string(paths::programs().join(self.file))?;
        let (begin, end) = self.delimiters();
        let lines = || text.lines().map(str::trim).enumerate();
        let here = |name: &str| {
            let mark = format!("here: {name}{end}");
            lines().find(|(_, line)| line.ends_with(&mark)).map(|(at, _)| at + 1)
        };
        let stated = lines().filter_map(|(_, line)| {
            line.strip_prefix(begin)?.strip_suffix(end)?.strip_prefix(word)?.strip_prefix(' ')
        });
        let found: Vec<T> = stated.map(|words| read(words, &here)).collect::<Result<_>>()?;
        ensure!(!found.is_empty(), "{} has no comment with the word {word}", self.file);
        Ok(found)
    }
}

/// The words of such a comment.
pub struct Words<'a> {
    /// The name, by which the line is found.
    pub name: String,
    /// Number of ranks.
    pub ranks: usize,
    /// The kind that must be found.
    pub kind: String,
    rest: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Reads the words of a comment.
    pub fn of(text: &'a str) -> Result<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next().with_context(|| format!("too few words: {text}"));
        let (name, ranks, kind) = (next()?.to_owned(), next()?.parse()?, next()?.to_owned());
        Ok(Self { name, ranks, kind, rest: words.collect() })
    }

    /// Whether it has this word after the kind.
    pub fn has(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }

    /// The value that follows this word.
    pub fn after(&self, word: &str) -> Option<String> {
        let at = self.rest.iter().position(|w| *w == word)?;
        self.rest.get(at + 1).map(|value| (*value).to_owned())
    }

    /// The libraries that it does not hold for.
    pub fn without(&self) -> Vec<String> {
        self.after("without").map_or_else(Vec::new, |list| list.split(',').map(str::to_owned).collect())
    }
}
