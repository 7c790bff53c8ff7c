//! Runs points, each in a process of its own: `gil run` with its report in a file.

use crate::SweepError;
use crate::folder::{Found, Held};
use crate::grid::{Grid, Point};
use crate::row::Row;
use gil_report::{Document, Exit, Origin};
use gil_run_support::process::is_asked_to_end_with_us;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes at the end of what was printed that are looked at.
const END: u64 = 4096;

/// How long the processes of a job are signalled, from the first to the last.
const SETTLES: Duration = Duration::from_millis(300);
/// How often it is looked whether this process was.
const LOOK: Duration = Duration::from_millis(20);

/// Which points run that have a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    /// None.
    #[default]
    None,
    /// Those that failed.
    Failed,
}

/// How points are run.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The program `gil`.
    pub gil: PathBuf,
    /// How many points run at once.
    pub jobs: usize,
    /// Which run again.
    pub again: Again,
}

/// What is known of a sweep outside.
pub struct Watch<'a> {
    /// Is called with how far it is.
    pub progress: &'a (dyn Fn(Count) + Sync),
    /// Whether this process was asked to end: what fails then has no row.
    pub is_ended: &'a (dyn Fn() -> bool + Sync),
}

impl Watch<'_> {
    /// Whether this process is ended, or is so in a moment. Whoever ends a job signals all of its
    /// processes, one after the other: a run of which the simulator went first has failed
    /// before anybody knows why.
    fn is_ended_soon(&self) -> bool {
        let until = Instant::now() + SETTLES;
        while !(self.is_ended)() {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Points that ran to their end now.
    pub ran: usize,
    /// Of these, failed ones.
    pub failed: usize,
    /// Points that were ended from outside, and have no row.
    pub ended: usize,
    /// Points to run.
    pub of: usize,
}

/// Of those points, by number, the ones that are to run; each damaged row is said.
///
/// # Errors
/// [`SweepError::Read`].
pub fn open(
    grid: &Grid<'_>,
    held: &Held<'_>,
    numbers: impl IntoIterator<Item = usize>,
    again: Again,
    note: &dyn Fn(&str),
) -> Result<Vec<usize>, SweepError> {
    let mut open = Vec::new();
    for number in numbers {
        let last = grid.len();
        let key = number.checked_sub(1).and_then(|at| grid.keys().get(at));
        let key = key.ok_or(SweepError::NoPoint { number, last })?;
        let is_open = match held.folder().row(key)? {
            Found::None => true,
            Found::Row(row) => again == Again::Failed && row.has_failed(),
            Found::Damaged => {
                note(&format!(
                    "the row of point {number} ({key}) is damaged: it runs again"
                ));
                true
            }
        };
        if is_open {
            open.push(number);
        }
    }
    Ok(open)
}

impl Runs {
    /// Runs these points, by number, and commits each one's row as it ends.
    ///
    /// # Errors
    /// The first [`SweepError`]: what ended before has its rows.
    pub fn run(
        &self,
        grid: &Grid<'_>,
        held: &Held<'_>,
        open: &[usize],
        watch: &Watch<'_>,
    ) -> Result<Count, SweepError> {
        let of = open.len();
        let next = AtomicUsize::new(0);
        let state = Mutex::new((
            Count {
                of,
                ..Count::default()
            },
            None,
        ));
        let worker = || {
            while let Some(number) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                let ran = match (watch.is_ended)() {
                    // The sweep was ended: no other point begins.
                    true => {
                        next.store(of, Ordering::Relaxed);
                        Ok(None)
                    }
                    false => self.one(grid, held, watch, *number),
                };
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                match ran {
                    Ok(row) => state.0.add(row.as_ref()),
                    // Nobody begins another point.
                    Err(error) => {
                        next.store(of, Ordering::Relaxed);
                        state.1.get_or_insert(error);
                    }
                }
                (watch.progress)(state.0);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, of.max(1)) {
                scope.spawn(worker);
            }
        });
        let (count, error) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map_or(Ok(count), Err)
    }

    /// Runs a point; its row, if it was not ended from outside.
    fn one(
        &self,
        grid: &Grid<'_>,
        held: &Held<'_>,
        watch: &Watch<'_>,
        number: usize,
    ) -> Result<Option<Row>, SweepError> {
        let point = grid.point(number)?;
        let place = held.place(&point.key)?;
        let output = place.path().join("output.txt");
        let json = place.path().join("report.json");
        let mut command = self.command(grid, &point, place.path(), &json)?;
        let began = Instant::now();
        let status = run(&mut command, &output)?;
        let took = began.elapsed();
        let Some(exit) = exit(&json, &output, status) else {
            return Ok(None);
        };
        let row = match exit {
            Ended::Reported(document) => Row::of(&point, &document, took),
            Ended::Silent(exit) => Row::new(&point, &exit, None, took),
        };
        if row.has_failed() && watch.is_ended_soon() {
            return Ok(None);
        }
        keep(&output, &held.folder().output(&point.key))?;
        held.commit(&row)?;
        Ok(Some(row))
    }

    fn command(
        &self,
        grid: &Grid<'_>,
        point: &Point,
        place: &Path,
        json: &Path,
    ) -> Result<Command, SweepError> {
        // The child is in another folder.
        let absolute = |path: &Path| std::path::absolute(path).map_err(SweepError::Start);
        let mut command = Command::new(absolute(&self.gil)?);
        command
            .args(["run", "--quiet", "--json"])
            .arg(absolute(json)?);
        if let Some(text) = &point.profile {
            let path = absolute(&place.join("profile.toml"))?;
            fs::write(&path, text).map_err(|source| SweepError::write(&path, source))?;
            command.arg("--board-profile").arg(path);
        }
        command
            .args(point.command())
            .current_dir(grid.sweep().folder());
        Ok(command)
    }
}

