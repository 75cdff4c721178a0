//! Tables and answers with random damage, the same in every run: each yields processes, an error or less, in
//! bounded time, and no answer of another host adds processes that their own host does not confirm.
//!
//! `MPISCOPE_HOSTILE_ROUNDS` sets the number of rounds for a longer run. A failing round prints what to add
//! to `found.txt`, so that it is repeated in every later run.

use crate::memory::{BASE, Memory};
use crate::walking::{Fake, acquire, two_jobs};
use mpiscope_job::jobs::acquire::{Acquired, Start, mpi2dd, mpir};
use mpiscope_target::ByteOrder;
use mpiscope_testkit::damage::{Damage, Dice, damage, done};
use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Following a table takes longer than reading an answer.
const TABLES: u64 = 60;
const ANSWERS: u64 = 1000;
/// Bytes that are significant in an answer, or invalid anywhere.
const HURTFUL: &[u8] = b"0129-\"\\[]{},:ae\xff\x00";
const PATIENCE: Duration = Duration::from_secs(5);

fn rounds(usual: u64) -> u64 {
    std::env::var("MPISCOPE_HOSTILE_ROUNDS").map_or(usual, |text| text.parse().unwrap())
}

/// Returns what went wrong, if anything.
fn trial(work: impl FnOnce() -> Result<(), String>) -> Option<String> {
    let begin = Instant::now();
    match catch_unwind(AssertUnwindSafe(work)) {
        Err(_) => Some("a panic".into()),
        Ok(Err(why)) => Some(why),
        Ok(Ok(())) => (begin.elapsed() > PATIENCE).then(|| format!("{:?}", begin.elapsed())),
    }
}

/// Returns one of the tables of [`two_jobs`] as bytes.
fn table() -> Vec<u8> {
    two_jobs("a").processes[&("a".to_owned(), 10)].bytes.clone()
}

/// Reads the bytes as the block and as the other interface's table, and follows them.
fn damaged_tables(damage: &Damage) -> Result<(), String> {
    let bytes = done(table(), damage);
    let mut memory = Memory { width: 8, order: ByteOrder::Little, bytes };
    let _ = mpi2dd::read(&memory.target(10));
    let mut fake = two_jobs("a");
    let copy = Memory { width: 8, order: ByteOrder::Little, bytes: memory.bytes.clone() };
    fake.processes.insert(("a".to_owned(), 10), copy);
    let _ = acquire(&fake, Start::Pids(vec![10]), true);
    let size = memory.words(&[(3, 4)]);
    let table = memory.words(&[(BASE + 96, 8)]);
    let target = memory.target(1).with_symbol("MPIR_Breakpoint", 1);
    let _ = mpir::read(&target.with_symbol("MPIR_proctable", table).with_symbol("MPIR_proctable_size", size));
    Ok(())
}

/// Returns the answer of host `b` to host `a`, as text.
fn answer() -> Vec<u8> {
    let there = acquire(&two_jobs("b"), Start::Pids(vec![21, 30]), false).unwrap();
    serde_json::to_vec(&there).unwrap()
}

/// Takes in an answer, which may be invalid; it must not add processes of other hosts.
fn damaged_answer(bytes: &[u8]) -> Result<(), String> {
    let mut fake: Fake = two_jobs("a");
    fake.answer = Some(bytes.to_vec());
    let Ok(found) = acquire(&fake, Start::Pids(vec![10]), true) else { return Ok(()) };
    let asked: BTreeSet<String> = fake.asked.lock().unwrap().iter().cloned().collect();
    let foreign = |found: &Acquired| {
        let tabled = [10, 11, 20];
        let vouched =
            |host: &str, pid| if host == "a" { tabled.contains(&pid) } else { asked.contains(host) };
        let place =
            |p: &&mpiscope_job::jobs::acquire::Entry| !p.gone && !vouched(p.place.host.as_str(), p.place.pid);
        found.processes.iter().find(place).map(|p| format!("{p:?} is listed by the word of another host"))
    };
    foreign(&found).map_or(Ok(()), Err)
}

/// Returns the text with some changes: digits, quotes, brackets, and pieces of the text itself.
fn garbled(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(text.len());
        match dice.below(5) {
            0 => text.truncate(at.max(1)),
            1 => text[at] = HURTFUL[dice.below(HURTFUL.len())],
            2 => text[at] = dice.roll() as u8,
            3 => {
                let piece: Vec<u8> = text[at..].iter().copied().take(dice.below(80)).collect();
                text.splice(at..at, piece);
            }
            // Replace one host's name by the other's, or a number by another.
            _ => match text[at..].iter().position(|b| b.is_ascii_digit() || [b'a', b'b'].contains(b)) {
                Some(further) if text[at + further].is_ascii_digit() => text[at + further] = b'9',
                Some(further) => text[at + further] ^= b'a' ^ b'b',
                None => {}
            },
        }
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn found(kind: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acquire/found.txt");
    let text = fs::read_to_string(file).unwrap();
    text.lines().filter_map(|line| line.strip_prefix(kind)).map(|rest| rest.trim().to_owned()).collect()
}

#[test]
fn a_damaged_table_quickly_gives_processes_or_an_error() {
    let original = table();
    for round in 0..rounds(TABLES) {
        let damage = damage(&original, &mut Dice(round));
        let wrong = trial(|| damaged_tables(&damage));
        let words: Vec<String> = damage.iter().map(|(at, word)| format!("{at:x} {word:x}")).collect();
        assert_eq!(wrong, None, "add to found.txt:\ntable {}", words.join(" "));
    }
}

#[test]
fn a_damaged_answer_quickly_gives_processes_of_its_host_or_an_error() {
    let original = answer();
    damaged_answer(&original).unwrap();
    for round in 0..rounds(ANSWERS) {
        let text = garbled(&original, &mut Dice(round));
        assert_eq!(trial(|| damaged_answer(&text)), None, "add to found.txt:\nanswer {}", hex(&text));
    }
}

#[test]
fn previously_found_damage_to_tables_and_answers_is_handled() {
    for line in found("table") {
        let words: Vec<u64> = line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let damage: Damage = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(trial(|| damaged_tables(&damage)), None, "{line}");
    }
    for line in found("answer") {
        let byte = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
        let text: Vec<u8> = (0..line.len()).step_by(2).map(byte).collect();
        assert_eq!(trial(|| damaged_answer(&text)), None, "{line}");
    }
}
