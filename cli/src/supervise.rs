//! Supervises a running simulation: passes the program's output on, and ends all
//! processes in every case.

use crate::live::View;
use crate::monitor::{Connection, Message};
use crate::relay::Relay;
use crate::say::{PIECE, write_some};
use crate::screen::Screen;
use crate::simulator::Ending;
use gil_report::{Exit, Origin};
use gil_run_support::process::Owned;
use gil_run_support::progress::Progress;
use gil_wire::control::Stream;
use gil_wire::monitor::Event;
use nix::sys::signal::Signal;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often the simulator is looked at while it is silent.
const SLICE: Duration = Duration::from_millis(20);
/// How long it may take to end after the program did.
const SHUTDOWN: Duration = Duration::from_secs(20);

/// How long it may take to end once nobody wants it any more, before it is asked to.
const BY_ITSELF: Duration = Duration::from_millis(300);
/// How long what a simulator said may be on its way once it has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A simulation to watch.
pub struct Simulation<'a> {
    /// The simulator's name.
    pub name: &'static str,
    /// What goes on once it is loaded.
    pub loaded: &'static str,
    /// The way in which it is ended.
    pub ending: Ending,
    /// Its process.
    pub process: Owned,
    /// What the bridge in it reports, and signals.
    pub messages: Receiver<Message>,
    /// The bridge's connection.
    pub connection: Connection,
    /// What of the guest comes otherwise.
    pub relays: Vec<Relay>,
    /// When it started.
    pub started: Instant,
    /// Wall time it may take.
    pub timeout: Option<Duration>,
    /// Shown until the program runs.
    pub progress: &'a Progress,
    /// What the guest's kernel writes, what the simulator writes.
    pub logs: Vec<PathBuf>,
    /// The guest's display.
    pub screen: Option<&'a Screen>,
    /// What the user sees of the run.
    pub view: View,
}

/// The result of a simulation.
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// The bridge's report.
    pub report: Option<String>,
    /// Wall time, from the simulator's start to its end.
    pub wall: Duration,
    /// Wall time from the simulator's start to the first call to the board.
    pub first_call: Option<Duration>,
    /// The folder of the simulator's own output.
    pub outdir: Option<PathBuf>,
}

impl Ended {
    /// Nothing was simulated.
    pub fn before_it_began(exit: Exit) -> Self {
        Self {
            exit,
            report: None,
            wall: Duration::ZERO,
            first_call: None,
            outdir: None,
        }
    }
}

/// Passes output and events on until the simulation is over.
pub fn watch(mut simulation: Simulation<'_>) -> Ended {
    let mut state = State::default();
    let exit = loop {
        if let Some(exit) = step(&mut simulation, &mut state) {
            break exit;
        }
    };
    finish(&mut simulation, &mut state);
    simulation.view.end(state.report.as_deref());
    // The run's exit is known.
    let _ = uncover(&mut simulation, &state);
    simulation.progress.clear();
    Ended {
        exit: explained(exit, &simulation.logs),
        report: state.report,
        wall: simulation.started.elapsed(),
        first_call: state
            .first_call
            .map(|at| at.duration_since(simulation.started)),
        outdir: None,
    }
}

/// What the guest's kernel says as it ends a program for want of memory.
const OUT_OF_MEMORY: &str = "Out of memory: Killed process";

/// The exit; where the guest's kernel ended a program for want of memory, that too.
fn explained(mut exit: Exit, logs: &[PathBuf]) -> Exit {
    let is_killed = exit.signal == Some(Signal::SIGKILL as i32);
    if let Some(reason) = &mut exit.reason
        && is_killed
        && logs.iter().any(|log| {
            let bytes = fs::read(log).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(OUT_OF_MEMORY)
        })
    {
        reason.push_str(
            ": the guest's memory was full, so give it more with --memory (such as --memory 3G)",
        );
    }
    exit
}

#[derive(Default)]
struct State {
    exit: Option<Exit>,
    exited_at: Option<Instant>,
    first_call: Option<Instant>,
    report: Option<String>,
    /// Sources of messages that have ended.
    closed: usize,
}

