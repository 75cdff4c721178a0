//! Which pages are run, what each needs, and which commands cannot be run, with the reason.

use super::read::Example;
use super::shape::Shape;

/// A page.
pub struct Page {
    pub file: &'static str,
    /// Whether the archive is already unpacked at the page's path; otherwise the page installs it.
    pub installed: bool,
    /// C programs on the page: the file name, and a text that identifies the program.
    pub programs: &'static [(&'static str, &'static str)],
    /// A shell command to prepare files that the reader has but the page does not create.
    pub prepare: &'static str,
    /// Commands that are not run, identified by part of the command or of its output, and the reason.
    pub not_run: &'static [(&'static str, &'static str)],
    /// Commands that print reports of times.
    pub of_times: &'static [&'static str],
}

impl Page {
    /// The reason why the example is not run, if any.
    pub fn reason_against(&self, example: &Example) -> Option<&'static str> {
        self.not_run.iter().find(|(word, _)| example.is(word)).map(|(_, why)| *why)
    }

    pub fn shape(&self, example: &Example) -> Shape {
        let of_times = self.of_times.iter().any(|word| example.is(word));
        if of_times { Shape::OfTimes } else { Shape::Whole }
    }
}

const EMPTY: Page =
    Page { file: "", installed: false, programs: &[], prepare: "", not_run: &[], of_times: &[] };
const NO_PROGRAM: &str = "its program is not on the page";
const CORE_FILES: &str = "needs core files, which not every machine writes; the tests of `core` create them";

pub const PLAN: [Page; 13] = [
    Page {
        file: "README.md",
        prepare: "for program in ring late stencil; do mpicc -g $program.c -o $program; done
            mpicc -O2 -g heat.c -o heat -lm; cp heat app",
        not_run: &[
            ("cargo xtask", "builds everything from the sources; continuous integration does"),
            ("mpiscope core", CORE_FILES),
        ],
        of_times: &["./heat "],
        ..EMPTY
    },
    Page {
        file: "docs/install.md",
        prepare: "mpicc -O2 -g heat.c -o app -lm; mpicc -g -c ring.c
            cc ring.o $(cc -print-file-name=libmpich.a) -lpthread -lhwloc -lucp -lucs -lm -o ring_static",
        not_run: &[("direct.py", NO_PROGRAM)],
        ..EMPTY
    },
    Page { file: "docs/start-hang.md", ..EMPTY },
    Page { file: "docs/start-slow.md", of_times: &["./heat "], ..EMPTY },
    Page { file: "docs/start-wrong.md", of_times: &["--check"], ..EMPTY },
    Page { file: "docs/start-handle.md", programs: &[("columns.c", "int main")], ..EMPTY },
    Page {
        file: "docs/start-tool.md",
        installed: true,
        programs: &[("burst.c", "i < 50")],
        prepare: "mpicc burst.c -o burst",
        not_run: &[("mpiscope vars", NO_PROGRAM)],
        ..EMPTY
    },
    Page { file: "docs/start-cluster.md", prepare: "mpicc -O2 -g heat.c -o heat -lm", ..EMPTY },
    Page {
        file: "docs/hangs.md",
        installed: true,
        programs: &[
            ("restart.c", "read_restart"),
            ("spawn.c", "MPI_Comm_spawn"),
            ("tags.c", "41, MPI_COMM_WORLD"),
        ],
        prepare: "mpicc -g ring.c -o ring",
        not_run: &[
            ("spawn", "the distribution's MPICH cannot spawn everywhere"),
            ("mpiscope core", CORE_FILES),
        ],
        ..EMPTY
    },
    Page {
        file: "docs/slow.md",
        installed: true,
        prepare: "mpicc -O2 -g heat.c -o heat -lm; cp heat app",
        not_run: &[
            ("mpiscope top", "draws on a terminal until a key is pressed; the tests of `top` type into one"),
            ("--section sites,peers", "is of another run than the one above it"),
            ("--section time,waits", NO_PROGRAM),
            ("mpiscope diff", "needs six runs of two programs"),
            ("--format otf2", "needs the OTF2 library"),
            ("mpiscope metrics", "runs until it is stopped; the tests of `metrics` query it"),
        ],
        of_times: &["./heat", "mpiscope report"],
        ..EMPTY
    },
    Page {
        file: "docs/debuggers.md",
        installed: true,
        prepare: "mpicc -g stencil.c -o stencil",
        not_run: &[
            ("mpiscope procs 144", NO_PROGRAM),
            ("mpiscope attach 9", "stops in the library's code, which differs"),
            ("debugger-host", "its numbers are examples; the tests of plug-ins run it"),
        ],
        ..EMPTY
    },
    Page {
        file: "docs/tools.md",
        installed: true,
        programs: &[("unexpected_queue_tool.c", "during_long_queues")],
        // The launcher that other pages start jobs with is a script, so there is no library next to it.
        prepare: "ln -sf \"$(command -v mpirun.mpich)\" bin/mpirun",
        not_run: &[
            ("app", NO_PROGRAM),
            ("latecomer", NO_PROGRAM),
            (
                "-shared",
                "needs the folder of an MPI library in $MPI; the matrix builds and runs the three tools",
            ),
            ("mpiscope vars --changed", NO_PROGRAM),
        ],
        ..EMPTY
    },
    Page {
        file: "docs/python.md",
        prepare: "mpicc -g ring.c -o ring",
        not_run: &[
            ("python examples", "is run by the tests of the module"),
            ("./ring", "belongs to the next command"),
        ],
        ..EMPTY
    },
];
