//! Fuzzes the output of `mpiscope procs --json` on another host.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpiscope_job::jobs::acquire::Acquired;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = serde_json::from_slice::<Acquired>(bytes) {
        let again = serde_json::to_vec(&answer).expect("a parsed answer can be serialized");
        assert!(serde_json::from_slice::<Acquired>(&again).is_ok(), "a serialized answer can be parsed");
    }
});
