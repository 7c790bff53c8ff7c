//! `gil calibrate`: measures a board, for its profile.

use crate::args::{
    CalibrateCallsArgs, CalibrateContentionArgs, CalibrateCoresArgs, CalibrateCpuArgs,
    CalibrateProgramsArgs, Cli, Command,
};
use crate::launch_costs::{costs, doubted, left_out};
use crate::output::{self, Output, OutputError};
use crate::say::say;
use crate::signals::Signalled;
use clap::Parser as _;
use gil_benchmarks::{BenchError, Contended};
use gil_board_client::profile::{Copies, Cpu, Parts, Profile, ProfileError};
use gil_run_support::folder;
use gil_run_support::progress::Progress;
use gil_wire::words::Words;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why nothing is calibrated.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The measurement.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Its file.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// What `gil run` does not take.
    #[error(
        "`gil run` does not take what --run-option gives it ({0}): give each word of an option by a --run-option of its own"
    )]
    RunOption(String),
    /// `gil run` does not take this board.
    #[error("`gil run` does not take this --board: {0}")]
    Board(String),
    /// The profile's parts are of another device.
    #[error(
        "{} says [board] cores = {known}, and these times are of {most} at most: its parts would no longer fit, so name another file with --out", path.display()
    )]
    OtherCores {
        /// The profile.
        path: PathBuf,
        /// Its cores.
        known: f64,
        /// Those of the times.
        most: u32,
    },
    /// What was found, which a profile has all the same.
    #[error("cannot write the result: {0}; make room, or write it elsewhere")]
    Unwritten(io::Error),
}

/// Shows what was found.
fn shows(text: &str) -> Result<(), CalibrateError> {
    output::print(text).map_err(CalibrateError::Unwritten)
}

/// `gil calibrate contention`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn contention(args: &CalibrateContentionArgs) -> Result<(), CalibrateError> {
    // What cannot be written is said before time is spent.
    args.out.as_deref().map(to_extend).transpose()?;
    let contended = measure(args)?;
    let is_shown = shows(&shown(&contended));
    if let Some(doubt) = contended.doubt() {
        say(format!("gil: {doubt}\n").as_bytes(), None);
    }
    extend(args.out.as_deref(), |profile| {
        profile.contention = Some(contended.contention);
    })?;
    is_shown
}

/// `gil calibrate calls`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn calls(args: &CalibrateCallsArgs) -> Result<(), CalibrateError> {
    args.out.as_deref().map(to_extend).transpose()?;
    let api = args.api.measured();
    let launched =
        measured(|folder, say| gil_benchmarks::launches(api, &args.measured, folder, say))?;
    let is_shown = shows(&costs(&launched));
    let doubts = left_out(&launched, args.measured.native.is_some()) + &doubted(&launched);
    let _ = io::stderr().write_all(doubts.as_bytes());
    extend(args.out.as_deref(), |profile| {
        profile.calls.insert(launched.api.into(), launched.calls);
        // Earlier figures do not go with these calls.
        profile.copies.remove(launched.api);
        if launched.copies != Copies::default() {
            profile.copies.insert(launched.api.into(), launched.copies);
        }
    })?;
    is_shown
}

/// `gil calibrate programs`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn programs(args: &CalibrateProgramsArgs) -> Result<(), CalibrateError> {
    let profile = match &args.out {
        Some(path) => to_extend(path)?,
        None => Profile::empty(),
    };
    check_board(args.measured.board.as_deref())?;
    check_run(&args.measured.options)?;
    let plot = args.plot.as_deref();
    plot.map(|path| Output::of("--plot", path).check())
        .transpose()?;
    let api = args.api.measured();
    let found = measured(|folder, say| {
        gil_benchmarks::programs(api, &args.measured, &profile, folder, say)
    })?;
    let device = Words::from(found.calls.device.as_str());
    let text = format!("{device}\n{}", found.accuracy.table());
    let is_shown = shows(&text);
    if let Some(path) = plot {
        let drawn = gil_benchmarks::accuracy_plot(&found.accuracy)?;
        Output::of("--plot", path).write(drawn.as_bytes())?;
    }
    extend(args.out.as_deref(), |profile| {
        profile.calls.insert(found.api.into(), found.calls);
    })?;
    is_shown
}

