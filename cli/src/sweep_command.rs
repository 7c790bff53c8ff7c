//! `gil sweep`: runs over a grid, and their table.

use crate::args::{Cli, SweepArgs};
use crate::output;
use crate::report::harmless;
use crate::signals::Signalled;
use clap::Parser;
use gil_board_client::profile::Profile;
use gil_run_support::progress::Progress;
use gil_sweep::SweepError;
use gil_sweep::array::{self, Called};
use gil_sweep::file::Sweep;
use gil_sweep::folder::{Folder, Found, Held, With};
use gil_sweep::grid::{Axes, Grid, Point};
use gil_sweep::plot::Picture;
use gil_sweep::table::Table;
use gil_sweep::work::{self, Count, Runs, Watch};
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Extension of a sweep's folder beside its file.
const FOLDER: &str = "sweep";

/// Why a sweep is not run, or shown.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The sweep.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// This machine.
    #[error("the sweep cannot begin ({0})")]
    Machine(#[from] io::Error),
    /// What was found.
    #[error("cannot write what was asked for: {0}; make room, or write it elsewhere")]
    Unwritten(io::Error),
}

/// 0 if all points ran and none failed.
pub fn run(args: &SweepArgs) -> ExitCode {
    match swept(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody may be reading.
            let text = harmless(&format!("gil: {error}"));
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn swept(args: &SweepArgs) -> Result<bool, CommandError> {
    let file = std::path::absolute(&args.file)?;
    let out = match &args.out {
        Some(out) => std::path::absolute(out)?,
        None => file.with_extension(FOLDER),
    };
    let sweep = Sweep::read(&file)?;
    let grid = Grid::new(&sweep, &Profile::empty().text())?;
    let command = Command {
        args,
        grid: &grid,
        folder: Folder::at(&out),
        progress: Progress::new(args.quiet),
    };
    if args.table {
        return command.tabled(true);
    }
    if args.points {
        return command.listed();
    }
    command.check()?;
    match (args.slurm, &args.point) {
        (true, _) => command.script(),
        (false, Some(numbers)) => {
            let is_done = command.ran(numbers.clone(), With::Others)?;
            Ok(is_done && command.are_well(numbers.clone())?)
        }
        (false, None) => {
            let is_done = command.ran(1..=grid.len(), With::Nobody)?;
            let is_well = command.tabled(!args.quiet)?;
            Ok(is_done && is_well)
        }
    }
}

/// A sweep, and what is to be done with it.
struct Command<'a> {
    args: &'a SweepArgs,
    grid: &'a Grid<'a>,
    folder: Folder,
    progress: Progress,
}

/// A point, as `--points` lists it.
#[derive(Serialize)]
struct Listed<'a> {
    point: usize,
    key: &'a str,
    axes: &'a Axes,
    /// Behind `gil run`.
    command: Vec<&'a str>,
    /// The text of its board's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    /// Of its row, if it has one.
    exit_code: Option<u8>,
}

