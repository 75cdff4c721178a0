//! The lines of `/proc/PID/status`: key, colon and value.

use super::whole::whole;
use std::io;
use std::path::Path;

/// The status of one process or thread.
#[derive(Debug, Clone, Default)]
pub struct StatusLines(String);

impl StatusLines {
    /// Reads the status of a process.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::read(&format!("{pid}"))
    }

    /// Reads the status of a thread of a process.
    ///
    /// # Errors
    /// The same as those of [`StatusLines::of`].
    pub fn of_thread(pid: u32, tid: u32) -> io::Result<Self> {
        Self::read(&format!("{pid}/task/{tid}"))
    }

    fn read(of: &str) -> io::Result<Self> {
        // The program's name need not be text.
        Ok(Self::new(&whole(Path::new(&format!("/proc/{of}/status")))?))
    }

    /// Creates the lines from the bytes of such a file.
    pub fn new(text: &[u8]) -> Self {
        Self(String::from_utf8_lossy(text).into_owned())
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
    }

    /// Returns an amount of memory in bytes; the kernel reports it in units of 1024.
    pub fn bytes(&self, key: &str) -> Option<u64> {
        self.get(key)?.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// The effective user id.
    pub fn user(&self) -> Option<u32> {
        self.get("Uid")?.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    /// The process that traces it, if any.
    pub fn tracer(&self) -> Option<u32> {
        self.get("TracerPid")?.parse().ok().filter(|tracer| *tracer != 0)
    }

    /// Its process ids from our PID namespace inward: one, unless it runs in a container within
    /// ours.
    pub fn namespace_pids(&self) -> Vec<u32> {
        let numbers = self.get("NSpid").unwrap_or_default().split_ascii_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    }

    /// The signals that it handles; the lowest bit is signal 1.
    pub fn handled_signals(&self) -> Option<u64> {
        u64::from_str_radix(self.get("SigCgt")?, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_whole_word() {
        let lines = StatusLines::new(
            b"Name:\tUid:\nVmRSS:\t    12 kB\nUid:\t1\t2\t3\t4\nNSpid:\t7\t1\nTracerPid:\t0\n",
        );
        assert_eq!((lines.get("Name"), lines.get("VmRS"), lines.get("Gid")), (Some("Uid:"), None, None));
        assert_eq!((lines.user(), lines.bytes("VmRSS"), lines.tracer()), (Some(2), Some(12 << 10), None));
        assert_eq!((lines.namespace_pids(), lines.handled_signals()), (vec![7, 1], None));
    }

    #[test]
    fn invalid_values_are_unknown() {
        let hostile = b"Name:\t\xff\nVmRSS:\t99999999999999999999 kB\nVmHWM:\t18446744073709551615 kB\nUid:\t1\nTracerPid:\t-1\n\
            NSpid:\tx 3\nSigCgt:\tzz";
        let lines = StatusLines::new(hostile);
        assert_eq!((lines.bytes("VmRSS"), lines.bytes("VmHWM"), lines.user()), (None, None, None));
        assert_eq!((lines.tracer(), lines.handled_signals()), (None, None));
        assert_eq!(lines.namespace_pids(), [3]);
        assert_eq!(StatusLines::new(b"").get("Name"), None);
    }
}
