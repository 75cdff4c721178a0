//! Core files that the kernel writes.

use anyhow::{Result, ensure};
use mpiscope_testkit::cores::core_in;
use mpiscope_testkit::mpi::Library;
use serde_json::Value;

use super::job::{Job, json, mpiscope, text, words};
use crate::subject::Subject;
use crate::views::cores::without_ages;

/// The launcher would end the other ranks as soon as one is gone, so every rank runs in a shell
/// that stays.
const STAY: [&str; 3] = ["sh", "-c", "\"$@\"; sleep 120"];

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start(subject, library, "crash", &[&STAY[..], &["sh"]].concat())?;
    let target = job.target();
    job.until("ranks 0, 1 and 3 are in their calls, and 2 in none", || {
        let answer = json(&["ps", &target, "--json"]).unwrap_or_default();
        let ranks = answer["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let sits = |rank: u64, function: &str| {
            ranks
                .iter()
                .any(|r| r["rank"].as_u64() == Some(rank) && r["threads"][0]["call"]["function"] == function)
        };
        let last = |r: &Value| r["rank"] == 2 && r["threads"][0]["last_call"]["function"] == "MPI_Allgather";
        let computes = ranks.iter().any(last);
        Ok(computes && sits(0, "MPI_Recv") && sits(1, "MPI_Allreduce") && sits(3, "MPI_Allreduce"))
    })?;
    let output = text(&["ps", &target])?;
    let row = output.lines().find(|line| line.starts_with("2 ")).unwrap_or_default();
    // It alternates between checking for a file and sleeping.
    let outside = ["computing", "sleeping"]
        .iter()
        .any(|doing| row.contains(&format!("  {doing}  after MPI_Allgather  ")));
    ensure!(outside && row.contains("  inspected.c:"), "{output}");
    job.signal("go")?;
    let dirs: Vec<_> = (0..4).map(|rank| job.path().join(rank.to_string())).collect();
    let written = |rank: usize| dirs.get(rank).and_then(|dir| core_in(dir)).is_some();
    job.until("three core files", || Ok([0, 1, 3].iter().all(|rank| written(*rank))))?;
    job.signal("rest")?;
    job.until("the fourth core file", || Ok(written(2)))?;
    // The process is gone once its core file is complete.
    job.until("all ranks are gone", || {
        let answer = json(&["ps", &target, "--json"]).unwrap_or_default();
        let ranks = answer["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(ranks.len() == 4 && ranks.iter().all(|r| r["alive"] == false))
    })?;
    let files: Vec<String> =
        dirs.iter().filter_map(|dir| core_in(dir)).map(|path| path.display().to_string()).collect();
    ensure!(files.len() == 4, "{files:?}");
    postmortem(&files)
}

fn postmortem(files: &[String]) -> Result<()> {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let outcome = mpiscope(&words(&[&["core"][..], &files].concat()))?;
    let output = &outcome.stdout;
    ensure!(outcome.code() == 1, "{}", outcome.describe());
    for wanted in [
        "4 core files: ranks [0-3] of 4",
        "failed: rank 2 on ",
        "SIGSEGV, null pointer accessed (address 0x10)",
        "at crash at inspected.c:",
        "  last call: MPI_Allgather at inspected.c:",
        " before it died\n",
        "\nranks [0-1,3] wait for rank 2, which has ended: it died of SIGSEGV, after",
        "  rank 0: in MPI_Recv at inspected.c:",
        ", waiting for a message from rank 2 with tag 7 on \"solver\", for ",
        "  ranks [1,3]: in MPI_Allreduce at inspected.c:",
        ", not entered by ranks [0,2], for ",
        "  rank 2: has ended: it died of SIGSEGV, after",
    ] {
        ensure!(output.contains(wanted), "no {wanted:?} in\n{output}{}", outcome.stderr);
    }
    let postmortem = json(&[&["core", "--json"][..], &files].concat())?;
    ensure!(
        postmortem["first"]["rank"] == 2 && postmortem["first"]["failed"] == "2",
        "{}",
        postmortem["first"]
    );
    let first: &Value = &postmortem["deaths"][0];
    ensure!(first["signal"]["name"] == "SIGQUIT" && first["signal"]["own"] == false, "{first}");
    let call = &first["threads"][0]["call"];
    ensure!(
        call["peer"]["rank"] == 2 && call["tag"] == "7" && call["datatype"]["name"] == "MPI_INT",
        "{call}"
    );
    let why = json(&[&["why", "--json"][..], &files].concat())?;
    ensure!(
        without_ages(&postmortem["why"]) == without_ages(&why),
        "core: {}\nwhy: {why}",
        postmortem["why"]
    );
    Ok(())
}
