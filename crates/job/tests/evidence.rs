//! Evidence files: reading one yields what was saved, and a damaged one is an error.

use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::evidence::{self, Evidence};
use mpiscope_job::jobs::job::Job;
use mpiscope_job::jobs::job_image::JobImage;
use mpiscope_job::model::locate::NoSymbols;
use mpiscope_job::model::rank::{Rank, SymbolContext};
use mpiscope_job::model::rank_status::RankStatus;
use mpiscope_job::observation::Observation;
use mpiscope_job::questions::live::look;
use mpiscope_job::questions::why::{snapshot, verdict};
use mpiscope_job::save;
use mpiscope_job::test_image::{TestImage, memory_file};
use mpiscope_target::Files;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const WORLD: u64 = 0x4400_0000;
const INT: u64 = 0x4c00_0405;

/// Creates a job of two ranks, one of which has not touched its image yet. This process holds their images.
fn job(name: &str) -> (Job, TestImage, impl Sized) {
    let sample = TestImage::new(name, 0, 2);
    sample.called("MPI_Send", 3, 1000, 12);
    sample.enters("MPI_Recv", [WORLD, INT, 1], 1, 7);
    let untouched = memory_file(name);
    let job = discover().into_iter().find(|job| job.name == name).unwrap();
    assert_eq!(job.images.len(), 2);
    (job, sample, untouched)
}

fn saved(name: &str) -> (Job, TestImage, impl Sized, tempfile::TempDir, PathBuf) {
    let (job, sample, untouched) = job(name);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.mpiscope");
    let saved =
        save::save(&job, Duration::from_millis(20), false, &NoSymbols, Elsewhere::default(), &file).unwrap();
    assert_eq!((saved.processes, saved.not_seen.len()), (2, 0));
    assert_eq!(saved.bytes, fs::metadata(&file).unwrap().len());
    (job, sample, untouched, dir, file)
}

#[test]
fn files_of_all_hosts_in_a_folder_are_one_job_and_other_files_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    // One after the other, so that each part has only the ranks of its host.
    for (rank, name) in [(1, "evidence.nodeb.mpiscope"), (0, "evidence.mpiscope")] {
        let _rank = TestImage::new("evidence-of-hosts", rank, 2);
        let part = discover().into_iter().find(|job| job.name == "evidence-of-hosts").unwrap();
        let elsewhere = Elsewhere { not_seen: vec![format!("by {name}")], ..Elsewhere::default() };
        let file = dir.path().join(name);
        save::save(&part, Duration::ZERO, false, &NoSymbols, elsewhere, &file).unwrap();
    }
    fs::copy(dir.path().join("evidence.mpiscope"), dir.path().join("hang.mpiscope")).unwrap();
    fs::write(dir.path().join("evidence.mpiscope.txt"), "PK").unwrap();
    let files = evidence::files(dir.path()).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["evidence.mpiscope", "evidence.nodeb.mpiscope"], "that of rank 0 comes first");
    let Evidence { manifest, job, .. } = evidence::open_all(&files).unwrap();
    let ranks = |seen: &[Observation]| seen.iter().filter_map(|seen| seen.rank).collect::<Vec<_>>();
    assert_eq!(ranks(&look(&job, &NoSymbols).observations), [0, 1]);
    assert_eq!(ranks(&manifest.before), [0, 1]);
    assert_eq!(manifest.not_seen, ["by evidence.mpiscope", "by evidence.nodeb.mpiscope"]);
    let empty = tempfile::tempdir().unwrap();
    assert_eq!((evidence::files(empty.path()), evidence::open_all(&[]).is_err()), (None, true));
}

/// Returns statuses without ages, which differ between samples.
fn statuses(job: &Job) -> Vec<serde_json::Value> {
    let files = Arc::new(Files::default());
    let read = job.images.iter().filter_map(|found| Some((found, found.read(&files).unwrap()?)));
    read.map(|(found, (image, process))| {
        let symbols = job.symbols();
        let context = SymbolContext::new(&process, &*symbols);
        let mut status = RankStatus::new(&Rank::new(&image, &process, &context), found.alive(process.pid));
        status.threads.iter_mut().for_each(|thread| thread.age_s = None);
        serde_json::to_value(status).unwrap()
    })
    .collect()
}