/// One message, or one look at the clock and at the simulator. The exit, if it is over.
fn step(simulation: &mut Simulation<'_>, state: &mut State) -> Option<Exit> {
    if simulation.view.look(&simulation.connection)
        && let Some(exit) = uncover(simulation, state)
    {
        return Some(exit);
    }
    match simulation.messages.recv_timeout(SLICE) {
        // The clock is looked at also while messages keep coming.
        Ok(message) => {
            return handle(message, simulation, state).or_else(|| overdue(simulation, state));
        }
        // Cannot be: signals keep a sender.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(SLICE),
        Err(RecvTimeoutError::Timeout) => {}
    }
    if simulation.process.ended().is_some() {
        return Some(drain(simulation, state));
    }
    if state.exited_at.is_some_and(|at| at.elapsed() > SHUTDOWN) {
        return state.exit.take();
    }
    overdue(simulation, state)
}

/// Closes the view, and writes what it held back.
fn uncover(simulation: &mut Simulation<'_>, state: &State) -> Option<Exit> {
    let held = simulation.view.close();
    let overdue = || overdue(simulation, state);
    let written = held.write(|stream, bytes| pass_on(stream, bytes, &overdue));
    written.unwrap_or_else(|error| Some(not_passed_on(&error)))
}

/// The exit, if the program takes longer than it may.
fn overdue(simulation: &Simulation<'_>, state: &State) -> Option<Exit> {
    match state.exit {
        Some(_) => None,
        None => timed_out(simulation),
    }
}

/// The exit, if the run takes longer than it may.
fn timed_out(simulation: &Simulation<'_>) -> Option<Exit> {
    let timeout = simulation.timeout?;
    let is_over = simulation.started.elapsed() > timeout;
    is_over.then(|| {
        let text = format!(
            "the run took longer than the {} s of --timeout",
            timeout.as_secs_f64()
        );
        Exit::because(124, Origin::Timeout, text)
    })
}

fn handle(message: Message, simulation: &mut Simulation<'_>, state: &mut State) -> Option<Exit> {
    match message {
        Message::Event(event) => event_arrived(*event, simulation, state),
        Message::Signal(number) => Some(Exit::user(number)),
        Message::Garbled(why) => Some(Exit::bridge(format!(
            "the gil in {} sends what this gil does not understand ({why}): use both of the same release",
            simulation.name
        ))),
        Message::Closed => {
            state.closed += 1;
            None
        }
    }
}

fn event_arrived(event: Event, simulation: &mut Simulation<'_>, state: &mut State) -> Option<Exit> {
    let progress = simulation.progress;
    match event {
        Event::Ready { .. } => progress.say(simulation.loaded),
        Event::Driver { .. } => progress.say("starting the program"),
        Event::Started { .. } => {
            progress.clear();
            simulation.view.begin();
        }
        Event::FirstCall { .. } => state.first_call = Some(Instant::now()),
        Event::Console { stream, bytes } => {
            if !simulation.view.holds(stream, &bytes) {
                progress.clear();
                return pass_on(stream, &bytes, &|| overdue(simulation, state));
            }
        }
        Event::Exited { code, signal, .. } => state.ends(Exit::program(code, signal)),
        Event::Failed { code, reason } => {
            let origin = if code == 125 {
                Origin::Bridge
            } else {
                Origin::Start
            };
            state.ends(Exit::because(code, origin, reason));
        }
        Event::Warning { text } => warn(&text, simulation),
        Event::Fatal { text } => return Some(Exit::bridge(text)),
        Event::Report { json } => state.report = Some(json),
        Event::Watch { text } => warn(&format!("watch: {text}"), simulation),
        Event::Live { json } => simulation.view.say(&json),
    }
    None
}

impl State {
    fn ends(&mut self, exit: Exit) {
        self.exited_at = Some(Instant::now());
        self.exit.get_or_insert(exit);
    }
}

