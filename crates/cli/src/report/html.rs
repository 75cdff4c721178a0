//! The report as a single page that opens from disk and needs neither network nor scripts. The templates
//! escape everything that comes from the job.

use super::sections::{self, Section};
use super::{Source, figures, timeline};
use crate::render::{Block, Table, escape};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
/// Nothing is fetched, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub fn page(source: &Source, wanted: &[Section]) -> String {
    let report = &source.report;
    let all = sections::all(report, wanted);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "mpiscope: " (escape(&report.command)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a .skip href="#main" { "To the report" }
                header {
                    h1 { (escape(&report.command)) }
                    @for block in sections::head(report).iter().skip(1) { (of_block(block, None)) }
                    nav aria-label="Sections" {
                        ul { @for (section, _) in &all { li { a href=(format!("#{}", id(*section))) { (section.title()) } } } }
                    }
                }
                main #main {
                    @for (section, blocks) in &all {
                        section id=(id(*section)) aria-labelledby=(format!("{}-title", id(*section))) {
                            h2 id=(format!("{}-title", id(*section))) { (section.title()) }
                            (drawn(*section, source))
                            (of_blocks(blocks, section.title()))
                        }
                    }
                }
                footer { p { "Made by mpiscope " (report.version) ", " (report.schema) "." } }
            }
        }
    };
    page.into_string()
}

fn id(section: Section) -> String {
    format!("{section:?}").to_lowercase()
}

/// Draws the figures of a section.
fn drawn(section: Section, source: &Source) -> Markup {
    let report = &source.report;
    let found: Vec<Markup> = match section {
        Section::Time => {
            let course = report.windows.as_ref().and_then(timeline::timeline);
            figures::shares(report).into_iter().chain(course).collect()
        }
        Section::Peers => report.sections.peers.iter().take(4).filter_map(figures::matrix).collect(),
        Section::Messages => figures::sizes(&report.sections.messages.sizes).into_iter().collect(),
        _ => Vec::new(),
    };
    html! { @for figure in found { (figure) } }
}

/// Renders blocks. A caption directly before a table becomes the table's, one before lines a heading.
fn of_blocks(blocks: &[Block], title: &str) -> Markup {
    let next = |at: usize| blocks.get(at + 1);
    let before = |at: usize| match at.checked_sub(1).and_then(|at| blocks.get(at)) {
        Some(Block::Caption(line)) => escape(line.trim()).into_owned(),
        _ => title.to_owned(),
    };
    html! {
        @for (at, block) in blocks.iter().enumerate() {
            @match (block, next(at)) {
                (Block::Caption(_), Some(Block::Table(_))) => {},
                (Block::Table(_), _) => (of_block(block, Some(&before(at)))),
                _ => (of_block(block, None)),
            }
        }
    }
}

fn of_block(block: &Block, caption: Option<&str>) -> Markup {
    match block {
        Block::Caption(line) => html! { h3 { (escape(line.trim().trim_end_matches(':'))) } },
        Block::Line(line) if line.trim().is_empty() => html! {},
        Block::Line(line) => html! { p { (in_words(&escape(line))) } },
        Block::Head(line) => html! { h3 { (escape(line.trim())) } },
        Block::Problem(line) => html! { p .bad { (escape(line.trim())) } },
        Block::Table(table) => of_table(table, table.name().or(caption).unwrap_or_default()),
    }
}

