//! How many files may be open at once: a descriptor for each rank, and one for the part of each host, are more than the usual limit
//! of a thousand. Programs that are started from here find the limit as it was.
#![allow(unsafe_code)]

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// The limit before it was raised.
static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process open as many files as the system allows it.
pub fn as_many_as_allowed() {
    let now = getrlimit(Resource::Nofile);
    let before = ORIGINAL.get_or_init(|| now);
    // With fewer, what is beyond the limit is named as not seen.
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..*before });
}

/// Whether no more than so many files can be opened beside those that are: the newest one has the least number that was free.
pub fn nearly_all(newest: &impl AsRawFd, left: u64) -> bool {
    let limit = getrlimit(Resource::Nofile).current;
    limit.is_some_and(|limit| u64::try_from(newest.as_raw_fd()).unwrap_or(0).saturating_add(left) >= limit)
}

/// Has a program started with the limit as it was.
pub fn as_before(command: &mut Command) -> &mut Command {
    let Some(before) = ORIGINAL.get().copied() else { return command };
    // SAFETY: between fork and exec one system call.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, before)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_files_may_be_open_as_the_system_allows_and_children_find_the_limit_as_it_was() {
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
