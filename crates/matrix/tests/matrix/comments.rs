//! The comments in C and Fortran programs that say what must be found: `NAME RANKS KIND [WORD [VALUE]]…`.

use anyhow::{Context, Result};

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
