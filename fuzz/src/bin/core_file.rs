//! Fuzzes core files: segments, notes, threads, and the image inside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpiscope_fuzz::Named;
use mpiscope_job::questions::process_file::ProcessFile;
use mpiscope_target::{Core, Target};

fuzz_target!(|bytes: &[u8]| {
    let file = Named::new(bytes);
    if let Ok(core) = Core::open(file.path()) {
        let _ = (core.crash(), core.process(), core.missing(), core.pid(), core.executable());
        let _ = core.modules();
        let _ = core.symbol("MPIR_proctable");
        for segment in core.segments() {
            let _ = format!("{segment:?}");
        }
    }
    let _ = ProcessFile::open_core(file.path());
});
