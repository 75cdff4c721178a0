//! Objects created by a Fortran program, identified by their Fortran integers.

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::program::{Needs, Program};
use serde_json::Value;

use super::job::{Job, json, mpiscope, words};
use crate::subject::Subject;

pub const MPIF: Program = Program { name: "fortran_objects", ranks: 2, needs: Needs::Fortran };
pub const F08: Program = Program { name: "fortran_objects_f08", ranks: 2, needs: Needs::F08 };

/// The reason why a library cannot be tested with `mpif.h`, if any.
pub fn missing(library: &Library) -> Option<&'static str> {
    MPIF.needs.missing_in(library)
}

/// The reason why a library cannot be tested with `mpi_f08`, if any.
pub fn f08_missing(library: &Library) -> Option<&'static str> {
    F08.needs.missing_in(library)
}

pub fn check(subject: &Subject, library: &Library) -> Result<()> {
    program(&MPIF, subject, library)
}

pub fn f08_check(subject: &Subject, library: &Library) -> Result<()> {
    program(&F08, subject, library)
}

fn program(program: &Program, subject: &Subject, library: &Library) -> Result<()> {
    let mut job = Job::start_of(program, subject, library, &[], &[])?;
    job.all_ready()?;
    for rank in 0..program.ranks {
        let numbers = std::fs::read_to_string(job.path().join(format!("handles.{rank}")))?;
        let numbers: Vec<&str> = numbers.split_whitespace().collect();
        let [first, second, comm, errors, win_errors, file_errors, keyval] = numbers[..] else {
            anyhow::bail!("rank {rank} named {numbers:?}")
        };
        let rank = Asked { target: job.target(), rank: rank.to_string(), family: library.family };
        rank.files(first, second)?;
        rank.handler(errors, "comm", "on_error_")?;
        rank.handler(win_errors, "win", "on_win_error_")?;
        rank.handler(file_errors, "file", "on_file_error_")?;
        rank.attribute(comm, keyval)?;
        rank.unknown()?;
    }
    job.signal("go")?;
    job.finish()
}

/// The inspected rank of the job.
struct Asked {
    target: String,
    rank: String,
    family: Family,
}

impl Asked {
    /// The object of a Fortran integer.
    fn object(&self, kind: &str, number: &str) -> Result<Value> {
        let handle = format!("--handle={number}");
        let words =
            ["inspect", &self.target, "--rank", &self.rank, "--kind", kind, "--fortran", &handle, "--json"];
        let answer = json(&words)?;
        let object = answer["ranks"][0]["objects"][0].clone();
        let number: i64 = number.parse()?;
        ensure!(object["fortran"] == number, "{kind} {number}: {answer}");
        Ok(object)
    }

    fn files(&self, first: &str, second: &str) -> Result<()> {
        for (number, name) in [(first, "/first"), (second, "/second")] {
            let file = self.object("file", number)?;
            ensure!(file["path"].as_str().is_some_and(|path| path.ends_with(name)), "{name}: {file}");
            ensure!(file["fortran_unasked"] == false, "{file}");
            let wrote = u64::from(name == "/second");
            let access = &file["access"];
            ensure!(access["reads"] == 0 && access["writes"] == wrote, "{name}: {access}");
            ensure!(access["written_bytes"] == 16 * wrote, "{name}: {access}");
        }
        Ok(())
    }

    fn handler(&self, number: &str, of: &str, function: &str) -> Result<()> {
        let handler = self.object("errhandler", number)?;
        ensure!(handler["of"] == of && handler["fortran_function"] == true, "{function}: {handler}");
        let brief = handler["brief"].as_str().unwrap_or_default();
        ensure!(brief.starts_with(function), "{function}: {handler}");
        let maker = format!("MPI_{}_create_errhandler", of[..1].to_uppercase() + &of[1..]);
        ensure!(handler["created"]["function"] == maker, "{function}: {handler}");
        ensure!(handler["created"]["address"] != "0x0", "{function}: {handler}");
        let attached = handler["attached"].as_array().context("no list")?;
        ensure!(attached.len() == usize::from(of != "win"), "{function}: {handler}");
        Ok(())
    }

    fn attribute(&self, comm: &str, keyval: &str) -> Result<()> {
        let comm = self.object("comm", comm)?;
        let attribute = &comm["attributes"][0];
        ensure!(attribute["value"] == "0x1234", "{comm}");
        let words = ["inspect", &self.target, "--rank", &self.rank, "--kind", "keyval", "--json"];
        let answer = json(&words)?;
        let keys = answer["ranks"][0]["objects"].as_array().context("no keys")?;
        let keyval: i64 = keyval.parse()?;
        let key = keys.iter().find(|key| key["keyval"] == keyval);
        let key = key.with_context(|| format!("no key {keyval}: {keys:?}"))?;
        // MPICH's binding passes on the address of the variable, Open MPI's its value.
        let extra = if self.family == Family::OpenMpi {
            key["extra_state"] == "0x4d"
        } else {
            key["extra_state"] != "0x0"
        };
        ensure!(key["of"] == "comm" && extra, "{key}");
        ensure!(key["created"]["function"] == "MPI_Comm_create_keyval", "{key}");
        let fortran = key["marks"].as_array().is_some_and(|marks| marks.contains(&"made by Fortran".into()));
        ensure!(fortran && attribute["keyval"] == keyval, "{key} {attribute}");
        Ok(())
    }

    /// Checks a number that identifies no object.
    fn unknown(&self) -> Result<()> {
        let arguments = words(&[
            "inspect",
            &self.target,
            "--rank",
            &self.rank,
            "--kind",
            "file",
            "--fortran",
            "--handle",
            "4711",
        ]);
        let outcome = mpiscope(&arguments)?;
        // Past the end of Open MPI's table there may be anything, but no handle.
        let words = if self.family == Family::OpenMpi { ": " } else { "4711 is not a Fortran handle" };
        ensure!(outcome.code() == 2 && outcome.stdout.contains(words), "{}", outcome.describe());
        Ok(())
    }
}
