//! The line of `/proc/PID/stat`.

use super::whole::whole;
use std::io;
use std::path::Path;

/// The fields in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The name of the program, up to 15 bytes; not its path.
    pub name: String,
    /// One letter: `R` running, `S` sleeping, `D` in uninterruptible sleep, `T` stopped, `t` traced, `Z`
    /// ended, ….
    pub state: char,
    /// Its parent process; 0 if that is outside our PID namespace.
    pub parent: u32,
    /// When it started, in clock ticks since boot. Unique on a host together with the process id.
    pub start_ticks: u64,
    /// The processor on which it last ran.
    pub last_cpu: Option<u32>,
    /// Its `wait` status: nonzero only for a process that has ended and that the reader could trace.
    pub wait_status: Option<i32>,
}

impl Stat {
    /// Reads the line of a process.
    ///
    /// # Errors
    /// When the file cannot be read, or does not have the documented format.
    pub fn of(pid: u32) -> io::Result<Self> {
        Self::read(&format!("{pid}"))
    }

    /// Reads the line of a thread of a process.
    ///
    /// # Errors
    /// The same as those of [`Stat::of`].
    pub fn of_thread(pid: u32, tid: u32) -> io::Result<Self> {
        Self::read(&format!("{pid}/task/{tid}"))
    }

    fn read(of: &str) -> io::Result<Self> {
        let line = whole(Path::new(&format!("/proc/{of}/stat")))?;
        Self::parse(&line).ok_or_else(|| io::Error::other("not in the form that Linux documents"))
    }

    /// The name may contain spaces, brackets and bytes that are not text, so fields are counted from the last
    /// bracket.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let begin = line.iter().position(|byte| *byte == b'(')?;
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let name = String::from_utf8_lossy(line.get(begin + 1..end)?).into_owned();
        let rest = std::str::from_utf8(line.get(end + 1..)?).ok()?;
        // Numbered as in proc(5), where the state is field 3.
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number.checked_sub(3)?);
        Some(Self {
            name,
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            start_ticks: field(22)?.parse().ok()?,
            last_cpu: field(39).and_then(|cpu| cpu.parse().ok()),
            wait_status: field(52).and_then(|status| status.parse().ok()),
        })
    }

    /// Whether it has ended and is waiting to be reaped.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_spaces_and_invalid_bytes_does_not_shift_the_fields() {
        let line = b"7 (a) R (b\xff c) Z 3 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 12345 99 1";
        let parsed = Stat::parse(line).unwrap();
        assert_eq!((parsed.name.as_str(), parsed.state, parsed.parent), ("a) R (b\u{fffd} c", 'Z', 3));
        assert_eq!((parsed.start_ticks, parsed.last_cpu, parsed.wait_status), (12345, None, None));
        assert!(parsed.has_ended());
    }

    #[test]
    fn the_last_processor_and_the_end_are_fields_39_and_52() {
        let fields = (4..=52).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let parsed = Stat::parse(format!("7 (a) S {fields}\n").as_bytes()).unwrap();
        assert_eq!((parsed.parent, parsed.start_ticks), (4, 22));
        assert_eq!((parsed.last_cpu, parsed.wait_status), (Some(39), Some(52)));
    }

    #[test]
    fn a_truncated_or_missing_line_yields_nothing() {
        for line in
            [&b""[..], b"7 (a S 3", b"7 )a( S 3", b"7 (a)", b"7 (a) S", b"7 (a) S x", b"7 (a) S 3 4", b"\xff"]
        {
            assert_eq!(Stat::parse(line), None, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_thread_has_its_own_line() {
        let pid = std::process::id();
        let (process, thread) = (Stat::of(pid).unwrap(), Stat::of_thread(pid, pid).unwrap());
        assert_eq!(process.parent, std::os::unix::process::parent_id());
        assert_eq!(process.start_ticks, thread.start_ticks);
        assert!(process.last_cpu.is_some() && process.wait_status.is_some());
    }
}
