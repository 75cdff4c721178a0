//! Objects read from outside while four threads of each rank create and free them at random.
//!
//! The program stores one number in several fields of each object that it creates. A reader that mixed two
//! uses of a record, or trusted a record during a write, would show an object with contradictory fields.
//! (Another test, next to the writer, compares the final image with a model that the program keeps.)
//!
//! `MPISCOPE_CHURN_SECONDS` and `MPISCOPE_CHURN_RANKS` make the run longer or larger.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mpiscope_image::Image;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::model::objects::{Datatype, ImageOnly, Info, Kind, Lifetime, Object, Reader};
use mpiscope_job::{Bytes, Process};
use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::{paths, run};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// What was observed from outside.
#[derive(Default)]
struct Seen {
    looks: usize,
    objects: usize,
    torn: usize,
    wrong: Vec<String>,
}

/// Returns the number in a name, if it has one.
fn named(object: &Object) -> Option<i64> {
    object.common().name.as_ref()?.strip_prefix("value_")?.parse().ok()
}

/// Returns the contradiction in an object, if any.
fn contradiction(object: &Object) -> Option<String> {
    let common = object.common();
    let freed = common.standing == Lifetime::Freed;
    if freed != common.freed.is_some() && !common.predefined {
        return Some(format!("{:?} and {:?}", common.standing, common.freed));
    }
    match object {
        Object::Datatype(datatype) => of_datatype(datatype, named(object)),
        Object::Info(info) => of_info(info),
        Object::Communicator(comm) if named(object).is_some() => {
            let right = comm.size == 1 && comm.members.as_ref().is_some_and(|m| m.len() == 1);
            (!right).then(|| format!("{} members, {:?}", comm.size, comm.members))
        }
        Object::Group(group) => {
            let known = group.members.as_ref().map(Vec::len);
            (known != Some(group.size as usize)).then(|| format!("{} members, {known:?}", group.size))
        }
        _ => None,
    }
}

/// Checks `MPI_Type_vector(n, 2, 3, MPI_INT)`, perhaps committed (if n is odd) and named (if divisible by
/// three).
fn of_datatype(datatype: &Datatype, name: Option<i64>) -> Option<String> {
    if datatype.combiner != "vector" {
        return None;
    }
    let arguments: Vec<i64> = datatype.arguments.numbers.iter().map(|(_, number)| *number).collect();
    let n = arguments.first().copied().unwrap_or(0);
    let right = arguments == [n, 2, 3]
        && datatype.size == u64::try_from(8 * n).ok()
        && datatype.extent == Some(4 * (3 * (n - 1) + 2))
        && (!datatype.committed || n % 2 == 1)
        && name.is_none_or(|name| name == n && n % 3 == 0);
    (!right)
        .then(|| format!("{arguments:?}, size {:?}, extent {:?}, {name:?}", datatype.size, datatype.extent))
}

/// Checks that there is either no key yet, or one key whose value is a number.
fn of_info(info: &Info) -> Option<String> {
    let right = match info.pairs.as_slice() {
        [] => true,
        [(key, value)] => {
            key == "key" && value.strip_prefix("value_").is_some_and(|n| n.parse::<u32>().is_ok())
        }
        _ => false,
    };
    (!right && !info.common.predefined).then(|| format!("{:?}", info.pairs))
}

/// Reads every object of a process once.
fn look(image: &Image<Bytes>, seen: &mut Seen) {
    let Ok(reader) = Reader::new(image, &ImageOnly) else { return };
    seen.looks += 1;
    for kind in Kind::ALL {
        match reader.objects(*kind) {
            Err(why) => seen.wrong.push(format!("{kind}: {why}")),
            Ok(objects) => {
                for object in &objects {
                    seen.objects += 1;
                    if object.common().torn {
                        seen.torn += 1;
                    } else if let Some(why) = contradiction(object) {
                        seen.wrong.push(format!("{kind} {}: {why}", object.common().handle));
                    }
                }
            }
        }
    }
}

/// Reads all ranks of a program repeatedly until told to stop.
fn watch(binary: PathBuf, stop: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    while !stop.load(Ordering::Relaxed) && seen.wrong.len() < 10 {
        for found in discover().iter().flat_map(|job| &job.images) {
            let Ok(image) = found.open() else { continue };
            let ours = |process: &Process| Path::new(&process.executable) == binary;
            if Process::read(&image, None).is_ok_and(|process| ours(&process)) {
                look(&image, &mut seen);
            }
        }
    }
    seen
}

/// Runs a library's program until it was observed enough: on a busy machine the watcher may not get processor
/// time.
fn churn(library: &Library, ranks: usize, seconds: u64) {
    let enough = |seen: &Seen| seen.looks > 0 && seen.objects > 100;
    let seen = [1, 4, 16].into_iter().map(|times| once(library, ranks, times * seconds)).find(enough);
    let seen = seen.unwrap_or_else(|| panic!("{}: the watcher saw nothing", library.name));
    assert!(seen.torn * 20 < seen.objects, "{}: {} of {} torn", library.name, seen.torn, seen.objects);
}

fn once(library: &Library, ranks: usize, seconds: u64) -> Seen {
    let dir = tempfile::tempdir_in(paths::target_dir()).unwrap();
    let binary = dir.path().canonicalize().unwrap().join("churn");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../layer/tests/programs/churn.c");
    library.cc(&[&source], &binary).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = thread::spawn({
        let (binary, stop) = (binary.clone(), Arc::clone(&stop));
        move || watch(binary, stop)
    });
    let mut command = library.launch(ranks);
    let layer = paths::libmpiscope().expect("no libmpiscope.so: cargo build -p mpiscope-layer");
    command.arg(&binary).env("LD_PRELOAD", layer).env("OBJECTS_DIR", dir.path());
    command.env("CHURN_STEPS", "1000000000").env("CHURN_SECONDS", seconds.to_string());
    let outcome = run::bounded(&mut command, Duration::from_secs(60 + 2 * seconds)).unwrap();
    stop.store(true, Ordering::Relaxed);
    let seen = watcher.join().unwrap();
    println!(
        "{}: {}; {} looks, {} objects, {} torn",
        library.name,
        outcome.stdout.trim(),
        seen.looks,
        seen.objects,
        seen.torn
    );
    assert!(outcome.success(), "{}: {}", library.name, outcome.describe());
    assert!(seen.wrong.is_empty(), "{}: {}", library.name, seen.wrong.join("\n"));
    seen
}

#[test]
fn changing_objects_are_always_consistent_to_an_outside_reader() {
    let (seconds, ranks) = (setting("MPISCOPE_CHURN_SECONDS", 1), setting("MPISCOPE_CHURN_RANKS", 2));
    let only = std::env::var("MPISCOPE_TEST_ONLY").ok();
    for library in
        mpi::found().iter().filter(|library| only.as_ref().is_none_or(|only| *only == library.name))
    {
        churn(library, ranks as usize, seconds);
    }
}
