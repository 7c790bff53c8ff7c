//! What benchmarks use: an API's programs, boards over different connections, and the
//! amount of measuring.

use crate::args::{BenchArgs, Name};
use crate::board::{Board, Way};
use crate::error::BenchError;
use crate::line::Measured;
use crate::program::{NullCall, Program, Worker};
use crate::socket::Kind;
use gil_board::cli::Confining;
use gil_board_client::{agent, key};
use gil_wire::address::Address;
use std::cell::Cell;
use std::path::Path;

/// The amount of measuring.
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

/// An API whose calls can be measured.
pub trait Api: Sync {
    /// Its cheapest call that goes to the board.
    fn null_call(&self) -> NullCall;

    /// A program without objects, with `data` bytes of memory.
    ///
    /// # Errors
    /// [`BenchError`] if the host interface does not take it.
    fn program(&self, board: &Board, data: u64) -> Result<Box<dyn Program + Send>, BenchError>;

    /// The same with an in-order queue on the first device.
    ///
    /// # Errors
    /// [`BenchError`], also where the board has no such device.
    fn program_with_queue(&self, board: &Board, data: u64) -> Result<Box<dyn Program>, BenchError>;

    /// A program that keeps processors of the first device at work.
    ///
    /// # Errors
    /// As [`program_with_queue`](Api::program_with_queue).
    fn worker(&self, board: &Board) -> Result<Box<dyn Worker + Send>, BenchError>;

    /// Whether its programs for guests are here: this is gil's repository.
    fn has_examples(&self) -> bool;

    /// Products of matrices in the guest, against natively.
    ///
    /// # Errors
    /// [`BenchError`] if a program does not build, or fails.
    fn products(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError>;

    /// Wall time of calls of a program in the guest.
    ///
    /// # Errors
    /// As [`products`](Api::products).
    fn calls_in_guest(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError>;

    /// Products against the GPU's stack emulated in the guest.
    ///
    /// # Errors
    /// As [`products`](Api::products).
    fn emulated_products(&self, bench: &Bench<'_>) -> Result<Vec<Measured>, BenchError>;
}

/// The input of a benchmark.
pub struct Bench<'a> {
    /// The command line.
    pub args: &'a BenchArgs,
    /// Whose programs are measured.
    pub api: &'static dyn Api,
    /// The amount of measuring.
    pub effort: Effort,
    /// For its files.
    pub folder: &'a Path,
    /// Agents that were started: each listens at a path of its own.
    agents: Cell<u32>,
}

impl<'a> Bench<'a> {
    /// As `args` have it; agents have their files in the folder.
    pub fn new(args: &'a BenchArgs, api: &'static dyn Api, folder: &'a Path) -> Self {
        let effort = match (args.quick, args.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Usual,
        };
        Self {
            args,
            api,
            effort,
            folder,
            agents: Cell::new(0),
        }
    }

    /// A board that is reached in this way: an agent of this run's own, or the
    /// one that the user named.
    pub fn board(&self, way: Way) -> Result<Board, BenchError> {
        self.board_ready_for(way, 1)
    }

    /// The same; an agent of this run's own keeps processes ready for so many
    /// sessions.
    pub fn board_ready_for(&self, way: Way, sessions: usize) -> Result<Board, BenchError> {
        match &self.args.board {
            None => self.own_board(way, sessions),
            Some(address) if self.named_way() != Some(way) => {
                Err(BenchError::OtherWay(address.clone()))
            }
            Some(address) => {
                let key = self.args.key.clone();
                let board = agent::Board::At(address.clone());
                let confining = Confining::default();
                let (key_file, within) = (key.as_deref(), agent::FIRST_CONTACT);
                let agent =
                    agent::begin(&board, key_file, self.folder, &confining, within)?.ready()?;
                Ok(Board { agent, key })
            }
        }
    }

    fn own_board(&self, way: Way, sessions: usize) -> Result<Board, BenchError> {
        let number = self.agents.replace(self.agents.get() + 1);
        let path = |name: &str| self.folder.join(format!("{name}-{number}"));
        let address = match way {
            Way::Local => format!("unix:{}", path("board").display()),
            Way::Tcp | Way::Encrypted => "tcp://127.0.0.1:0".into(),
        };
        let key = (way == Way::Encrypted).then(|| path("key"));
        let mut more = vec!["--ready-sessions".into(), sessions.to_string().into()];
        if way == Way::Tcp {
            self.check_tcp()?;
            more.push("--allow-any-local-user".into());
        }
        if let Some(key) = &key {
            key::make(key)?;
            more.extend(["--key".into(), key.into()]);
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
    pub fn can(&self, name: Name) -> bool {
        let is = |way| self.named_way().is_none_or(|named| named == way);
        match name {
            Name::Region => is(Way::Local),
            Name::RegionTcp => {
                is(Way::Tcp) && (self.args.board.is_some() || self.check_tcp().is_ok())
            }
            Name::RegionEncrypted => is(Way::Encrypted),
            Name::Start | Name::Calls | Name::Matmul | Name::Emulated | Name::Gles => {
                self.args.board.is_none() && self.api.has_examples()
            }
            // What is ready there is not known.
            Name::Sessions => self.args.board.is_none(),
            Name::All | Name::Call | Name::CallBusy | Name::Batch | Name::Diff => true,
        }
    }
}
