//! What `cargo xtask gen` made from the tables in `spec/`.

#[rustfmt::skip]
pub mod constants;
#[rustfmt::skip]
pub mod functions;
#[rustfmt::skip]
pub mod predefined;
