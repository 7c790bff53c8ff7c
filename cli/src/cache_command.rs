//! `gil cache`: what is in the cache, and what is removed from it.

use crate::args::CacheCommand;
use comfy_table::{CellAlignment, Table, presets};
use gil_run_support::cache::contents::Entry;
use gil_run_support::cache::{Cache, CacheError};
use gil_run_support::progress::Progress;
use std::time::{Duration, SystemTime};

/// Lists it, or removes what was used longest ago.
///
/// # Errors
/// [`CacheError`] if something cannot be read or removed.
pub fn run(command: &CacheCommand) -> Result<String, CacheError> {
    let cache = Cache::open()?;
    Ok(match command {
        CacheCommand::Ls => {
            let entries = cache.entries()?;
            let (count, bytes) = sum(&entries);
            let root = cache.root().display();
            let most = mib(cache.limit());
            format!(
                "{}{count} in {root}: {bytes}, at most {most}\n",
                lines(&entries)
            )
        }
        CacheCommand::Prune { keep } => {
            let lock = cache.lock(&Progress::new(false))?;
            let removed = cache.prune(&lock, *keep)?;
            let (count, bytes) = sum(&removed);
            format!("{}{count} removed: {bytes}\n", lines(&removed))
        }
    })
}

fn sum(entries: &[Entry]) -> (String, String) {
    let bytes = entries.iter().map(|entry| entry.bytes).sum();
    let count = match entries.len() {
        1 => "1 folder".into(),
        many => format!("{many} folders"),
    };
    (count, mib(bytes))
}

fn lines(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["size", "used", "folder"]);
    for entry in entries {
        let name = entry.name.display().to_string();
        table.add_row([mib(entry.bytes), ago(entry.used), name]);
    }
    if let Some(column) = table.column_mut(0) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt() + "\n"
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

fn ago(time: SystemTime) -> String {
    let age = SystemTime::now().duration_since(time).unwrap_or_default();
    let hours = age.as_secs() / 3600;
    match (hours / 24, hours) {
        (0, 0) if age < Duration::from_secs(120) => "now".into(),
        (0, 0) => format!("{} minutes ago", age.as_secs() / 60),
        (0, 1) => "1 hour ago".into(),
        (0, hours) => format!("{hours} hours ago"),
        (1, _) => "1 day ago".into(),
        (days, _) => format!("{days} days ago"),
    }
}
