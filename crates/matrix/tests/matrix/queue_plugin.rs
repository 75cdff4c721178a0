//! The queues of one process as shown by a debugger's plug-in: messages sent to it by others are recorded
//! only in the other processes.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use debugger_host::handles::Handles;
use debugger_host::kept;
use debugger_host::process::Process;
use debugger_host::queues::{self, Operation};
use mpiscope_target::Live;
use mpiscope_testkit::paths;

/// The process waits for tag 42 of rank 0, which has sent tag 41.
pub fn shows_what_others_sent(pid: u32) -> Result<()> {
    let plugin = paths::libmpiscope().context("no layer")?.with_file_name("libmpiscope_queues.so");
    let process = Process::new(Arc::new(Live::open(pid)?), 1);
    let queues = queues::dump(plugin.as_os_str(), &process)?;
    let world = queues.communicators.iter().find(|queue| queue.name == "MPI_COMM_WORLD");
    let world = world.context("no MPI_COMM_WORLD in the queues")?;
    let one = |class: &Option<Vec<Operation>>, tag: i64| {
        let operations = class.as_deref().unwrap_or_default();
        operations.len() == 1 && operations.iter().all(|o| (o.tag, o.peer_in_world) == (Some(tag), 0))
    };
    ensure!(one(&world.receives, 42) && one(&world.unexpected, 41), "{world:#?}");
    Ok(())
}

/// Both plug-ins show the same for a process in an evidence file as for the running one, except for messages
/// sent by others.
pub fn shows_the_same_of_evidence(pid: u32, file: &Path) -> Result<()> {
    let layer = paths::libmpiscope().context("no layer")?;
    let (handles, queues) =
        (layer.with_file_name("libmpiscope_handles.so"), layer.with_file_name("libmpiscope_queues.so"));
    let living = Process::new(Arc::new(Live::open(pid)?), 1);
    let kept = Process::new(Arc::new(kept::process(file, Some(1))?), 1);
    let about = |process: &Process| Handles::load(handles.as_os_str(), process)?.about();
    let (now, then) = (about(&living)?, about(&kept)?);
    ensure!(now == then, "running: {now:#}\nkept: {then:#}");
    let receives = |process: &Process| -> Result<String> {
        let dump = queues::dump(queues.as_os_str(), process)?;
        Ok(format!(
            "{:?}",
            dump.communicators.iter().map(|q| (&q.name, &q.receives, &q.sends)).collect::<Vec<_>>()
        ))
    };
    let (now, then) = (receives(&living)?, receives(&kept)?);
    ensure!(now == then && now.contains("42"), "running: {now}\nkept: {then}");
    let error = kept::process(file, None).err().context("no error although a process must be chosen")?;
    ensure!(error.to_string().contains("--rank"), "{error}");
    Ok(())
}
