//! The gate at the end of `MPI_Init`, and permission to trace this process.
#![allow(unsafe_code)]

use super::block::MPI2DD_info;
use super::symbols::MPIR_debug_gate;
use crate::base::complaint::complain;
use crate::base::settings::variable;
use mpiscope_debug_interfaces::mpi2dd::flag;
use std::ffi::CStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long ranks are held by default.
const HOLD: Duration = Duration::from_secs(600);
/// How often the gate is polled.
const LOOK: Duration = Duration::from_millis(10);

/// Whether the variable is set to something other than 0.
fn says_yes(name: &CStr) -> bool {
    variable(name).is_some_and(|value| !value.is_empty() && value.as_c_str() != c"0")
}

/// Whether a debugger is present or announced.
pub fn debugged() -> bool {
    MPI2DD_info.asked(flag::BEING_DEBUGGED) || says_yes(c"MPISCOPE_HOLD") || says_yes(c"MPISCOPE_DEBUG")
}

/// Whether ranks may announce their locations to each other, because the job may be acquired.
pub fn acquirable() -> bool {
    debugged() || says_yes(c"MPISCOPE_ACQUIRE")
}

/// Whether they may also be announced to other worlds: not if only the ranks of this one were deliberately
/// started with this library (`MPISCOPE_ACQUIRE=world`), as by `mpirun mpiscope run`.
pub fn beyond() -> bool {
    acquirable() && variable(c"MPISCOPE_ACQUIRE").as_deref() != Some(c"world")
}

/// Holds the process until a debugger releases it, if one is present or announced.
pub fn hold(speaker: bool) {
    let held = MPI2DD_info.asked(flag::BEING_DEBUGGED) || says_yes(c"MPISCOPE_HOLD");
    if !held || open() {
        return;
    }
    let seconds = variable(c"MPISCOPE_HOLD_SECONDS").and_then(|s| s.to_str().ok()?.parse().ok());
    let limit = seconds.map_or(HOLD, Duration::from_secs);
    if speaker {
        // SAFETY: no arguments, always succeeds.
        let pid = unsafe { libc::getpid() };
        complain(&format!(
            "the ranks are waiting in MPI_Init for a debugger, for up to {} s. Attach (`mpiscope attach {pid}`), then \
             release them: `mpiscope attach {pid} --release`, or set MPIR_debug_gate to 1 in each rank",
            limit.as_secs()
        ));
    }
    let begin = Instant::now();
    while !open() {
        if begin.elapsed() >= limit {
            complain("no debugger released the ranks in time (MPISCOPE_HOLD_SECONDS); the program continues");
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn open() -> bool {
    MPI2DD_info.asked(flag::GATE) || MPIR_debug_gate.load(Ordering::Acquire) != 0
}

/// Allows a process to trace this one even if Yama forbids it: `MPISCOPE_PTRACER` is a process ID or `any`.
pub fn allow_tracer() {
    let Some(value) = variable(c"MPISCOPE_PTRACER").filter(|v| !v.is_empty()) else { return };
    let tracer = match value.to_str() {
        Ok("any") => libc::PR_SET_PTRACER_ANY,
        Ok(text) => match text.parse() {
            Ok(pid) => pid,
            Err(_) => {
                return complain(
                    "MPISCOPE_PTRACER is neither a process ID nor 'any'; no additional process may attach",
                );
            }
        },
        Err(_) => return,
    };
    // SAFETY: sets an attribute of this process. Kernels without Yama refuse, but do not need it.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer, 0, 0, 0) };
}