impl Count {
    fn add(&mut self, row: Option<&Row>) {
        match row {
            Some(row) => {
                self.ran += 1;
                self.failed += usize::from(row.has_failed());
            }
            None => self.ended += 1,
        }
    }
}

fn run(command: &mut Command, output: &Path) -> Result<ExitStatus, SweepError> {
    let failed = |source| SweepError::write(output, source);
    let file = File::create(output).map_err(failed)?;
    let both = file.try_clone().map_err(failed)?;
    let command = command.stdin(Stdio::null()).stdout(file).stderr(both);
    is_asked_to_end_with_us(command)
        .status()
        .map_err(SweepError::Start)
}

/// How a run ended.
enum Ended {
    /// As its report has it.
    Reported(Box<Document>),
    /// Without a report.
    Silent(Exit),
}

/// Nothing if somebody ended the run from outside: the point is as it was.
fn exit(json: &Path, output: &Path, status: ExitStatus) -> Option<Ended> {
    let code = status.code()?;
    match Document::read(json) {
        Ok(document) if document.exit.origin == Origin::User => None,
        Ok(document) => Some(Ended::Reported(Box::new(document))),
        Err(_) => {
            let said = last_line(output);
            let mut exit = Exit::bridge(said.unwrap_or("`gil run` left no report".into()));
            // No run without a report has succeeded.
            let code = u8::try_from(code).ok().filter(|code| *code != 0);
            exit.code = code.unwrap_or(exit.code);
            Some(Ended::Silent(exit))
        }
    }
}

/// The last line of a file that says something.
fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).map(Into::into)
}

/// What was printed, if anything was.
fn keep(output: &Path, path: &Path) -> Result<(), SweepError> {
    let is_empty = fs::metadata(output).is_ok_and(|meta| meta.len() == 0);
    let kept = match is_empty {
        true => fs::remove_file(path).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        }),
        false => fs::rename(output, path),
    };
    kept.map_err(|source| SweepError::write(path, source))
}
