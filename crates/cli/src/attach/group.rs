//! Groups equal answers of many ranks.
//!
//! Two stacks are equal if they differ only in details that vary by chance or by rank: addresses, thread
//! numbers and argument values. A line of a group shows what all members have in common; a group of one keeps
//! everything.

use mpiscope_job::RankSet;
use std::collections::BTreeMap;

/// One rank's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Name of its world.
    pub world: String,
    pub rank: Option<u32>,
    pub pid: u32,
    /// The debugger's output.
    pub text: String,
}

/// Formats the groups of ranks with equal answers, largest first.
pub fn lines(answers: &[Answer]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&Answer>> = BTreeMap::new();
    for answer in answers {
        groups.entry(without_values(&without_addresses(&answer.text))).or_default().push(answer);
    }
    let mut groups: Vec<(String, Vec<&Answer>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, members)| {
        let first = members.iter().map(|m| (m.world.clone(), m.rank)).min();
        (std::cmp::Reverse(members.len()), first)
    });
    let several = answers.iter().any(|a| answers.first().is_some_and(|first| first.world != a.world));
    let mut lines = Vec::new();
    for (key, members) in groups {
        let text = match members.as_slice() {
            [only] => only.text.clone(),
            _ => in_common(&key, &members),
        };
        lines.push(format!("{} ({})", heads(&members, several), processes(members.len())));
        if text.trim().is_empty() {
            lines.push("  (no output)".to_owned());
        } else {
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        lines.push(String::new());
    }
    lines
}

/// Returns the text of a group, with the argument values that all members share.
fn in_common(key: &str, members: &[&Answer]) -> String {
    let texts: Vec<String> = members.iter().map(|member| without_addresses(&member.text)).collect();
    let mut lines: Vec<_> = texts.iter().map(|text| text.lines()).collect();
    let mut out = String::new();
    for key in key.lines() {
        let these: Vec<Option<&str>> = lines.iter_mut().map(Iterator::next).collect();
        let first = these.first().copied().flatten();
        let same = these.iter().all(|line| *line == first);
        out.push_str(if same { first.unwrap_or(key) } else { key });
        out.push('\n');
    }
    out
}

/// Replaces argument values in lines that are stack frames or thread headers.
fn without_values(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !is_of_stack(line) {
            out.push_str(line);
        } else {
            let mut skipping = false;
            for c in line.chars() {
                skipping &= !matches!(c, ',' | ')');
                if !skipping {
                    out.push(c);
                }
                if c == '=' && !skipping {
                    out.push_str("...");
                    skipping = true;
                }
            }
        }
        out.push('\n');
    }
    out
}

/// Whether a line is a stack frame or a thread header, of gdb (`#1  main (…`, `Thread 0x…`) or lldb
/// (`  * frame #1: …`).
fn is_of_stack(line: &str) -> bool {
    let begin = line.trim_start().trim_start_matches("* ");
    begin.starts_with('#') || begin.starts_with("frame #") || line.contains("Thread ")
}

fn processes(n: usize) -> String {
    if n == 1 { "1 process".into() } else { format!("{n} processes") }
}

/// Returns the ranks of a group, with their worlds if there are several.
fn heads(members: &[&Answer], several: bool) -> String {
    let mut worlds: BTreeMap<&str, (RankSet, Vec<u32>)> = BTreeMap::new();
    for member in members {
        let (ranks, nameless) = worlds.entry(&member.world).or_default();
        match member.rank {
            Some(rank) => drop(ranks.0.insert(rank)),
            None => nameless.push(member.pid),
        }
    }
    let head = |(world, (ranks, nameless)): (&str, (RankSet, Vec<u32>))| {
        let mut parts = Vec::new();
        match (ranks.0.is_empty(), several && !world.is_empty()) {
            (true, _) => {}
            (false, true) => parts.push(format!("{} of {world}", ranks.named())),
            (false, false) => parts.push(ranks.named()),
        }
        parts.extend(nameless.iter().map(|pid| format!("process {pid}")));
        parts.join(", ")
    };
    worlds.into_iter().map(head).collect::<Vec<_>>().join("; ")
}

/// Replaces every address and thread number.
fn without_addresses(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = ["0x", "LWP ", "process "].iter().filter_map(|mark| rest.find(mark)).min() {
            let (before, from) = rest.split_at(at);
            let mark_len = if from.starts_with("0x") { 2 } else { from.find(' ').map_or(0, |i| i + 1) };
            let (mark, tail) = from.split_at(mark_len);
            let digits = tail.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(tail.len());
            out.push_str(before);
            out.push_str(mark);
            if digits > 0 {
                out.push_str("...");
            }
            rest = &tail[digits..];
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(world: &str, rank: u32, text: &str) -> Answer {
        Answer { world: world.into(), rank: Some(rank), pid: 100 + rank, text: text.into() }
    }

    #[test]
    fn stacks_that_differ_in_addresses_only_are_shown_once_with_their_ranks() {
        let stack =
            |at: u32| format!("#0  0x{at:x} in poll () from /lib/libc.so\n#1  main (argv=0x{at:x}) at a.c:3");
        let mut answers: Vec<Answer> = [0, 2, 3, 4, 5].map(|r| answer("w", r, &stack(0x7000 + r))).to_vec();
        answers.push(answer("w", 1, "#0  0xabc in write ()"));
        let lines = lines(&answers);
        assert_eq!(lines[0], "ranks [0,2-5] (5 processes)");
        assert_eq!(lines[1], "  #0  0x... in poll () from /lib/libc.so");
        assert_eq!(lines[4], "rank 1 (1 process)");
        assert_eq!(lines[5], "  #0  0xabc in write ()");
    }

    #[test]
    fn argument_values_do_not_separate_stacks_and_are_shown_if_equal() {
        let stack = |rank: u32| format!("#0  poll (timeout=-1)\n#1  work (rank={rank}, n=3) at a.c:3");
        let answers = [answer("w", 0, &stack(0)), answer("w", 1, &stack(1))];
        let lines = lines(&answers);
        assert_eq!(lines[1..3], ["  #0  poll (timeout=-1)", "  #1  work (rank=..., n=...) at a.c:3"]);
    }

    #[test]
    fn lldb_stacks_are_folded_too_and_a_silent_command_gives_no_empty_line() {
        let stack = |rank: u32| {
            format!("  * frame #0: 0x7{rank} a`work(rank={rank}, n=3) at a.c:3:5\n    frame #1: 0x8 a`_start")
        };
        let answers = [answer("w", 0, &stack(0)), answer("w", 1, &stack(1)), answer("w", 2, "")];
        let lines = lines(&answers);
        let wanted = [
            "ranks [0-1] (2 processes)",
            "    * frame #0: 0x... a`work(rank=..., n=...) at a.c:3:5",
            "      frame #1: 0x... a`_start",
            "",
            "rank 2 (1 process)",
            "  (no output)",
        ];
        assert_eq!(lines[..6], wanted);
    }

    #[test]
    fn equal_ranks_of_several_worlds_are_distinguished() {
        let answers = [answer("h:1:1", 0, "#0  f ()"), answer("h:2:2", 0, "#0  f ()")];
        assert_eq!(lines(&answers)[0], "rank 0 of h:1:1; rank 0 of h:2:2 (2 processes)");
    }

    #[test]
    fn thread_numbers_do_not_separate_stacks_but_functions_do() {
        assert_eq!(without_addresses("Thread 0x7f12 (LWP 31)"), without_addresses("Thread 0x7f99 (LWP 47)"));
        assert_ne!(without_values("#0  f (n=3)"), without_values("#0  g (n=3)"));
    }
}
