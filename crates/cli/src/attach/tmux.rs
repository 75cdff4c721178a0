//! Several debuggers at once: panes of tmux, four to a window.

use super::batch::split;
use super::debugger::Debugger;
use crate::render::complain;
use anyhow::{Context, Result, bail};
use mpiscope_job::acquire::Entry;
use mpiscope_job::shell;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Panes of one window.
const PANES: usize = 4;

/// Opens a debugger for each process of this host. `held` processes are waiting in `MPI_Init`, and the terminal
/// belongs to somebody else.
pub fn open(chosen: &[Entry], debugger: &Debugger, held: bool) -> Result<()> {
    let (here, elsewhere) = if held { (chosen.to_vec(), Default::default()) } else { split(chosen) };
    for (host, entries) in &elsewhere {
        let pid = entries.first().map_or(0, |entry| entry.place.pid);
        let n = entries.len();
        complain("attach", &format!("{n} of the processes run on {host}: run `mpiscope attach {pid}` there"));
    }
    if here.is_empty() {
        bail!("none of the chosen processes runs on this host");
    }
    for entry in &here {
        // Says why it is forbidden before a screen full of debuggers says only that it is.
        mpiscope_job::live_process::may_read(entry.place.pid)?;
    }
    let inside = std::env::var_os("TMUX").is_some();
    if let ([only], false) = (here.as_slice(), held || inside) {
        let words = debugger.interactive(only.place.pid, false);
        let error = Command::new(debugger.program()).args(words.iter().skip(1)).exec();
        return Err(error).with_context(|| format!("{} cannot be started; install it", debugger.program()));
    }
    let session = format!("mpiscope-{}", std::process::id());
    for words in plan(&here, debugger, held, (!inside).then_some(session.as_str())) {
        let done = Command::new("tmux").args(&words).status();
        let done = done.context(
            "tmux cannot be started, which shows several debuggers at once; install it, choose one rank by --ranks, or \
             use --batch",
        )?;
        if !done.success() {
            bail!("`tmux {}` failed; choose fewer ranks by --ranks, or use --batch", shell::line(&words));
        }
    }
    if !inside && held {
        complain(
            "",
            &format!(
                "a debugger is on every rank: `tmux attach -t {session}` in another terminal shows them"
            ),
        );
    } else if !inside {
        let error = Command::new("tmux").args(["attach", "-t", &session]).exec();
        return Err(error).context("tmux cannot be started");
    }
    Ok(())
}

/// The commands of tmux that open all panes, in a session of their own or in the one we are in.
fn plan(entries: &[Entry], debugger: &Debugger, held: bool, session: Option<&str>) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let mut command: Vec<&str> = match (index % PANES, session) {
            (0, Some(session)) if index == 0 => vec!["new-session", "-d", "-s", session],
            (0, Some(session)) => vec!["new-window", "-t", session],
            (0, None) => vec!["new-window"],
            (_, Some(session)) => vec!["split-window", "-t", session],
            (_, None) => vec!["split-window"],
        };
        let name = entry.rank.map_or_else(|| "?".to_owned(), |rank| format!("rank {rank}"));
        if index % PANES == 0 {
            command.extend(["-n", &name]);
        }
        let mut words: Vec<String> = command.into_iter().map(str::to_owned).collect();
        words.push(shell::line(debugger.interactive(entry.place.pid, held)));
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
    use mpiscope_job::acquire::ProcessLocation;

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

    #[test]
    fn five_ranks_are_four_panes_and_a_second_window() {
        let entries: Vec<Entry> = (0..5).map(entry).collect();
        let plan = plan(&entries, &Debugger::new(&[]), false, Some("s"));
        let first: Vec<&str> = plan.iter().filter_map(|words| words.first().map(String::as_str)).collect();
        let opening: Vec<&str> = first.into_iter().filter(|word| *word != "select-layout").collect();
        assert_eq!(opening, ["new-session", "split-window", "split-window", "split-window", "new-window"]);
        assert!(plan[0].last().unwrap().contains("attach 100"), "{plan:?}");
    }

    #[test]
    fn a_held_rank_is_let_out_of_mpi_init_by_its_debugger() {
        let plan = plan(&[entry(0)], &Debugger::new(&[]), true, None);
        assert_eq!(plan[0][0], "new-window");
        assert!(plan[0].last().unwrap().contains("MPIR_debug_gate"));
    }
}
