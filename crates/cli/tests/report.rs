//! `mpiscope report` on saved images of ranks that are inside calls.

use mpiscope_job::test_image::TestImage;
use std::process::Command;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");

fn report(arguments: &[&str]) -> String {
    let output = Command::new(MPISCOPE).env("COLUMNS", "120").arg("report").args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_open_call_is_shown_by_function_by_rank_and_by_place_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rank.image");
    let sample = TestImage::new("hung", 0, 1);
    sample.called("MPI_Init", 1, 1000, 0);
    sample.enters("MPI_Recv", [0x4400_0000, 0x4c00_0405, 1], 0, 7);
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::fs::write(&path, sample.bytes()).unwrap();
    let path = path.to_str().unwrap();

    let time = report(&["--section", "time", path]);
    let (functions, ranks) = time.split_once("by rank").unwrap();
    let row = functions.lines().find(|line| line.trim_start().starts_with("MPI_Recv"));
    assert!(row.is_some_and(|row| row.contains(" 1 open ")), "{time}");
    assert!(ranks.lines().any(|line| line.trim_end().ends_with("MPI_Recv")), "{time}");

    let sites = report(&["--section", "sites", path]);
    let open: Vec<&str> = sites.lines().filter(|line| line.contains("still open: MPI_Recv")).collect();
    assert!(matches!(open[..], [line] if line.contains("on rank 0")), "{sites}");
}