/// `gil calibrate cpu`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn cpu(args: &CalibrateCpuArgs) -> Result<(), CalibrateError> {
    args.out.as_deref().map(to_extend).transpose()?;
    check_run(&args.measured.options)?;
    let found = measured(|folder, say| gil_benchmarks::cpu(&args.measured, folder, say))?;
    let is_shown = shows(&found.table());
    extend(args.out.as_deref(), |profile| {
        let ratio = found.ratio.value;
        profile.cpu = Some(Cpu { ratio });
    })?;
    is_shown
}

/// `gil calibrate cores`.
///
/// # Errors
/// [`CalibrateError`], one sentence.
pub fn cores(args: &CalibrateCoresArgs) -> Result<(), CalibrateError> {
    let known = args.out.as_deref().map(to_extend).transpose()?;
    let (device, cores) = gil_benchmarks::cores(&args.measured)?;
    let most = f64::from(cores.most);
    let known = known.and_then(|profile| profile.board.cores);
    if let (Some(path), Some(known)) = (&args.out, known.filter(|known| *known != most)) {
        let (path, most) = (path.clone(), cores.most);
        return Err(CalibrateError::OtherCores { path, known, most });
    }
    let text = format!("{}\n{}", Words::from(device.as_str()), cores.table());
    let is_shown = shows(&text);
    if let Some(doubt) = cores.doubt() {
        say(format!("gil: {doubt}\n").as_bytes(), None);
    }
    extend(args.out.as_deref(), |profile| {
        profile.board.cores = Some(cores.most.into());
        let shares = cores.shares();
        let known = profile.parts.get(&args.api).copied().unwrap_or_default();
        // What somebody wrote of the CPU and of the memory stays.
        let left = (1.0 - known.cpu).max(0.0);
        let parts = Parts {
            gpu: rounded(shares.gpu * left),
            serial: rounded(shares.serial * left),
            threads: shares.threads.map(|threads| rounded(threads * left)),
            // A CPU's parts are one after the other, so that none is its memory's.
            memory: shares.threads.map_or(known.memory, |_| 0.0),
            ..known
        };
        profile.parts.insert(args.api.clone(), parts);
    })?;
    is_shown
}

/// To as many digits as anybody reads, and more than were measured.
fn rounded(part: f64) -> f64 {
    (part * 1e4).round() / 1e4
}

/// Looks whether `gil run` takes this board, before time is spent.
fn check_board(board: Option<&str>) -> Result<(), CalibrateError> {
    let options = board.map(|board| ["--board", board]);
    parsed(options.into_iter().flatten())
        .map(drop)
        .map_err(CalibrateError::Board)
}

/// Looks whether these are options of `gil run`, before time is spent.
fn check_run(options: &[String]) -> Result<(), CalibrateError> {
    let wrong = |what: String| Err(CalibrateError::RunOption(what));
    match parsed(options.iter().map(String::as_str)) {
        Ok(Command::Run(run)) if run.program() == PROGRAM => Ok(()),
        Ok(Command::Run(run)) => wrong(format!("{} is no option", run.program())),
        Ok(_) => wrong("it is another command".into()),
        Err(why) => wrong(why),
    }
}

/// Stands for the program of a run.
const PROGRAM: &str = "the calibration's program";

/// What `gil run` makes of these options, or why nothing.
fn parsed<'a>(options: impl Iterator<Item = &'a str>) -> Result<Command, String> {
    let words = ["gil", "run"].into_iter().chain(options);
    match Cli::try_parse_from(words.chain([PROGRAM])) {
        Ok(cli) => Ok(cli.command),
        Err(error) if !error.use_stderr() => Err("with that it runs nothing".into()),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(first.trim_start_matches("error: ").into())
        }
    }
}

