//! Joins the timelines of ranks on several hosts, on one grid and with one clock.

use super::{FIRST_NS, Level, MOST, MOST_RANKS, Part, Timeline, Track};
use crate::base::clock_offset::HostClock;

impl Timeline {
    /// Adds the ranks of another host, whose data are not trusted to be within bounds. Without a clock its
    /// times are used unchanged.
    pub fn take_in(&mut self, other: Self, clock: Option<&HostClock>) {
        let Some(their_begin) = other.begin_ns else { return };
        let their_width = other.width_ns.clamp(FIRST_NS, u64::MAX / MOST as u64 / 4);
        // Drift within one run moves no window, so the offset in the middle of the run is used throughout.
        let middle = their_begin.saturating_add(their_width.saturating_mul(MOST as u64 / 2));
        let later_ns = clock.map_or(0, |clock| clock.later_ns(middle));
        let begin_there = their_begin.saturating_add_signed(later_ns);
        let theirs = other.tracks.into_iter().map(|track| track.later(later_ns));
        let grid = (begin_there, their_width);
        self.begin(begin_there.min(self.begin_ns.unwrap_or(begin_there)));
        self.left_out = self.left_out.saturating_add(other.left_out);
        self.waited |= other.waited;
        self.repetitions.take_in(other.repetitions, later_ns);
        for mut track in theirs {
            if self.tracks.len() >= MOST_RANKS {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            track.windows.truncate(MOST);
            track.resident.truncate(MOST);
            self.reach(track.until_ns);
            track.move_to(grid, self.grid());
            self.tracks.push(track);
        }
    }

    fn grid(&self) -> (u64, u64) {
        (self.begin_ns.unwrap_or_default(), self.width_ns)
    }

    /// Sets the beginning of the first window.
    fn begin(&mut self, begin_ns: u64) {
        let before = self.grid();
        let until_ns = self.tracks.iter().map(|track| track.until_ns).max();
        let moved = self.begin_ns.is_some_and(|known| known != begin_ns);
        self.begin_ns = Some(begin_ns);
        if let Some(until_ns) = until_ns.filter(|_| moved) {
            self.reach_on(before, until_ns);
        }
    }

    /// Extends the windows to this time.
    fn reach(&mut self, until_ns: u64) {
        self.reach_on(self.grid(), until_ns);
    }

    fn reach_on(&mut self, before: (u64, u64), until_ns: u64) {
        let long = until_ns.saturating_sub(self.begin_ns.unwrap_or_default());
        while long > self.width_ns.saturating_mul(MOST as u64) {
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        let now = self.grid();
        if now != before {
            self.tracks.iter_mut().for_each(|track| track.move_to(before, now));
        }
    }
}

impl Track {
    fn later(mut self, later_ns: i64) -> Self {
        self.from_ns = self.from_ns.saturating_add_signed(later_ns);
        self.until_ns = self.until_ns.saturating_add_signed(later_ns);
        self
    }

    fn move_to(&mut self, before: (u64, u64), now: (u64, u64)) {
        self.windows = self.on(before, now);
        self.resident = self.resident_on(before, now);
    }

    /// Moves its memory levels to another grid: a level belongs to the window that contains the middle of the
    /// old one.
    fn resident_on(&self, before: (u64, u64), now: (u64, u64)) -> Vec<Level> {
        let ((begin_before, width_before), (begin, width)) = (before, now);
        let mut resident = Vec::new();
        for (at, level) in (0u64..).zip(&self.resident) {
            let middle = begin_before.saturating_add(at.saturating_mul(width_before) + width_before / 2);
            let place = ((middle.saturating_sub(begin) / width.max(1)) as usize).min(MOST - 1);
            if resident.len() <= place {
                resident.resize(place + 1, Level::default());
            }
            resident.iter_mut().skip(place).take(1).for_each(|known: &mut Level| *known = known.and(*level));
        }
        resident
    }

    /// Moves its windows to another grid: the activity in each is spread evenly over the part during which
    /// the rank existed.
    fn on(&self, before: (u64, u64), now: (u64, u64)) -> Vec<Part> {
        let ((begin_before, width_before), (begin, width)) = (before, now);
        let last = self.until_ns.saturating_sub(begin + 1) / width.max(1);
        let mut windows = vec![Part::default(); (last as usize).min(MOST - 1) + 1];
        let edge = |at: u64| begin_before.saturating_add(at.saturating_mul(width_before));
        for (at, part) in (0u64..).zip(&self.windows).filter(|(_, part)| **part != Part::default()) {
            let (from, until) = (edge(at).max(self.from_ns), edge(at + 1).min(self.until_ns));
            let long = until.saturating_sub(from);
            // Activity reported for a time when the rank did not exist is attributed to the adjacent window.
            let (from, long) = if long == 0 { (edge(at), width_before.max(1)) } else { (from, long) };
            let (first, end) = (from.saturating_sub(begin) / width.max(1), from.saturating_add(long));
            for (at, window) in (0u64..).zip(&mut windows).skip(first as usize) {
                let start = begin.saturating_add(at.saturating_mul(width));
                if start >= end {
                    break;
                }
                let common = end.min(start.saturating_add(width)).saturating_sub(from.max(start));
                *window = window.and(*part, common as f64 / long as f64);
            }
        }
        windows
    }
}
