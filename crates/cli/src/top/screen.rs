//! Draws a view on a terminal.

use super::interval::{Interval, Rank};
use super::keys;
use super::text::{self, COLUMNS, MOST_HOT};
use super::view::{Pane, View};
use crate::render::{bytes, display_width, duration, escape, shorten};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Clear, Paragraph, Row, Table, TableState};

/// Maximum number of lines of the strip.
const STRIP: u16 = 8;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, view: &View, colour: bool) {
    let area = frame.area();
    let Some(latest) = view.latest.as_deref() else {
        return frame.render_widget(Paragraph::new(format!("reading job {} ...", view.job)), area);
    };
    let problems = text::problems(latest);
    let shown = u16::try_from(problems.len()).unwrap_or(u16::MAX).min(3);
    let hot = u16::try_from(MOST_HOT + 1).unwrap_or(u16::MAX);
    // In little space, the most important parts come first.
    let strip = STRIP.min(area.height.saturating_sub(hot + shown + 12)).max(2);
    let heights = [4, shown, strip, 1, hot, 3, 1];
    let rows = heights
        .map(Constraint::Length)
        .map(|c| if c == Constraint::Length(3) { Constraint::Min(3) } else { c });
    let [head, wrong, letters, legend, functions, body, foot] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(lines(&text::head(view, latest), head)), head);
    let wrong_lines: Vec<Line<'_>> =
        problems.iter().map(|line| Line::styled(fitted(line, wrong), red(colour))).collect();
    frame.render_widget(Paragraph::new(wrong_lines), wrong);
    frame.render_widget(Paragraph::new(strip_lines(view, letters, colour)), letters);
    frame.render_widget(Paragraph::new(fitted(&text::legend(view), legend)).style(dim()), legend);
    hottest(frame, view, latest, functions);
    match view.pane {
        Pane::Ranks => ranks(frame, view, latest, body),
        Pane::Detail => frame.render_widget(Paragraph::new(lines(&detail(view, body), body)), body),
        Pane::Help => {
            let help = keys::HELP.map(|(key, what)| format!("{key:<12} {what}"));
            // Without room for all keys, the page covers the rest of the screen.
            let above = Rect { height: area.height.saturating_sub(foot.height), ..area };
            let room = if usize::from(body.height) < help.len() { above } else { body };
            frame.render_widget(Clear, room);
            frame.render_widget(Paragraph::new(lines(&help, room)), room);
        }
    }
    frame.render_widget(Paragraph::new(fitted(&foot_line(view), foot)).style(reversed()), foot);
}

fn fitted(line: &str, area: Rect) -> String {
    shorten(&escape(line), usize::from(area.width))
}

fn lines(text: &[String], area: Rect) -> Vec<Line<'static>> {
    text.iter().map(|line| Line::from(fitted(line, area))).collect()
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn reversed() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

fn red(colour: bool) -> Style {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    if colour { bold.fg(Color::Red) } else { bold }
}

/// Returns the color of a letter: computing is green, MPI blue, files yellow. The letters carry
/// the same information.
fn colour_of(letter: char) -> Color {
    match letter {
        '.' => Color::Green,
        'x' => Color::Red,
        'f' => Color::Yellow,
        'p' => Color::Magenta,
        '-' | 'F' | ' ' => Color::DarkGray,
        _ => Color::Blue,
    }
}

fn strip_lines(view: &View, area: Rect, colour: bool) -> Vec<Line<'static>> {
    let shown = view.strip.lines(usize::from(area.width), usize::from(area.height));
    let span = |letter: char| {
        let style = if colour { Style::new().fg(colour_of(letter)) } else { Style::new() };
        Span::styled(letter.to_string(), style)
    };
    shown.iter().map(|line| Line::from(line.chars().map(span).collect::<Vec<_>>())).collect()
}

/// Draws the functions of the interval on the left, and the places of the last samples on the
/// right.
fn hottest(frame: &mut Frame<'_>, view: &View, latest: &Interval, area: Rect) {
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(45), Constraint::Percentage(55)]).areas(area);
    let functions = latest.functions.iter().take(MOST_HOT);
    let own = functions.map(|f| format!("{:>5}  {}", f.times()[1], f.name));
    let own: Vec<String> = std::iter::once("% TIME FUNCTION".to_owned()).chain(own).collect();
    let places = view.places.hottest(MOST_HOT).into_iter();
    let places = places.map(|hot| format!("{:5.1}  {} {}", hot.share * 100.0, hot.function, hot.place));
    let places: Vec<String> = std::iter::once("% SAMPLES IN".to_owned()).chain(places).collect();
    frame.render_widget(Paragraph::new(lines(&own, left)), left);
    frame.render_widget(Paragraph::new(lines(&places, right)), right);
}

