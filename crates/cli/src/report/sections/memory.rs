//! Memory, and placement of ranks.

use crate::render::{Block, Table, bytes, duration};
use mpiscope_job::Members;
use mpiscope_job::jobs::placement::Placement;
use mpiscope_job::performance::monitor::windows::Growth;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::Memory;

/// Number of ranks shown; if there are more, those with the most memory.
const MOST: usize = 16;

/// Returns the section's blocks.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let all = &report.sections.memory;
    let crowded = report.sections.crowded.iter();
    let mut blocks: Vec<Block> = crowded.map(|crowd| Block::Problem(format!("  {crowd}"))).collect();
    let mut known: Vec<(&Memory, &Placement)> =
        all.iter().filter_map(|memory| Some((memory, memory.placement.as_ref()?))).collect();
    if !known.is_empty() {
        if known.len() > MOST {
            known.sort_by_key(|(_, placement)| std::cmp::Reverse(placement.peak));
        }
        blocks.push(table(&known).named("memory and cores by rank").into());
        blocks.extend(super::more(MOST, known.len(), ["rank with less", "ranks with less"]));
    }
    blocks.extend(growing(report));
    let records = || all.iter().map(|memory| memory.image);
    if let (Some(least), Some(most)) = (records().min(), records().max()) {
        let (least, most) = (bytes(least), bytes(most));
        let each = if least == most { most } else { format!("{least} to {most}") };
        blocks.push(Block::Line(format!("  records of the layer: {each} per rank")));
    }
    blocks
}

/// Lists the ranks whose memory grew until the end of the job, or until now.
fn growing(report: &JobReport) -> Vec<Block> {
    let Some(windows) = report.windows.as_ref() else { return Vec::new() };
    let sentence = |growth: &Growth| {
        let (from, until) = (bytes(growth.from_bytes), bytes(growth.until_bytes));
        Some(Block::Line(format!(
            "  rank {} grew by {} a minute over the last {} windows ({}): from {from} to {until}",
            windows.ranks.get(growth.rank)?,
            bytes(growth.bytes_per_minute as u64),
            growth.windows,
            duration(growth.windows as f64 * windows.seconds),
        )))
    };
    let mut blocks: Vec<Block> = windows.growing.iter().take(MOST).filter_map(sentence).collect();
    blocks.extend(super::more(MOST, windows.growing.len(), ["rank that grew", "ranks that grew"]));
    blocks
}

fn table(known: &[(&Memory, &Placement)]) -> Table {
    let head = ["  RANK", "HOST", "RESIDENT", "PEAK", "CORES", "ON", "NUMA", "GPUS"];
    let mut table = Table::new(&head).numbers(&[2, 3]);
    for (memory, placement) in known.iter().take(MOST) {
        let all = placement.allowed().0.len() as u32 == placement.online;
        table.push(vec![
            format!("  {}", Members::from_iter([(memory.world, memory.rank)])),
            memory.host.clone(),
            bytes(placement.resident),
            bytes(placement.peak),
            if all { "all".to_owned() } else { placement.cpus.clone() },
            placement.last_cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            placement.nodes.clone(),
            if placement.gpus.is_empty() { "-".to_owned() } else { placement.gpus.join(" ") },
        ]);
    }
    table
}
