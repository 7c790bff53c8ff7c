//! `gil run --live`: a view of the run in the terminal, until the user closes it or the
//! run ends. What the program writes to the terminal meanwhile is held back, and its last
//! lines are shown.

mod held;

use crate::args::RunArgs;
use crate::monitor::Connection;
use crate::terminal::{self, Restored};
use gil_live::{Course, draw};
use gil_report::Report;
use gil_wire::control::Stream;
use gil_wire::input::Size;
use gil_wire::words::Words;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

pub use held::Held;

/// How often the picture is drawn.
const DRAWN_EVERY: Duration = Duration::from_millis(100);
/// How often the host interface is asked.
const ASKED_EVERY: Duration = Duration::from_millis(200);
/// Most columns and rows of the picture.
const AREA_MAX: u16 = 1000;
/// The key that closes the view.
const CLOSE: u8 = b'q';

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There is no terminal.
    #[error(
        "--live needs a terminal that can be drawn on as standard error or standard output: run gil in one, or leave --live out"
    )]
    NoTerminal,
    /// The terminal's keys are the program's.
    #[error(
        "--live and --interactive both need the terminal's keys: give the program a file or a pipe as standard input, or leave one of them out"
    )]
    Keys,
    /// The terminal fails.
    #[error("--live cannot draw on the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Looks whether the run can be shown, if it is to be.
///
/// # Errors
/// [`LiveError`].
pub fn check(args: &RunArgs) -> Result<(), LiveError> {
    if !args.live {
        return Ok(());
    }
    if args.interactive && terminal::is_there() {
        return Err(LiveError::Keys);
    }
    its_terminal().map(drop)
}

/// The terminal that is drawn on.
fn its_terminal() -> Result<OwnedFd, LiveError> {
    let can_draw = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
    let standard = [
        io::stderr().as_fd().try_clone_to_owned()?,
        io::stdout().as_fd().try_clone_to_owned()?,
    ];
    let mut terminals = standard.into_iter().filter(|it| it.is_terminal());
    terminals
        .next()
        .filter(|_| can_draw)
        .ok_or(LiveError::NoTerminal)
}

/// What the user sees of the run, if that was asked for.
#[derive(Default)]
pub struct View {
    open: Option<Open>,
}

struct Open {
    terminal: OwnedFd,
    _restored: Restored,
    course: Course,
    held: Held,
    /// None until the program starts.
    shown: Option<Shown>,
}

/// The terminal while it shows the run.
struct Shown {
    since: Instant,
    terminal: OwnedFd,
    /// There until it is dropped.
    screen: Option<Terminal<CrosstermBackend<BufWriter<File>>>>,
    size: Size,
    drawn: Option<Instant>,
    asked: Option<Instant>,
    is_answered: bool,
}

impl View {
    /// That of this run, which is checked.
    ///
    /// # Errors
    /// [`LiveError`].
    pub fn of(args: &RunArgs) -> Result<Self, LiveError> {
        if !args.live {
            return Ok(Self::default());
        }
        let title = args.command.join(" ");
        let open = Open {
            terminal: its_terminal()?,
            _restored: terminal::guard()?,
            course: Course::new(Words::from(title).to_string()),
            held: Held::default(),
            shown: None,
        };
        Ok(Self { open: Some(open) })
    }

    /// The program starts: it is shown from now on.
    pub fn begin(&mut self) {
        if let Some(open) = self.open.as_mut().filter(|open| open.shown.is_none()) {
            match Shown::on(&open.terminal) {
                Ok(shown) => open.shown = Some(shown),
                // The run is worth more than its view.
                Err(_) => self.open = None,
            }
        }
    }

    /// Whether what is written there is held back: it would go where the view is.
    pub fn holds(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        let Some(open) = self.open.as_mut().filter(|open| open.shown.is_some()) else {
            return false;
        };
        open.course.lines.write(bytes);
        let is_covered = match stream {
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        };
        is_covered && open.held.add(stream, bytes).is_ok()
    }

    /// The host interface says how the run does.
    pub fn say(&mut self, json: &str) {
        let Some((course, shown)) = self.shown() else {
            return;
        };
        shown.is_answered = true;
        if let Ok(live) = serde_json::from_str(json) {
            course.pass(shown.since.elapsed());
            course.say(live);
        }
    }

