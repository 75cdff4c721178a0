//! The environment with which a process was started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The variables as the kernel shows them. Later changes by the process are not visible; a program may also
/// have overwritten the memory.
#[derive(Debug, Clone, Default)]
pub struct Environment(Vec<u8>);

impl Environment {
    /// Creates the environment from the bytes of `/proc/PID/environ`.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Name and value of each variable, in order. Words without a name or an equals sign are skipped.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.split(|byte| *byte == 0).filter_map(|word| {
            let equals = word.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
            Some((OsStr::from_bytes(word.get(..equals)?), OsStr::from_bytes(word.get(equals + 1..)?)))
        })
    }

    /// The value of the first variable with this name, as with `getenv`.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The value as text; invalid UTF-8 is replaced.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name_and_the_first_one_counts() {
        let environment = Environment::new(b"ABC=1\0AB=x=y\0AB=2\0EMPTY=\0".to_vec());
        assert_eq!(environment.text("AB").as_deref(), Some("x=y"));
        assert_eq!(environment.text("EMPTY").as_deref(), Some(""));
        assert_eq!((environment.get("A"), environment.get("")), (None, None));
    }

    #[test]
    fn entries_that_are_not_variables_are_omitted() {
        let environment = Environment::new(b"\0\0=x\0NOTHING\0A=\xff\0B=cut".to_vec());
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["A", "B"]);
        assert_eq!(environment.text("A").as_deref(), Some("\u{fffd}"));
        assert_eq!(Environment::default().iter().count(), 0);
    }
}
