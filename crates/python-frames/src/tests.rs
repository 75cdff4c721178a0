//! Tables that CPython generated for one function, compared with the output of its own `dis`; file names.

use crate::layout::{Layout, Lines};
use crate::lines::line_of;
use crate::{Frames, Memory, is_of_a_library, minor};

/// The table, and the lines expected from each instruction on.
struct Case {
    form: Lines,
    table: &'static [u8],
    lines: &'static [(u32, Option<u32>)],
}

/// A function that begins at line 1, with a call over several lines, a backward jump, and a gap of 150 lines.
const CASES: [Case; 3] = [
    Case {
        form: Lines::Steps,
        table: &[
            0, 2, 10, 1, 6, 255, 6, 2, 4, 1, 4, 1, 2, 1, 2, 254, 4, 4, 26, 127, 0, 24, 4, 1, 2, 255, 4, 2,
        ],
        lines: &[
            (0, Some(3)),
            (10, Some(4)),
            (16, Some(3)),
            (22, Some(5)),
            (26, Some(6)),
            (30, Some(7)),
            (32, Some(8)),
            (34, Some(6)),
            (38, Some(10)),
            (64, Some(161)),
            (68, Some(162)),
            (70, Some(161)),
            (74, Some(163)),
        ],
    },
    Case {
        form: Lines::Ranges,
        table: &[
            10, 2, 6, 1, 6, 255, 4, 2, 4, 1, 2, 1, 2, 1, 4, 254, 26, 4, 0, 127, 4, 24, 2, 1, 4, 255, 4, 2,
        ],
        lines: &[
            (0, Some(3)),
            (10, Some(4)),
            (16, Some(3)),
            (22, Some(5)),
            (26, Some(6)),
            (30, Some(7)),
            (32, Some(8)),
            (34, Some(6)),
            (38, Some(10)),
            (64, Some(161)),
            (68, Some(162)),
            (70, Some(161)),
            (74, Some(163)),
            (78, None),
        ],
    },
    Case {
        form: Lines::Locations,
        table: &[
            128, 0, 244, 6, 0, 19, 24, 152, 1, 147, 40, 246, 3, 1, 9, 28, 216, 13, 14, 242, 3, 0, 10, 14,
            240, 0, 1, 9, 28, 128, 65, 240, 0, 1, 9, 28, 225, 7, 8, 216, 8, 12, 143, 9, 137, 9, 216, 12, 13,
            216, 12, 13, 244, 5, 2, 9, 15, 244, 8, 0, 14, 19, 144, 49, 139, 88, 210, 4, 38, 136, 1, 144, 116,
            151, 121, 145, 121, 160, 17, 160, 65, 149, 127, 208, 4, 38, 240, 110, 4, 0, 5, 9, 135, 74, 129,
            74, 216, 8, 9, 244, 3, 1, 5, 11, 224, 11, 12, 128, 72, 249, 242, 65, 5, 1, 9, 28,
        ],
        lines: &[
            (0, Some(1)),
            (2, Some(4)),
            (22, Some(3)),
            (36, Some(4)),
            (38, Some(3)),
            (50, Some(5)),
            (54, Some(6)),
            (76, Some(7)),
            (78, Some(8)),
            (80, Some(6)),
            (90, Some(10)),
            (158, Some(161)),
            (180, Some(162)),
            (182, Some(161)),
            (192, Some(163)),
            (196, None),
            (200, Some(3)),
            (206, None),
        ],
    },
];

#[test]
fn every_table_format_gives_the_lines_that_python_itself_gives() {
    for Case { form, table, lines } in CASES {
        for pair in lines.windows(2) {
            let [(from, line), (to, _)] = pair else { unreachable!() };
            for at in (*from..*to).step_by(2) {
                assert_eq!(line_of(form, table, 1, at), *line, "{form:?} at {at}");
            }
        }
    }
}

#[test]
fn truncated_or_changed_tables_give_some_line_or_none() {
    for Case { form, table, .. } in CASES {
        for len in 0..table.len() {
            for changed in [0, 0x7f, 0xff] {
                let mut table = table[..len].to_vec();
                if let Some(last) = table.last_mut() {
                    *last = changed;
                }
                let _lines: Vec<_> = (0..300).map(|at| line_of(form, &table, u32::MAX, at)).collect();
            }
        }
    }
    // A number that never ends.
    assert_eq!(
        line_of(
            Lines::Locations,
            &[0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f],
            1,
            0
        ),
        None
    );
}

/// Memory in which all words are equal.
struct Everywhere(u64);

impl Memory for Everywhere {
    fn word(&self, _: u64) -> Option<u64> {
        Some(self.0)
    }

    fn bytes(&self, _: u64, len: u64) -> Option<Vec<u8>> {
        Some(vec![0x7f; len as usize])
    }
}

#[test]
fn cyclic_frames_do_not_loop_forever() {
    for minor in 8..=13 {
        let frames = Frames { layout: Layout::of(minor).unwrap(), state: 8 };
        // With 3 everywhere, the owner marks frames that the interpreter created for itself.
        for word in [0, 8, 0x0303_0303_0303_0300, 0x0303_0303_0303_0308, u64::MAX - 7, u64::MAX] {
            let memory = Everywhere(word);
            let mut seen = 0;
            for frame in frames.walk(&memory) {
                let _read = (frame.key(&memory), frame.place(&memory));
                seen += 1;
            }
            assert!(seen <= 4096, "3.{minor}, {word:#x}: {seen}");
        }
    }
}

#[test]
fn versions_are_recognized_by_their_second_number() {
    assert_eq!(minor("3.11.7 (main, Jan  2 2024) [GCC 12.2.0]"), Some(11));
    assert_eq!(minor("3.14.0a1+ (heads/main)"), Some(14));
    assert_eq!((minor("2.7.18"), minor("3"), minor("3.x")), (None, None, None));
    let known: Vec<u32> = (0..40).filter(|minor| Layout::of(*minor).is_some()).collect();
    assert_eq!(known, [8, 9, 10, 11, 12, 13]);
}

#[test]
fn files_of_python_and_of_packages_are_not_files_of_the_user() {
    for library in [
        "/usr/lib/python3/dist-packages/numpy/core.py",
        "/home/u/venv/lib/python3.11/site-packages/mpi4py/util/pkl5.py",
        "/usr/lib/python3.11/runpy.py",
        "<frozen runpy>",
        "<string>",
    ] {
        assert!(is_of_a_library(library.as_bytes()), "{library}");
    }
    for users in ["heat.py", "/home/u/python3/heat.py", "./lib/heat.py"] {
        assert!(!is_of_a_library(users.as_bytes()), "{users}");
    }
}
