//! Invalid images: bytes changed at random, truncated, of the other byte order; and a debugger without
//! memory. Every answer is a code or a structure, in bounded time, and no block leaks.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use debugger_host::handles::Handles;
use debugger_host::process::Process;
use debugger_host::{memory, queues};
use mpiscope_target::{ByteOrder, Error, Live, Module, Target};
use mpiscope_testkit::damage::{Dice, damage, done};

use crate::ask::{ONE_AT_A_TIME, Plugins};
use crate::program::Running;

const SYMBOL: &str = "mpiscope_image";
/// The addresses of the variable and the image in the artificial process.
const VARIABLE: u64 = 0x1000;
const IMAGE: u64 = 0x10_0000;
/// Number of changed images.
const ROUNDS: u64 = 120;
/// The image is cut off after each of its parts, of which it has this many.
const PARTS: usize = 48;
/// Time limit for all queries about one of them.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that consists of an image.
struct Made {
    bytes: Vec<u8>,
    order: ByteOrder,
}

impl Target for Made {
    fn read(&self, address: u64, buf: &mut [u8]) -> mpiscope_target::Result<()> {
        let len = buf.len();
        let bad = || Error::Unreadable { address, len, why: "nothing is there" };
        if address == VARIABLE && len == 8 {
            buf.copy_from_slice(&IMAGE.to_le_bytes());
            return Ok(());
        }
        let from = address.checked_sub(IMAGE).and_then(|at| usize::try_from(at).ok()).ok_or_else(bad)?;
        let bytes = from.checked_add(len).and_then(|end| self.bytes.get(from..end)).ok_or_else(bad)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn width(&self) -> usize {
        8
    }

    fn byte_order(&self) -> ByteOrder {
        self.order
    }

    fn modules(&self) -> mpiscope_target::Result<Vec<Module>> {
        Ok(Vec::new())
    }

    fn symbol(&self, name: &str) -> mpiscope_target::Result<Option<u64>> {
        Ok((name == SYMBOL).then_some(VARIABLE))
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn executable(&self) -> Option<PathBuf> {
        None
    }
}

/// Reads the image of the running program.
fn image(running: &Running) -> Result<Vec<u8>> {
    let live = Live::open(running.pid()?)?;
    let variable = live.symbol(SYMBOL)?.ok_or_else(|| anyhow::anyhow!("no {SYMBOL}"))?;
    let address = live.read_u64(variable)?;
    let len = live.read_u64(address + 24)?;
    Ok(live.read_bytes(address, len, 1 << 30)?)
}

/// Queries everything and ignores the answers.
fn ask_all(made: Made, running: &Running, plugins: &Plugins) {
    let process = Process::new(Arc::new(made), 0);
    if let Ok(handles) = Handles::load(plugins.handles.as_os_str(), &process) {
        for (name, kind) in running.handles.keys() {
            if let (false, Ok(value)) = (kind.starts_with("fortran-"), running.value(name, kind)) {
                let _ = handles.object(kind, value);
            }
        }
        let _ = handles.from_fortran("comm", 3);
    }
    let _ = queues::dump(plugins.queues.as_os_str(), &process);
}

/// Runs all checks.
pub fn everything(running: &Running, plugins: &Plugins) -> Result<()> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let original = image(running)?;
    let before = memory::ledger();
    for round in 0..ROUNDS {
        let bytes = done(original.clone(), &damage(&original, &mut Dice(round)));
        let start = Instant::now();
        ask_all(Made { bytes, order: ByteOrder::HOST }, running, plugins);
        ensure!(start.elapsed() < PATIENCE, "round {round} took {:?}", start.elapsed());
        let after = memory::ledger();
        ensure!(after.blocks == before.blocks, "round {round} left {} blocks", after.blocks - before.blocks);
    }
    other_order(&original, plugins)?;
    cut_off(&original, running, plugins)?;
    no_memory(&original, running, plugins)
}

/// An image of a machine with the other byte order is rejected, not misread.
fn other_order(original: &[u8], plugins: &Plugins) -> Result<()> {
    let order = if ByteOrder::HOST == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let process = Process::new(Arc::new(Made { bytes: original.to_vec(), order }), 0);
    let handles = Handles::load(plugins.handles.as_os_str(), &process)?;
    let said = handles.object("comm", 0x4400_0000).err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(said.ends_with("MPIDBG_ERR_UNAVAILABLE"), "{said}");
    Ok(())
}

/// Without a part of the image there is no answer, or the whole one: an answer without that part would look complete.
fn cut_off(original: &[u8], running: &Running, plugins: &Plugins) -> Result<()> {
    let made =
        |len: usize| Made { bytes: original.get(..len).unwrap_or(original).to_vec(), order: ByteOrder::HOST };
    let whole = Process::new(Arc::new(made(original.len())), 0);
    let whole = Handles::load(plugins.handles.as_os_str(), &whole)?;
    let mut refused = 0;
    for part in 1..PARTS {
        let process = Process::new(Arc::new(made(original.len() * part / PARTS)), 0);
        let handles = Handles::load(plugins.handles.as_os_str(), &process)?;
        for (name, kind) in running.handles.keys().filter(|(_, kind)| !kind.starts_with("fortran-")) {
            let value = running.value(name, kind)?;
            match (handles.object(kind, value), whole.object(kind, value)) {
                (Ok(seen), Ok(whole)) => {
                    ensure!(seen == whole, "{name}, {part} of {PARTS}: {seen} instead of {whole}")
                }
                (Err(error), Ok(_)) => {
                    let said = error.to_string();
                    ensure!(said.ends_with("MPIDBG_ERR_UNAVAILABLE"), "{name}, {part} of {PARTS}: {said}");
                    refused += 1;
                }
                (_, Err(_)) => {}
            }
        }
    }
    ensure!(refused > 0, "every part of the image is dispensable");
    Ok(())
}

/// A query that runs out of memory at any block reports that and frees what it has allocated.
fn no_memory(original: &[u8], running: &Running, plugins: &Plugins) -> Result<()> {
    let process = Process::new(Arc::new(Made { bytes: original.to_vec(), order: ByteOrder::HOST }), 0);
    let handles = Handles::load(plugins.handles.as_os_str(), &process)?;
    let before = memory::ledger();
    for (name, kind) in [("mine", "comm"), ("struct", "datatype"), ("info", "info"), ("locked", "win")] {
        let mut refusals = 0;
        for n in 0..64 {
            memory::refuse_from(Some(n));
            let said = handles.object(kind, running.value(name, kind)?);
            memory::refuse_from(None);
            let Err(error) = said else { break };
            ensure!(error.to_string().ends_with("MPIDBG_ERR_NO_MEM"), "{name}, block {n}: {error}");
            let after = memory::ledger();
            ensure!(
                after.blocks == before.blocks,
                "{name}, block {n}: {} blocks",
                after.blocks - before.blocks
            );
            refusals += 1;
        }
        ensure!((1..64).contains(&refusals), "{name}: {refusals} refusals");
    }
    Ok(())
}
