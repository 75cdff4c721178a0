//! Views of made-up jobs on an in-memory terminal.

use super::interval::{Function, Interval, Rank, SCHEMA};
use super::keys::{Then, press};
use super::screen;
use super::view::{Order, Pane, View};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn rank(number: usize, letter: char) -> Rank {
    Rank {
        rank: number.to_string(),
        host: format!("node{}", number / 64),
        pid: 1000,
        letter,
        call: if letter == '.' { "after MPI_Recv".into() } else { "MPI_Allreduce".into() },
        open: letter != '.',
        age_s: Some(0.5 + number as f64),
        place: format!("solver.c:{}", 10 + number % 3),
        about: "on WORLD".into(),
        mpi_share: if letter == '.' { 0.1 } else { 0.9 },
        useful_share: if letter == '.' { 0.9 } else { 0.1 },
        calls: number as u64,
        bytes: 8,
        resident: Some(1_000_000),
        problem: false,
        functions: Vec::new(),
    }
}

fn interval(ranks: usize) -> Box<Interval> {
    let letter = |number: usize| if number == ranks - 1 { '.' } else { 'c' };
    let function = |name: &str| Function {
        name: name.into(),
        calls: 7,
        time_s: Some(0.4),
        share: Some(0.4),
        bytes: 56,
        estimated: 0,
    };
    Box::new(Interval {
        schema: SCHEMA,
        job: "j-1".into(),
        command: "./solver \x1b[2J".into(),
        unix_s: 0.0,
        seconds: 1.0,
        wall_s: 12.0,
        times: true,
        mpi_share: 0.5,
        polling_share: 0.0,
        efficiencies: None,
        overall: None,
        in_flight: 3,
        pending: 2,
        posted: 1,
        functions: vec![function("MPI_Allreduce"), function("MPI_Wait")],
        ranks: (0..ranks).map(|number| rank(number, letter(number))).collect(),
        silent: 0,
        lost: 0,
        crowded: Vec::new(),
        verdict: None,
        not_seen: Vec::new(),
    })
}

fn view(ranks: usize) -> View {
    let mut view = View::new("j-1".into());
    view.take(interval(ranks));
    view
}

fn drawn(view: &View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(frame, view, false)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

fn keys(view: &mut View, keys: &str) -> Then {
    let code = |letter| match letter {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        'v' => KeyCode::Down,
        letter => KeyCode::Char(letter),
    };
    let press = |_, letter| press(view, KeyEvent::new(code(letter), KeyModifiers::NONE));
    keys.chars().fold(Then::GoOn, press)
}

#[test]
fn the_screen_has_the_strip_the_functions_the_ranks_and_the_keys() {
    let text = drawn(&view(4), 80, 24).join("\n");
    for part in [
        "j-1  ./solver \\x1b[2J",
        "4 ranks on 1 host",
        "in flight 3",
        "\nccc.\n",
        "c other collective",
        "40.0  MPI_Allreduce",
        "solver.c:10",
        "? help",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_thousand_ranks_fit_in_eighty_columns_and_the_late_one_is_first_by_useful_time() {
    let mut view = view(1000);
    keys(&mut view, "s");
    assert_eq!(view.order, Order::Useful);
    let lines = drawn(&view, 80, 24);
    let head = lines.iter().position(|line| line.starts_with("RANK")).unwrap();
    assert!(lines[head + 1].starts_with("999   . 90"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("cccc") && line.ends_with('.')), "{lines:#?}");
    for (width, height) in [(20, 5), (1, 1), (400, 100)] {
        assert_eq!(drawn(&view, width, height).len(), usize::from(height));
    }
}

#[test]
fn rank_numbers_are_never_truncated() {
    let mut interval = interval(2);
    interval.ranks[0] = Rank { age_s: Some(0.0175), calls: 1_234_567_890, ..rank(0, 'c') };
    let mut view = View::new("j-1".into());
    view.take(interval);
    let lines = drawn(&view, 80, 24);
    let row = lines.iter().find(|line| line.contains("1234567890")).unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(row.contains(" 17.5 ms ") && row.contains("MPI_Allreduce"), "milliseconds are no minutes: {row}");
}

#[test]
fn a_filter_keeps_matching_ranks_and_esc_removes_it() {
    let mut view = view(100);
    keys(&mut view, "/NODE1\n");
    assert_eq!((view.shown().len(), view.typing), (36, false));
    assert!(drawn(&view, 80, 24).last().unwrap().contains("filter NODE1"));
    keys(&mut view, "\x1b");
    assert_eq!(view.shown().len(), 100);
    assert_eq!(keys(&mut view, "/q"), Then::GoOn, "a letter of a filter is no command");
}

#[test]
fn a_frozen_view_stays_unchanged_until_resumed() {
    let mut view = view(4);
    keys(&mut view, " ");
    view.take(interval(8));
    assert_eq!(view.shown().len(), 4);
    keys(&mut view, " ");
    view.take(interval(8));
    assert_eq!(view.shown().len(), 8);
}

#[test]
fn enter_shows_the_chosen_rank_and_question_mark_shows_the_keys() {
    let mut view = view(4);
    keys(&mut view, "vv\n");
    assert_eq!(view.chosen().map(|(_, rank)| rank.rank.as_str()), Some("2"));
    assert!(drawn(&view, 80, 30).join("\n").contains("rank 2 on node0, process 1000"));
    keys(&mut view, "?");
    assert_eq!(view.pane, Pane::Help);
    assert!(drawn(&view, 80, 30).join("\n").contains("show only ranks whose"));
    assert_eq!(keys(&mut view, "?q"), Then::End);
}

#[test]
fn on_a_narrow_terminal_columns_are_omitted_and_numbers_are_whole() {
    for (width, head, row) in [
        (
            80,
            "RANK    % USEFUL % MPI CALLS   MEMORY   AGE     CALL",
            "0     c 10       90    0       1.00 MB  500 ms",
        ),
        (
            60,
            "RANK    % USEFUL % MPI AGE     CALL",
            "0     c 10       90    500 ms  MPI_Allreduce  solver.c:10",
        ),
        (40, "RANK    % USEFUL AGE     CALL", "0     c 10       500 ms  MPI_Allreduce"),
        (20, "RANK    CALL", "0     c MPI_Allre..."),
    ] {
        let lines = drawn(&view(2), width, 24);
        assert!(lines.iter().any(|line| line.starts_with(head)), "{head}: {lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with(row)), "{row}: {lines:#?}");
    }
}

#[test]
fn all_keys_are_on_the_help_page_of_a_small_terminal() {
    let mut view = view(4);
    keys(&mut view, "?");
    for height in [24, 10] {
        let lines = drawn(&view, 80, height);
        for (key, _) in super::keys::HELP {
            assert!(lines.iter().any(|line| line.starts_with(key)), "{key}: {lines:#?}");
        }
        assert!(lines[usize::from(height) - 1].contains("? help"));
    }
}

#[test]
fn a_rank_between_calls_is_described_without_stray_spaces() {
    let mut interval = interval(1);
    interval.ranks[0].about = String::new();
    let mut view = View::new("j-1".into());
    view.take(interval);
    keys(&mut view, "\n");
    let lines = drawn(&view, 80, 30);
    assert!(lines.iter().any(|line| line == "after MPI_Recv, for 500 ms  solver.c:10"), "{lines:#?}");
}
