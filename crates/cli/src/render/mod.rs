//! Output: the only part of the program that knows about terminals.
//!
//! ```text
//! verb ──► typed values of `job` ──► lines, [`Table`] ──► [`Screen`]: escaped, fitted to the width, colored ──► stdout
//!                          └───────► JSON, always complete
//! ```
//!
//! Three rules apply to all output. Anything from outside (names given by programs, paths, answers of other
//! hosts) is shown with control characters and invalid UTF-8 escaped, and only [`mod@escape`] does that. A line
//! is never wider than the terminal; it is wrapped so that nothing is lost. Color only repeats what the
//! words say.

mod escape;
mod fit;
mod pager;
mod progress;
mod quantity;
mod screen;
mod table;
mod terminal;

pub use escape::escape;
pub use fit::{display_width, shorten};
pub use pager::{Paged, refuse as refuse_pager};
pub use progress::while_working;
pub use quantity::{ESTIMATED, age, bytes, calls, count, duration, moment, span, time_of_calls};
pub use screen::{Block, NOT_WRITTEN, Screen, complain, reader_is_gone, unless_gone};
pub use table::{Table, or_dash};
pub use terminal::{Colour, ColourChoice, Terminal};
