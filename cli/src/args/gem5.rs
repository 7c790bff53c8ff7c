//! The options of `gil run` that only gem5 has.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// A full system, or system-call emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// A full system: Debian's kernel boots, with gil's driver.
    Fs,
    /// System-call emulation: the program alone, gem5 is its kernel.
    Se,
}

/// gem5's options.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "With --sim gem5")]
pub struct Gem5Options {
    /// The gem5.opt to run: one built with EXTRAS=GIL/gem5-patches.
    #[arg(long, value_name = "GEM5.OPT")]
    pub gem5: Option<PathBuf>,
    /// fs, a full system (the usual), or se, system-call emulation.
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,
    /// CPUs; in system-call emulation each thread needs one. Usually 1 and 4.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub cpus: Option<u32>,
    /// Clock of the CPUs, such as 2GHz.
    #[arg(long, value_name = "FREQUENCY", value_parser = plain)]
    pub cpu_clock: Option<String>,
    /// Clock of the rest, such as 1GHz.
    #[arg(long, value_name = "FREQUENCY", value_parser = plain)]
    pub sys_clock: Option<String>,
    /// Caches yes or no; usually all models but atomic have them.
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"])]
    pub caches: Option<String>,
    /// gem5's boot loader for a full system; usually that of the tree which
    /// gem5.opt lies in.
    #[arg(long, value_name = "BOOT.ARM64")]
    pub bootloader: Option<PathBuf>,
    /// gem5's output folder: statistics, configuration, console, log; usually
    /// m5out.
    #[arg(long, value_name = "FOLDER")]
    pub outdir: Option<PathBuf>,
    /// Another option for gem5 itself, such as --debug-flags=Gil; may be
    /// repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub gem5_option: Vec<String>,
    /// Another option for the run script, such as --l2-size=2MiB; may be
    /// repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub script_option: Vec<String>,
}

fn plain(text: &str) -> Result<String, String> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    match is_number && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') {
        true => Ok(text.into()),
        false => Err("write a number and Hz, MHz or GHz, such as 2GHz".into()),
    }
}

impl Gem5Options {
    /// One that was given, if any was.
    pub fn first(&self) -> Option<&'static str> {
        let given = [
            (self.gem5.is_some(), "--gem5"),
            (self.mode.is_some(), "--mode"),
            (self.cpus.is_some(), "--cpus"),
            (self.cpu_clock.is_some(), "--cpu-clock"),
            (self.sys_clock.is_some(), "--sys-clock"),
            (self.caches.is_some(), "--caches"),
            (self.bootloader.is_some(), "--bootloader"),
            (self.outdir.is_some(), "--outdir"),
            (!self.gem5_option.is_empty(), "--gem5-option"),
            (!self.script_option.is_empty(), "--script-option"),
        ];
        let first = given.into_iter().find(|(is_given, _)| *is_given);
        first.map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_numbers_with_a_unit() {
        assert!(plain("2GHz").is_ok() && plain("1.5GHz").is_ok());
        for wrong in ["", "GHz", "2 GHz", "-1GHz", "2GHz,x"] {
            assert!(plain(wrong).is_err(), "{wrong}");
        }
    }
}
