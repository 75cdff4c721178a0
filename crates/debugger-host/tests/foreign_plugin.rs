//! A plug-in from another project: Open MPI's own for message queues, as installed by
//! distributions.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use debugger_host::process::Process;
use debugger_host::queues;
use mpiscope_target::Live;
use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    trials::run(vec![
        trial!(the_plug_in_of_open_mpi_loads_and_reports_the_missing_type, needs the_plug_in),
        trial!(a_library_that_is_not_a_plug_in_is_rejected_with_a_message),
    ])
}

fn the_plug_in() -> Option<String> {
    installed().is_none().then(|| "libompi_dbg_msgq.so of Open MPI is not installed".to_owned())
}

fn installed() -> Option<PathBuf> {
    let places = [
        "/usr/lib/x86_64-linux-gnu/openmpi/lib",
        "/usr/lib/aarch64-linux-gnu/openmpi/lib",
        "/usr/lib/openmpi",
    ];
    let folders = places.iter().flat_map(std::fs::read_dir).flatten().flatten().map(|entry| entry.path());
    folders.map(|folder| folder.join("libompi_dbg_msgq.so")).find(|path| path.is_file())
}

fn the_plug_in_of_open_mpi_loads_and_reports_the_missing_type() {
    let plugin = installed().unwrap();
    // Any process without Open MPI's debug information will do: this one.
    let process = Process::new(Arc::new(Live::open(std::process::id()).unwrap()), 0);
    let said = queues::dump(plugin.as_os_str(), &process).unwrap_err().to_string();
    assert!(said.contains("mqs_image_has_queues failed"), "{said}");
    assert!(said.contains("type opal_list_item_t"), "{said}");
    assert!(said.contains("install the debug symbols"), "{said}");
}

fn a_library_that_is_not_a_plug_in_is_rejected_with_a_message() {
    let process = Process::new(Arc::new(Live::open(std::process::id()).unwrap()), 0);
    let error = debugger_host::handles::Handles::load("libc.so.6".as_ref(), &process).err().unwrap();
    assert!(error.to_string().contains("draft"), "{error}");
    let error = queues::dump("libc.so.6".as_ref(), &process).unwrap_err();
    assert!(error.to_string().contains("message queue plug-in"), "{error}");
}
