//! Takes over the terminal, and restores it in all cases.

use super::keys::{self, Then};
use super::sampler::Sampler;
use super::screen;
use super::view::View;
use crate::render::Terminal;
use anyhow::{Context, Result};
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum latency of keys and signals.
const TICK: Duration = Duration::from_millis(50);

/// Shows the view until the user, a signal, the end of the job or the time limit ends it.
pub fn run(sampler: &Sampler, view: &mut View, until: Option<Instant>) -> Result<()> {
    let colour = Terminal::of(&io::stdout()).colour;
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
        signal_hook::flag::register_usize(number, Arc::clone(&signal), number.unsigned_abs() as usize)?;
    }
    // Also restores the terminal after a panic.
    let mut terminal = ratatui::try_init().context("cannot use the terminal; --once prints text")?;
    let shown = show(&mut terminal, sampler, view, until, colour, &signal);
    ratatui::restore();
    let number = signal.load(Ordering::Relaxed);
    if number != 0 {
        // Die of the signal, like any other program.
        emulate_default_handler(i32::try_from(number).unwrap_or(SIGTERM))?;
    }
    shown
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    sampler: &Sampler,
    view: &mut View,
    until: Option<Instant>,
    colour: bool,
    signal: &AtomicUsize,
) -> Result<()> {
    let keys = keys_pressed();
    while signal.load(Ordering::Relaxed) == 0 && until.is_none_or(|until| Instant::now() < until) {
        terminal.draw(|frame| screen::draw(frame, view, colour))?;
        match sampler.poll(TICK) {
            Ok(Some(interval)) => view.take(interval),
            Ok(None) => {}
            Err(_) => return Ok(()),
        }
        for key in keys.try_iter() {
            if keys::press(view, key?) == Then::End {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Starts a thread that reads the user's keys. It is separate because, if the terminal goes away, the event
/// reader spins without returning, and its caller would not notice the signal that reports this.
fn keys_pressed() -> Receiver<io::Result<KeyEvent>> {
    let (sender, keys) = mpsc::channel();
    thread::spawn(move || {
        loop {
            let key = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Ok(key),
                Ok(_) => continue,
                Err(why) => Err(why),
            };
            let over = key.is_err();
            if sender.send(key).is_err() || over {
                return;
            }
        }
    });
    keys
}
