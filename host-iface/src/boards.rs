//! The boards of a run. Each serves the APIs that the user named for it, one all
//! others; the number of the API in a call's operation number chooses.

use crate::config::Config;
use gil_report as report;
use gil_transport::client::{BoardConfig, Cancel};
use gil_transport::secure::{Key, KeyError};
use gil_wire::address::Address;
use gil_wire::choice::Together;
use std::fmt;
use std::path::{Path, PathBuf};

/// One board of a run.
#[derive(Clone, Debug)]
pub struct Board {
    /// The APIs that it serves; `None` for all that no other board does.
    apis: Option<Together>,
    /// Whether it is the run's only one.
    is_only: bool,
    /// The connection's parameters.
    pub config: BoardConfig,
}

/// As sentences name it: `the board`, or with others `the board for` its APIs.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.apis {
            _ if self.is_only => f.write_str("the board"),
            Some(apis) => write!(f, "the board for {apis}"),
            None => f.write_str("the board for other APIs"),
        }
    }
}

/// All of them: first the one for APIs that no other serves.
#[derive(Debug)]
pub struct Boards(Vec<Board>);

impl Boards {
    /// As the configuration has them.
    ///
    /// # Errors
    /// [`KeyError`] if a key cannot be read.
    pub fn new(config: &Config, cancel: &Cancel) -> Result<Self, KeyError> {
        let others = (None, &config.board, &config.key);
        let named = config.api_boards.iter();
        let named = named.map(|board| (Some(board.apis), &board.address, &board.key));
        let board = |(apis, address, key): (_, &Option<Address>, &Option<PathBuf>)| {
            let config = BoardConfig {
                address: address.clone(),
                timeout: config.board_timeout,
                key: key.as_deref().map(read).transpose()?,
                operator: false,
                cancel: cancel.clone(),
            };
            let is_only = false;
            Ok(Board {
                apis,
                is_only,
                config,
            })
        };
        let mut all = std::iter::once(others)
            .chain(named)
            .map(board)
            .collect::<Result<Vec<_>, KeyError>>()?;
        if let [only] = &mut all[..] {
            only.is_only = true;
        }
        Ok(Self(all))
    }

    /// Those there are.
    pub fn all(&self) -> &[Board] {
        &self.0
    }

    /// Whether there are several.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The place of the board that serves an API.
    #[inline]
    pub fn place(&self, api: u16) -> usize {
        let serves = |board: &Board| board.apis.is_some_and(|apis| apis.has(api));
        match self.are_several() {
            true => self.0.iter().position(serves).unwrap_or(0),
            false => 0,
        }
    }

    /// What a report says of each before anything was called. One for other APIs
    /// that has no address is none.
    pub fn reports(&self) -> Vec<report::Served> {
        let named = |board: &Board| report::Served {
            apis: board
                .apis
                .map_or("other APIs".into(), |apis| apis.to_string()),
            address: board.config.address.as_ref().map(ToString::to_string),
            ..report::Served::default()
        };
        match self.are_several() {
            true => self.0.iter().map(named).collect(),
            false => Vec::new(),
        }
    }
}

fn read(path: &Path) -> Result<Key, KeyError> {
    Key::read(path)
}
