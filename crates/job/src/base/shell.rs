//! Quoting for a shell: on another host, in a tmux pane, or for users who paste a suggested command.

/// Quotes a word so that a shell reads it back unchanged.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    // Some shells expand a leading `=` to the path of a command.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Joins words into one line for a shell.
pub fn line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| quoted(word.as_ref())).collect();
    quoted.join(" ")
}

/// Splits a line into words as a shell would: at whitespace, respecting quotes and backslashes. Nothing is
/// expanded.
///
/// # Errors
/// When a quote is not closed.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        None => return Err(format!("a {c} is not closed")),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' && matches!(rest.peek(), Some('"' | '\\' | '$' | '`')) => {
                            word.extend(rest.next());
                        }
                        Some(other) => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(rest.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_line_is_split_as_by_a_shell() {
        for line in [
            "ssh -p 22 {host}",
            " a\t b\n",
            "'a b' c",
            "a'b c'\"d \\\" e\"f",
            "\\ a\\'b",
            "\"\" '' x",
            "\"a\\b\\\\c\"",
            "'a\\'",
        ] {
            let script = format!("printf '%s\\0' {}", line.trim());
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            let shell: Vec<String> =
                String::from_utf8(output.stdout).unwrap().split('\0').map(str::to_owned).collect();
            let mut ours = words(line).unwrap();
            ours.push(String::new());
            assert_eq!(ours, shell, "{line}");
        }
        assert_eq!(words("a 'b").unwrap_err(), "a ' is not closed");
        assert!(words("").unwrap().is_empty());
    }

    #[test]
    fn a_shell_reads_every_quoted_word_back_unchanged() {
        let words = [
            "/usr/bin/mpiscope",
            "",
            "it's 1",
            "a  b",
            "$HOME",
            "`true`",
            "$(true)",
            "a;b",
            "a&b|c",
            "\"",
            "\\",
            "*",
            "~",
            "two\nlines",
            "#",
            "!",
            "ü",
            "-n",
            "=ls",
            "{a,b}",
            "''",
            "a'b'c",
        ];
        let script = format!("printf '%s\\0' {}", line(words));
        let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
        let read: Vec<&[u8]> = output.stdout.split(|b| *b == 0).collect();
        let wanted: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).chain([&b""[..]]).collect();
        assert_eq!(read, wanted);
    }

    #[test]
    fn plain_words_stay_readable() {
        assert_eq!(line(["/usr/bin/mpiscope", "-p", "100"]), "/usr/bin/mpiscope -p 100");
    }
}