/// The profile that is there, or an empty one.
fn to_extend(path: &Path) -> Result<Profile, CalibrateError> {
    let _alone = alone(path);
    known(path)
}

fn known(path: &Path) -> Result<Profile, CalibrateError> {
    Output::of("--out", path).check()?;
    match path.exists() {
        true => Ok(Profile::read(path)?),
        false => Ok(Profile::empty()),
    }
}

/// Writes the profile with what was measured in it. Another calibration may have written it
/// since this one began, so it is read now.
fn extend(path: Option<&Path>, add: impl FnOnce(&mut Profile)) -> Result<(), CalibrateError> {
    let Some(path) = path else {
        return Ok(());
    };
    let _alone = alone(path);
    let mut profile = known(path)?;
    add(&mut profile);
    // One that cannot be is not written over one that can.
    profile.check(path)?;
    Ok(Output::of("--out", path).write(profile.text().as_bytes())?)
}

/// Has other calibrations that would read or write this profile wait meanwhile. The file itself is another one once it
/// is written, so its folder is locked; where that cannot be, they do not wait.
fn alone(path: &Path) -> Option<Flock<File>> {
    let is_regular = path.metadata().map_or(true, |meta| meta.is_file());
    let path = is_regular
        .then(|| std::path::absolute(path).ok())
        .flatten()?;
    let folder = File::open(path.parent()?).ok()?;
    Flock::lock(folder, FlockArg::LockExclusive).ok()
}

fn measure(args: &CalibrateContentionArgs) -> Result<Contended, BenchError> {
    measured(|folder, say| gil_benchmarks::contention(&args.measured, folder, say))
}

/// Measures with a folder of its own, and shows the progress.
fn measured<T>(
    measure: impl FnOnce(&Path, &dyn Fn(&str)) -> Result<T, BenchError>,
) -> Result<T, BenchError> {
    let progress = Progress::new(false);
    let signalled = Signalled::install(&progress)?;
    signalled.ask_children();
    let folder = folder::create()?;
    signalled.remove_at_exit(folder.path().into());
    let measured = measure(folder.path(), &|what| progress.say(what));
    progress.clear();
    signalled.comes_first(measured.is_err());
    measured
}

fn shown(contended: &Contended) -> String {
    let Contended {
        contention,
        alone,
        at_once,
    } = contended;
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    format!(
        "{}: {} jobs at once take {:.3} ms each, one alone {:.3} ms\n\
         contention factor {:.3}, the median of {} pairs' ratios, from {:.3} to {:.3}\n",
        Words::from(contention.device.as_str()),
        contention.processors,
        ms(at_once),
        ms(alone),
        contention.factor,
        contention.repetitions,
        contention.least,
        contention.most,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_board_client::profile::Contention;

    #[test]
    fn the_factor_is_shown_with_its_spread() {
        let contention = Contention {
            factor: 2.095,
            least: 2.061,
            most: 2.17,
            repetitions: 20,
            processors: 4,
            jobs: 800,
            device: "a GPU".into(),
        };
        let text = shown(&Contended {
            contention,
            alone: Duration::from_micros(1460),
            at_once: Duration::from_micros(3059),
        });
        assert_eq!(
            text,
            "a GPU: 4 jobs at once take 3.059 ms each, one alone 1.460 ms\n\
             contention factor 2.095, the median of 20 pairs' ratios, from 2.061 to 2.170\n"
        );
    }

    #[test]
    fn a_profile_is_extended_and_another_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        assert_eq!(to_extend(&path).unwrap(), Profile::empty());
        std::fs::write(&path, "[package]\n").unwrap();
        assert!(to_extend(&path).is_err());
        assert!(to_extend(&folder.path().join("none/board.toml")).is_err());
    }
}
