//! The notes in a core file: the process, what killed it, its threads and files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::fields::{Fields, Kind};
use super::threads::{self, Thread};
use crate::ByteOrder;
use crate::maps::Mapping;

const NT_PRSTATUS: u32 = 1;
const NT_PRPSINFO: u32 = 3;
const NT_AUXV: u32 = 6;
const NT_SIGINFO: u32 = 0x5349_4749;
const NT_FILE: u32 = 0x4649_4c45;
/// `PID_MAX_LIMIT` of 64-bit Linux.
const MAX_THREADS: usize = 1 << 22;

/// The kernel's limit (`vm.max_map_count`) is 65530 unless raised.
const MAX_MAPPINGS: usize = 1 << 18;

/// What killed the process (`siginfo_t`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// The signal's number.
    pub signal: i32,
    /// `si_code`: why it was sent; 0 or less when a process sent it.
    pub code: i32,
    /// The address whose use caused the fault, for signals raised by the machine.
    pub fault_address: Option<u64>,
    /// The process that sent it, if any; `raise` and `abort` name the process itself.
    pub sender: Option<Sender>,
}

/// The sender of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Its process id in the receiver's PID namespace.
    pub pid: u32,
    /// Its real user id.
    pub user: u32,
}

impl Crash {
    /// Whether it terminates a process. Signals that stop or continue a process or are ignored by default do
    /// not: a debugger that takes the core file of a living process stops it with one of these.
    fn is_fatal(&self) -> bool {
        const HARMLESS: [i32; 8] = [17, 18, 19, 20, 21, 22, 23, 28];
        !HARMLESS.contains(&self.signal)
    }
}

/// The identity of the process (`prpsinfo`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its process id in its own PID namespace.
    pub pid: u32,
    /// Its parent process.
    pub parent: u32,
    /// Its real user id.
    pub user: u32,
    /// The program's name, up to 15 bytes.
    pub name: String,
    /// The command line, up to 79 bytes.
    pub command_line: String,
}

/// The content of all notes.
#[derive(Debug, Default)]
pub struct Notes {
    pub threads: Vec<Thread>,
    pub crash: Option<Crash>,
    pub process: Option<ProcessInfo>,
    pub auxiliary: Vec<(u64, u64)>,
    /// In address order.
    pub mappings: Vec<Mapping>,
    /// Whether a debugger rather than the kernel wrote the file.
    by_debugger: bool,
}

impl Notes {
    /// Adds the notes of one area; notes that cannot be parsed are skipped.
    pub fn add_area(&mut self, area: &[u8], kind: Kind) {
        let mut rest = area;
        while let Some((name, number, desc, behind)) = split(rest, kind.order) {
            // Notes of other owners (`LINUX`: vector registers) reuse the numbers.
            match name.strip_suffix(b"\0").unwrap_or(name) {
                b"CORE" => self.add(number, Fields { bytes: desc, kind }),
                b"GDB" => self.by_debugger = true,
                _ => {}
            }
            rest = behind;
        }
    }

    fn add(&mut self, number: u32, note: Fields<'_>) {
        match number {
            NT_PRSTATUS if self.threads.len() < MAX_THREADS => self.threads.extend(threads::thread(note)),
            NT_PRPSINFO => self.process = process(note),
            // A tool that takes cores of living processes writes one per thread; the first belongs to the
            // first thread.
            NT_SIGINFO if self.crash.is_none() => self.crash = crash(note),
            NT_AUXV => self.auxiliary = auxiliary(note),
            NT_FILE => self.mappings = mappings(note).unwrap_or_default(),
            _ => {}
        }
    }

