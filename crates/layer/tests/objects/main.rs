//! C programs say what they did to MPI objects; the image of each rank must say the same. On every library.

mod facts;
mod said;
mod subject;

use facts::Images;
use said::Said;
use std::collections::BTreeMap;
use subject::{Run, run_on_all};

/// Values of objects with the same label on different ranks: those that all members must compute alike.
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
        assert_eq!(other, None, "{label} has the name of another communicator");
    }
}

#[test]
fn every_object_is_known_with_all_that_the_program_knows_of_it() {
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
