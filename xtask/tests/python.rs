//! Tests the Python module in the source tree.

use std::process::Command;

use mpiscope_testkit::paths;

#[test]
fn the_constants_of_the_module_equal_those_of_the_tables() {
    let script = paths::workspace().join("python/generate.py");
    let output = Command::new("python3").arg(script).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn python_imports_the_module_and_its_examples_are_correct() {
    let script = "import doctest, mpiscope, mpiscope._record, mpiscope.values, mpiscope.mpit, sys; \
                  found = [doctest.testmod(one) for one in (mpiscope._record, mpiscope.values)]; \
                  sys.exit(any(one.failed or one.attempted < 5 for one in found))";
    let mut python = Command::new("python3");
    python.args(["-B", "-c", script]).env("PYTHONPATH", paths::workspace().join("python"));
    let output = python.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
