//! The board of a run: an agent started for this run, or one that runs already.

use gil_board::cli::Confining;
use gil_board::confine::Support;
use gil_run_support::folder::{create_file, file};
use gil_run_support::process::Owned;
use gil_transport::client::{BoardConfig, Client, ClientError, Received};
use gil_transport::secure::KeyError;
use gil_wire::address::{Address, AddressError};
use gil_wire::description::Api;
use gil_wire::identity::DeviceInfo;
use gil_wire::message::{Reply, Request};
use gil_wire::status::Status;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The board as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Board {
    /// Started for this run.
    Own,
    /// Started for this run, answering from a recording.
    Replay(PathBuf),
    /// One that runs already.
    At(Address),
}

impl FromStr for Board {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.strip_prefix("replay:") {
            Some("") => Err(AddressError::Path(text.into())),
            Some(file) => Ok(Self::Replay(file.into())),
            None => text.parse().map(Self::At),
        }
    }
}

/// Errors of starting an agent or connecting to one.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent process cannot be started.
    #[error("the board agent cannot be started: {0}")]
    Start(#[from] io::Error),
    /// It ended before it listened.
    #[error("{0}")]
    Ended(String),
    /// It does not get ready.
    #[error("the board agent is not ready after {} s: try `gil board --listen unix:gil.sock` by hand", .0.as_secs())]
    Slow(Duration),
    /// The agent at an address does not answer as it should.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Options for an agent of this run's own.
    #[error(
        "--no-confinement and --shared-cache are for an agent that this run starts: leave --board out, or start the agent there with them"
    )]
    Confining,
    /// A key for a board of this run's own.
    #[error("--key is for a board that runs already: add --board ADDR, or leave it out")]
    KeyWithoutBoard,
    /// The recording is not there.
    #[error("there is no recording {}: make one with --record", .0.display())]
    NoRecording(PathBuf),
    /// A pipe or a device in place of a recording.
    #[error("{} is no regular file, in which a replay goes to and fro: copy the recording into one", .0.display())]
    RecordingDevice(PathBuf),
    /// A folder in place of a recording.
    #[error("{} is a folder: give the file that --record wrote", .0.display())]
    RecordingFolder(PathBuf),
    /// It answered something else.
    #[error("the board's answer does not match the question: use the same gil release on both")]
    Confused,
    /// It has no device for what the guest has a driver of.
    #[error(
        "the board {name} serves no {title}: use one whose GPU has it, which `gil ping` shows, or leave --driver or --gpu out"
    )]
    NotServed {
        /// Where it listens, or that it is this machine's.
        name: String,
        /// The driver.
        title: &'static str,
    },
    /// An address the simulator's options cannot carry.
    #[error(
        "the path {0} has a comma, which a simulator's options cannot carry: use a path without"
    )]
    Comma(String),
}

/// How long a board may take to answer what runs nothing.
pub const FIRST_CONTACT: Duration = Duration::from_secs(30);
/// How long an agent may take to look for its devices.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Processes that an agent of a run's own keeps ready: most runs have one session,
/// and loading a driver takes CPU time from it.
const READY_SESSIONS: &str = "1";

/// A board that answers.
pub struct Agent {
    /// Where it listens, for the plugin.
    pub address: String,
    process: Option<Owned>,
}

impl Agent {
    /// What people call it.
    pub fn name(&self) -> &str {
        match self.process {
            Some(_) => "of this machine",
            None => &self.address,
        }
    }
}

/// A board of which it is known where it will listen. It looks for its devices
/// meanwhile.
pub struct Starting {
    /// Where, for the plugin.
    pub address: String,
    /// An agent that was started, and its log.
    started: Option<(Owned, PathBuf)>,
}

