//! Fuzzes images of processes: every reader of objects, and what `why` and `report` read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpiscope_fuzz::{Named, unpacked};
use mpiscope_job::model::objects::{ImageOnly, Kind, Reader};
use mpiscope_job::questions::process_file::ProcessFile;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::{Process, open_file, questions::leaks};

fuzz_target!(|packed: &[u8]| {
    let Some(bytes) = unpacked(packed) else { return };
    let file = Named::new(&bytes);
    let Ok(image) = open_file(file.path()) else { return };
    let Ok(process) = Process::read(&image, None) else { return };
    let Ok(reader) = Reader::new(&image, &ImageOnly) else { return };
    for kind in Kind::ALL {
        for object in reader.objects(*kind).unwrap_or_default() {
            let _ = serde_json::to_string(&object);
            let _ = reader.object_by_uid(object.common().uid);
        }
        let _ = leaks::count(&reader, *kind);
        let _ = reader.fortran_to_c(*kind, 3);
    }
    let _ = leaks::sites(&image, &process, &FileSymbols::default());
    let _ = reader.queues();
    if let Ok(read) = ProcessFile::open(file.path()) {
        let _ = read.status(&FileSymbols::default(), false);
    }
});
