//! Explains why the kernel refuses access to a process.

use std::os::unix::fs::MetadataExt;

use crate::Error;
use crate::procfs::status_lines::StatusLines;

/// What `/proc` reports about a refused process.
#[derive(Debug, Clone, Copy, Default)]
struct Facts {
    /// User ids of the reader and of the process.
    users: Option<(u32, u32)>,
    /// Yama's `ptrace_scope`, if the kernel has it.
    scope: Option<u32>,
    /// Whether both are in the same user namespace.
    same_namespace: bool,
}

/// Returns the error for a process that may not be read or has ended meanwhile.
pub fn refused(pid: u32) -> Error {
    let Some(owner) = StatusLines::of(pid).ok().and_then(|lines| lines.user()) else {
        return Error::NoProcess { pid };
    };
    let reader = std::fs::metadata("/proc/self").map(|data| data.uid());
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/user")).ok();
    let facts = Facts {
        users: reader.ok().map(|reader| (reader, owner)),
        scope: scope.and_then(|text| text.trim().parse().ok()),
        same_namespace: namespace("self") == namespace(&pid.to_string()),
    };
    Error::Permission { pid, advice: advice(pid, facts) }
}

fn advice(pid: u32, facts: Facts) -> String {
    let root = "or run this command as root (`sudo`), or take a core file with `gcore` as that user";
    match facts {
        Facts { users: Some((0, _)), scope: Some(3), .. } | Facts { scope: Some(3), .. } => {
            "Yama's ptrace_scope is 3, which forbids it to everyone until the machine is restarted; \
             ask the administrator, or analyze a core file"
                .to_owned()
        }
        Facts { users: Some((0, _)), .. } => format!(
            "even root lacks CAP_SYS_PTRACE here, as in most containers; start the container with \
             `--cap-add=SYS_PTRACE`, or look from the host, where process {pid} has a different PID"
        ),
        Facts { users: Some((reader, owner)), .. } if reader != owner => {
            format!("it belongs to user {owner} and you are user {reader}; access it as its owner, {root}")
        }
        Facts { scope: Some(scope @ 1..), .. } => format!(
            "Yama's ptrace_scope is {scope}, which allows {} only; \
             ask the administrator for `sysctl kernel.yama.ptrace_scope=0`, {root}",
            if scope == 1 {
                "a process's ancestors and processes it names with PR_SET_PTRACER"
            } else {
                "administrators"
            }
        ),
        Facts { same_namespace: false, .. } => {
            "it runs in another user namespace (a container); look from inside it, for example with \
             `podman exec` or `docker exec`"
                .to_owned()
        }
        _ => format!(
            "it is marked as not dumpable (set-user-id, file capabilities or PR_SET_DUMPABLE), or a security \
             module or container filter forbids it; start the job without that, {root}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_reported_with_its_own_remedy() {
        let own = Facts { users: Some((5, 5)), scope: None, same_namespace: true };
        let advised = |facts| advice(77, facts);
        assert!(advised(own).contains("dumpable"));
        assert!(advised(Facts { scope: Some(1), ..own }).contains("PR_SET_PTRACER"));
        assert!(advised(Facts { scope: Some(2), ..own }).contains("administrators"));
        assert!(advised(Facts { scope: Some(3), ..own }).contains("core file"));
        assert!(advised(Facts { users: Some((5, 6)), ..own }).contains("user 6 and you are user 5"));
        assert!(advised(Facts { users: Some((0, 6)), ..own }).contains("CAP_SYS_PTRACE"));
        assert!(advised(Facts { same_namespace: false, ..own }).contains("namespace"));
    }
}
