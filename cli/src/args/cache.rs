//! The options of `gil cache`, and of `gil kernel`, which looks at the kernel there.

use clap::{Args, Subcommand};
use gil_run_support::cache::contents;
use std::path::PathBuf;

/// What `gil cache` does.
#[derive(Clone, Debug, Subcommand)]
pub enum CacheCommand {
    /// List package sets, kernels, modules and saved guests, with their sizes
    /// and when a run used them last.
    Ls,
    /// Remove what was used longest ago, until the rest fits. What a later run
    /// needs, it fetches or makes again.
    Prune {
        /// What may stay.
        #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = contents::parse_size)]
        keep: u64,
    },
}

/// Arguments of `gil kernel`.
#[derive(Clone, Debug, Args)]
pub struct KernelArgs {
    /// Take this arm64 Image, raw or packed with gzip, instead of Debian's
    /// stock kernel, which is in gil's cache or fetched.
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Write an ELF file with the whole image and its symbols, as gem5 wants a
    /// kernel.
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,
    /// List the symbols that the image holds, as /proc/kallsyms has them
    /// without KASLR.
    #[arg(long)]
    pub symbols: bool,
}
