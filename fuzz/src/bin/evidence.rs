//! Fuzzes evidence files, in which other hosts also send their answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpiscope_fuzz::Named;
use mpiscope_job::{Process, jobs::evidence};

fuzz_target!(|bytes: &[u8]| {
    let file = Named::new(bytes);
    if !evidence::is_evidence(file.path()) {
        return;
    }
    if let Ok(found) = evidence::open(file.path()) {
        for image in &found.job.images {
            if let Ok(image) = image.open() {
                let _ = Process::read(&image, None);
            }
        }
    }
});
