//! The fenced blocks of a page: commands with their output, and programs.

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Example {
    /// Its line number in the page, from 1.
    pub line: usize,
    pub command: String,
    /// The expected output.
    pub output: Vec<String>,
}

impl Example {
    /// Whether `word` is part of the command or of its output.
    pub fn is(&self, word: &str) -> bool {
        self.command.contains(word) || self.output.iter().any(|line| line.contains(word))
    }
}

/// The commands of all ```` ```console ```` blocks, in the order of the page.
pub fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    for (line, text) in blocks(page, "console").into_iter().flatten() {
        match (text.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => {
                // Strip remarks, which are for the reader.
                let command = command.split("   #").next().unwrap_or(command).trim_end().to_owned();
                found.push(Example { line, command, output: Vec::new() });
            }
            (None, Some(last)) => last.output.push(text.to_owned()),
            (None, None) => {}
        }
    }
    found
}

/// The C program on the page that contains this text.
pub fn program(page: &str, with: &str) -> Option<String> {
    let text = |block: Vec<(usize, &str)>| block.iter().map(|(_, line)| format!("{line}\n")).collect();
    blocks(page, "c").into_iter().map(text).find(|text: &String| text.contains(with))
}

/// The numbered lines of all blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<Vec<(usize, &'a str)>> {
    let mut found = Vec::new();
    let mut open: Option<Vec<(usize, &str)>> = None;
    let mut wanted = false;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(name), None) => {
                wanted = name == language;
                open = Some(Vec::new());
            }
            (Some(_), Some(_)) => found.extend(open.take().filter(|_| wanted)),
            (None, Some(block)) => block.push((number + 1, line)),
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_lines_below_it_and_programs_are_found_by_their_text() {
        let page = "text\n```c\nint main;\n```\n```console\n$ one      # remark\n$ two\nsays\n  this\n```\n```text\n$ no\n```\n";
        let one = Example { line: 6, command: "one".into(), output: vec![] };
        let two = Example { line: 7, command: "two".into(), output: vec!["says".into(), "  this".into()] };
        assert_eq!(examples(page), [one, two]);
        assert_eq!(program(page, "main").as_deref(), Some("int main;\n"));
        assert_eq!(program(page, "says"), None);
    }
}
