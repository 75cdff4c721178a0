//! What distinguishes a host from all others: not its name alone, which may be one of several or in use by
//! another host.

use serde::{Deserialize, Serialize};
use std::fs;

/// A host, or a part of one that has its own names and processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostIdentity {
    /// The name that the host gives itself.
    pub name: String,
    /// Random id that the kernel generates at boot.
    pub boot: String,
    /// Random id generated when the system was installed.
    pub machine: String,
    /// Number of its pid namespace: two containers on one kernel differ.
    pub pids: String,
    /// Number of its UTS namespace.
    pub names: String,
}

impl HostIdentity {
    /// Returns the identity of this host.
    #[must_use]
    pub fn here() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let space = |kind: &str| {
            let link = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
            link.to_string_lossy().into_owned()
        };
        Self {
            name: text("/proc/sys/kernel/hostname"),
            boot: text("/proc/sys/kernel/random/boot_id"),
            machine: text("/etc/machine-id"),
            pids: space("pid"),
            names: space("uts"),
        }
    }

    /// Whether both see the same processes under the same pids, whatever their names.
    #[must_use]
    pub fn same_host(&self, other: &Self) -> bool {
        match self.boot.is_empty() || other.boot.is_empty() {
            true => self.name == other.name && self.machine == other.machine,
            false => (&self.boot, &self.pids) == (&other.boot, &other.pids),
        }
    }

    /// Joins everything that does not depend on the name into one word.
    #[must_use]
    pub fn key(&self) -> String {
        [&self.boot, &self.machine, &self.pids].map(String::as_str).join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, boot: &str, pids: &str) -> HostIdentity {
        let text = str::to_owned;
        HostIdentity { name: text(name), boot: text(boot), pids: text(pids), ..HostIdentity::default() }
    }

    #[test]
    fn hosts_are_identified_independently_of_their_names() {
        let one = host("n1", "a", "4026531836");
        assert!(one.same_host(&host("n1-ib", "a", "4026531836")));
        assert!(!one.same_host(&host("n1", "b", "4026531836")), "equal short names in two domains");
        assert!(!one.same_host(&host("n1", "a", "4026532000")), "containers on one kernel");
        assert!(one.same_host(&one) && HostIdentity::here().same_host(&HostIdentity::here()));
        assert!(host("n1", "", "").same_host(&host("n1", "", "")), "nothing but the name is known");
    }
}
