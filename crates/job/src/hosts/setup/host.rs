//! What this host permits: reading processes, keeping images, writing core files.

use super::{Check, Result};
use mpiscope_image::runtime;
use std::env;
use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Address space that the layer reserves for an image; if less is available, it reserves less, and the image
/// holds less.
const RESERVED: u64 = 1 << 36;
/// With a lower limit there is no image: the layer takes a sixteenth of it, and needs 8 MiB.
const LEAST_ADDRESSES: u64 = 16 * (8 << 20);

/// Checks this host; `layer` is the file that would be preloaded, `user` this process's user.
#[must_use]
pub fn host(layer: &Path, user: u32) -> Vec<Check> {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let mut checks = vec![files(layer), reading(user), core_files(&limits), folder(user), debugger()];
    checks.extend(addresses(&limits));
    checks
}

fn files(layer: &Path) -> Check {
    const NAME: &str = "plug-ins";
    let missing: Vec<&str> = ["libmpiscope_handles.so", "libmpiscope_queues.so"]
        .into_iter()
        .filter(|file| !layer.with_file_name(file).is_file())
        .collect();
    if missing.is_empty() {
        return Check::fine(NAME, "both are installed next to the layer, where debuggers look for them");
    }
    let is = if missing.len() == 1 { "is" } else { "are" };
    let found = format!("{} {is} not installed next to {}", missing.join(" and "), layer.display());
    Check::of(NAME, Result::Limited, found, "install them there for debuggers that load plug-ins")
}

/// Reading images only requires the same user; Yama restricts reading memory and stacks.
fn reading(user: u32) -> Check {
    const NAME: &str = "reading processes";
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    scope_of(scope.and_then(|text| text.trim().parse().ok()), user, NAME)
}

fn scope_of(scope: Option<u32>, user: u32, name: &'static str) -> Check {
    let own = "ps, why, queues, inspect and report do not need this permission";
    match scope {
        None | Some(0) => Check::fine(name, "processes of the same user may be read and stopped"),
        Some(1 | 2) if user == 0 => Check::fine(name, "root may read processes and stop them"),
        Some(1) => {
            let found = format!("Yama lets only ancestors attach to a process; {own}");
            let remedy =
                "for attach and --stacks, set MPISCOPE_PTRACER=PID or sysctl kernel.yama.ptrace_scope=0";
            Check::of(name, Result::Limited, found, remedy)
        }
        Some(scope) => {
            let found = format!("Yama's ptrace_scope is {scope}: nobody may attach to your processes; {own}");
            Check::of(name, Result::Limited, found, "to see stacks, use core files")
        }
    }
}

fn core_files(limits: &str) -> Check {
    const NAME: &str = "core files";
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let pids = fs::read_to_string("/proc/sys/kernel/core_uses_pid").unwrap_or_default();
    core_files_by(limit(limits, "Max core file size"), (pattern.trim(), pids.trim() != "0"), NAME)
}

/// `uses_pid` means that the process id is appended to names that do not contain it.
fn core_files_by(limit: Option<u64>, (pattern, uses_pid): (&str, bool), name: &'static str) -> Check {
    match (limit, pattern) {
        (Some(0), pattern) if !pattern.starts_with('|') => Check::of(
            name,
            Result::Limited,
            "none are written: their size is limited to 0",
            "ulimit -c unlimited",
        ),
        (_, "") => Check::of(
            name,
            Result::Limited,
            "the kernel writes none: core_pattern is empty",
            "ask the administrator",
        ),
        (_, pattern) if pattern.starts_with('|') => {
            let program =
                pattern.trim_start_matches('|').split_whitespace().next().unwrap_or_default().to_owned();
            Check::fine(name, format!("they are piped to {program} (see coredumpctl or apport)"))
        }
        (_, pattern) if !uses_pid && !["%p", "%P", "%i", "%I"].iter().any(|id| pattern.contains(id)) => {
            Check::of(
                name,
                Result::Limited,
                format!(
                    "they are all written as {pattern}: ranks in the same directory overwrite each other's"
                ),
                "start each rank in a directory of its own, or sysctl kernel.core_uses_pid=1",
            )
        }
        (_, pattern) => Check::fine(name, format!("they are written as {pattern}")),
    }
}

