//! The users whose processes are read.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Users whose processes tables may lead to. A table is written by the owner of the process: it must not lead
/// root to another user's processes unless root asks for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Users {
    /// All users.
    All,
    /// These users; if empty, the owners of the first processes.
    Only(BTreeSet<u32>),
}

impl Default for Users {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Users {
    /// A single user.
    #[must_use]
    pub fn only(user: u32) -> Self {
        Self::Only(BTreeSet::from([user]))
    }

    /// Whether processes of this user may be read.
    #[must_use]
    pub fn has(&self, user: u32) -> bool {
        match self {
            Self::All => true,
            Self::Only(users) => users.contains(&user),
        }
    }

    /// Whether no user has been named.
    #[must_use]
    pub fn unnamed(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a user.
    pub fn add(&mut self, user: u32) {
        if let Self::Only(users) = self {
            users.insert(user);
        }
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.pad("all"),
            Self::Only(users) => f.pad(&users.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for Users {
    type Err = String;

    /// Parses `all`, or user ids separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::All);
        }
        let number = |word: &str| {
            word.parse().map_err(|_| format!("{word:?} is neither a user id (`id -u NAME`) nor `all`"))
        };
        text.split(',').map(number).collect::<Result<_, _>>().map(Self::Only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_round_trip_as_text_and_user_names_are_rejected_with_advice() {
        for users in [Users::All, Users::only(7), Users::Only([1, 2].into())] {
            assert_eq!(users.to_string().parse(), Ok(users));
        }
        assert!("bob".parse::<Users>().unwrap_err().contains("id -u"));
        assert!(Users::default().unnamed() && !Users::default().has(0) && Users::All.has(3));
    }
}
