//! The boards of a run: one for every API, or some for the APIs of one back end.

use crate::agent::{self, Agent, AgentError, Board, Starting};
use gil_board::cli::Confining;
use gil_wire::address::AddressError;
use gil_wire::choice::{Together, UnknownApi};
use gil_wire::generated::APIS;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// An option's value for some APIs, or for all that no other option names:
/// `gles=unix:gpu.sock`, `unix:board.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct For<T> {
    /// The APIs.
    pub apis: Option<Together>,
    /// The value.
    pub value: T,
}

/// An option's value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForError<E: std::error::Error> {
    /// The API in front.
    #[error(transparent)]
    Api(#[from] UnknownApi),
    /// What follows it.
    #[error("{0}")]
    Value(E),
}

impl<T: FromStr<Err: std::error::Error>> FromStr for For<T> {
    type Err = ForError<T::Err>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (apis, value) = Together::split(text)?;
        let value = value.parse().map_err(ForError::Value)?;
        Ok(Self { apis, value })
    }
}

/// A key's file, as an option names it.
pub type KeyFor = For<PathBuf>;
/// A board, as an option names it.
pub type BoardFor = For<Board>;

/// Boards that do not go together.
#[derive(Debug, thiserror::Error)]
pub enum BoardsError {
    /// Two for one API.
    #[error("{option} is given twice {}: give it once", for_whom(*.apis))]
    Twice {
        /// The option.
        option: &'static str,
        /// For which APIs.
        apis: Option<Together>,
    },
    /// A key for a board that is not named.
    #[error("--key {api}=FILE is for a board of its own: add --board {api}=ADDR, or leave it out")]
    KeyAlone {
        /// The API.
        api: &'static str,
    },
    /// A board behind no recording.
    #[error(
        "--replay-live is for a run that answers from a recording: add --board replay:FILE, or leave it out"
    )]
    LiveAlone,
    /// Several recordings, of which one run cannot take the place.
    #[error("--replay-live with several recordings: name the file for this run by --record")]
    Several,
    /// One of them.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

fn for_whom(apis: Option<Together>) -> String {
    match apis {
        Some(apis) => format!("for {apis}"),
        None => "for all APIs".into(),
    }
}

/// The board that serves what a recording has not: one that runs already, or this run's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveBoard(pub Board);

impl FromStr for LiveBoard {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text {
            "local" => Ok(Self(Board::Own)),
            address => Ok(Self(Board::At(address.parse()?))),
        }
    }
}

/// The boards of a run, and their keys.
#[derive(Clone, Debug)]
pub struct Boards<'a> {
    all: Vec<Chosen<'a>>,
    /// What serves requests that recordings have not.
    live: Option<Live<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct Live<'a> {
    board: &'a Board,
    key: Option<&'a Path>,
}

/// What files of the agent behind recordings are called.
const LIVE: &str = "live";

#[derive(Clone, Debug)]
struct Chosen<'a> {
    apis: Option<Together>,
    board: &'a Board,
    key: Option<&'a Path>,
}

static OWN: Board = Board::Own;

impl<'a> Boards<'a> {
    /// As the options have them. APIs that no board is named for are served by an
    /// agent of the run's own.
    ///
    /// # Errors
    /// [`BoardsError`]: two for one API, a key without its board.
    pub fn of(boards: &'a [BoardFor], keys: &'a [KeyFor]) -> Result<Self, BoardsError> {
        once("--board", boards)?;
        once("--key", keys)?;
        let named: Vec<Together> = boards.iter().filter_map(|board| board.apis).collect();
        let has_other = boards.iter().any(|board| board.apis.is_none());
        let own = (!has_other && !Together::are_all(&named)).then_some((None, &OWN));
        let given = boards.iter().map(|board| (board.apis, &board.value));
        let key_for = |apis| keys.iter().find(|key| key.apis == apis);
        let chosen = |(apis, board)| Chosen {
            apis,
            board,
            key: key_for(apis).map(|key| key.value.as_path()),
        };
        let all: Vec<_> = own.into_iter().chain(given).map(chosen).collect();
        let is_for = |key: &KeyFor| all.iter().any(|chosen| chosen.apis == key.apis);
        let alone = keys.iter().find(|key| !is_for(key));
        match alone.map(|key| key.apis) {
            Some(Some(apis)) => Err(BoardsError::KeyAlone { api: apis.name() }),
            Some(None) => Err(AgentError::KeyWithoutBoard.into()),
            None => Ok(Self { all, live: None }),
        }
    }

    /// The same, where a board serves what their recordings have not.
    ///
    /// # Errors
    /// [`BoardsError::LiveAlone`] if there is no recording.
    pub fn with_live(
        self,
        live: Option<&'a LiveBoard>,
        key: Option<&'a Path>,
    ) -> Result<Self, BoardsError> {
        let live = live.map(|live| Live {
            board: &live.0,
            key,
        });
        match live {
            Some(_) if self.recordings().next().is_none() => Err(BoardsError::LiveAlone),
            live => Ok(Self { live, ..self }),
        }
    }

