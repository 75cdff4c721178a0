//! The identity of an object that several processes share, equal on all of them: `id:3f2a91c0`.
//!
//! Handles of the object differ between processes; its identity (see `Common::identity`) does not. Users see
//! the first digits, which are as unique as all sixteen within a job.

/// Returns the identity as shown to users.
#[must_use]
pub fn short(identity: u64) -> String {
    format!("id:{:08x}", identity >> 32)
}

/// An identity as users enter it: some of its first digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Parses `id:` followed by digits; returns `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().strip_prefix("id:")?;
        let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
        (all && (1..=16).contains(&digits.len())).then(|| Self(digits.to_ascii_lowercase()))
    }

    /// Whether an object's identity has this prefix. An object without an identity never matches.
    #[must_use]
    pub fn begins(&self, identity: u64) -> bool {
        identity != 0 && format!("{identity:016x}").starts_with(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_found_by_its_displayed_prefix_and_by_all_digits() {
        let identity = 0x0f2a_91c0_1234_5678;
        assert_eq!(short(identity), "id:0f2a91c0");
        for text in [&short(identity), "id:0F2A91C012345678", "id:0"] {
            assert!(Prefix::parse(text).unwrap().begins(identity), "{text}");
        }
        assert!(!Prefix::parse("id:f2a91c0").unwrap().begins(identity));
        assert!(!Prefix::parse("id:0").unwrap().begins(0), "zero is no identity");
    }

    #[test]
    fn handles_and_names_are_not_identities() {
        for text in ["0x84000001", "id:", "id:xyz", "id:00112233445566778", "solver"] {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }
}
