//! What `mpiscope doctor` reports on a launcher that starts ranks on several hosts.

use crate::common::{Hosts, MPISCOPE, alone, launcher, libraries, one};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use serde_json::Value;
use std::path::Path;

/// Returns the result with this layer and time limit: problems by name, passed checks, and the complete
/// output.
fn found(
    hosts: &Hosts,
    library: &Library,
    layer: &Path,
    seconds: &str,
) -> (Vec<[String; 2]>, Vec<String>, String) {
    let mut command = hosts.on("login", MPISCOPE, library);
    command.args(["doctor", "--json", "--for", seconds]).args(launcher(library)).arg(MPISCOPE);
    let outcome = hosts.run(command.env("MPISCOPE_LAYER", layer));
    let all = outcome.describe();
    let answer: Value = serde_json::from_str(outcome.stdout.trim()).unwrap_or_else(|_| panic!("{all}"));
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let (mut problems, mut fine) = (Vec::new(), Vec::new());
    for check in answer["checks"].as_array().into_iter().flatten() {
        match check["result"].as_str() {
            Some("problem") => problems.push([text(check, "check"), text(check, "found")]),
            Some("fine") => fine.push(text(check, "found")),
            _ => {}
        }
    }
    (problems, fine, all)
}

pub fn doctor_names_the_ranks_of_a_host_without_the_layer_and_of_one_that_is_down() {
    let _turn = alone();
    let (hosts, library) = (Hosts::new(false), one());
    let (layers, nothing) = (hosts.dir.path().join("layers"), hosts.dir.path().join("nothing"));
    std::fs::create_dir(&layers).unwrap();
    std::fs::create_dir(&nothing).unwrap();
    let layer = layers.join("libmpiscope.so");
    std::fs::copy(paths::libmpiscope().unwrap(), &layer).unwrap();
    let everybody = "6 processes answered: n1 [0-1], n2 [2-3], n3 [4-5]".to_owned();
    let preloaded = "the layer is loaded in every process".to_owned();

    for library in libraries() {
        // Started as `run` would do it: not every launcher passes variables on.
        let (problems, fine, all) = found(&hosts, &library, &layer, "60");
        assert!(problems.is_empty() && fine.contains(&everybody) && fine.contains(&preloaded), "{all}");
    }

    // On this host the folder has different contents.
    let mut hide = hosts.on("n3", "mount", &library);
    assert!(hosts.run(hide.arg("--bind").args([&nothing, &layers])).success());
    let (problems, fine, all) = found(&hosts, &library, &layer, "60");
    assert_eq!(problems, [["preloading", "the layer is not loaded in ranks [4-5] on n3"]], "{all}");
    assert!(fine.contains(&everybody), "{all}");
    assert!(hosts.run(hosts.on("n3", "umount", &library).arg(&layers)).success());

    hosts.cut("n3");
    let (problems, fine, all) = found(&hosts, &library, &layer, "12");
    let silent = "4 processes answered: n1 [0-1], n2 [2-3]; ranks [4-5] of 6 did not";
    assert_eq!(problems, [["ranks", silent], ["launcher", "it did not finish within 12 s"]], "{all}");
    assert!(fine.contains(&preloaded), "{all}");
}
