//! The options of commands that reach an agent, and of keys.

use clap::{Args, Subcommand};
use gil_wire::address::Address;
use std::path::PathBuf;

/// Arguments of `gil ping`.
#[derive(Clone, Debug, Args)]
pub struct PingArgs {
    /// Where the agent listens: tcp://HOST:PORT or unix:PATH.
    pub address: Address,
    /// The key that the agent was started with.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// How many round trips to time.
    #[arg(long, short, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
}

/// Arguments of `gil status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// Where the agent listens: tcp://HOST:PORT or unix:PATH.
    pub address: Address,
    /// The key that the agent was started with.
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `gil key` does.
#[derive(Clone, Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key in a new file that only this user can read; copy it to the
    /// board, and give both sides --key FILE.
    New {
        /// The file, which there must not be yet.
        file: PathBuf,
    },
}
