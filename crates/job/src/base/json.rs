//! Values as JSON. Whatever they are written to, the code that writes a type is compiled only once.

use serde::Serialize;
use serde_json::Result;
use std::io::Write;

/// Writes a value in one line, without an end of line. The writer should be buffered.
///
/// # Errors
/// If the writer fails.
pub fn write(out: &mut dyn Write, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(out, value)
}

/// Returns a value in one line, without an end of line.
///
/// # Errors
/// If a key of a map is not a string.
pub fn text(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    write(&mut text, value)?;
    Ok(text)
}