impl Starting {
    /// Waits until it listens. Ends with the thread that started it, as all
    /// processes of a run do.
    ///
    /// # Errors
    /// [`AgentError`] says why it does not.
    pub fn ready(self) -> Result<Agent, AgentError> {
        let Some((mut process, log)) = self.started else {
            let (address, process) = (self.address, None);
            return Ok(Agent { address, process });
        };
        let address = first_line(&mut process)?
            .and_then(|line| line.strip_prefix("listening on ").map(str::to_owned))
            .ok_or_else(|| AgentError::Ended(last_words(&log)))?;
        Ok(Agent {
            address,
            process: Some(process),
        })
    }
}

/// Starts the board, or asks one that runs, which answers `within` that time.
///
/// # Errors
/// [`AgentError`] says why there is none.
pub fn begin(
    board: &Board,
    key: Option<&Path>,
    folder: &Path,
    confining: &Confining,
    within: Duration,
) -> Result<Starting, AgentError> {
    let place = Place { name: None, folder };
    begin_named(place, board, key, (confining, &[]), within)
}

/// Where the files of an agent are.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// What tells them apart where the run has other agents.
    pub name: Option<&'a str>,
    /// The run's folder.
    pub folder: &'a Path,
}

/// The same, where the run has others; `replayed` are options for one that replays.
///
/// # Errors
/// As [`begin`].
pub(crate) fn begin_named(
    Place { name, folder }: Place<'_>,
    board: &Board,
    key: Option<&Path>,
    (confining, replayed): (&Confining, &[String]),
    within: Duration,
) -> Result<Starting, AgentError> {
    let own_address = |folder| own_address(folder, name);
    let log = log(folder, name);
    let more = confining.arguments();
    match board {
        Board::Own => {
            let ready = ["--ready-sessions", READY_SESSIONS].map(OsString::from);
            spawn(
                folder,
                &log,
                own_address(folder),
                &[&more[..], &ready].concat(),
            )
        }
        _ if !more.is_empty() => Err(AgentError::Confining),
        Board::Replay(file) => {
            check_recording(file)?;
            let file = fs::canonicalize(file)?;
            let mut options = vec!["--replay".into(), file.into()];
            options.extend(replayed.iter().map(OsString::from));
            spawn(folder, &log, own_address(folder), &options)
        }
        Board::At(address) => reach(address, key, within),
    }
}

/// What the sessions of an agent that a run starts lack of their confinement, on
/// a machine that has so much for it. Of other boards, their own log says it;
/// a recording runs no code.
pub fn lack(board: &Board, confining: &Confining, support: Support) -> Option<&'static str> {
    match board {
        Board::Own => confining.lack(support),
        Board::Replay(_) | Board::At(_) => None,
    }
}

/// The key as a simulator's option names it, if there is one.
///
/// # Errors
/// [`AgentError`] if it cannot be used.
pub fn key_option(board: Option<&Board>, key: Option<&Path>) -> Result<Option<String>, AgentError> {
    let Some(path) = key else { return Ok(None) };
    if !matches!(board, Some(Board::At(_))) {
        return Err(AgentError::KeyWithoutBoard);
    }
    let path = std::path::absolute(path)?.display().to_string();
    match path.contains(',') {
        true => Err(AgentError::Comma(path)),
        false => Ok(Some(path)),
    }
}

/// Whether there is a file to replay.
///
/// # Errors
/// [`AgentError`] if not.
pub fn check_recording(file: &Path) -> Result<(), AgentError> {
    match file.is_file() {
        true => Ok(()),
        false if file.is_dir() => Err(AgentError::RecordingFolder(file.into())),
        false if file.exists() => Err(AgentError::RecordingDevice(file.into())),
        false => Err(AgentError::NoRecording(file.into())),
    }
}

fn reach(address: &Address, key: Option<&Path>, within: Duration) -> Result<Starting, AgentError> {
    Connection::open_within(within, address, key)?.round_trip()?;
    let address = match address {
        // The simulator's working folder need not be ours.
        Address::Unix(path) => Address::Unix(fs::canonicalize(path)?),
        Address::Tcp { .. } => address.clone(),
    };
    let address = address.to_string();
    match address.contains(',') {
        true => Err(AgentError::Comma(address)),
        false => Ok(Starting {
            address,
            started: None,
        }),
    }
}

