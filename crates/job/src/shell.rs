//! Words for a shell: on another host, in a pane of tmux, or to be pasted by whoever reads advice.

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    // Some shells take a leading `=` for the path of a command.
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Words as one line for a shell.
pub fn line<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| quoted(word.as_ref())).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_back_every_word_as_it_was() {
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
