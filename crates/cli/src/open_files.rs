//! The limit on open files. One descriptor per rank and one per host can exceed the usual limit of about a
//! thousand. Programs started from here get the original limit.
#![allow(unsafe_code)]

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// The limit before it was raised.
static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit to the maximum allowed by the system.
pub fn as_many_as_allowed() {
    let now = getrlimit(Resource::Nofile);
    let before = ORIGINAL.get_or_init(|| now);
    // If this fails, whatever exceeds the limit is reported as not seen.
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..*before });
}

/// Whether fewer than `left` more files can be opened. A new descriptor always gets the lowest free number,
/// so the number of `newest` shows how many are in use.
pub fn nearly_all(newest: &impl AsRawFd, left: u64) -> bool {
    let limit = getrlimit(Resource::Nofile).current;
    limit.is_some_and(|limit| u64::try_from(newest.as_raw_fd()).unwrap_or(0).saturating_add(left) >= limit)
}

/// Makes a command start its program with the original limit.
pub fn as_before(command: &mut Command) -> &mut Command {
    let Some(before) = ORIGINAL.get().copied() else { return command };
    // SAFETY: only one system call between fork and exec.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, before)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_open_file_limit_is_raised_but_children_inherit_the_original() {
        let told = |command: &mut Command| {
            let output = command.args(["-c", "ulimit -n"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let before = ORIGINAL.get().copied().unwrap_or_else(|| getrlimit(Resource::Nofile));
        as_many_as_allowed();
        let limits = getrlimit(Resource::Nofile);
        assert_eq!(limits.current, limits.maximum);
        let mut child = Command::new("sh");
        let wanted = before.current.map_or("unlimited".to_owned(), |limit| limit.to_string());
        assert_eq!(told(as_before(&mut child)).trim(), wanted);
    }
}
