//! Process acquisition from tables written by the tests.

mod damaged;
mod hostile;
mod layouts;
mod memory;
mod walking;
