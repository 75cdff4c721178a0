//! Process acquisition on tables that the tests write themselves.

mod damaged;
mod hostile;
mod layouts;
mod memory;
mod walking;
