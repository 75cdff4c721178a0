//! How things are shown: the only place that knows terminals.
//!
//! ```text
//! verb ──► typed values of `job` ──► lines, [`Table`] ──► [`Screen`]: escaped, fitted to the width, coloured ──► stdout
//!                          └───────► JSON, complete whatever the width
//! ```
//!
//! Three rules hold for everything that is printed. What comes from outside (names that programs give, paths, answers of
//! other hosts) is shown with control characters and invalid UTF-8 escaped, by [`escape`] alone. A line is never wider than
//! the terminal, and nothing is lost for that: it is wrapped. Colour only repeats what the words say.

mod escape;
mod fit;
mod pager;
mod progress;
mod quantity;
mod screen;
mod table;
mod terminal;

pub use escape::escape;
pub use fit::shorten;
pub use pager::{Paged, refuse as refuse_pager};
pub use progress::while_working;
pub use quantity::{ESTIMATED, age, bytes, count, duration, moment, span, time_of_calls};
pub use screen::{Block, Screen, complain};
pub use table::{Table, or_dash};
pub use terminal::{Colour, ColourChoice, Terminal};