impl Command<'_> {
    /// Has every value of every axis looked at by what `gil run` reads its options with.
    fn check(&self) -> Result<(), CommandError> {
        // Paths in options begin at the sweep's folder.
        std::env::set_current_dir(self.grid.sweep().folder())?;
        let temporary = tempfile::tempdir()?;
        let profile = temporary.path().join("profile");
        for point in self.grid.samples() {
            let point = point?;
            check(&point, &profile)?;
        }
        Ok(())
    }

    fn listed(&self) -> Result<bool, CommandError> {
        let mut out = io::stdout().lock();
        for number in 1..=self.grid.len() {
            let point = self.grid.point(number)?;
            let exit_code = match self.folder.row(&point.key)? {
                Found::Row(row) => Some(row.exit_code),
                Found::None | Found::Damaged => None,
            };
            let listed = Listed {
                point: number,
                key: &point.key,
                axes: &point.axes,
                command: point.command().collect(),
                profile: point.profile.as_deref(),
                exit_code,
            };
            let line = serde_json::to_string(&listed).unwrap_or_default();
            match writeln!(out, "{line}") {
                // Nobody reads any more.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
                written => written.map_err(CommandError::Unwritten)?,
            }
        }
        Ok(true)
    }

    /// Runs those points that have no row; whether all ran, and well.
    fn ran(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        with: With,
    ) -> Result<bool, CommandError> {
        let signalled = Signalled::install(&self.progress)?;
        signalled.ask_children();
        signalled.advise("the same command goes on with the points that have no row yet");
        let held = self.folder.hold(with)?;
        let ran = self.ran_in(&held, numbers, &|| signalled.has_come());
        self.progress.clear();
        // What a signal ended did not fail.
        signalled.comes_first(ran.as_ref().map_or(true, |count| count.ended > 0));
        let count = ran?;
        if count.ended > 0 {
            let ended = count.ended;
            let text = format!(
                "{ended} points were ended from outside and have no row: run the sweep again"
            );
            self.progress.note(&text);
        }
        Ok(count.failed + count.ended == 0)
    }

    /// Whether none of these points has the row of a run that failed, of this command or an earlier.
    fn are_well(&self, numbers: impl IntoIterator<Item = usize>) -> Result<bool, CommandError> {
        for number in numbers {
            let point = self.grid.point(number)?;
            if matches!(self.folder.row(&point.key)?, Found::Row(row) if row.exit_code != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ran_in(
        &self,
        held: &Held<'_>,
        numbers: impl IntoIterator<Item = usize>,
        is_ended: &(dyn Fn() -> bool + Sync),
    ) -> Result<Count, CommandError> {
        let note = |text: &str| self.progress.note(text);
        let again = self.args.again();
        let open = work::open(self.grid, held, numbers, again, &note)?;
        let jobs = match self.args.jobs {
            Some(jobs) => usize::from(jobs),
            None => available_parallelism()?.get(),
        };
        let gil = std::env::current_exe()?;
        let runs = Runs { gil, jobs, again };
        let began = Instant::now();
        let say = |count: Count| self.progress.say(&far(count, began.elapsed()));
        say(Count {
            of: open.len(),
            ..Count::default()
        });
        let progress = &say;
        let watch = Watch { progress, is_ended };
        Ok(runs.run(self.grid, held, &open, &watch)?)
    }

    /// Makes what is made of the rows; whether none failed.
    fn tabled(&self, is_told: bool) -> Result<bool, CommandError> {
        let table = Table::of(self.grid, &self.folder)?;
        for number in &table.damaged {
            let text =
                format!("the row of point {number} is damaged and left out: run the sweep again");
            self.progress.note(&text);
        }
        let mut made = vec![
            self.folder.write("table.csv", &table.csv())?,
            self.folder.write("table.parquet", &table.parquet()?)?,
        ];
        let picture = Picture::of(self.grid.sweep(), &table);
        if !picture.is_empty() {
            made.push(self.folder.write("plot.svg", picture.svg()?.as_bytes())?);
        }
        if is_told {
            tell(&summary(self.grid.len(), &table, &made))?;
        }
        Ok(table.failed() == 0)
    }

    fn script(&self) -> Result<bool, CommandError> {
        let again = self.args.again();
        let note = |text: &str| self.progress.note(text);
        // Its folders are made: tasks of an array begin all at once.
        let open = {
            let held = self.folder.hold(With::Others)?;
            work::open(self.grid, &held, 1..=self.grid.len(), again, &note)?
        };
        if open.is_empty() {
            tell("all points have a row: there is nothing to submit\n")?;
            return Ok(true);
        }
        let called = Called {
            gil: &std::env::current_exe()?,
            file: &self.grid.sweep().path,
            out: self.folder.path(),
            log: &self.folder.path().join("array.log"),
            again: again == work::Again::Failed,
        };
        let text = array::script(&called, &open, self.grid.len());
        let path = self.folder.write("array.sh", text.as_bytes())?;
        tell(&format!("sbatch {}\n", path.display()))?;
        Ok(true)
    }
}

/// Says what was found.
fn tell(text: &str) -> Result<(), CommandError> {
    output::print(&harmless(text)).map_err(CommandError::Unwritten)
}

fn check(point: &Point, path: &Path) -> Result<(), CommandError> {
    let mut command: Vec<_> = ["gil", "run", "--quiet", "--json", "report"]
        .map(String::from)
        .into();
    if let Some(text) = &point.profile {
        std::fs::write(path, text)?;
        command.push(format!("--board-profile={}", path.display()));
    }
    command.extend(point.command().map(String::from));
    let Err(error) = Cli::try_parse_from(command) else {
        return Ok(());
    };
    let said = error.to_string();
    // Behind an empty line is the usage.
    let said = said.trim_start_matches("error: ").lines().map(str::trim);
    let said: Vec<_> = said.take_while(|line| !line.is_empty()).collect();
    let what = said.join(" ");
    // The user has no such file.
    let file = path.display().to_string();
    let what = what.replace(&file, "the profile with this point's keys");
    let point = point.shown();
    Err(SweepError::Refused { point, what }.into())
}

/// How far a sweep is, in a line.
fn far(count: Count, took: Duration) -> String {
    let Count {
        ran,
        failed,
        ended,
        of,
    } = count;
    let done = ran + ended;
    let mut text = format!("{done} of {of} points");
    if failed > 0 {
        text += &format!(", {failed} failed");
    }
    if done > 0 && done < of {
        let left = took.as_secs_f64() / done as f64 * (of - done) as f64;
        text += &format!(", about {left:.0} s left");
    }
    text
}

fn summary(points: usize, table: &Table, made: &[PathBuf]) -> String {
    let mut text = format!("{} of {points} points have a row", table.len());
    if table.failed() > 0 {
        let failed = table.failed();
        text += &format!(
            ", {failed} of them of a run that failed: the table's columns `exit_code` and `reason` say how, and --again failed runs these again"
        );
    }
    if table.warned() > 0 {
        text += &format!(
            "; {} have a warning: the column `warning` says it",
            table.warned()
        );
    }
    text.push('\n');
    for path in made {
        text += &format!("{}\n", path.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
version = 1
program = ["./p", "{size}"]
[[axis]]
name = "size"
values = [1, 2]
[[axis]]
option = "--sim"
values = ["qemu", "gem5"]
[[axis]]
profile = "cpu.ratio"
values = [1.0, 2.5]
"#;

    /// What is wrong with a sweep, as `gil run` has it.
    fn refused(from: &str, to: &str) -> Option<String> {
        let temporary = tempfile::tempdir().unwrap();
        let text = FILE.replacen(from, to, 1);
        let sweep = Sweep::parse(&temporary.path().join("s.toml"), &text).unwrap();
        let grid = Grid::new(&sweep, &Profile::empty().text()).unwrap();
        let path = temporary.path().join("profile");
        let mut checked = grid.samples().map(|point| check(&point.unwrap(), &path));
        let error = checked.find_map(Result::err)?.to_string();
        assert!(!error.contains('\n'), "{error}");
        assert!(!error.contains(&path.display().to_string()), "{error}");
        Some(error)
    }

    #[test]
    fn what_gil_run_would_refuse_is_said_before() {
        assert_eq!(refused("", ""), None);
        // Behind the program it is the program's own.
        assert_eq!(refused("\"./p\"", "\"./p\", \"--sim=x\""), None);
        for (from, to, part) in [
            (
                "\"gem5\"",
                "\"spike\"",
                "point 3 (size=1, sim=spike, cpu.ratio=1.0): invalid value 'spike'",
            ),
            ("--sim", "--simulate", "unexpected argument '--simulate'"),
            ("\"gem5\"", "\"spike\"", "[possible values: qemu, gem5]"),
            (
                "\"--sim\"\nvalues = [\"qemu\", \"gem5\"]\n[[axis]]\nprofile = \"cpu.ratio\"\nvalues = [1.0, 2.5]",
                "\"--target\"\nvalues = [\"cores=2\"]",
                "required arguments were not provided: --board-profile <FILE>",
            ),
            ("2.5", "-2.5", "has cpu.ratio = -2.5: it must be"),
            ("cpu.ratio", "cpu.rate", "unknown field `rate`"),
        ] {
            let error = refused(from, to).unwrap();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_line_says_how_far_a_sweep_is() {
        let count = Count {
            ran: 3,
            failed: 1,
            ended: 1,
            of: 10,
        };
        let line = far(count, Duration::from_secs(8));
        assert_eq!(line, "4 of 10 points, 1 failed, about 12 s left");
        assert_eq!(far(Count::default(), Duration::ZERO), "0 of 0 points");
    }
}
