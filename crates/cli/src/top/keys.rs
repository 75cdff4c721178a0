//! Key bindings, as in `top`, `htop` and `less`.

use super::view::{Pane, View};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Rows per page.
const PAGE: usize = 10;

/// All keys, for the help page.
pub const HELP: [(&str, &str); 9] = [
    ("s  S  r", "sort by the next column, by rank, in reverse"),
    ("/", "show only ranks whose rank, host, call or place contains a text"),
    ("space", "freeze; again: resume"),
    ("up down j k", "choose a rank; also page up, page down, home, end"),
    ("enter", "show the chosen rank alone; again or esc: back"),
    ("esc", "back; if nothing is open: clear the filter"),
    ("? h", "show this page"),
    ("q", "quit (the job continues)"),
    ("ctrl-c", "the same"),
];

/// What to do after a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    End,
}

/// Handles a key.
pub fn press(view: &mut View, key: KeyEvent) -> Then {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Then::End;
    }
    if view.typing {
        write(view, key.code);
        return Then::GoOn;
    }
    match key.code {
        KeyCode::Char('q') => return Then::End,
        KeyCode::Char('?' | 'h') => view.pane = other(view.pane, Pane::Help),
        KeyCode::Enter => view.pane = other(view.pane, Pane::Detail),
        KeyCode::Esc if view.pane == Pane::Ranks => view.filter.clear(),
        KeyCode::Esc => view.pane = Pane::Ranks,
        KeyCode::Char('s') => view.order = view.order.next(),
        KeyCode::Char('S') => view.order = super::view::Order::default(),
        KeyCode::Char('r') => view.reversed = !view.reversed,
        KeyCode::Char('/') => view.typing = true,
        KeyCode::Char(' ') => view.frozen = !view.frozen,
        code => go(view, code),
    }
    Then::GoOn
}

/// Toggles a pane.
fn other(now: Pane, wanted: Pane) -> Pane {
    if now == wanted { Pane::Ranks } else { wanted }
}

fn write(view: &mut View, code: KeyCode) {
    match code {
        KeyCode::Enter => view.typing = false,
        KeyCode::Esc => {
            view.typing = false;
            view.filter.clear();
        }
        KeyCode::Backspace => drop(view.filter.pop()),
        KeyCode::Char(letter) => view.filter.push(letter),
        _ => {}
    }
    view.selected = 0;
}

fn go(view: &mut View, code: KeyCode) {
    let last = view.shown().len().saturating_sub(1);
    let now = view.selected;
    let to = match code {
        KeyCode::Up | KeyCode::Char('k') => now.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => now + 1,
        KeyCode::PageUp => now.saturating_sub(PAGE),
        KeyCode::PageDown => now + PAGE,
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => now,
    };
    view.selected = to.min(last);
}
