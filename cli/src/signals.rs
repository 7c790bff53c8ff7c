//! Ctrl-C and similar signals: end the run cleanly, or at once if that takes too long.

use crate::monitor::Message;
use crate::say::READ_WITHIN;
use crate::terminal;
use gil_report::Exit;
use gil_run_support::progress::Progress;
use gil_run_support::{folder, process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an orderly end may take.
const ORDERLY: Duration = Duration::from_secs(5);

/// What to do when a signal comes.
#[derive(Clone)]
pub struct Signalled {
    state: Arc<Mutex<State>>,
    /// One came. Set by the signal's handler, so that it is known before a tool's
    /// end is, which had it from the same terminal.
    came: Arc<AtomicBool>,
    progress: Progress,
}

/// Those that end a run.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

#[derive(Default)]
struct State {
    watcher: Option<SyncSender<Message>>,
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    asks_children: bool,
    advice: Option<&'static str>,
    report: Option<Reports>,
    ends: bool,
}

/// Writes a report of what a signal ended.
type Reports = Box<dyn FnOnce(i32) + Send>;

impl Signalled {
    /// From now on, signals end this process, which takes what it shows as its
    /// progress off the terminal; its children die with it.
    ///
    /// # Errors
    /// Those of installing signal handlers.
    pub fn install(progress: &Progress) -> io::Result<Self> {
        let signalled = Self {
            state: Arc::default(),
            came: Arc::default(),
            progress: progress.clone(),
        };
        for signal in ENDING {
            flag::register(signal, signalled.came.clone())?;
        }
        let state = signalled.clone();
        let mut signals = Signals::new(ENDING)?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                state.clone().came(signal);
            }
        });
        Ok(signalled)
    }

    /// One more folder to remove if there is no time for an orderly end.
    pub fn remove_at_exit(&self, folder: PathBuf) {
        self.state().folders.push(folder);
    }

    /// One more file to remove then.
    pub fn remove_file_at_exit(&self, file: PathBuf) {
        self.state().files.push(file);
    }

    /// From now on, a signal is passed to this process's children, which are `gil`s
    /// themselves and end what they started before they end.
    pub fn ask_children(&self) {
        self.state().asks_children = true;
    }

    /// From now on, this is said behind why it ends.
    pub fn advise(&self, advice: &'static str) {
        self.state().advice = Some(advice);
    }

    /// From now on, this is called with the signal if there is no time for an orderly end.
    pub fn report_by(&self, report: impl FnOnce(i32) + Send + 'static) {
        self.state().report = Some(Box::new(report));
    }

    /// Who ends the run in order from now on; nobody with `None`.
    pub fn watched_by(&self, watcher: Option<SyncSender<Message>>) {
        self.state().watcher = watcher;
    }

    /// Does not return where a signal ends this process: what failed then, failed
    /// for the lack of the folder that goes, or of a tool that the signal ended.
    pub fn comes_first(&self, has_failed: bool) {
        while self.state().ends || (has_failed && self.came.load(Ordering::Relaxed)) {
            std::thread::park();
        }
    }

    /// Whether one came.
    pub fn has_come(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn came(self, signal: i32) {
        let watcher = self.state().watcher.clone();
        let Some(watcher) = watcher else {
            self.say(signal);
            self.end_now(signal);
        };
        // The watcher may be stuck writing to a pipe that nobody reads.
        std::thread::spawn(move || {
            std::thread::sleep(ORDERLY);
            self.end_now(signal);
        });
        std::thread::spawn(move || watcher.send(Message::Signal(signal)));
    }

    /// Says why the run ends, unless nobody reads that.
    fn say(&self, signal: i32) {
        let progress = self.progress.clone();
        let advice = self.state().advice;
        bounded(move || {
            progress.clear();
            let reason = Exit::user(signal).reason.unwrap_or_default();
            let lines = [Some(&*reason), advice].into_iter().flatten();
            let text: String = lines.map(|line| format!("gil: {line}\n")).collect();
            let _ = io::stderr().lock().write_all(text.as_bytes());
        });
    }

    fn end_now(&self, signal: i32) -> ! {
        terminal::restore();
        self.state().ends = true;
        if self.state().asks_children {
            process::ask_children(ORDERLY);
        }
        let folders = std::mem::take(&mut self.state().folders);
        for folder in folders {
            folder::remove(&folder);
        }
        let files = std::mem::take(&mut self.state().files);
        for file in files {
            let _ = fs::remove_file(file);
        }
        if let Some(report) = self.state().report.take() {
            bounded(move || report(signal));
        }
        std::process::exit(128 + signal);
    }
}

/// Writes something, unless nobody reads that.
fn bounded(write: impl FnOnce() + Send + 'static) {
    let written = std::thread::spawn(write);
    let began = Instant::now();
    while !written.is_finished() && began.elapsed() < READ_WITHIN {
        std::thread::sleep(Duration::from_millis(1));
    }
}
