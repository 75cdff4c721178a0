//! Runs several debuggers at once in tmux, four panes per window.

use super::batch::split;
use super::debugger::Debugger;
use crate::open_files;
use crate::render::complain;
use anyhow::{Context, Result, bail};
use mpiscope_job::base::shell;
use mpiscope_job::jobs::acquire::{Entry, Remote};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Panes per window.
const PANES: usize = 4;

/// A pane with its name and command.
struct Pane {
    name: String,
    words: Vec<String>,
}

/// A session that was opened for the debuggers of a job.
#[derive(Debug)]
pub struct Session(String);

impl Session {
    /// Closes the session of a job that has ended, as soon as nobody looks at it.
    pub fn close(&self) {
        // Without these signs, a session whose name only begins like this one could be meant.
        let exactly = format!("={}:", self.0);
        let tmux = |words: &[&str]| open_files::as_before(Command::new("tmux").args(words)).output().ok();
        let Some(clients) = tmux(&["list-clients", "-t", &exactly]) else { return };
        let words: &[&str] = match clients.stdout.is_empty() {
            true => &["kill-session", "-t", &exactly],
            false => &["set-option", "-t", &exactly, "destroy-unattached", "on"],
        };
        // The user may have closed it.
        let _closed = tmux(words);
    }
}

/// Opens a debugger for each process; `remote` reaches other hosts. Without it, the processes are on this
/// host and held in `MPI_Init`, and the terminal belongs to another program. Returns the session if one was opened in
/// the background.
pub fn open(chosen: &[Entry], debugger: &Debugger, remote: Option<&Remote>) -> Result<Option<Session>> {
    let held = remote.is_none();
    let panes = panes(chosen, debugger, remote)?;
    let inside = std::env::var_os("TMUX").is_some();
    if let ([only], false) = (panes.as_slice(), held || inside) {
        let program = only.words.first().map_or("", String::as_str);
        let error = Command::new(program).args(only.words.iter().skip(1)).exec();
        return Err(error).with_context(|| format!("{program} cannot be started; install it"));
    }
    if !(held || inside || io::stdin().is_terminal() && io::stdout().is_terminal()) {
        bail!("several debuggers need a terminal: choose one rank with --ranks, or use --batch");
    }
    let session = format!("mpiscope-{}", std::process::id());
    for words in plan(&panes, (!inside).then_some(session.as_str())) {
        if let Err(why) = tmux(&words) {
            // Debuggers that nobody sees would keep their ranks stopped.
            if !inside {
                let _none_yet = Command::new("tmux").args(["kill-session", "-t", &session]).output();
            }
            return Err(why);
        }
    }
    if !inside && held {
        complain(
            "",
            &format!(
                "a debugger is attached to every rank: run `tmux attach -t {session}` in another terminal to see them"
            ),
        );
    } else if !inside {
        let error = Command::new("tmux").args(["attach", "-t", &session]).exec();
        return Err(error).context("tmux cannot be started");
    }
    Ok((!inside).then_some(Session(session)))
}

/// Fails if tmux is missing.
pub fn is_there() -> Result<()> {
    let found = Command::new("tmux").arg("-V").output();
    found
        .map(drop)
        .context("--debug opens debuggers in tmux, which cannot be started; install it, or use --hold")
}

/// Runs a command of tmux.
fn tmux(words: &[String]) -> Result<()> {
    let done = open_files::as_before(Command::new("tmux").args(words)).status().context(
        "cannot start tmux, which shows several debuggers at once; install it, choose one rank with --ranks, or use \
         --batch",
    )?;
    if !done.success() {
        bail!("`tmux {}` failed; choose fewer ranks with --ranks, or use --batch", shell::line(words));
    }
    Ok(())
}

