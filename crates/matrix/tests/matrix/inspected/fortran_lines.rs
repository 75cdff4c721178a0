//! Source lines of a Fortran program: its objects are reported as created and freed there, rather than at
//! places in the binding.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::Program;
use serde_json::Value;

use super::fortran::{F08, MPIF};
use super::job::{Job, json};
use crate::subject::Subject;

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    program(&MPIF, subject, library)
}

pub fn f08_check(subject: &Subject, library: &Library) -> Result<()> {
    program(&F08, subject, library)
}

fn program(program: &Program, subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(program, subject, library, &[], &[])?;
    job.all_ready()?;
    let asked = Asked { target: job.target(), program };
    asked.made("comm", "MPI_Comm_dup", "MPI_Comm_dup(MPI_COMM_WORLD")?;
    asked.made("file", "MPI_File_open", "'/first'")?;
    asked.made("file", "MPI_File_open", "'/second'")?;
    for of in ["Comm", "Win", "File"] {
        let function = format!("MPI_{of}_create_errhandler");
        asked.made("errhandler", &function, &format!("{function}("))?;
    }
    asked.freed("comm", "MPI_Comm_free", "MPI_Comm_free(second")?;
    asked.key()?;
    job.signal("go")?;
    job.finish()?;
    // Objects that the program never frees, in the report of the whole job.
    let made = "MPI_Comm_create_errhandler";
    let line = format!("{made} at {}", line_of(program, made)?);
    ensure!(job.stderr().contains(&line), "{line}\n{}", job.stderr());
    Ok(())
}

/// `file:line` of the only line of the program that calls MPI with these words.
pub fn line_of(program: &Program, words: &str) -> Result<String> {
    let source = program.source();
    let text = std::fs::read_to_string(&source)?;
    let calls = |line: &str| line.trim_start().starts_with("call MPI_") && line.contains(words);
    let mut lines = text.lines().zip(1..).filter(|(line, _)| calls(line)).map(|(_, number)| number);
    let (Some(number), None) = (lines.next(), lines.next()) else {
        anyhow::bail!("not exactly one line of {} calls MPI with {words}", source.display())
    };
    let name = source.file_name().context("no name")?;
    Ok(format!("{}:{number}", name.to_string_lossy()))
}

struct Asked<'a> {
    target: String,
    program: &'a Program,
}

impl Asked<'_> {
    /// The places where objects of a kind were created or freed, on each rank.
    fn places(&self, kind: &str, call_site: &str, function: &str) -> Result<Vec<Vec<String>>> {
        let answer = json(&["inspect", &self.target, "--kind", kind, "--freed", "--json"])?;
        let ranks = answer["ranks"].as_array().context("no ranks")?;
        ensure!(ranks.len() == self.program.ranks, "{answer}");
        let of_rank = |rank: &Value| {
            let deeds = rank["objects"].as_array().into_iter().flatten().map(|object| &object[call_site]);
            let ours = deeds.filter(|call_site| call_site["function"] == function);
            ours.filter_map(|call_site| call_site["place"].as_str().map(str::to_owned)).collect()
        };
        Ok(ranks.iter().map(of_rank).collect())
    }

    fn done(&self, kind: &str, call_site: &str, function: &str, words: &str) -> Result<()> {
        let line = line_of(self.program, words)?;
        for places in self.places(kind, call_site, function)? {
            ensure!(places.contains(&line), "{kind} {call_site} at {line}: {places:?}");
        }
        Ok(())
    }

    fn made(&self, kind: &str, function: &str, words: &str) -> Result<()> {
        self.done(kind, "created", function, words)
    }

    fn freed(&self, kind: &str, function: &str, words: &str) -> Result<()> {
        self.done(kind, "freed", function, words)
    }

    /// GCC assigns a call with procedure arguments declared by an interface to the line of the program's
    /// name.
    fn key(&self) -> Result<()> {
        let source = self.program.source();
        let file = source.file_name().context("no name")?.to_string_lossy().into_owned();
        for places in self.places("keyval", "created", "MPI_Comm_create_keyval")? {
            let ours = places.iter().filter(|place| place.starts_with(&file)).count();
            ensure!(ours == 1 && places.len() == 1, "{places:?}");
        }
        Ok(())
    }
}
