//! `gil bench`: what the bridge costs, each figure beside a baseline that is
//! measured in turn with it on the same machine. Read ratios, not times.

mod batch;
mod call;
mod diff;
mod error;
mod line;
mod machine;
mod matmul;
mod page;
mod plot;
mod program;
mod region;
mod sampling;
mod socket;
mod table;

use crate::agent::{self, Agent};
use crate::folder;
use clap::{Args, ValueEnum};
use error::BenchError;
use gil_wire::address::Address;
use line::{Line, Measured};
use machine::Machine;
use socket::Kind;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Arguments of `gil bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// What to measure; `all` leaves out what needs the repository and a
    /// guest: matmul.
    #[arg(required = true, value_enum)]
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
    /// Write JSON lines to this file, `-` for standard output. Without it they
    /// go there unless it is a terminal, which gets a table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Measure nothing again: take the lines of this file, an earlier --json,
    /// for --page and --plot.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the figures into the marked section of this Markdown page.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Draw plots into this folder, as SVG.
    #[arg(long, value_name = "FOLDER")]
    pub plot: Option<PathBuf>,
    /// Products of matmul.
    #[arg(long, value_name = "NUMBER", default_value_t = 300)]
    pub products: u32,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Everything but matmul.
    All,
    /// A forwarded call with an answer, above a round trip of 64 bytes.
    Call,
    /// Calls that go together.
    Batch,
    /// Region bytes to and from a board on this machine.
    Region,
    /// Region bytes to and from a board over TCP.
    RegionTcp,
    /// Looking for changes in shared memory.
    Diff,
    /// A matrix multiplication in the guest, against natively. In gil's
    /// repository only.
    Matmul,
}

const ALL: [Name; 5] = [
    Name::Call,
    Name::Batch,
    Name::Region,
    Name::RegionTcp,
    Name::Diff,
];

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// To see that it works.
    Quick,
    /// In seconds.
    Usual,
    /// All sizes.
    Full,
}

impl Effort {
    /// How many times something quick is measured.
    pub fn times(self, usual: usize) -> usize {
        match self {
            Self::Quick => (usual / 50).max(2),
            Self::Usual | Self::Full => usual,
        }
    }
}

/// What a benchmark works with.
pub struct Bench<'a> {
    args: &'a BenchArgs,
    /// How much it measures.
    pub effort: Effort,
    /// For its files.
    pub folder: &'a Path,
    /// Agents that were started: each listens at a path of its own.
    agents: Cell<u32>,
}

impl Bench<'_> {
    /// The board: an agent that listens on `address`, or the one that the user
    /// named, if it does so by a socket of this kind.
    pub fn board(&self, is_tcp: bool) -> Result<Agent, BenchError> {
        if let Some(address) = &self.args.board {
            let is_theirs = matches!(address, Address::Tcp { .. });
            return match is_theirs == is_tcp {
                true => Ok(agent::ready(
                    &agent::Board::At(address.clone()),
                    None,
                    self.folder,
                )?),
                false => Err(BenchError::OtherSocket(address.clone())),
            };
        }
        let address = match is_tcp {
            true => "tcp://127.0.0.1:0".into(),
            false => {
                let number = self.agents.replace(self.agents.get() + 1);
                let path = self.folder.join(format!("board-{number}"));
                format!("unix:{}", path.display())
            }
        };
        Ok(agent::start(self.folder, &address, None)?)
    }

    /// Whether the user named a board that is reached by TCP.
    pub fn is_tcp(&self) -> bool {
        matches!(self.args.board, Some(Address::Tcp { .. }))
    }

    /// The kinds of sockets by which there is a board.
    pub fn kinds(&self) -> Vec<Kind> {
        match &self.args.board {
            None => vec![Kind::Unix, Kind::Tcp],
            Some(Address::Unix(_)) => vec![Kind::Unix],
            Some(Address::Tcp { .. }) => vec![Kind::Tcp],
        }
    }

    fn run(&self, name: Name) -> Result<Vec<Measured>, BenchError> {
        match name {
            Name::All => {
                ALL.into_iter()
                    .map(|name| self.run(name))
                    .try_fold(Vec::new(), |mut all, more| {
                        all.extend(more?);
                        Ok(all)
                    })
            }
            Name::Call => call::measure(self),
            Name::Batch => batch::measure(self),
            Name::Region => region::measure(self, false),
            Name::RegionTcp => region::measure(self, true),
            Name::Diff => diff::measure(self.effort),
            Name::Matmul => matmul::measure(self, self.args.products),
        }
    }
}

/// Measures, and tells the figures.
///
/// # Errors
/// [`BenchError`] says what cannot be measured here.
pub fn run(args: &BenchArgs) -> Result<(), BenchError> {
    let lines = match &args.from {
        Some(file) => page::read_lines(file)?,
        None => measure(args)?,
    };
    if let Some(page) = &args.page {
        page::write(page, &lines)?;
    }
    if let Some(folder) = &args.plot {
        plot::draw(folder, &lines)?;
    }
    Ok(())
}

fn measure(args: &BenchArgs) -> Result<Vec<Line>, BenchError> {
    let folder = folder::create()?;
    let bench = Bench {
        args,
        effort: match (args.quick, args.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Usual,
        },
        folder: folder.path(),
        agents: Cell::new(0),
    };
    let (machine, date) = (Machine::this(), machine::today());
    let mut output = Output::new(args)?;
    let mut lines = Vec::new();
    for name in &args.names {
        for measured in bench.run(*name)? {
            let line = measured.at(&machine, &date);
            output.line(&line)?;
            lines.push(line);
        }
    }
    output.end(&lines)?;
    Ok(lines)
}

/// Where lines go.
struct Output {
    json: Option<Box<dyn Write>>,
    has_table: bool,
}

impl Output {
    fn new(args: &BenchArgs) -> io::Result<Self> {
        let is_terminal = io::stdout().is_terminal();
        let to_stdout = args.json.as_deref() == Some(Path::new("-"));
        let json: Option<Box<dyn Write>> = match &args.json {
            Some(path) if !to_stdout => Some(Box::new(File::create(path)?)),
            None if is_terminal => None,
            _ => Some(Box::new(io::stdout())),
        };
        let has_table = is_terminal && !to_stdout;
        Ok(Self { json, has_table })
    }

    /// As soon as it is there: a benchmark takes its time.
    fn line(&mut self, line: &Line) -> io::Result<()> {
        match &mut self.json {
            Some(json) => {
                writeln!(json, "{}", serde_json::to_string(line)?)?;
                json.flush()
            }
            None => Ok(()),
        }
    }

    fn end(&self, lines: &[Line]) -> io::Result<()> {
        match self.has_table {
            true => writeln!(io::stdout(), "{}", table::plain(lines)),
            false => Ok(()),
        }
    }
}
