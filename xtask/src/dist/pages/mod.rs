//! The pages for new users. Their commands are run with the installed packages, and their output must match
//! the page except for times, process ids and handles.
//!
//! ```text
//! page ──► examples (a command and what it prints) ──► session (a shell in a fresh folder) ──► comparison
//! ```

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::paths;

use self::plan::{PLAN, Page};
use self::read::Example;
use self::session::{Ran, Session};

mod plan;
mod read;
mod session;
mod shape;

/// Number of pages at a time: their commands mostly wait, and none sees the processes of another page.
const AT_ONCE: usize = 2;

/// Runs the commands of all pages.
pub fn run(wheel: &Path, archive: &Path, libraries: &[Library], work: &Path) -> Result<()> {
    // The pages use `mpicc` and were written with the distribution's MPICH.
    let is_it = |library: &&Library| library.family == Family::Mpich && library.bin.is_none();
    let Some(library) = libraries.iter().find(is_it) else {
        println!("pages: skipped: the distribution's MPICH, which produced their output, is not installed");
        return Ok(());
    };
    if let Err(why) = session::possible() {
        println!("pages: skipped: {why:#}");
        return Ok(());
    }
    let one = |page: &Page| -> Result<Vec<String>> {
        let session = Session::new(page, wheel, archive, library, &work.join(page.file.replace('/', "-")))?;
        Ok(of_page(page, &session)?.into_iter().map(|what| format!("{}:{what}", page.file)).collect())
    };
    let pages = Mutex::new(PLAN.iter());
    let next = || pages.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        while let Some(page) = next() {
            wrong.extend(one(page)?);
        }
        Ok(wrong)
    };
    let ended: Vec<Result<Vec<String>>> = thread::scope(|scope| {
        let readers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(some)).collect();
        readers.into_iter().map(|reader| reader.join().unwrap_or_else(|why| resume_unwind(why))).collect()
    });
    let wrong: Vec<String> = ended.into_iter().collect::<Result<Vec<_>>>()?.concat();
    ensure!(wrong.is_empty(), "{} examples differ from the pages:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Runs a page and returns its errors.
fn of_page(page: &Page, session: &Session) -> Result<Vec<String>> {
    let text = fs::read_to_string(paths::workspace().join(page.file)).context(page.file)?;
    let examples = read::examples(&text);
    let (kept, left): (Vec<&Example>, Vec<&Example>) =
        examples.iter().partition(|example| page.reason_against(example).is_none());
    let mut said = String::new();
    for example in &left {
        let why = page.reason_against(example).unwrap_or_default();
        said += &format!("{}:{}: not run: {}: {why}\n", page.file, example.line, example.command);
    }
    let ran = session.run(&kept)?;
    let mut wrong = Vec::new();
    for (example, ran) in kept.iter().zip(&ran) {
        if let Some(what) = difference(page, example, ran, session) {
            wrong.push(format!("{}: {}\n{what}", example.line, example.command));
        }
    }
    println!("{said}{}: {} of {} commands run as written", page.file, kept.len(), examples.len());
    Ok(wrong)
}

fn difference(page: &Page, example: &Example, ran: &Ran, session: &Session) -> Option<String> {
    // Status 1 means that a problem was found, which is the subject of most examples.
    let fine = ran.status == 0 || ran.status == 1 && example.command.starts_with("mpiscope ");
    let shown = session.as_on_the_page(&ran.text);
    if !fine {
        return Some(format!("exit status {}:\n{shown}", ran.status));
    }
    let missing = shape::missing(&example.output, &shown, page.shape(example));
    missing.map(|line| format!("not printed: {line}\nbut:\n{shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_with_a_command_is_in_the_plan() {
        let docs = fs::read_dir(paths::workspace().join("docs")).unwrap();
        let names = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for file in names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")) {
            let text = fs::read_to_string(paths::workspace().join(&file)).unwrap();
            let planned = PLAN.iter().any(|page| page.file == file);
            assert!(planned || read::examples(&text).is_empty(), "{file}");
        }
    }

    #[test]
    fn every_command_in_the_plan_is_on_its_page() {
        for page in &PLAN {
            let text = fs::read_to_string(paths::workspace().join(page.file)).unwrap();
            let examples = read::examples(&text);
            assert!(!examples.is_empty(), "{}", page.file);
            for word in page.not_run.iter().map(|(word, _)| word).chain(page.of_times) {
                assert!(examples.iter().any(|one| one.is(word)), "{}: no command {word}", page.file);
            }
        }
    }
}
