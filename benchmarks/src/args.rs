//! The command line of the benchmarks.

use clap::{ArgGroup, Args, ValueEnum};
use gil_wire::address::Address;
use std::path::PathBuf;

/// Arguments of `gil bench`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("written").multiple(true)))]
pub struct BenchArgs {
    /// What to measure; `all` leaves out what --board does not serve and,
    /// outside gil's repository, what needs a guest.
    #[arg(required_unless_present = "from", value_enum)]
    pub names: Vec<Name>,
    /// As few times as show that it works: not to be believed.
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Also sizes that take long and much memory: diff up to 1 GiB.
    #[arg(long)]
    pub full: bool,
    /// Measure with the agent that listens here instead of one of this
    /// machine's own.
    #[arg(long, value_name = "ADDRESS")]
    pub board: Option<Address>,
    /// Its key.
    #[arg(long, value_name = "FILE", requires = "board")]
    pub key: Option<PathBuf>,
    /// Measure TCP without a key, too: while that lasts, every user of this
    /// machine may use the agent, and what it may do.
    #[arg(long, conflicts_with = "board")]
    pub allow_any_local_user: bool,
    /// Write JSON lines to this file, `-` for standard output. Without it they
    /// go there unless it is a terminal, which gets a table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure nothing again: take the lines of this file, an earlier --json,
    /// for --page and --plot.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "names", "quick", "full", "board", "allow_any_local_user", "json", "products", "size",
    ], requires = "written")]
    pub from: Option<PathBuf>,
    /// Write the figures into the marked section of this Markdown page.
    #[arg(long, value_name = "FILE", group = "written")]
    pub page: Option<PathBuf>,
    /// Draw plots into this folder, as SVG.
    #[arg(long, value_name = "FOLDER", group = "written")]
    pub plot: Option<PathBuf>,
    /// Products of matmul.
    #[arg(long, value_name = "NUMBER", default_value_t = 300)]
    pub products: u32,
    /// Rows and columns of the matrices of matmul and emulated.
    #[arg(long, value_name = "NUMBER", default_value_t = 320,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub size: u32,
}

/// A measurement, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Everything.
    All,
    /// A forwarded call with an answer, above a round trip of 64 bytes.
    Call,
    /// The same on a busy machine: with a loop on each core.
    CallBusy,
    /// The first calls of programs that begin at once.
    Sessions,
    /// A whole run of a small program, against one whose guest boots.
    Start,
    /// Calls of a program in the guest, in wall time. In a checkout of gil only.
    Calls,
    /// Calls that go together.
    Batch,
    /// Region bytes to and from a board on this machine.
    Region,
    /// Region bytes to and from a board over TCP; takes --allow-any-local-user.
    RegionTcp,
    /// The same, encrypted, against the cipher alone.
    RegionEncrypted,
    /// Looking for changes in shared memory.
    Diff,
    /// A matrix multiplication in the guest, against natively. In a checkout
    /// of gil only.
    Matmul,
    /// The same against PoCL in the guest, which emulates the GPU there. In
    /// a checkout of gil only.
    Emulated,
    /// Programs that draw with OpenGL ES in the guest, against natively: frames,
    /// calls, instructions. In a checkout of gil only.
    Gles,
}

impl Name {
    /// All but [`Name::All`].
    pub const EACH: [Self; 13] = [
        Self::Call,
        Self::CallBusy,
        Self::Sessions,
        Self::Start,
        Self::Calls,
        Self::Batch,
        Self::Region,
        Self::RegionTcp,
        Self::RegionEncrypted,
        Self::Diff,
        Self::Matmul,
        Self::Emulated,
        Self::Gles,
    ];
}