    /// The recordings that are replayed.
    pub fn recordings(&self) -> impl Iterator<Item = &'a Path> + '_ {
        self.all.iter().filter_map(|chosen| match chosen.board {
            Board::Replay(file) => Some(file.as_path()),
            Board::Own | Board::At(_) => None,
        })
    }

    /// The one recording that is replayed.
    ///
    /// # Errors
    /// [`BoardsError::Several`] if there are several.
    pub fn recording(&self) -> Result<&'a Path, BoardsError> {
        let mut all = self.recordings();
        let first = all.next().ok_or(BoardsError::LiveAlone)?;
        match all.all(|other| other == first) {
            true => Ok(first),
            false => Err(BoardsError::Several),
        }
    }

    /// Checks what needs no agent of the run's own: that those which run already
    /// answer `within` that time, and that recordings are there.
    ///
    /// # Errors
    /// [`BoardsError`] says what is missing.
    pub fn check(&self, within: Duration) -> Result<(), BoardsError> {
        for chosen in &self.all {
            agent::key_option(Some(chosen.board), chosen.key)?;
            match chosen.board {
                Board::At(address) => {
                    agent::Connection::open_within(within, address, chosen.key)?;
                }
                Board::Replay(file) => agent::check_recording(file)?,
                Board::Own => {}
            }
        }
        if let Some(Live { board, key }) = self.live {
            agent::key_option(Some(board), key)?;
            if let Board::At(address) = board {
                agent::Connection::open_within(within, address, key)?;
            }
        }
        Ok(())
    }

    /// The first API that has a board of its own, if one has.
    pub fn named(&self) -> Option<Together> {
        self.all.iter().find_map(|chosen| chosen.apis)
    }

    /// The board that the run starts for itself, if it does.
    pub fn own(&self) -> Option<&'a Board> {
        let mut all = self.all.iter().map(|chosen| chosen.board);
        all.find(|board| **board == Board::Own)
    }

    /// Options of an agent that replays, by which it knows the sessions of its own APIs: in
    /// the recording of a run with several boards, a program has one on each.
    fn replayed(&self, chosen: &Chosen<'_>) -> Vec<String> {
        let named: Vec<_> = self.all.iter().filter_map(|it| it.apis).collect();
        let apis = match chosen.apis {
            Some(apis) => vec![apis],
            None if named.is_empty() => Vec::new(),
            None => Together::all_but(&named),
        };
        let option = |apis: Together| ["--for".into(), apis.name().into()];
        apis.into_iter().flat_map(option).collect()
    }

    /// Starts each, or asks one that runs, which answers `within` that time.
    ///
    /// # Errors
    /// [`AgentError`] says why there is none.
    pub fn begin(
        &self,
        folder: &Path,
        confining: &Confining,
        within: Duration,
    ) -> Result<StartingAll, AgentError> {
        let is_live_own = self.live.is_some_and(|live| *live.board == Board::Own);
        if self.own().is_none() && !is_live_own && !confining.arguments().is_empty() {
            return Err(AgentError::Confining);
        }
        let live = self.begin_live(folder, confining, within)?;
        let behind = live.as_ref().map(|(_, options)| &options[..]);
        let free = Confining::default();
        let begin = |chosen: &Chosen<'_>| {
            let name = chosen.apis.map(Together::name);
            let confining = match chosen.board {
                Board::Own => confining,
                _ => &free,
            };
            let (board, key) = (chosen.board, chosen.key);
            let place = agent::Place { name, folder };
            let mut replayed = self.replayed(chosen);
            replayed.extend(behind.unwrap_or_default().iter().cloned());
            let starting = agent::begin_named(place, board, key, (confining, &replayed), within)?;
            let key = agent::key_option(Some(board), key)?;
            Ok((name, starting, key))
        };
        let all = self.all.iter().map(begin);
        let all = all.collect::<Result<_, AgentError>>()?;
        let live = live.map(|(starting, _)| starting);
        Ok(StartingAll { all, live })
    }

    /// Starts the board behind the recordings, and the options that name it to their agents.
    fn begin_live(
        &self,
        folder: &Path,
        confining: &Confining,
        within: Duration,
    ) -> Result<Option<(Starting, Vec<String>)>, AgentError> {
        let Some(Live { board, key }) = self.live else {
            return Ok(None);
        };
        let name = Some(LIVE);
        let free = Confining::default();
        let confining = match board {
            Board::Own => confining,
            _ => &free,
        };
        let place = agent::Place { name, folder };
        let starting = agent::begin_named(place, board, key, (confining, &[]), within)?;
        let mut options = vec!["--live".into(), starting.address.clone()];
        if let Some(key) = agent::key_option(Some(board), key)? {
            options.extend(["--live-key".into(), key]);
        }
        Ok(Some((starting, options)))
    }
}

fn once<T>(option: &'static str, values: &[For<T>]) -> Result<(), BoardsError> {
    for (place, value) in values.iter().enumerate() {
        if values[..place]
            .iter()
            .any(|before| before.apis == value.apis)
        {
            let apis = value.apis;
            return Err(BoardsError::Twice { option, apis });
        }
    }
    Ok(())
}

