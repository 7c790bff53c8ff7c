//! The options of `gil trace`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `gil trace`.
#[derive(Clone, Debug, Subcommand)]
pub enum TraceCommand {
    /// List a recording's sessions and devices, and whether the file is whole.
    Ls(TraceLsArgs),
    /// Show what each entry point took, the longest first.
    Stats(TraceStatsArgs),
    /// Show each record in a line.
    Show(TraceShowArgs),
    /// Say whether two recordings are of the same run, where they differ first, and how
    /// their times do.
    Diff(TraceDiffArgs),
    /// Write recordings as one, of runs that follow each other.
    Merge(TraceMergeArgs),
}

/// Arguments of `gil trace ls`.
#[derive(Clone, Debug, Args)]
pub struct TraceLsArgs {
    /// A file that `gil run --record` wrote.
    pub file: PathBuf,
    /// As JSON, for machines.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `gil trace stats`.
#[derive(Clone, Debug, Args)]
pub struct TraceStatsArgs {
    /// A file that `gil run --record` wrote.
    pub file: PathBuf,
    /// As comma-separated values, for machines: times in nanoseconds.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// As JSON, for machines: times in nanoseconds.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `gil trace show`.
#[derive(Clone, Debug, Args)]
pub struct TraceShowArgs {
    /// A file that `gil run --record` wrote.
    pub file: PathBuf,
    /// Show this session alone, or, given several times, these.
    #[arg(long = "session", value_name = "N")]
    pub sessions: Vec<u64>,
    /// Show calls of this entry point alone, and the ends of its operations; may be
    /// given several times.
    #[arg(long = "call", value_name = "NAME", value_parser = entry_point)]
    pub calls: Vec<String>,
    /// Begin with this record.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub from: u64,
    /// End with this record.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pub to: u64,
    /// Dump arguments, regions and results, up to so many bytes of each.
    #[arg(long, value_name = "MAX", num_args = 0..=1, require_equals = true, default_missing_value = "256")]
    pub bytes: Option<u64>,
}

/// Arguments of `gil trace diff`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if all requests and answers are the same, whatever their times; 1 if
one differs; 2 in trouble.")]
pub struct TraceDiffArgs {
    /// A file that `gil run --record` wrote.
    pub one: PathBuf,
    /// Another one.
    pub other: PathBuf,
}

/// Arguments of `gil trace merge`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A replay serves the sessions in their order: first those of the first file. One agent
serves the runs one after the other: gil board --replay OUT --listen unix:PATH")]
pub struct TraceMergeArgs {
    /// Files that `gil run --record` wrote, in the order of the runs.
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The new recording.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// The name of an entry point that some API has.
fn entry_point(name: &str) -> Result<String, String> {
    let mut calls = gil_wire::generated::APIS.iter().flat_map(|api| api.calls);
    match calls.any(|call| call.name == name) {
        true => Ok(name.into()),
        false => Err("no API has an entry point of this name".into()),
    }
}