    /// Sorts and completes what was added.
    pub fn finish(&mut self) {
        self.mappings.sort_by_key(|mapping| mapping.start);
        // Without a siginfo note, the first thread still has the signal's number.
        if let (None, Some(signal @ 1..)) = (&self.crash, self.threads.first().map(|thread| thread.signal)) {
            self.crash = Some(Crash { signal, code: 0, fault_address: None, sender: None });
        }
        // In a debugger's file SIGTRAP is a breakpoint.
        let breakpoint = |crash: &Crash| self.by_debugger && crash.signal == 5;
        self.crash = self.crash.take().filter(|crash| crash.is_fatal() && !breakpoint(crash));
    }
}

/// Owner, type and content of a note, and what follows it.
type Split<'a> = (&'a [u8], u32, &'a [u8], &'a [u8]);

/// Splits off the first note.
fn split(notes: &[u8], order: ByteOrder) -> Option<Split<'_>> {
    let number = |at: usize| Some(order.number(notes.get(at..at + 4)?) as usize);
    let (name_size, desc_size, kind) = (number(0)?, number(4)?, number(8)?);
    let desc_at = 12_usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
    let end = desc_at.checked_add(desc_size)?;
    let behind = end.checked_next_multiple_of(4)?.min(notes.len());
    Some((notes.get(12..12 + name_size)?, kind as u32, notes.get(desc_at..end)?, notes.get(behind..)?))
}

fn crash(note: Fields<'_>) -> Option<Crash> {
    let (signal, code) = (note.int(0)?, note.int(8)?);
    // The union that follows contains addresses and is aligned accordingly.
    let at = if note.kind.width == 8 { 16 } else { 12 };
    let raised = code > 0 && [4, 5, 7, 8, 11].contains(&signal);
    let sent = code <= 0 && signal > 0;
    let sender = || Some(Sender { pid: note.number(at, 4)? as u32, user: note.number(at + 4, 4)? as u32 });
    (signal > 0).then(|| Crash {
        signal,
        code,
        fault_address: note.number(at, note.kind.width).filter(|_| raised),
        sender: sender().filter(|_| sent),
    })
}

fn process(note: Fields<'_>) -> Option<ProcessInfo> {
    // 32-bit machines differ in the width of user ids, which follows from the length of the note.
    let (user, user_size, pid, name) = match (note.kind.width, note.bytes.len()) {
        (8, _) => (16, 4, 24, 40),
        (_, ..128) => (8, 2, 12, 28),
        _ => (8, 4, 16, 32),
    };
    Some(ProcessInfo {
        pid: note.number(pid, 4)? as u32,
        parent: note.number(pid + 4, 4)? as u32,
        user: note.number(user, user_size)? as u32,
        name: note.text(name, 16)?,
        command_line: note.text(name + 16, 80)?,
    })
}

fn auxiliary(note: Fields<'_>) -> Vec<(u64, u64)> {
    let pair = |index: usize| Some((note.word(2 * index)?, note.word(2 * index + 1)?));
    (0..).map_while(pair).take_while(|(key, _)| *key != 0).collect()
}

fn mappings(note: Fields<'_>) -> Option<Vec<Mapping>> {
    let count = usize::try_from(note.word(0)?).ok()?;
    let page = note.word(1)?;
    // Three words each, so a count that exceeds the note fails here.
    let names_at = count.checked_mul(3)?.checked_add(2)?.checked_mul(note.kind.width)?;
    let count = count.min(MAX_MAPPINGS);
    let names = note.bytes.get(names_at..)?.split(|byte| *byte == 0);
    let entry = |(index, name): (usize, &[u8])| {
        let word = |field| note.word(2 + 3 * index + field);
        let (start, end, offset) = (word(0)?, word(1)?, word(2)?.checked_mul(page)?);
        let (name, deleted) = match name.strip_suffix(b" (deleted)") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let path = PathBuf::from(OsStr::from_bytes(name));
        let sane = start < end && path.is_absolute();
        sane.then_some(Mapping { start, end, offset, executable: false, path, deleted, inode: (0, 0) })
    };
    Some((0..count).zip(names).filter_map(entry).collect())
}
