//! Variables of a job: what the ranks recorded, compared.

use super::Options;
use crate::exit;
use crate::ps::{table, target, target::Target};
use anyhow::{Result, bail};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::variables::{Provenance, Variable};
use mpiscope_image::{Image, Source};
use mpiscope_job::{Process, RankSet};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

/// A variable over all ranks.
#[derive(Serialize)]
struct Row {
    name: String,
    desc: String,
    environment: String,
    writable: bool,
    /// Each value with the ranks that have it and where it comes from.
    values: Vec<Held>,
    /// The ranks do not agree.
    differs: bool,
}

#[derive(Serialize)]
struct Held {
    value: String,
    provenance: String,
    ranks: RankSet,
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    job: String,
    variables: Vec<Row>,
}

type Rows = BTreeMap<String, Row>;

/// Looks and shows.
pub fn vars(options: &Options) -> Result<ExitCode> {
    let mut rows = Rows::new();
    let job = match target::find(options.target.as_deref())? {
        Target::Job(job) => {
            for found in &job.images {
                // A process that ended since, or that nobody has written for yet, has nothing to show.
                if let Ok(image) = found.open() {
                    let rank = Process::read(&image, None).ok().and_then(|process| process.rank);
                    add(&mut rows, &image, rank)?;
                }
            }
            job.name
        }
        Target::File(path) => {
            let image = target::open(&path)?;
            let process = Process::read(&image, None)?;
            add(&mut rows, &image, process.rank)?;
            process.job
        }
        Target::Jobs(jobs) => {
            let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            bail!("there are several jobs; name one of them: {}", names.join(", "));
        }
    };
    let wanted = |row: &Row| {
        let default = Provenance::DEFAULT.name().unwrap_or_default();
        options.found(&row.name, &row.desc)
            && (!options.changed || row.values.iter().any(|held| held.provenance != default))
    };
    let variables: Vec<Row> = rows.into_values().filter(wanted).collect();
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string(&Report { schema: "mpiscope.vars/1", job, variables })?)?;
    } else {
        let mut lines = vec![["VARIABLE", "VALUE", "FROM", "RANKS", "MEANING"].map(str::to_owned).to_vec()];
        lines.extend(variables.iter().flat_map(lines_of));
        for line in table::align(&lines) {
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(exit::FINE))
}

fn lines_of(row: &Row) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for held in &row.values {
        let first = lines.is_empty();
        let name = if first { row.name.clone() } else { String::new() };
        let meaning = match (first, row.differs) {
            (true, true) => format!("{} (differs on ranks)", row.desc),
            (true, false) => row.desc.clone(),
            (false, _) => String::new(),
        };
        lines.push(vec![name, held.value.clone(), held.provenance.clone(), held.ranks.to_string(), meaning]);
    }
    lines
}

fn add<S: Source>(rows: &mut Rows, image: &Image<S>, rank: Option<u32>) -> Result<()> {
    for snapshot in image.all::<Variable>(SectionKind::VARIABLES)? {
        let variable = snapshot.value;
        let name = variable.name.text().into_owned();
        let provenance = Provenance(variable.provenance.get());
        let provenance = provenance.name().unwrap_or("unknown").to_owned();
        let value = variable.value.text().into_owned();
        let desc = image.text(&variable.desc, 1024).unwrap_or_default();
        let row = rows.entry(name.clone()).or_insert_with(|| Row {
            name,
            desc,
            environment: variable.environment.text().into_owned(),
            writable: variable.writable.get() != 0,
            values: Vec::new(),
            differs: false,
        });
        match row.values.iter_mut().find(|held| held.value == value && held.provenance == provenance) {
            Some(held) => held.ranks.0.extend(rank),
            None => row.values.push(Held { value, provenance, ranks: rank.into_iter().collect() }),
        }
        row.differs = row.values.iter().any(|held| row.values.first().is_some_and(|f| f.value != held.value));
    }
    Ok(())
}
