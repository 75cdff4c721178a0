//! Why a host has no answer about a job, in a form that the asking process recognizes regardless of the
//! human-readable text.

use serde::{Deserialize, Serialize};

/// Prefix of the line on standard error that carries the refusal.
const MARK: &str = "mpiscope-refusal ";

/// The reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Refusal {
    /// No process of the job runs here: not all hosts of an allocation need to have one.
    #[error("no process of the job runs here")]
    NoneHere,
    /// The question matches several jobs.
    #[error("several jobs are running here; name one: {before}{}{after}", .jobs.join(" | "))]
    SeveralHere {
        /// Names of the jobs.
        jobs: Vec<String>,
        /// The words of a command before and after the job's name.
        #[serde(skip)]
        before: String,
        #[serde(skip)]
        #[allow(missing_docs)]
        after: String,
    },
}

impl Refusal {
    /// Creates a refusal for several jobs; one of them can be named between these words of a command.
    #[must_use]
    pub fn several<'a>(jobs: impl Iterator<Item = &'a str>, before: &str, after: &str) -> Self {
        let jobs = jobs.map(str::to_owned).collect();
        Self::SeveralHere { jobs, before: before.to_owned(), after: after.to_owned() }
    }

    /// Returns the line for the asking process.
    #[must_use]
    pub fn line(&self) -> String {
        // The value contains only strings: serialization cannot fail.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// Finds the refusal in what a host wrote to standard error.
    #[must_use]
    pub fn said_in(stderr: &[u8]) -> Option<Self> {
        let lines = stderr.split(|byte| *byte == b'\n');
        lines.rev().find_map(|line| serde_json::from_slice(line.strip_prefix(MARK.as_bytes())?).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_recognized_by_its_code_among_other_output() {
        let several = Refusal::several(["a", "b"].into_iter(), "mpiscope save ", " FILE");
        let words = "several jobs are running here; name one: mpiscope save a | b FILE";
        assert_eq!(several.to_string(), words);
        for refusal in [Refusal::NoneHere, several] {
            let said = format!("good morning\n{}\nmpiscope: other words\n", refusal.line());
            let code = |refusal: &Refusal| refusal.line();
            assert_eq!(Refusal::said_in(said.as_bytes()).as_ref().map(code), Some(refusal.line()));
        }
        assert_eq!(Refusal::said_in(b"mpiscope: no process of the job runs here\n"), None);
        assert_eq!(Refusal::said_in(b"mpiscope-refusal {\"code\":\"another\"}\n"), None);
    }
}