fn folder(user: u32) -> Check {
    const NAME: &str = "runtime folder";
    let named = env::var_os(runtime::VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let usable = |path: PathBuf| meets(&path).map(|()| path);
    match runtime::folder(user, named.as_deref()).and_then(usable) {
        Ok(path) => {
            Check::fine(NAME, format!("{}, where the ranks of a host find each other", path.display()))
        }
        Err(why) => {
            let remedy = format!(
                "set {} to a private folder on this host that has space and a short path",
                runtime::VARIABLE
            );
            Check::of(NAME, Result::Problem, why.to_string(), remedy)
        }
    }
}

/// Does what the ranks and their collector do in the folder: listens on a socket, and writes a file.
fn meets(folder: &Path) -> io::Result<()> {
    let names = [".check", runtime::COLLECTOR_SUFFIX]
        .map(|suffix| folder.join(format!("{:016x}{suffix}", std::process::id())));
    let [file, socket] = &names;
    let at = |path: &Path, why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
    let written = fs::write(file, [0; 4096]).map_err(|why| at(folder, why));
    let listens = UnixListener::bind(socket).map(drop).map_err(|why| at(folder, why));
    for path in &names {
        // It need not have been created.
        let _removed = fs::remove_file(path);
    }
    written.and(listens)
}

fn debugger() -> Check {
    const NAME: &str = "debugger";
    let path = env::var_os("PATH").unwrap_or_default();
    match env::split_paths(&path).map(|folder| folder.join("gdb")).find(|file| file.is_file()) {
        Some(gdb) => Check::fine(NAME, gdb.display().to_string()),
        None => Check::of(NAME, Result::Limited, "gdb is not in PATH", "install gdb for mpiscope attach"),
    }
}

fn addresses(limits: &str) -> Option<Check> {
    let limit = limit(limits, "Max address space").filter(|limit| *limit < RESERVED)?;
    let (result, then) = match limit < LEAST_ADDRESSES {
        true => (Result::Problem, "too little for an image, so nothing is recorded"),
        false => (Result::Limited, "which leaves less room for images"),
    };
    let found = format!("the address space is limited to {} MiB, {then}", limit >> 20);
    Some(Check::of("address space", result, found, "ulimit -v unlimited"))
}

/// The soft limit with this name; `None` if it is unlimited.
fn limit(limits: &str, name: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yama_restricts_users_but_not_root() {
        let result = |scope, user| scope_of(scope, user, "reading").result;
        assert_eq!(
            (result(None, 7), result(Some(0), 7), result(Some(2), 0)),
            (Result::Fine, Result::Fine, Result::Fine)
        );
        assert_eq!((result(Some(1), 7), result(Some(3), 0)), (Result::Limited, Result::Limited));
    }

    #[test]
    fn core_files_are_limited_by_size_and_pattern() {
        let result = |limit, pattern| core_files_by(limit, (pattern, false), "core").result;
        assert_eq!(result(Some(0), "core"), Result::Limited);
        assert_eq!(
            (result(Some(0), "|/usr/lib/systemd/systemd-coredump %P"), result(None, "core.%p")),
            (Result::Fine, Result::Fine)
        );
        assert_eq!((result(None, ""), result(None, "core")), (Result::Limited, Result::Limited));
        assert_eq!(core_files_by(None, ("core", true), "core").result, Result::Fine);
    }

    #[test]
    fn a_small_address_space_leaves_less_room_or_none() {
        let result = |bytes: u64| {
            let limits = format!("Max address space         {bytes}            unlimited            bytes\n");
            addresses(&limits).map(|check| check.result)
        };
        assert_eq!(result(100 << 20), Some(Result::Problem));
        assert_eq!(result(128 << 20), Some(Result::Limited));
        assert_eq!(result(1 << 40), None);
    }

    #[test]
    fn a_folder_in_which_nothing_can_be_created_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        assert!(meets(dir.path()).is_ok());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
        // A socket's path is limited to 107 bytes.
        let long = dir.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        assert!(meets(&long).is_err());
        assert_eq!(fs::read_dir(&long).unwrap().count(), 0);
        let gone = meets(Path::new("/no/such/folder")).unwrap_err();
        assert!(gone.to_string().contains("/no/such/folder"), "{gone}");
    }

    #[test]
    fn the_soft_limit_is_read() {
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax core file size        0      unlimited    bytes\n\
                      Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(limit(limits, "Max core file size"), Some(0));
        assert_eq!(limit(limits, "Max address space"), None);
    }
}