/// Boards of which it is known where they will listen.
pub struct StartingAll {
    all: Vec<(Option<&'static str>, Starting, Option<String>)>,
    /// The one behind recordings.
    live: Option<Starting>,
}

/// A value with the API that it is for in front, as simulators' options have it.
fn option(name: Option<&str>, value: &str) -> String {
    match name {
        Some(name) => format!("{name}={value}"),
        None => value.into(),
    }
}

impl StartingAll {
    /// The values of a simulator's options for them.
    pub fn options(&self) -> Options {
        let address = |(name, starting, _): &(_, Starting, _)| option(*name, &starting.address);
        let key = |(name, _, key): &(Option<&str>, _, Option<String>)| {
            key.as_deref().map(|key| option(*name, key))
        };
        Options {
            boards: self.all.iter().map(address).collect(),
            keys: self.all.iter().filter_map(key).collect(),
        }
    }

    /// Waits until all listen; the one for the API of a driver has a device for it.
    ///
    /// # Errors
    /// [`AgentError`] says why one does not.
    pub fn ready(self, driver: Option<&str>) -> Result<Vec<Agent>, AgentError> {
        let names: Vec<_> = self.all.iter().map(|(name, ..)| *name).collect();
        let serves = names.iter().find(|name| name.is_some() && **name == driver);
        let serves = serves.copied().flatten();
        let ready = |(name, starting, key): (Option<&str>, Starting, Option<String>)| {
            let agent = starting.ready()?;
            if let (Some(driver), true) = (driver, name == serves) {
                check_serves(&agent, key.as_deref(), driver)?;
            }
            Ok(agent)
        };
        let live = self.live.map(Starting::ready);
        self.all.into_iter().map(ready).chain(live).collect()
    }
}

fn check_serves(agent: &Agent, key: Option<&str>, driver: &str) -> Result<(), AgentError> {
    let api = APIS.iter().find(|api| api.name == driver);
    let (Some(api), Ok(address)) = (api, agent.address.parse()) else {
        return Ok(());
    };
    let mut connection = agent::Connection::open(&address, key.map(Path::new))?;
    if connection.serves(api)? {
        return Ok(());
    }
    let (name, title) = (agent.name().into(), api.title);
    Err(AgentError::NotServed { name, title })
}

/// Values of a simulator's options `board` and `key`, each of which may come
/// several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Addresses, with the API in front if they are for some only.
    pub boards: Vec<String>,
    /// Files of keys, in the same way.
    pub keys: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boards(texts: &[&str]) -> Vec<BoardFor> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn keys(texts: &[&str]) -> Vec<KeyFor> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn apis_without_a_board_are_served_by_the_runs_own() {
        let own = |texts: &[&str]| {
            let boards = boards(texts);
            Boards::of(&boards, &[]).unwrap().own().is_some()
        };
        assert!(own(&[]) && own(&["gles=unix:/a"]));
        assert!(!own(&["unix:/a"]) && !own(&["gles=unix:/a", "replay:b"]));
        assert!(!own(&["egl=unix:/a", "opencl=unix:/b"]), "all are named");
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let error = |texts: &[&str], files: &[&str]| {
            let (boards, keys) = (boards(texts), keys(files));
            Boards::of(&boards, &keys).unwrap_err().to_string()
        };
        let twice = error(&["gles=unix:/a", "egl=unix:/b"], &[]);
        assert!(twice.contains("--board is given twice for EGL"), "{twice}");
        let twice = error(&["unix:/a", "unix:/b"], &[]);
        assert!(twice.contains("for all APIs"), "{twice}");
        let alone = error(&["unix:/a"], &["gles=/k"]);
        assert!(alone.contains("add --board gles=ADDR"), "{alone}");
        let alone = error(&["gles=unix:/a", "opencl=unix:/b"], &["/k"]);
        assert!(alone.contains("--key is for a board"), "{alone}");
        assert!("vulkan=unix:/a".parse::<BoardFor>().is_err());
        assert!("gles=".parse::<BoardFor>().is_err());
    }

    #[test]
    fn a_recording_that_is_not_there_is_said() {
        let boards = boards(&["gles=replay:/none"]);
        let chosen = Boards::of(&boards, &[]).unwrap();
        let error = chosen.check(Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("there is no recording /none"));
    }

    #[test]
    fn each_recording_is_for_the_apis_of_its_board() {
        let for_each = |texts: &[&str]| {
            let boards = boards(texts);
            let chosen = Boards::of(&boards, &[]).unwrap();
            let all = chosen.all.iter().map(|it| chosen.replayed(it).join(" "));
            all.collect::<Vec<_>>()
        };
        assert_eq!(for_each(&["replay:a"]), [""], "all of it");
        let named = for_each(&["egl=replay:a", "opencl=replay:a"]);
        assert_eq!(named, ["--for egl", "--for opencl"]);
        let others = for_each(&["gles=unix:/a", "replay:b"]);
        assert!(others[1].contains("--for opencl --for ") && !others[1].contains("egl"));
    }
}