fn warn(text: &str, simulation: &mut Simulation<'_>) {
    let line = format!("gil: {text}\n");
    if !simulation.view.holds(Stream::Err, line.as_bytes()) {
        simulation.progress.clear();
        // Who does not read this holds up the run, though not beyond its time. A closed pipe ends
        // no program that did not write to it.
        let late = || timed_out(simulation);
        let _ = pass_on(Stream::Err, line.as_bytes(), &late);
    }
}

/// Writes what the program wrote. A reader that is slow, or does not read, holds it up,
/// though not beyond the run's end.
fn pass_on(stream: Stream, bytes: &[u8], overdue: &dyn Fn() -> Option<Exit>) -> Option<Exit> {
    for piece in bytes.chunks(PIECE) {
        if let Some(exit) = pass_on_piece(stream, piece, overdue) {
            return Some(exit);
        }
    }
    None
}

fn pass_on_piece(
    stream: Stream,
    mut piece: &[u8],
    overdue: &dyn Fn() -> Option<Exit>,
) -> Option<Exit> {
    let error = loop {
        let written = match stream {
            Stream::Out => write_some(io::stdout().as_fd(), piece),
            Stream::Err => write_some(io::stderr().as_fd(), piece),
        };
        match written {
            Ok(count) if count == piece.len() => return None,
            Ok(count) => piece = &piece[count..],
            Err(error) => break error,
        }
        if let Some(exit) = overdue() {
            return Some(exit);
        }
    };
    Some(match error.kind() {
        // As if the program itself had met the closed pipe.
        io::ErrorKind::BrokenPipe => Exit {
            code: 128 + 13,
            origin: Origin::Output,
            signal: None,
            reason: None,
        },
        _ => not_passed_on(&error),
    })
}

fn not_passed_on(error: &io::Error) -> Exit {
    Exit::bridge(format!("the program's output cannot be passed on: {error}"))
}

/// The simulator is gone: what it said last may still be on its way and counts;
/// then how it went.
fn drain(simulation: &mut Simulation<'_>, state: &mut State) -> Exit {
    let until = Instant::now() + LAST_WORDS;
    let connections = usize::from(simulation.connection.was_made());
    let sources = connections + std::mem::take(&mut simulation.relays).len();
    while state.closed < sources && Instant::now() < until {
        if let Ok(message) = simulation.messages.recv_timeout(SLICE)
            && let Some(exit) = handle(message, simulation, state)
        {
            return exit;
        }
    }
    match state.exit.take() {
        Some(exit) => exit,
        None => Exit::bridge(post_mortem(simulation)),
    }
}

/// Nobody said how the program ended: its last output explains why.
fn post_mortem(simulation: &mut Simulation<'_>) -> String {
    let texts = simulation.logs.iter().map(|log| {
        let bytes = fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let texts: Vec<_> = texts.collect();
    if let Some(panic) = texts.iter().find_map(|text| panic_of(text)) {
        return format!("the guest's kernel panicked before the program ended:\n{panic}");
    }
    let name = simulation.name;
    if let Some(complaint) = texts.last().and_then(|text| complaint_of(text)) {
        return complaint.of(name);
    }
    let status = simulation.process.ended();
    let how = status.map_or("in an unknown way".to_owned(), |status| status.to_string());
    let last: Vec<_> = texts
        .iter()
        .filter_map(|text| excerpt(text, None))
        .collect();
    match last.is_empty() {
        true => format!("{name} ended ({how}) before the program did"),
        false => format!(
            "{name} ended ({how}) before the program did; written last:\n{}",
            last.join("\n")
        ),
    }
}

/// What a simulator, or gil in it, says as it gives up.
#[derive(Debug, PartialEq, Eq)]
struct Complaint<'a> {
    text: &'a str,
    /// gil's own, in a line by itself: whole, since it says what to do.
    is_sentence: bool,
}

impl Complaint<'_> {
    fn of(&self, simulator: &str) -> String {
        match self.is_sentence {
            true => self.text.into(),
            false => format!("{simulator} ended before the program did: {}", self.text),
        }
    }
}

