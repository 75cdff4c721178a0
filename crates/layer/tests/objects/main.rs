//! C programs report what they did to MPI objects; the image of each rank must agree. On every library.

mod facts;
mod said;
mod subject;

use facts::Images;
use said::Said;
use std::collections::BTreeMap;
use subject::{Run, run_on_all};

/// Checks the identities of objects with the same label on different ranks, which all members must compute
/// alike.
fn identities(runs: &[(Said, Images)]) {
    let mut by_label: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (said, images) in runs {
        for object in &said.objects {
            if let Some(label) = object.value("same") {
                by_label.entry(label).or_default().push(images.identity(object));
            }
        }
    }
    for (label, found) in &by_label {
        assert!(found.iter().all(|i| *i != 0 && *i == found[0]), "{label}: {found:x?}");
    }
    let mut by_name: BTreeMap<u64, &str> = BTreeMap::new();
    for (label, found) in &by_label {
        let other = by_name.insert(found[0], label);
        assert_eq!(other, None, "{label} has the name of another object");
    }
}

#[test]
fn every_object_is_recorded_with_all_its_properties() {
    run_on_all("objects.c", 3, &[], |run: &Run| {
        let mut runs = Vec::new();
        for rank in 0..3 {
            let (said, images) = (run.said(rank), run.image(rank, "image"));
            let epochs = run.image(rank, "epochs");
            for object in &said.objects {
                let images = if object.kind == "win" { &epochs } else { &images };
                images.check(&said, object);
            }
            for label in ["fenced", "locked", "posted"] {
                let window = said.find(label);
                assert_eq!(images.fact(window, "epochs"), "0", "{label} after all epochs ended");
                assert_eq!(images.fact(window, "pending"), "0", "{label}");
            }
            runs.push((said, images));
        }
        identities(&runs);
    });
}

/// Number of steps in each of four threads; set it to a million for the long run.
fn churn_steps() -> String {
    std::env::var("MPISCOPE_CHURN_STEPS").unwrap_or_else(|_| "5000".to_owned())
}

#[test]
fn objects_created_and_freed_in_four_threads_agree_with_the_programs_model() {
    run_on_all("churn.c", 2, &[("CHURN_STEPS", &churn_steps())], |run: &Run| {
        print!("{}", run.output);
        for rank in 0..2 {
            let (said, images) = (run.said(rank), run.image(rank, "image"));
            for object in &said.objects {
                images.check(&said, object);
            }
            for kind in ["comm", "datatype", "group", "info", "op", "errhandler"] {
                let mut model: Vec<u64> =
                    said.objects.iter().filter(|o| o.kind == kind).map(|o| o.handle).collect();
                model.sort_unstable();
                model.dedup();
                model.retain(|handle| !images.is_predefined(kind, *handle));
                assert_eq!(images.living(kind), model, "rank {rank}: {kind}");
            }
            for copy in (0..4).filter_map(|n| run.image_if(rank, &format!("live{n}"))) {
                copy.is_sound();
            }
        }
    });
}

/// Number of iterations of the program that creates and frees everything; set it to a million for the long
/// run.
fn steady_steps() -> String {
    std::env::var("MPISCOPE_STEADY_STEPS").unwrap_or_else(|_| "5000".to_owned())
}

#[test]
fn creating_and_freeing_objects_forever_does_not_grow_the_image() {
    let variables = [("STEADY_STEPS", &*steady_steps()), ("MPISCOPE_TOMBSTONES", "4")];
    run_on_all("steady.c", 2, &variables, |run: &Run| {
        for rank in 0..2 {
            let [early, late] = ["early", "late"].map(|end| run.image(rank, end));
            assert!(early.tombstones() > 0, "the program frees objects");
            assert_eq!(late.used(), early.used(), "bytes by section on rank {rank}");
        }
    });
}

#[test]
fn the_environment_limits_tombstones_and_the_rest_are_counted() {
    let variables = [("CHURN_STEPS", "2000"), ("MPISCOPE_TOMBSTONES", "10")];
    run_on_all("churn.c", 1, &variables, |run: &Run| {
        let images = run.image(0, "image");
        assert!(images.tombstones() > 0 && images.tombstones() <= 10 * 10, "{}", images.tombstones());
        assert!(images.lost_tombstones() > 100);
    });
}

#[test]
fn a_program_that_only_uses_sessions_has_its_objects_and_names() {
    run_on_all("sessions.c", 2, &[], |run: &Run| {
        let mut runs = Vec::new();
        for rank in 0..2 {
            let (said, images) = (run.said(rank), run.image(rank, "image"));
            for object in &said.objects {
                images.check(&said, object);
            }
            if !said.objects.is_empty() {
                let end = run.image(rank, "end");
                assert_eq!((end.living("comm"), end.living("group"), end.living("info")), Default::default());
            }
            runs.push((said, images));
        }
        identities(&runs);
    });
}

#[test]
fn internal_objects_of_the_library_and_failed_ones_are_not_shown() {
    const KINDS: [&str; 6] = ["comm", "group", "datatype", "op", "errhandler", "info"];
    run_on_all("hidden.c", 2, &[], |run: &Run| {
        for rank in 0..2 {
            let said = run.said(rank);
            let [before, image, failed] = ["before", "image", "failed"].map(|end| run.image(rank, end));
            for kind in KINDS {
                assert_eq!(before.living(kind), image.living(kind), "{kind} after work");
                assert_eq!(before.living(kind), failed.living(kind), "{kind} after failures");
            }
            let more: Vec<_> = KINDS.iter().map(|kind| image.ever(kind) - before.ever(kind)).collect();
            assert_eq!(
                more,
                [1, 0, 1, 0, 0, 0],
                "{KINDS:?}: one communicator and one datatype belong to the program"
            );
            let more: Vec<_> = KINDS.iter().map(|kind| failed.ever(kind) - image.ever(kind)).collect();
            assert_eq!(more, [0, 1, 0, 0, 0, 0], "{KINDS:?}: one group was really created");
            for object in &said.objects {
                failed.check(&said, object);
            }
        }
    });
}
