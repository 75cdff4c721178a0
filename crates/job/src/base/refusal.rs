//! Why a host has nothing to give of a job that it was asked for, in a form that the one who asked recognises, whatever the
//! words for people are.

use serde::{Deserialize, Serialize};

/// What the line on standard error begins with that says it.
const MARK: &str = "mpiscope-refusal ";

/// The reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Refusal {
    /// Not all hosts of an allocation need have processes of a job.
    #[error("no process of the job is here")]
    NoneHere,
    /// Several jobs are meant by what it was asked for.
    #[error("several jobs run here; name one: {before}{}{after}", .jobs.join(" | "))]
    SeveralHere {
        /// Their names.
        jobs: Vec<String>,
        /// The words of a command around the name of one.
        #[serde(skip)]
        before: String,
        #[serde(skip)]
        #[allow(missing_docs)]
        after: String,
    },
}

impl Refusal {
    /// These jobs run here, of which one may be named between these words of a command.
    #[must_use]
    pub fn several<'a>(jobs: impl Iterator<Item = &'a str>, before: &str, after: &str) -> Self {
        let jobs = jobs.map(str::to_owned).collect();
        Self::SeveralHere { jobs, before: before.to_owned(), after: after.to_owned() }
    }

    /// The line for the one who asked.
    #[must_use]
    pub fn line(&self) -> String {
        // Texts only: that cannot fail.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// What a host has said on standard error, among other things.
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
    fn a_refusal_is_recognised_by_its_code_among_whatever_else_was_said() {
        let several = Refusal::several(["a", "b"].into_iter(), "mpiscope save ", " FILE");
        let words = "several jobs run here; name one: mpiscope save a | b FILE";
        assert_eq!(several.to_string(), words);
        for refusal in [Refusal::NoneHere, several] {
            let said = format!("good morning\n{}\nmpiscope: other words\n", refusal.line());
            let code = |refusal: &Refusal| refusal.line();
            assert_eq!(Refusal::said_in(said.as_bytes()).as_ref().map(code), Some(refusal.line()));
        }
        assert_eq!(Refusal::said_in(b"mpiscope: no process of the job is here\n"), None);
        assert_eq!(Refusal::said_in(b"mpiscope-refusal {\"code\":\"another\"}\n"), None);
    }
}
