//! Ctrl-C and its like: end the run in order, or at once if that takes too
//! long.

use crate::folder;
use crate::monitor::Message;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an orderly end may take.
const ORDERLY: Duration = Duration::from_secs(5);

/// What to do when a signal comes.
#[derive(Clone, Default)]
pub struct Signalled(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    watcher: Option<SyncSender<Message>>,
    folder: Option<PathBuf>,
    ends: bool,
}

impl Signalled {
    /// From now on, signals end this process; its children die with it.
    ///
    /// # Errors
    /// Those of installing signal handlers.
    pub fn install() -> io::Result<Self> {
        let signalled = Self::default();
        let state = signalled.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                state.clone().came(signal);
            }
        });
        Ok(signalled)
    }

    /// The folder to remove if there is no time for an orderly end.
    pub fn remove_at_exit(&self, folder: PathBuf) {
        self.state().folder = Some(folder);
    }

    /// Who ends the run in order from now on; nobody with `None`.
    pub fn watched_by(&self, watcher: Option<SyncSender<Message>>) {
        self.state().watcher = watcher;
    }

    /// Does not return where a signal ends this process: what fails then, fails
    /// for the lack of the folder that goes.
    pub fn comes_first(&self) {
        while self.state().ends {
            std::thread::park();
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn came(self, signal: i32) {
        let watcher = self.state().watcher.clone();
        let Some(watcher) = watcher else {
            self.end_now(signal);
        };
        // The watcher may be stuck writing to a pipe that nobody reads.
        std::thread::spawn(move || {
            std::thread::sleep(ORDERLY);
            self.end_now(signal);
        });
        std::thread::spawn(move || watcher.send(Message::Signal(signal)));
    }

    fn end_now(&self, signal: i32) -> ! {
        self.state().ends = true;
        let folder = self.state().folder.take();
        if let Some(folder) = folder {
            folder::remove(&folder);
        }
        std::process::exit(128 + signal);
    }
}
