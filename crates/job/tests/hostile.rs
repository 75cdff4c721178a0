//! Invalid images: words changed at random, truncated. Every reader of objects returns a result or an error,
//! in bounded time and memory, and never crashes.
//!
//! The images are those of `corpus`; `MPISCOPE_HOSTILE_ROUNDS` sets the number of rounds for a longer run. A
//! failing round prints what to add to `corpus/found.txt`, so that it is repeated in every later run.
#![allow(unsafe_code)]

mod corpus;

use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use mpiscope_image::Image;
use mpiscope_job::base::clock::TickClock;
use mpiscope_job::jobs::symbols::FileSymbols;
use mpiscope_job::model::objects::{ImageOnly, Kind, Reader};
use mpiscope_job::{Bytes, Process, open_file, questions::leaks};
use mpiscope_testkit::damage::{Damage, Dice, damage, done};

/// Number of changed images for each image of the corpus.
const ROUNDS: u64 = 60;
/// Time limit for one of them, in an unoptimized build.
const PATIENCE: Duration = Duration::from_secs(20);
/// Limit of the address space for the whole test.
const MEMORY: u64 = 8 << 30;

fn images() -> Vec<String> {
    let files =
        fs::read_dir(corpus::home()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.filter(|name| name.ends_with(".image")).collect();
    names.sort();
    names
}

/// Reads everything reported about objects; returns the number of objects.
fn read_all(image: &Image<Bytes>) -> usize {
    let Ok(process) = Process::read(image, None) else { return 0 };
    let _seconds = TickClock::new(&image.header().unwrap().clock, None).end_ns();
    let Ok(reader) = Reader::new(image, &ImageOnly) else { return 0 };
    let mut objects_seen = 0;
    for kind in Kind::ALL {
        let objects = reader.objects(*kind).unwrap_or_default();
        objects_seen += objects.len();
        for object in &objects {
            let common = object.common();
            assert!(serde_json::to_string(object).is_ok());
            let _ = reader.object(*kind, common.handle.0);
            let _ = reader.object(*kind, common.handle.0 ^ 1);
            let _ = reader.object_by_uid(common.uid);
        }
        let _ = leaks::count(&reader, *kind);
        let _ = reader.fortran_to_c(*kind, 3);
    }
    let _ = leaks::sites(image, &process, &FileSymbols::default());
    let _ = reader.queues();
    objects_seen
}

/// Reads a damaged image; returns what went wrong, if anything.
fn trial(original: &[u8], damage: &Damage, file: &Path) -> Option<String> {
    fs::write(file, done(original.to_vec(), damage)).unwrap();
    let start = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(|| open_file(file).map_or(0, |image| read_all(&image))));
    match read {
        Err(_) => Some("a panic".into()),
        Ok(_) if start.elapsed() > PATIENCE => Some(format!("{:?}", start.elapsed())),
        Ok(_) => None,
    }
}

/// Formats damage as a line of `found.txt`.
fn line(name: &str, damage: &Damage) -> String {
    let mut line = name.to_owned();
    for (at, word) in damage {
        let _ = write!(line, " {at:#x} {word:#x}");
    }
    line
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn bound_memory() {
    let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
    // SAFETY: a structure on the stack.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

#[test]
fn a_damaged_image_gives_answers_or_errors_in_bounded_time_and_memory() {
    bound_memory();
    let rounds = std::env::var("MPISCOPE_HOSTILE_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image");
    let mut wrong = Vec::new();
    for name in images() {
        let original = corpus::image(&name);
        fs::write(&file, &original).unwrap();
        let whole = read_all(&open_file(&file).unwrap());
        assert!(whole > 60, "{name} has {whole} objects: is it of this version?");
        for round in 0..rounds {
            let damage = damage(&original, &mut Dice(round));
            if let Some(why) = trial(&original, &damage, &file) {
                wrong.push(format!("{why}: add to found.txt\n{}", line(&name, &damage)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn previously_found_damage_is_handled() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image");
    for found in fs::read_to_string(corpus::home().join("found.txt")).unwrap().lines() {
        let mut words = found.split(' ');
        let original = corpus::image(words.next().unwrap());
        let numbers: Vec<u64> = words.map(number).collect();
        let damage: Damage = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(trial(&original, &damage, &file), None, "{found}");
    }
}

#[test]
fn images_of_an_older_layout_are_read_with_zeros_for_missing_fields() {
    let folder = tempfile::tempdir().unwrap();
    for name in images() {
        let file = folder.path().join(&name);
        fs::write(&file, corpus::image(&name)).unwrap();
        let image = open_file(&file).unwrap();
        let process = Process::read(&image, None).unwrap();
        let values = mpiscope_job::questions::variables::values(&image, &process, false);
        assert!(values.is_ok_and(|values| !values.is_empty()), "{name}");
        let of_objects = mpiscope_job::questions::variables::bound::values(&image, &process).unwrap();
        assert!(!of_objects.is_empty(), "{name}");
        let reader = Reader::new(&image, &ImageOnly).unwrap();
        for kind in Kind::ALL {
            assert!(reader.objects(*kind).is_ok(), "{name}: {kind}");
        }
    }
}
