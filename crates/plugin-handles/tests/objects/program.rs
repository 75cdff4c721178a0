//! The program: compiled, started on two ranks under the layer, and killed at the end.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mpiscope_testkit::cores::core_in;
use mpiscope_testkit::mpi::{Abi, Family, Library};
use mpiscope_testkit::run;
use std::os::unix::process::CommandExt;
use tempfile::TempDir;

/// The running program; it ends when this value is dropped.
pub struct Running {
    child: Child,
    dir: TempDir,
    /// What the program wrote: name and kind to value.
    pub handles: HashMap<(String, String), String>,
    deadline: Instant,
}

/// Compiles and starts a program; it writes to the directory passed as its argument.
pub fn start(
    library: &Library,
    layer: &Path,
    program: &str,
    ranks: usize,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<Running> {
    let dir = tempfile::tempdir()?;
    let binary = dir.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    library.cc_with(
        &[&source],
        &binary,
        &fortran_binding(library).iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    for rank in ["rank0", "rank1"] {
        fs::create_dir(dir.path().join(rank))?;
    }
    let mut preload = std::ffi::OsString::from("LD_PRELOAD=");
    preload.push(layer);
    let mut command = library.launch(ranks);
    let errors = fs::File::create(dir.path().join("errors"))?;
    command.arg("env").arg(preload).args(environment.iter().map(|(name, value)| format!("{name}={value}")));
    command.arg(&binary).arg(dir.path());
    command.stdin(Stdio::null()).stdout(errors.try_clone()?).stderr(errors).process_group(0);
    run::apart(&mut command, dir.path());
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    Ok(Running { child, dir, handles: HashMap::new(), deadline: Instant::now() + limit })
}

/// Tells the program the library with the Fortran binding, if there is one next to the MPI library.
fn fortran_binding(library: &Library) -> Option<String> {
    let names: &[&str] = match (library.family, library.abi) {
        (Family::OpenMpi, _) => &["libmpi_mpifh.so.40"],
        (_, Abi::Standard) => &["libmpifort_abi.so.1"],
        _ => &["libmpifort.so.12", "libmpichfort.so.12"],
    };
    let dir = library.libmpi.parent()?;
    let found = names.iter().map(|name| dir.join(name)).find(|file| file.is_file())?;
    Some(format!("-DFORTRAN_BINDING=\"{}\"", found.display()))
}

fn parse(line: &str) -> Option<((String, String), String)> {
    let mut words = line.split_whitespace();
    Some(((words.next()?.to_owned(), words.next()?.to_owned()), words.next()?.to_owned()))
}

impl Running {
    /// Waits for the program to write this file, and reads it.
    pub fn enter(&mut self, file: &str) -> Result<()> {
        let list = self.wait_for(file)?;
        self.handles = fs::read_to_string(list)?.lines().filter_map(parse).collect();
        Ok(())
    }

    /// Lets the program continue from there.
    pub fn leave(&self, file: &str) -> Result<()> {
        Ok(fs::remove_file(self.dir.path().join(file))?)
    }

    fn wait_for(&mut self, file: &str) -> Result<PathBuf> {
        let path = self.dir.path().join(file);
        while !path.exists() {
            if Instant::now() > self.deadline || self.child.try_wait()?.is_some() {
                let errors = fs::read_to_string(self.dir.path().join("errors")).unwrap_or_default();
                bail!("{file} did not appear; the program wrote:\n{errors}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(path)
    }

    /// Returns the process id of rank 0.
    pub fn pid(&self) -> Result<u32> {
        Ok(self.word("pid", "number")?.parse()?)
    }

    /// Returns what the program wrote about an object.
    pub fn word(&self, name: &str, kind: &str) -> Result<&str> {
        let key = (name.to_owned(), kind.to_owned());
        self.handles.get(&key).map(String::as_str).with_context(|| format!("the program did not name {name}"))
    }

    /// Returns a handle or address that it wrote.
    pub fn value(&self, name: &str, kind: &str) -> Result<u64> {
        let word = self.word(name, kind)?;
        match word.strip_prefix("0x") {
            Some(digits) => Ok(u64::from_str_radix(digits, 16)?),
            None => Ok(word.parse()?),
        }
    }

    /// Returns the handle or address with this name, of any kind.
    pub fn any_value(&self, name: &str) -> Result<u64> {
        let is_handle = |(known, kind): &&(String, String)| known == name && !kind.starts_with("fortran-");
        let key = self.handles.keys().find(is_handle);
        let (_, kind) = key.with_context(|| format!("the program did not name {name}"))?;
        self.value(name, kind)
    }

    /// Returns the Fortran handle of the object with this name.
    pub fn fortran(&self, name: &str) -> Result<i64> {
        let is_fortran = |(known, kind): &&(String, String)| known == name && kind.starts_with("fortran-");
        let key = self.handles.keys().find(is_fortran);
        let (_, kind) = key.with_context(|| format!("{name} has no Fortran handle"))?;
        Ok(self.word(name, kind)?.parse()?)
    }

    /// Whether a thread is expected to be in a call.
    pub fn has_threads(&self) -> bool {
        self.word("threads", "number").is_ok_and(|number| number == "1")
    }

    /// Path of the program.
    pub fn binary(&self) -> PathBuf {
        self.dir.path().join("program")
    }

    /// Makes rank 0 crash; returns its core file, or `None` if this system writes core files elsewhere.
    pub fn die(&mut self) -> Result<Option<PathBuf>> {
        let pid = self.pid()?;
        fs::write(self.dir.path().join("rank0/die"), "")?;
        while Path::new(&format!("/proc/{pid}")).exists() && Instant::now() < self.deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(core_in(&self.dir.path().join("rank0")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().ok().flatten().is_none() {
            let _ = run::kill(&mut self.child);
        }
    }
}