/// Separates parts of a line with semicolons: browsers collapse the multiple spaces used on a terminal.
fn in_words(line: &str) -> String {
    let parts: Vec<&str> = line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

fn of_table(table: &Table, caption: &str) -> Markup {
    // A column without a head is a bar made of letters; the page has a better figure.
    let shown = |column: &usize| table.head().get(*column).is_some_and(|head| !head.trim().is_empty());
    let columns: Vec<usize> = (0..table.head().len()).filter(shown).collect();
    let cell = |cells: &[String], column: usize| {
        cells.get(column).map_or(String::new(), |cell| cell.trim().to_owned())
    };
    let class = |column: usize| if table.is_number(column) { "n" } else { "" };
    html! {
        div .scroll tabindex="0" role="group" aria-label=(escape(caption)) {
            table {
                caption { span { (escape(caption)) } }
                thead { tr { @for column in &columns { th scope="col" class=(class(*column)) { (cell(table.head(), *column)) } } } }
                tbody {
                    @for row in table.rows() {
                        tr {
                            @for column in &columns {
                                @if *column == 0 { th scope="row" class=(class(0)) { (cell(row, 0)) } } @else { td class=(class(*column)) { (cell(row, *column)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::JobReport;
    use mpiscope_job::performance::report::{Exchange, Pair, SizeClass};

    fn source() -> Source {
        let mut report = JobReport::new("./a <script>alert(1)</script>".into(), Vec::new());
        let pair = |from: &str, to: &str| Pair {
            from: from.into(),
            to: to.into(),
            messages: 3,
            bytes: 3000,
            ..Pair::default()
        };
        report.sections.peers.push(Exchange {
            communicator: "\"<b onload=x>\"".into(),
            identity: "0x7".into(),
            size: 2,
            messages: 6,
            bytes: 6000,
            pairs: vec![pair("0", "1"), pair("1", "0")],
            more_pairs: 0,
        });
        report.sections.messages.sizes.push(SizeClass { from: 512, to: 1023, sent: 6, received: 5 });
        Source { job: "j".into(), report, errors: Vec::new() }
    }

    #[test]
    fn the_page_is_self_contained_and_escapes_data_of_the_job() {
        let page = page(&source(), &[]);
        for bad in ["<script", "<b ", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    }

    #[test]
    fn names_cannot_reorder_the_page_or_break_its_lines() {
        let mut source = source();
        source.report.command = "./a\u{202e}b".into();
        let exchange = &mut source.report.sections.peers[0];
        exchange.communicator = "\"x\n\u{202e}\x01y\"".into();
        let page = page(&source, &[]);
        assert!(!page.contains(['\u{202e}', '\x01']) && !page.contains("x\n"), "{page}");
        assert!(page.contains(r"<h1>./a\u{202e}b</h1>"), "{page}");
        assert!(page.matches(r"x\n\u{202e}\x01y").count() >= 3, "{page}");
    }

    #[test]
    fn blocks_separated_in_a_terminal_are_separated_in_the_page() {
        let line = "  4.80 kB in   lost records: 3  and: 4 ";
        assert_eq!(in_words(line), "4.80 kB in; lost records: 3; and: 4");
    }

    #[test]
    fn a_sentence_before_a_table_is_not_its_caption_and_a_caption_before_sentences_is_a_heading() {
        let table = || Table::new(&["A"]).named("calls by place");
        let lines = ["  still open: MPI_Recv", "  rank 0 lost 1 s"].map(Block::from);
        let [open, lost] = lines;
        let blocks = [open, table().into(), Block::Caption("  who waited for whom:".into()), lost];
        let page = of_blocks(&blocks, "Call sites").into_string();
        assert!(page.contains("<p>still open: MPI_Recv</p>"), "{page}");
        assert!(page.contains("<caption><span>calls by place</span></caption>"), "{page}");
        assert!(page.contains("<h3>who waited for whom</h3><p>rank 0 lost 1 s</p>"), "{page}");
    }

    #[test]
    fn every_table_has_a_caption_and_every_figure_a_name() {
        let page = page(&source(), &[]);
        let count = |what: &str| page.matches(what).count();
        assert!(count("<table") >= 2 && count("<svg") == 2, "{page}");
        assert_eq!(
            (count("<table"), count("<svg")),
            (count("<caption><span>"), count("role=\"img\" aria-label="))
        );
        assert!(
            page.contains(
                "<caption><span>on &quot;&lt;b onload=x&gt;&quot; (2 ranks): 6 messages, 6.00 kB</span></caption>"
            ),
            "{page}"
        );
        assert_eq!(count("<html lang=\"en\">"), 1);
    }
}