/// Width up to which the call and its place are kept whole in little space.
const CALL: u16 = 16;
const PLACE: u16 = 14;
/// The columns that are omitted in little space, in this order: memory, calls, share of MPI, place, age, useful time.
const OMITTED: [usize; 6] = [5, 4, 3, 8, 6, 2];

/// The columns of ranks, with their widths.
fn columns(widths: [u16; 9], room: u16) -> Vec<(usize, u16)> {
    let least = |at: usize| match (at, widths.get(at).copied().unwrap_or(0)) {
        (7, width) => width.min(CALL),
        (8, width) => width.min(PLACE),
        (_, width) => width,
    };
    let needed = |columns: &[usize]| columns.iter().map(|at| least(*at) + 1).fold(0, u16::saturating_add);
    let mut shown: Vec<usize> = (0..widths.len()).collect();
    for omitted in OMITTED {
        if needed(&shown) <= room.saturating_add(1) {
            break;
        }
        shown.retain(|column| *column != omitted);
    }
    // The columns of text share the rest.
    let numbers: Vec<usize> = shown.iter().copied().filter(|at| *at < 7).collect();
    let rest = room.saturating_sub(needed(&numbers));
    let has_place = shown.contains(&8);
    let [.., natural, _] = widths;
    let call = if has_place { natural.min((rest / 2).max(CALL)) } else { rest };
    let width = |at: &usize| match at {
        7 => call,
        8 => rest.saturating_sub(call + 1),
        at => least(*at),
    };
    shown.iter().map(|at| (*at, width(at))).collect()
}

fn ranks(frame: &mut Frame<'_>, view: &View, latest: &Interval, area: Rect) {
    let shown: Vec<_> = view.shown().iter().filter_map(|at| latest.ranks.get(*at)).collect();
    let cells = |rank: &&Rank| text::cells(rank).map(|cell| escape(&cell).into_owned());
    let all: Vec<_> = shown.iter().map(cells).collect();
    let mut widths: [u16; 9] = [5, 1, 8, 5, 7, 8, 7, 4, 5];
    for cells in &all {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(u16::try_from(display_width(cell)).unwrap_or(u16::MAX));
        }
    }
    let columns = columns(widths, area.width);
    let rows = shown.iter().zip(&all).map(|(rank, cells)| {
        // A truncated number would be a different number.
        let cell = |(at, width): &(usize, u16)| cells.get(*at).map(|cell| shorten(cell, usize::from(*width)));
        let row = Row::new(columns.iter().filter_map(cell).map(Cell::from));
        if rank.problem { row.style(Style::new().add_modifier(Modifier::BOLD)) } else { row }
    });
    let header = columns.iter().filter_map(|(at, _)| COLUMNS.get(*at).copied());
    let constraints = columns.iter().map(|(_, width)| Constraint::Length(*width));
    let table = Table::new(rows, constraints).header(Row::new(header).style(dim()));
    let mut state = TableState::default().with_selected(Some(view.selected));
    frame.render_stateful_widget(table.row_highlight_style(reversed()), area, &mut state);
}

/// Returns the lines of the detail pane.
fn detail(view: &View, area: Rect) -> Vec<String> {
    let Some((at, rank)) = view.chosen() else { return vec!["no rank is chosen".to_owned()] };
    let inside = if rank.open { "in " } else { "" };
    let about = if rank.about.is_empty() { String::new() } else { format!(" {}", rank.about) };
    let age = rank.age_s.map_or_else(String::new, |age| format!(", for {}", duration(age)));
    let mut lines = vec![
        format!("rank {} on {}, process {}", rank.rank, rank.host, rank.pid),
        format!("{inside}{}{about}{age}  {}", rank.call, rank.place),
        format!("over time: {}", view.strip.of_rank(at, usize::from(area.width).saturating_sub(11))),
        format!("{:>12} {:>9} {:>7} {:>9}  FUNCTION, since the start", "CALLS", "TIME", "% TIME", "BYTES"),
    ];
    lines.extend(rank.functions.iter().map(|f| {
        let [time, share] = f.times();
        format!("{:>12} {time:>9} {share:>7} {:>9}  {}", f.calls, bytes(f.bytes), f.name)
    }));
    lines
}

fn foot_line(view: &View) -> String {
    if view.typing {
        return format!("/{}_   (enter: keep, esc: clear)", view.filter);
    }
    let order = format!("sort {}{}", view.order.name(), if view.reversed { " reversed" } else { "" });
    let filter = if view.filter.is_empty() { String::new() } else { format!("   filter {}", view.filter) };
    let frozen = if view.frozen { "   FROZEN" } else { "" };
    format!("{order}{filter}{frozen}   s sort  / filter  space freeze  enter rank  ? help  q quit")
}