fn own_address(folder: &Path, name: Option<&str>) -> String {
    let file = name.map_or("board".into(), |name| format!("board-{name}"));
    format!("unix:{}", folder.join(file).display())
}

/// Where an agent's log is.
fn log(folder: &Path, name: Option<&str>) -> PathBuf {
    folder.join(name.map_or(file::BOARD_LOG.into(), |name| format!("board-{name}.log")))
}

/// Starts an agent that listens on `address`, with these arguments more; its
/// log is in `folder`, and so are its sessions' folders, which an agent that is
/// killed leaves behind.
///
/// # Errors
/// [`AgentError`] says why it does not listen.
pub fn start(folder: &Path, address: &str, more: &[OsString]) -> Result<Agent, AgentError> {
    spawn(folder, &log(folder, None), address.into(), more)?.ready()
}

fn spawn(
    folder: &Path,
    log: &Path,
    address: String,
    more: &[OsString],
) -> Result<Starting, AgentError> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["board", "--exit-with-stdin", "--listen", &address])
        .args(more)
        .env("TMPDIR", std::path::absolute(folder)?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(create_file(log)?);
    let process = Owned::start(&mut command)?;
    Ok(Starting {
        address,
        started: Some((process, log.into())),
    })
}

fn first_line(process: &mut Owned) -> Result<Option<String>, AgentError> {
    let Some(stdout) = process.child().stdout.take() else {
        return Ok(None);
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = sender.send(BufReader::new(stdout).lines().next());
    });
    match receiver.recv_timeout(READY_WITHIN) {
        Ok(line) => Ok(line.transpose()?),
        Err(_) => Err(AgentError::Slow(READY_WITHIN)),
    }
}

/// The agent's own sentence about why it ended.
fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    match line {
        Some(line) => line.trim_start_matches("gil: ").to_owned(),
        None => {
            "the board agent ended without a word: try `gil board --listen unix:gil.sock` by hand"
                .into()
        }
    }
}

/// A connection to an agent that runs no calls.
pub struct Connection {
    address: Address,
    client: Client,
}

impl Connection {
    /// Connects, and compares versions and keys.
    ///
    /// # Errors
    /// [`ClientError`] names the address.
    pub fn open(address: &Address, key: Option<&Path>) -> Result<Self, AgentError> {
        Self::open_within(FIRST_CONTACT, address, key)
    }

