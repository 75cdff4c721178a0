//! Process acquisition on tables that the tests write themselves.

mod hostile;
mod layouts;
mod memory;
mod walking;
