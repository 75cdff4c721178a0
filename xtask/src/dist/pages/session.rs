//! A shell in a folder with the files of a page's reader: the installed packages, the examples, a compiler
//! and a launcher. It cannot see other users' processes, so its job is the only one, and no process outlives
//! it.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::run::bounded;

use super::plan::Page;
use super::read::{self, Example};
use crate::build;

const LIMIT: Duration = Duration::from_secs(240);
/// The installation prefix on the pages.
const PREFIX: &str = "/opt/mpiscope";
/// The host name on the pages.
const HOST: &str = "vm";
/// Ensures process ids above 9, and no core files.
const BEGIN: &str = r#"
ulimit -c 0
# Jobs in the background are groups of processes, each ended by the next one.
set -m
end_job() {
    [ -z "$job" ] || kill -- "-$job"
    while [ -n "$job" ] && kill -0 -- "-$job"; do sleep 0.1; done
}
for _ in 0 1 2 3 4 5 6 7 8 9; do /bin/true; done
# Until the job in the background stands still.
settle() {
    for _ in $(seq 100); do
        timeout 30 mpiscope why --for 0.3 >/dev/null 2>&1
        if [ $? = 1 ]; then sleep 3; return; fi
        sleep 0.2
    done
}
"#;
/// Emulates `module load` with our module file on systems without Environment Modules.
const MODULE: &str = r#"
proc module-whatis {text} {}
proc conflict {name} {}
proc prepend-path {name folder} { puts "export $name='$folder':\$$name" }
proc append-path {name folder} { puts "export $name=\$$name:'$folder'" }
proc setenv {name value} { puts "export $name='$value'" }
foreach folder [split $env(MODULEPATH) :] {
    foreach file [glob -nocomplain $folder/[lindex $argv 0] $folder/[lindex $argv 0]/*] {
        if {[file isfile $file]} { set ModulesCurrentModulefile $file; source $file; exit 0 }
    }
}
puts stderr "no module [lindex $argv 0]"
puts false
"#;

/// The result of a command.
pub struct Ran {
    pub status: i32,
    /// Standard output and standard error.
    pub text: String,
}

pub struct Session {
    folder: PathBuf,
    prefix: PathBuf,
}

/// Checks that a process namespace can be created.
pub fn possible() -> Result<()> {
    let outcome = bounded(apart().arg("true"), LIMIT)?;
    ensure!(outcome.success(), "cannot create a process namespace: {}", outcome.stderr.trim());
    Ok(())
}

/// The start of a command line that runs a command in a new process namespace.
fn apart() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

impl Session {
    pub fn new(page: &Page, wheel: &Path, archive: &Path, library: &Library, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("bin"))?;
        let session = Self { folder: folder.canonicalize()?, prefix: folder.join("opt-mpiscope") };
        for (tool, is) in [("mpicc", &library.compiler), ("mpirun", &library.mpirun)] {
            // Not a link, because Hydra searches for its proxy in the directory it was started from.
            let tool = session.folder.join("bin").join(tool);
            fs::write(&tool, format!("#!/bin/sh\nexec {} \"$@\"\n", is.display()))?;
            fs::set_permissions(&tool, fs::Permissions::from_mode(0o755))?;
        }
        let module = session.folder.join("bin/module.tcl");
        fs::write(&module, MODULE)?;
        for packed in [wheel, archive] {
            symlink(packed, session.folder.join(packed.file_name().context("the packed file has no name")?))?;
        }
        session.sources(page)?;
        if page.installed {
            fs::create_dir(&session.prefix)?;
            let mut tar = Command::new("tar");
            tar.arg("-xf").arg(archive).arg("--strip-components=1").arg("--directory").arg(&session.prefix);
            build::run(&mut tar)?;
        }
        build::run(Command::new("python3").args(["-m", "venv"]).arg(session.folder.join("venv")))?;
        Ok(session)
    }

    /// Writes the examples and the page's programs.
    fn sources(&self, page: &Page) -> Result<()> {
        let examples = paths::workspace().join("examples");
        for name in [
            "ring.c",
            "late.c",
            "stencil.c",
            "heat.c",
            "smooth.c",
            "mpi_t/unexpected_queue_tool.c",
            "mpi_t/tool.h",
            "mpi_t/names.h",
        ] {
            let from = examples.join(name);
            fs::copy(&from, self.folder.join(from.file_name().unwrap_or_default())).context(name)?;
        }
        let text = fs::read_to_string(paths::workspace().join(page.file))?;
        for (name, with) in page.programs {
            let program = read::program(&text, with).with_context(|| format!("no program with {with}"))?;
            let program = if program.contains("int main") { program } else { whole(&program) };
            fs::write(self.folder.join(name), program)?;
        }
        let prepare = format!("set -e\n{}", page.prepare);
        let outcome = bounded(self.shell(&mut Command::new("bash")).args(["-c", &prepare]), LIMIT)?;
        ensure!(outcome.success(), "{}: {}", page.prepare, outcome.describe());
        Ok(())
    }

    /// Runs the commands in sequence in one shell.
    pub fn run(&self, examples: &[&Example]) -> Result<Vec<Ran>> {
        let mut script = BEGIN.to_owned();
        for (number, example) in examples.iter().enumerate() {
            script += &step(number, &example.command.replace(PREFIX, &self.prefix.display().to_string()));
        }
        let file = self.folder.join("script.sh");
        fs::write(&file, script)?;
        let outcome = bounded(self.shell(apart().args(["bash"])).arg(&file), LIMIT)?;
        let ran = |number: usize| {
            let text =
                |kind: &str| fs::read(self.folder.join(format!("{number}.{kind}"))).unwrap_or_default();
            let text = |kind: &str| String::from_utf8_lossy(&text(kind)).into_owned();
            Ran { status: text("status").trim().parse().unwrap_or(-1), text: text("text") }
        };
        ensure!(!outcome.timed_out, "{}: {}", file.display(), outcome.describe());
        Ok((0..examples.len()).map(ran).collect())
    }

    /// Sets up the environment of a reader.
    fn shell<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let mut path: Vec<PathBuf> = vec![self.folder.join("bin"), self.folder.join("venv/bin")];
        path.push(self.prefix.join("bin"));
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        command.current_dir(&self.folder).env("PATH", env::join_paths(path).unwrap_or_default());
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MPISCOPE")) {
            command.env_remove(name);
        }
        command.env("PIP_NO_INDEX", "1").env("PIP_DISABLE_PIP_VERSION_CHECK", "1").env_remove("MODULEPATH")
    }

    /// The output with the names used on the pages.
    pub fn as_on_the_page(&self, text: &str) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let text = text.replace(", with changes)", ")");
        let here = |path: &Path| path.display().to_string();
        let text = text.replace(&here(&self.prefix), PREFIX).replace(&format!("{}/", here(&self.folder)), "");
        let words = |line: &str| {
            line.split(' ')
                .map(|word| if word == host.trim() { HOST } else { word }.to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        text.lines().map(words).collect::<Vec<_>>().join("\n")
    }
}

/// Script for one command, which writes its output and status to files.
fn step(number: usize, command: &str) -> String {
    let to = format!(">{number}.text 2>&1 </dev/null");
    match command.strip_suffix('&') {
        Some(command) => {
            format!("end_job 2>/dev/null\n{{ {command}; }} {to} &\njob=$!\necho 0 >{number}.status\nsettle\n")
        }
        None => match command.strip_prefix("module ") {
            Some(words) => format!(
                "{{ type module >/dev/null 2>&1 || module() {{ eval \"$(tclsh bin/module.tcl \"$2\")\"; }}
                module {words}; }} {to}\necho $? >{number}.status\n"
            ),
            None => format!("{{ {command}\n}} {to}\necho $? >{number}.status\n"),
        },
    }
}

/// Turns lines that the page shows without a program into a complete program.
fn whole(lines: &str) -> String {
    format!(
        "#include <mpi.h>\nint main(int argc, char **argv)\n{{\n    int rank, value = 0;\n    MPI_Init(&argc, &argv);\n    \
         MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n{lines}    MPI_Finalize();\n    return 0;\n}}\n"
    )
}