    /// Draws the picture and asks for news where it is time to; whether the user closes
    /// the view.
    pub fn look(&mut self, connection: &Connection) -> bool {
        let Some((course, shown)) = self.shown() else {
            return false;
        };
        if shown.must_ask() {
            connection.ask();
        }
        course.pass(shown.since.elapsed());
        let is_due = shown.drawn.is_none_or(|at| at.elapsed() >= DRAWN_EVERY);
        let is_gone = is_due && shown.draw(course).is_err();
        is_gone || self.closes()
    }

    /// The run is over; its last picture has the report's figures.
    pub fn end(&mut self, report: Option<&str>) {
        let Some((course, shown)) = self.shown() else {
            return;
        };
        let report = report.and_then(|json| serde_json::from_str::<Report>(json).ok());
        course.pass(shown.since.elapsed());
        if let Some(report) = report {
            course.end(report);
        }
        let _ = shown.draw(course);
    }

    /// Uncovers the terminal. What was held back is to be written then.
    pub fn close(&mut self) -> Held {
        terminal::restore();
        self.open.take().map(|open| open.held).unwrap_or_default()
    }

    fn shown(&mut self) -> Option<(&mut Course, &mut Shown)> {
        let open = self.open.as_mut()?;
        Some((&mut open.course, open.shown.as_mut()?))
    }

    fn closes(&self) -> bool {
        let Some(open) = &self.open else {
            return false;
        };
        let mut keys = [0; 64];
        let mut ends = [PollFd::new(open.terminal.as_fd(), PollFlags::POLLIN)];
        let is_pressed = matches!(poll(&mut ends, PollTimeout::ZERO), Ok(1..));
        let count = match is_pressed {
            true => read(&open.terminal, &mut keys).unwrap_or(0),
            false => 0,
        };
        keys[..count]
            .iter()
            .any(|key| key.to_ascii_lowercase() == CLOSE)
    }
}

impl Shown {
    fn on(terminal: &OwnedFd) -> io::Result<Self> {
        let size = size_of(terminal);
        let to = BufWriter::new(File::from(terminal.try_clone()?));
        let viewport = Viewport::Fixed(area(size));
        let backend = CrosstermBackend::new(to);
        let screen = Terminal::with_options(backend, TerminalOptions { viewport })?;
        terminal::cover(terminal.as_fd())?;
        Ok(Self {
            since: Instant::now(),
            terminal: terminal.try_clone()?,
            screen: Some(screen),
            size,
            drawn: None,
            asked: None,
            is_answered: true,
        })
    }

    /// Whether it is time for a question; it is asked then. One at a time.
    fn must_ask(&mut self) -> bool {
        let is_due = self.asked.is_none_or(|at| at.elapsed() >= ASKED_EVERY);
        let asks = is_due && self.is_answered;
        if asks {
            (self.asked, self.is_answered) = (Some(Instant::now()), false);
        }
        asks
    }

    fn draw(&mut self, course: &Course) -> io::Result<()> {
        let size = size_of(&self.terminal);
        self.drawn = Some(Instant::now());
        if !takes_more(&self.terminal) || !terminal::is_covered() {
            return Ok(());
        }
        let Some(screen) = &mut self.screen else {
            return Ok(());
        };
        if std::mem::replace(&mut self.size, size) != size {
            screen.resize(area(size))?;
        }
        if terminal::is_empty() {
            // The library's own way would ask the terminal where its cursor is.
            screen.backend_mut().clear()?;
            screen.swap_buffers();
        }
        screen.draw(|frame| draw(course, frame)).map(drop)
    }
}

impl Drop for Shown {
    /// The library says on standard error that a cursor cannot be shown, which fails where the
    /// terminal is gone.
    fn drop(&mut self) {
        if let Some(mut screen) = self.screen.take()
            && screen.show_cursor().is_err()
        {
            std::mem::forget(screen);
        }
    }
}

/// Whether the terminal is not stopped.
fn takes_more(to: &impl AsFd) -> bool {
    let mut ends = [PollFd::new(to.as_fd(), PollFlags::POLLOUT)];
    matches!(poll(&mut ends, PollTimeout::ZERO), Ok(1..))
}

/// The size of the terminal's window, or the usual one.
fn size_of(terminal: &impl AsFd) -> Size {
    let size = terminal::size(terminal);
    size.filter(|size| size.rows > 0 && size.columns > 0)
        .unwrap_or(Size {
            rows: 24,
            columns: 80,
        })
}

/// What is drawn of it: no terminal that people read is larger.
fn area(size: Size) -> Rect {
    Rect::new(0, 0, size.columns.min(AREA_MAX), size.rows.min(AREA_MAX))
}
