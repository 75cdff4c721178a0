//! The program as our child process: starts it under the layer, forwards signals and waits for it.
#![allow(unsafe_code)]

use super::collector::Collector;
use super::environment::Environment;
use super::hosts;
use super::launcher::command as words;
use super::lost::Lost;
use super::signals::{self, Event, Signals};
use super::starter::Starter;
use crate::open_files;
use crate::render::complain;
use anyhow::Result;
use mpiscope_job::hosts::setup;
use mpiscope_job::model::process::Ending;
use rustix::event::{PollFd, PollFlags, poll};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode};

/// What happens to the program when this process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// It keeps running.
    Loose,
    /// It is killed too: a launcher that kills this process means the program.
    Tight,
}

/// Starts the program.
pub fn spawn(
    program: &[OsString],
    environment: &Environment,
    signals: &Signals,
    tie: Tie,
) -> io::Result<Child> {
    let mut command = command(program, environment, tie)?;
    let image = environment.image;
    let mask = signals.mask();
    let parent = std::process::id();
    let prepare = move || {
        mask.restore();
        if let Some(fd) = image {
            // SAFETY: clears the close-on-exec flag of a descriptor of this process.
            if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        if tie == Tie::Tight {
            // SAFETY: sets an attribute of this process; no memory is involved.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            // SAFETY: no arguments. The parent may have died before the attribute was set.
            if unsafe { libc::getppid() } as u32 != parent {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure calls only sigprocmask, fcntl, prctl and getppid.
    unsafe { command.pre_exec(prepare) };
    open_files::as_before(&mut command).spawn()
}

/// Runs a rank's program in place of this process. Returns only if that fails.
pub fn replace(program: &[OsString], environment: &Environment) -> io::Error {
    match command(program, environment, Tie::Tight) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

fn command(program: &[OsString], environment: &Environment, tie: Tie) -> io::Result<Command> {
    let Some((name, arguments)) = program.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(name);
    command.args(arguments).envs(environment.variables());
    if tie == Tie::Tight {
        // The program does not need the secret.
        command.env_remove(hosts::SECRET);
    }
    Ok(command)
}

/// Explains why the program could not be started. The exit status is the one a shell would use.
pub fn not_started(program: &[OsString], error: &io::Error) -> ExitCode {
    let name = program.first().map(|p| p.to_string_lossy()).unwrap_or_default();
    let missing = error.kind() == io::ErrorKind::NotFound;
    complain("run", &format!("{name}: {error}{}", advice(program.first(), error)));
    ExitCode::from(if missing { 127 } else { 126 })
}

fn advice(program: Option<&OsString>, error: &io::Error) -> String {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => {
            // A file that exists lacks the program that runs it.
            let file = program.map(|program| words::file_of(program));
            let file = file.filter(|file| file.is_file() && file.components().count() > 1);
            let needs =
                file.map(|file| setup::interpreter_of_script(&std::fs::read(file).unwrap_or_default()));
            match needs {
                None => "; is it in PATH, or is `./` missing?".to_owned(),
                Some(Some(needs)) => format!("; it is a script for {}: does that exist?", needs.display()),
                Some(None) => "; does its dynamic loader exist (`file` names it)?".to_owned(),
            }
        }
        (io::ErrorKind::PermissionDenied, _) | (_, Some(libc::ENOEXEC)) => "; is it executable?".to_owned(),
        _ => String::new(),
    }
}

/// Waits for the program and forwards signals, running the collector meanwhile. `before_the_end` is called
/// before forwarding a signal that announces or causes the end of the job; its argument is whether the
/// terminal has already sent the signal to the program.
pub fn supervise(
    mut child: Child,
    signals: &Signals,
    mut whole: Option<(&mut Collector, &mut Starter, &mut Lost<'_>)>,
    before_the_end: &dyn Fn(bool),
) -> Result<Ending> {
    loop {
        match &mut whole {
            Some((collector, starter, lost)) => {
                collector.wait(signals.as_fd(), lost.pause(starter.patience(collector.peers())))?;
                starter.look(collector.peers());
                starter.record_ends(collector.peers(), false);
                if let Some(signal) = lost.look() {
                    send(&child, signal);
                }
            }
            None => {
                let _interrupted = poll(&mut [PollFd::new(signals, PollFlags::IN)], None);
            }
        }
        while let Some(event) = signals.next() {
            if let Event::Sent(signal) | Event::Terminal(signal) = event
                && signals::ends_jobs(signal)
            {
                before_the_end(matches!(event, Event::Terminal(_)));
            }
            if let Event::Sent(signal) = event {
                send(&child, signal);
            }
        }
        if let Some(status) = child.try_wait()? {
            if let Some((collector, starter, _)) = &mut whole {
                // After an abort, ranks may outlive the launcher.
                collector.settle();
                starter.record_ends(collector.peers(), true);
            }
            return Ok(match status.signal() {
                Some(signal) => Ending::Signal(signal),
                None => Ending::Exit(status.code().unwrap_or(0)),
            });
        }
    }
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: a signal to our own child, which has not been reaped yet.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
}

/// Ends this process as the program ended, with the same exit status or signal, so that our parent sees what
/// it would have seen without us.
pub fn end_like(ending: Ending) -> Result<ExitCode> {
    match ending {
        Ending::Exit(code) => Ok(ExitCode::from(code as u8)),
        Ending::Signal(signal) => {
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: disables our own core dump (the program's is the useful one), then restores the
            // signal's default action, which ends the process.
            unsafe {
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            Ok(ExitCode::from(128u8.wrapping_add(signal as u8)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_script_without_its_interpreter_is_told_from_a_missing_program() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert!(advice(Some(&"no-such-program".into()), &missing).contains("is it in PATH"));
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/no/such/shell\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let said = advice(Some(&script.clone().into()), &missing);
        assert!(said.contains("a script for /no/such/shell"), "{said}");
        std::fs::write(&script, "\x7fELF").unwrap();
        assert!(advice(Some(&script.into()), &missing).contains("dynamic loader"));
    }
}