/// Makes the panes for processes that can be reached with a terminal, and reports where the others are.
fn panes(chosen: &[Entry], debugger: &Debugger, remote: Option<&Remote>) -> Result<Vec<Pane>> {
    let held = remote.is_none();
    let (here, elsewhere) = if held { (chosen.to_vec(), BTreeMap::new()) } else { split(chosen) };
    for entry in &here {
        // Reports why it is forbidden, before a screen full of debuggers reports only that it is.
        mpiscope_job::jobs::live_process::may_read(entry.place.pid)?;
    }
    let pane = |entry: &Entry| Pane { name: name(entry), words: debugger.interactive(entry.place.pid, held) };
    let mut panes: Vec<Pane> = here.iter().map(pane).collect();
    for (host, entries) in &elsewhere {
        let there = |entry: &Entry| {
            let words = remote?.terminal(host, &asked(entry, debugger))?;
            Some(Pane { name: name(entry), words })
        };
        let opened: Option<Vec<Pane>> = entries.iter().map(there).collect();
        panes.extend(opened.unwrap_or_else(|| {
            let (pid, n) = (entries.first().map_or(0, |entry| entry.place.pid), entries.len());
            let advice = format!("{n} of the processes run on {host}: run `mpiscope attach {pid}` there");
            complain("attach", &advice);
            Vec::new()
        }));
    }
    if panes.is_empty() {
        bail!("no terminal can be opened from this host for any of the chosen processes");
    }
    Ok(panes)
}

fn name(entry: &Entry) -> String {
    entry.rank.map_or_else(|| "?".to_owned(), |rank| format!("rank {rank}"))
}

/// Returns the arguments for this program on a process's host: a debugger for this process only.
fn asked(entry: &Entry, debugger: &Debugger) -> Vec<String> {
    let words = ["attach", "--here", "--only"].into_iter().map(str::to_owned);
    let target = [entry.place.pid.to_string(), "--".to_owned()];
    words.chain(target).chain(debugger.words().cloned()).collect()
}

/// Returns the tmux commands that open all panes, in a new session or in the current one.
fn plan(panes: &[Pane], session: Option<&str>) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for (index, pane) in panes.iter().enumerate() {
        let mut command: Vec<&str> = match (index % PANES, session) {
            (0, Some(session)) if index == 0 => vec!["new-session", "-d", "-s", session],
            (0, Some(session)) => vec!["new-window", "-t", session],
            (0, None) => vec!["new-window"],
            (_, Some(session)) => vec!["split-window", "-t", session],
            (_, None) => vec!["split-window"],
        };
        if index % PANES == 0 {
            command.extend(["-n", &pane.name]);
        }
        let mut words: Vec<String> = command.into_iter().map(str::to_owned).collect();
        words.push(shell::line(&pane.words));
        commands.push(words);
        let mut layout = vec!["select-layout".to_owned()];
        layout.extend(session.iter().flat_map(|session| ["-t".to_owned(), (*session).to_owned()]));
        layout.push("tiled".into());
        commands.push(layout);
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::jobs::acquire::ProcessLocation;

    fn entry(rank: u32) -> Entry {
        Entry {
            world: "w".into(),
            rank: Some(rank),
            place: ProcessLocation { host: "h".into(), pid: 100 + rank },
            executable: "/a".into(),
            spawned: None,
            gone: false,
            silent: false,
        }
    }

    fn panes(entries: &[Entry], held: bool) -> Vec<Pane> {
        let words = |entry: &Entry| Debugger::new(&[]).interactive(entry.place.pid, held);
        entries.iter().map(|entry| Pane { name: name(entry), words: words(entry) }).collect()
    }

    #[test]
    fn another_host_is_asked_for_one_process_and_the_chosen_debugger() {
        let gdb = ["gdb".to_owned(), "-tui".to_owned()];
        let words = asked(&entry(3), &Debugger::new(&gdb));
        assert_eq!(words, ["attach", "--here", "--only", "103", "--", "gdb", "-tui"]);
    }

    #[test]
    fn five_ranks_are_four_panes_and_a_second_window() {
        let entries: Vec<Entry> = (0..5).map(entry).collect();
        let plan = plan(&panes(&entries, false), Some("s"));
        let first: Vec<&str> = plan.iter().filter_map(|words| words.first().map(String::as_str)).collect();
        let opening: Vec<&str> = first.into_iter().filter(|word| *word != "select-layout").collect();
        assert_eq!(opening, ["new-session", "split-window", "split-window", "split-window", "new-window"]);
        assert!(plan[0].last().unwrap().contains("attach 100"), "{plan:?}");
    }

    #[test]
    fn a_held_rank_is_released_from_mpi_init_by_its_debugger() {
        let plan = plan(&panes(&[entry(0)], true), None);
        assert_eq!(plan[0][0], "new-window");
        assert!(plan[0].last().unwrap().contains("MPIR_debug_gate"));
    }
}