/// The last one, if there is any.
fn complaint_of(log: &str) -> Option<Complaint<'_>> {
    log.lines().rev().find_map(|line| {
        let marks = ["fatal: ", "panic: ", "gil: "];
        marks.iter().find_map(|mark| {
            let (before, text) = line.split_once(mark)?;
            // A run script says when the simulation ended.
            let is_sentence = line.starts_with("gil: ") && !text.contains(" at tick ");
            // Behind a place in gem5's sources, if behind anything.
            (before.is_empty() || before.ends_with(": ")).then_some(Complaint { text, is_sentence })
        })
    })
}

/// Lines shown of a log.
const EXCERPT: usize = 10;

/// The first lines of a kernel's last words.
fn panic_of(console: &str) -> Option<String> {
    let marks = ["Unable to handle kernel", "Internal error", "Kernel panic"];
    let is_mark = |line: &str| marks.iter().any(|mark| line.contains(mark));
    console
        .contains("Kernel panic")
        .then(|| excerpt(console, console.lines().position(is_mark)))?
}

/// Some lines from that one on, or the last ones.
fn excerpt(log: &str, from: Option<usize>) -> Option<String> {
    let lines: Vec<_> = log.lines().map(str::trim_end).collect();
    let first = from.unwrap_or(lines.len().saturating_sub(EXCERPT));
    let shown = lines.iter().skip(first).take(EXCERPT);
    let shown: Vec<_> = shown
        .filter(|line| !line.is_empty())
        .map(|line| format!("  {line}"))
        .collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

/// Ends the simulator if it still runs; hanging up first lets go of a vCPU that
/// waits for the board. Its report of what there is so far still counts.
fn finish(simulation: &mut Simulation<'_>, state: &mut State) {
    let is_cut_short = state.report.is_none() && simulation.process.ended().is_none();
    if let (true, Some(screen)) = (is_cut_short, simulation.screen) {
        screen.before_an_early_end();
    }
    simulation.connection.hang_up();
    if is_cut_short {
        take_report(simulation, state, BY_ITSELF);
        simulation.process.ends_within(BY_ITSELF);
    }
    let Ending { signal, patience } = simulation.ending;
    simulation.process.end(signal, patience);
    if is_cut_short {
        take_report(simulation, state, LAST_WORDS);
    }
}

/// The report among what the bridge says before its end, if it comes within that
/// time.
fn take_report(simulation: &Simulation<'_>, state: &mut State, within: Duration) {
    let until = Instant::now() + within;
    let is_expected = simulation.connection.was_made();
    while is_expected && state.report.is_none() && Instant::now() < until {
        match simulation.messages.recv_timeout(SLICE) {
            Ok(Message::Event(event)) => {
                if let Event::Report { json } = *event {
                    state.report = Some(json);
                }
            }
            // The connection's end: relays are still open.
            Ok(Message::Closed | Message::Garbled(_)) => return,
            Ok(Message::Signal(_)) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_shown_from_its_cause_on() {
        let mut console = "booting\nInternal error: Oops\ncause\n".to_owned();
        console += &"trace\n".repeat(20);
        assert_eq!(panic_of(&console), None);
        console += "Kernel panic - not syncing: Oops\n";
        let shown = panic_of(&console).unwrap();
        assert!(
            shown.starts_with("  Internal error: Oops\n  cause\n"),
            "{shown}"
        );
        assert_eq!(shown.lines().count(), EXCERPT);
        assert_eq!(excerpt("a\n\nb\n", None).unwrap(), "  a\n  b");
        assert_eq!(excerpt("", None), None);
    }

    #[test]
    fn the_simulators_last_complaint_is_found() {
        let log = "info: x\nsrc/sim/a.cc:12: fatal: there is no b.\nMemory Usage: 1\n";
        let said = |log| complaint_of(log).unwrap().of("gem5");
        let behind = "gem5 ended before the program did: ";
        assert_eq!(said(log), format!("{behind}there is no b."));
        assert_eq!(said("gil: a at tick 5\n"), format!("{behind}a at tick 5"));
        assert_eq!(said("gil: no c: do d\nqemu: x\n"), "no c: do d");
        assert_eq!(complaint_of("warn: system.gil: x\n"), None);
        assert_eq!(complaint_of("the panic: x\n"), None);
        assert_eq!(complaint_of(""), None);
    }
}
