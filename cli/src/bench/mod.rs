//! `gil bench`: what the bridge costs, each figure beside a baseline that is
//! measured in turn with it on the same machine. Read ratios, not times.

mod batch;
mod call;
mod cipher;
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

use clap::{Args, ValueEnum};
use error::BenchError;
use gil_board::cli::Confining;
use gil_board_client::agent::{self, Agent};
use gil_board_client::key;
use gil_run_support::folder;
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
    /// What to measure; `all` leaves out what --board does not serve and,
    /// outside gil's repository, what needs a guest.
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
    /// Rows and columns of the matrices of matmul and emulated.
    #[arg(long, value_name = "NUMBER", default_value_t = 320,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub size: u32,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Everything.
    All,
    /// A forwarded call with an answer, above a round trip of 64 bytes.
    Call,
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
    /// A matrix multiplication in the guest, against natively. In gil's
    /// repository only.
    Matmul,
    /// The same against PoCL in the guest, which emulates the GPU there. In
    /// gil's repository only.
    Emulated,
}

const ALL: [Name; 8] = [
    Name::Call,
    Name::Batch,
    Name::Region,
    Name::RegionTcp,
    Name::RegionEncrypted,
    Name::Diff,
    Name::Matmul,
    Name::Emulated,
];

/// How a board is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// On this machine, with memory in common.
    Local,
    /// By TCP.
    Tcp,
    /// By TCP, encrypted.
    Encrypted,
}

/// A board that answers.
pub struct Board {
    /// Where.
    pub agent: Agent,
    /// The key that it wants.
    pub key: Option<PathBuf>,
}

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
    /// A board that is reached in this way: an agent of this run's own, or the
    /// one that the user named.
    pub fn board(&self, way: Way) -> Result<Board, BenchError> {
        match &self.args.board {
            None => self.own_board(way),
            Some(address) if self.named_way() != Some(way) => {
                Err(BenchError::OtherWay(address.clone()))
            }
            Some(address) => {
                let key = self.args.key.clone();
                let board = agent::Board::At(address.clone());
                let confining = Confining::default();
                let (key_file, within) = (key.as_deref(), agent::FIRST_CONTACT);
                let agent = agent::ready(&board, key_file, self.folder, &confining, within)?;
                Ok(Board { agent, key })
            }
        }
    }

    fn own_board(&self, way: Way) -> Result<Board, BenchError> {
        let number = self.agents.replace(self.agents.get() + 1);
        let path = |name: &str| self.folder.join(format!("{name}-{number}"));
        let address = match way {
            Way::Local => format!("unix:{}", path("board").display()),
            Way::Tcp | Way::Encrypted => "tcp://127.0.0.1:0".into(),
        };
        let key = (way == Way::Encrypted).then(|| path("key"));
        let mut more = Vec::new();
        if way == Way::Tcp {
            self.check_tcp()?;
            more = vec!["--allow-any-local-user".into()];
        }
        if let Some(key) = &key {
            key::make(key)?;
            more = vec!["--key".into(), key.into()];
        }
        let agent = agent::start(self.folder, &address, &more)?;
        Ok(Board { agent, key })
    }

    /// Whether an agent of this run's own may be reached by TCP without a key.
    fn check_tcp(&self) -> Result<(), BenchError> {
        match self.args.allow_any_local_user {
            true => Ok(()),
            false => Err(BenchError::AnyLocalUser),
        }
    }

    /// How the board is reached that the user named.
    fn named_way(&self) -> Option<Way> {
        match (self.args.board.as_ref()?, &self.args.key) {
            (Address::Unix(_), _) => Some(Way::Local),
            (Address::Tcp { .. }, None) => Some(Way::Tcp),
            (Address::Tcp { .. }, Some(_)) => Some(Way::Encrypted),
        }
    }

    /// How a board is reached if it does not matter.
    pub fn way(&self) -> Way {
        self.named_way().unwrap_or(Way::Local)
    }

    /// How a board is reached by this kind of socket.
    pub fn way_by(&self, kind: Kind) -> Way {
        self.named_way().unwrap_or(match kind {
            Kind::Unix => Way::Local,
            Kind::Tcp => Way::Tcp,
        })
    }

    /// The kinds of sockets by which there is a board.
    pub fn kinds(&self) -> Vec<Kind> {
        match &self.args.board {
            None if self.args.allow_any_local_user => vec![Kind::Unix, Kind::Tcp],
            None => vec![Kind::Unix],
            Some(Address::Unix(_)) => vec![Kind::Unix],
            Some(Address::Tcp { .. }) => vec![Kind::Tcp],
        }
    }

    /// Whether this can be measured here.
    fn can(&self, name: Name) -> bool {
        let is = |way| self.named_way().is_none_or(|named| named == way);
        match name {
            Name::Region => is(Way::Local),
            Name::RegionTcp => {
                is(Way::Tcp) && (self.args.board.is_some() || self.check_tcp().is_ok())
            }
            Name::RegionEncrypted => is(Way::Encrypted),
            Name::Matmul | Name::Emulated => self.args.board.is_none() && matmul::is_here(),
            Name::All | Name::Call | Name::Batch | Name::Diff => true,
        }
    }

    /// One benchmark, not `all`.
    fn run(&self, name: Name) -> Result<Vec<Measured>, BenchError> {
        match name {
            Name::All => Ok(Vec::new()),
            Name::Call => call::measure(self),
            Name::Batch => batch::measure(self),
            Name::Region => region::measure(self, Way::Local),
            Name::RegionTcp => region::measure(self, Way::Tcp),
            Name::RegionEncrypted => region::measure(self, Way::Encrypted),
            Name::Diff => diff::measure(self.effort),
            Name::Matmul => matmul::measure(self, self.args.products, self.args.size),
            Name::Emulated => matmul::measure_emulated(self, self.args.size),
        }
    }

    /// What is to be measured, in order.
    fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        for &name in &self.args.names {
            let some = match name {
                Name::All => ALL.into_iter().filter(|&name| self.can(name)).collect(),
                one => vec![one],
            };
            names.extend(some);
        }
        names
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
    let plots = match &args.plot {
        Some(folder) => plot::draw(folder, &lines)?,
        None => Vec::new(),
    };
    if let Some(page) = &args.page {
        page::write(page, &lines, &plots)?;
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
    for name in bench.names() {
        output.begin(name);
        for measured in bench.run(name)? {
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
    has_progress: bool,
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
        let has_progress = io::stderr().is_terminal() || args.page.is_some();
        Ok(Self {
            json,
            has_table,
            has_progress,
        })
    }

    /// Says on a terminal, or where a page is written, what is measured now.
    fn begin(&self, name: Name) {
        if let Some(value) = name.to_possible_value().filter(|_| self.has_progress) {
            eprintln!("gil bench: {} …", value.get_name());
        }
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
