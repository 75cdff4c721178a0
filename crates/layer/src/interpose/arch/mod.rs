//! The few functions that must be assembly, one file per architecture.
//!
//! Each file defines `export_stub!` (an exported function consisting of an indirect jump), `export_marked!`,
//! `gate`, `resolver`, `pcontrol`, the thread-local block with `tls_address`, and `trampoline!` for user
//! callbacks.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;
