//! `cargo xtask mpi`: fetches real MPI libraries and lists those available.

use anyhow::Result;
use mpiscope_testkit::mpi::{self, Library, Skipped, fetch};
use mpiscope_testkit::paths;

/// The libraries to fetch.
#[derive(clap::Args)]
pub struct Args {
    /// Libraries to fetch: mpich-5.0, openmpi-5.0, intel, mpi4py, mpi4py-tests (default: all)
    names: Vec<String>,
    /// Fetch nothing, only list
    #[arg(long)]
    offline: bool,
}

pub fn run(args: &Args) -> Result<()> {
    for name in &args.names {
        anyhow::ensure!(
            fetch::Package::named(name).is_some(),
            "unknown library {name}; the libraries are {}",
            fetch::PACKAGES.map(|package| package.dir).join(", ")
        );
    }
    if !args.offline {
        fetch_all(&args.names);
    }
    let (found, skipped) = mpi::survey();
    print_table(&found);
    print_skipped(&skipped);
    println!("\nin {}", paths::mpi_dir().display());
    Ok(())
}

/// Fetches the named packages, or all. A package that cannot be fetched is not an error here: it is listed as
/// skipped.
pub fn fetch_all(names: &[String]) {
    for package in fetch::PACKAGES {
        if !names.is_empty() && !names.iter().any(|name| name == package.dir) {
            continue;
        }
        if !fetch::is_complete(&paths::mpi_dir().join(package.dir), package) {
            eprintln!("fetching {} …", package.requirement);
        }
        if let Err(error) = fetch::fetch(package) {
            eprintln!("cannot fetch {}: {error:#}", package.requirement);
        }
    }
}

/// Prints one row for each library.
pub fn print_table(found: &[Library]) {
    let header = ["name", "standard", "ABI", "version", "launcher", "C", "Fortran", "IMB"].map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(header).chain(found.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        println!("{}", cells.join("  ").trim_end());
    }
    if let Some(mpi4py) = mpi::mpi4py() {
        println!("mpi4py for {}", mpi4py.python.display());
    }
}

/// Prints one line for each missing library.
pub fn print_skipped(skipped: &[Skipped]) {
    for Skipped { name, reason } in skipped {
        println!("skipped: {name}: {reason}");
    }
}

fn row(library: &Library) -> [String; 8] {
    let home = paths::mpi_dir();
    let short = |path: &std::path::Path| path.strip_prefix(&home).unwrap_or(path).display().to_string();
    let fortran = match &library.fortran {
        Some(fortran) if fortran.f08 => "mpif.h, mpi_f08",
        Some(_) => "mpif.h",
        None => "-",
    };
    [
        library.name.clone(),
        format!("{}.{}", library.standard.0, library.standard.1),
        library.abi.to_string(),
        library.version.chars().take(44).collect(),
        short(&library.mpirun),
        short(&library.compiler),
        fortran.to_owned(),
        if library.imb("IMB-MPI1").is_some() { "yes" } else { "-" }.to_owned(),
    ]
}
