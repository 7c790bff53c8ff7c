//! The progress line on a terminal; silent elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// What takes longer is said where there is no terminal, too.
const LONG: Duration = Duration::from_secs(10);

/// A line that says what is being done.
#[derive(Clone)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    /// Shown if standard error is a terminal and `quiet` is not asked for.
    pub fn new(quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self {
            bar: shown.then(spinner),
            quiet,
        }
    }

    /// Shows what is being done now.
    pub fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(Duration::from_millis(100));
            bar.set_message(what.to_owned());
        }
    }

    /// Says what the user should know and need not act on, in a line that stays.
    pub fn note(&self, what: &str) {
        let line = format!("gil: {what}");
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// Shows what is being done while `work` does it: where there is no terminal, in a line that
    /// stays once it has taken ten seconds.
    pub fn long<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        self.say(what);
        if self.quiet || self.bar.is_some() {
            return work();
        }
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                if is_done.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("gil: {what}");
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    /// Takes the line off the terminal: the program's output comes now.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}