    /// The same, where each answer may take so long.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_within(
        within: Duration,
        address: &Address,
        key: Option<&Path>,
    ) -> Result<Self, AgentError> {
        Self::open_as(false, within, address, key)
    }

    /// The same, to ask for the agent's status.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_as_operator(address: &Address, key: Option<&Path>) -> Result<Self, AgentError> {
        Self::open_as(true, FIRST_CONTACT, address, key)
    }

    fn open_as(
        operator: bool,
        within: Duration,
        address: &Address,
        key: Option<&Path>,
    ) -> Result<Self, AgentError> {
        let config = BoardConfig {
            operator,
            address: Some(address.clone()),
            key: key.map(gil_transport::secure::Key::read).transpose()?,
            timeout: Some(within),
            ..BoardConfig::default()
        };
        let client = Client::connect_saying(&config, &mut |text| eprintln!("gil: {text}"))?;
        let address = address.clone();
        Ok(Self { address, client })
    }

    /// Wall time of one round trip that runs nothing.
    ///
    /// # Errors
    /// [`AgentError`] if it is not answered.
    pub fn round_trip(&mut self) -> Result<Duration, AgentError> {
        let nonce = 0x6769_6c21;
        let start = Instant::now();
        self.ask(&Request::Ping { nonce }, |reply| match reply {
            Reply::Pong { nonce: theirs } if theirs == nonce => Ok(()),
            _ => Err(AgentError::Confused),
        })?;
        Ok(start.elapsed())
    }

    /// What the board has.
    ///
    /// # Errors
    /// [`AgentError`] if it is not answered.
    pub fn devices(&mut self) -> Result<Vec<DeviceInfo>, AgentError> {
        self.ask(&Request::Devices, |reply| match reply {
            Reply::Devices { devices } => Ok(devices),
            _ => Err(AgentError::Confused),
        })
    }

    /// Whether it has a device for this API; a recording says nothing of it.
    ///
    /// # Errors
    /// As [`devices`](Self::devices).
    pub fn serves(&mut self, api: &Api) -> Result<bool, AgentError> {
        let devices = self.devices()?;
        let mut names = devices.iter().map(|device| device.api.as_str());
        Ok(names.any(|name| [api.title, gil_board::replay::API].contains(&name)))
    }

    /// The agent's status.
    ///
    /// # Errors
    /// [`AgentError`] if it is not answered.
    pub fn status(&mut self) -> Result<Status, AgentError> {
        self.ask(&Request::Status, |reply| match reply {
            Reply::Status(status) => Ok(status),
            _ => Err(AgentError::Confused),
        })
    }

    /// Sends a request and reads its reply, which has no payload.
    ///
    /// # Errors
    /// [`AgentError`] if it is not answered, or refused.
    pub fn ask<T>(
        &mut self,
        request: &Request<'_>,
        read: impl FnOnce(Reply<'_>) -> Result<T, AgentError>,
    ) -> Result<T, AgentError> {
        let received = self
            .exchange(request)
            .map_err(|error| error.first(&self.address))?;
        let (header, payload) = (received.header, received.payload_len);
        if payload != 0 {
            return Err(AgentError::Confused);
        }
        match postcard::from_bytes(&header) {
            Ok(Reply::Refused { reason }) => Err(ClientError::Refused(reason.into()).into()),
            Ok(reply) => read(reply),
            Err(_) => Err(AgentError::Confused),
        }
    }

    fn exchange(&mut self, request: &Request<'_>) -> Result<Received, ClientError> {
        self.client.begin();
        self.client.send_message(request)?;
        self.client.reply()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::hello::Hello;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_run_says_that_its_sessions_are_not_confined() {
        let confined = Confining::default();
        let free = Confining {
            no_confinement: true,
            ..Confining::default()
        };
        let of = |files, calls| Support { files, calls };
        let own = |confining: &Confining, support| lack(&Board::Own, confining, support);
        let said = own(&confined, of(false, true)).unwrap();
        assert!(said.contains("has no Landlock") && said.contains("--no-confinement"));
        assert!(own(&confined, of(true, false)).unwrap().contains("seccomp"));
        assert!(own(&confined, of(false, false)).is_some());
        // It is as it should be, or wanted, or another machine's.
        assert_eq!(own(&confined, of(true, true)), None);
        assert_eq!(own(&free, of(false, false)), None);
        let at = "tcp://h:1".parse().unwrap();
        for board in [at, Board::Replay("a".into())] {
            assert_eq!(lack(&board, &confined, of(false, false)), None);
        }
    }

    #[test]
    fn boards_are_named_in_three_ways() {
        let parse = |text: &str| text.parse::<Board>();
        assert_eq!(parse("replay:a:b").unwrap(), Board::Replay("a:b".into()));
        assert!(matches!(parse("unix:/x").unwrap(), Board::At(_)));
        assert!(matches!(parse("tcp://h:1").unwrap(), Board::At(_)));
        assert!(parse("replay:").is_err());
        assert!(parse("h:1").is_err());
    }

    #[test]
    fn a_board_that_is_silent_behind_its_hello_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let board = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&Hello::ours().encode()).unwrap();
            // Until the other side hangs up.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let within = Duration::from_millis(200);
        let mut connection = Connection::open_within(within, &Address::Unix(path), None).unwrap();
        let error = connection.round_trip().unwrap_err().to_string();
        let words = "did not answer the first contact within 0.2 s";
        assert!(error.contains(words), "{error}");
        drop(connection);
        board.join().unwrap();
    }
}