#[test]
fn a_file_shows_what_the_running_job_showed() {
    let (job, _sample, _untouched, _dir, file) = saved("evidence-same");
    assert!(evidence::is_evidence(&file));
    let Evidence { manifest, job: kept, .. } = evidence::open(&file).unwrap();
    assert_eq!((kept.name.as_str(), kept.owner, kept.images.len()), ("evidence-same", job.owner, 2));
    assert!(!kept.runs_here() && manifest.seconds >= 0.02);
    assert_eq!(statuses(&kept), statuses(&job));
    assert_eq!(statuses(&kept).len(), 1);
    let (now, then) = (look(&job, &NoSymbols), look(&kept, &NoSymbols));
    let of = |look: &[_]| {
        let seen = snapshot(look, "not looked at");
        verdict(&seen, &seen, 1.0).verdict
    };
    assert_eq!(of(&then.observations), of(&now.observations));
}

#[test]
fn a_file_records_what_was_not_seen_when_it_was_written() {
    let (job, _sample, _untouched) = job("evidence-lacking");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.mpiscope");
    let elsewhere = Elsewhere { not_seen: vec!["node7: no answer".to_owned()], ..Elsewhere::default() };
    save::save(&job, Duration::ZERO, false, &NoSymbols, elsewhere, &file).unwrap();
    assert_eq!(evidence::open(&file).unwrap().job.not_seen, ["node7: no answer"]);
}

#[test]
fn a_ranks_identity_is_known_from_the_beginning_of_its_image() {
    let (job, _sample, _untouched, _dir, file) = saved("evidence-who");
    let who = |job: &Job| {
        let known = job.images.iter().filter_map(JobImage::who);
        known.map(|who| (who.stage, who.size, who.entry)).collect::<Vec<_>>()
    };
    let kept = evidence::open(&file).unwrap().job;
    assert_eq!(who(&kept), who(&job));
    assert_eq!(who(&kept).len(), 1, "one of the two has not called MPI");
}

#[test]
fn a_call_keeps_its_age_at_the_time_of_saving() {
    let (_job, _sample, _untouched, _dir, file) = saved("evidence-age");
    let age = || {
        let kept = evidence::open(&file).unwrap().job;
        let seen = look(&kept, &NoSymbols);
        seen.observations.iter().find_map(|o| o.threads.first()?.call.as_ref()?.age_s).unwrap()
    };
    let first = age();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(age(), first);
    assert!(first >= 0.02);
}

#[test]
fn a_file_is_readable_only_by_its_owner_and_contains_no_environment() {
    use std::os::unix::fs::PermissionsExt;
    let (_job, _sample, _untouched, _dir, file) = saved("evidence-private");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    let mut archive = zip::ZipArchive::new(fs::File::open(&file).unwrap()).unwrap();
    let path = std::env::var("PATH").unwrap();
    for at in 0..archive.len() {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut archive.by_index(at).unwrap(), &mut bytes).unwrap();
        assert!(!bytes.windows(path.len()).any(|window| window == path.as_bytes()));
    }
}

#[test]
fn a_truncated_or_damaged_file_is_an_error_and_not_a_crash() {
    let (_job, _sample, _untouched, dir, file) = saved("evidence-damaged");
    let whole = fs::read(&file).unwrap();
    let damaged = dir.path().join("damaged.mpiscope");
    let read = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        let evidence = evidence::open(&damaged)?;
        let look = look(&evidence.job, &*evidence.job.symbols());
        if look.errors.is_empty() {
            Ok(())
        } else {
            Err(mpiscope_job::Error::NotFound(look.errors.join(";")))
        }
    };
    assert!(read(&whole).is_ok());
    for len in (0..whole.len()).step_by(997) {
        assert!(read(&whole[..len]).is_err(), "cut off at {len}");
    }
    for at in (0..whole.len()).step_by(211) {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        // Data not covered by a checksum may be read; the test only requires that nothing crashes.
        let _any = read(&changed);
    }
}

#[test]
fn an_unknown_format_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("later.mpiscope");
    let mut archive = zip::ZipWriter::new(fs::File::create(&file).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("evidence.json", options).unwrap();
    let manifest = evidence::Manifest { schema: "mpiscope.evidence/9".into(), ..Default::default() };
    serde_json::to_writer(&mut archive, &manifest).unwrap();
    archive.finish().unwrap();
    let why = evidence::open(&file).err().map(|why| why.to_string()).unwrap_or_default();
    assert!(why.contains("mpiscope.evidence/9") && why.contains("mpiscope.evidence/1"), "{why}");
}
