//! Where a process runs and how much memory it has: known only to the kernel of its host.

use crate::base::rankset::RankSet;
use mpiscope_target::procfs::{self, StatusLines};
use serde::{Deserialize, Serialize};
use std::fs;

/// What the kernel knows of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Placement {
    /// Resident memory, in bytes.
    pub resident: u64,
    /// Peak resident memory, in bytes.
    pub peak: u64,
    /// Processors that its main thread may use: `[0-3]`.
    pub cpus: String,
    /// Number of processors of the host that are online.
    pub online: u32,
    /// NUMA nodes of the processors that it may use.
    pub nodes: String,
    /// The processor on which its main thread last ran.
    pub last_cpu: Option<u32>,
    /// The variables that select GPUs, as `NAME=VALUE`: no other part of its environment is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
}

/// Variables that select a program's GPUs.
const GPUS: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"];

impl Placement {
    /// Reads the placement of a process of this host; `None` if it does not exist.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let mut placement = Self::from_status(&procfs::status_lines(pid).ok()?)?;
        placement.last_cpu = procfs::stat(pid).ok().and_then(|stat| stat.last_cpu);
        placement.online =
            set(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default()).0.len() as u32;
        placement.nodes = nodes(&placement.allowed()).to_string();
        let environment = procfs::environment(pid).unwrap_or_default();
        let chosen = environment.iter().filter(|(name, _)| GPUS.iter().any(|gpus| name == gpus));
        placement.gpus =
            chosen.map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        Some(placement)
    }

    /// For a process that has ended the kernel reports no memory.
    fn from_status(status: &StatusLines) -> Option<Self> {
        Some(Self {
            resident: status.bytes("VmRSS")?,
            peak: status.bytes("VmHWM")?,
            cpus: set(status.get("Cpus_allowed_list").unwrap_or_default()).to_string(),
            ..Self::default()
        })
    }

    /// Processors that it may use.
    #[must_use]
    pub fn allowed(&self) -> RankSet {
        set(&self.cpus)
    }
}

/// Returns the resident memory of a process of this host, in bytes; faster than a complete [`Placement`].
#[must_use]
pub fn resident(pid: u32) -> Option<u64> {
    let pages = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    // A process that has ended has none.
    pages.checked_mul(rustix::param::page_size() as u64).filter(|bytes| *bytes > 0)
}

/// Parses a list in the kernel's format.
fn set(list: &str) -> RankSet {
    list.trim().parse().unwrap_or_default()
}

/// Returns the NUMA nodes that contain any of these processors.
fn nodes(cpus: &RankSet) -> RankSet {
    let Ok(entries) = fs::read_dir("/sys/devices/system/node") else { return RankSet::default() };
    let node = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let own = set(&fs::read_to_string(entry.path().join("cpulist")).ok()?);
        (!own.0.is_disjoint(&cpus.0)).then_some(number)
    };
    entries.filter_map(|entry| node(entry.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_where_this_process_runs_and_what_it_uses() {
        let own = Placement::of(std::process::id()).unwrap();
        assert!(own.resident > 0 && own.peak >= own.resident, "{own:?}");
        assert!(!own.allowed().0.is_empty() && own.online > 0 && own.last_cpu.is_some(), "{own:?}");
        // Other tests of the same process allocate and free memory meanwhile.
        let bytes = resident(std::process::id()).unwrap();
        let later = Placement::of(std::process::id()).unwrap();
        assert!((1..=2 * later.peak).contains(&bytes), "{bytes} {later:?}");
        assert_eq!((Placement::of(u32::MAX), resident(u32::MAX)), (None, None));
    }
}
