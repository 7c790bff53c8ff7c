//! Whole programs natively and in the guest: `benchmarks/programs/kernels.c` or `scenes.c`. Over
//! ten of them scale and offset of the board's times are fitted; the others say how good the
//! fit is.
//!
//! The native programs run half before the guest's and half behind them: what a machine does
//! faster or slower from one minute to the next is then in both.

use crate::accuracy::{self, Accuracy, Row};
use crate::c_program;
use crate::calibrated::Calibrated;
use crate::cores::{self, Cores, Device};
use crate::error::BenchError;
use crate::fit::Point;
use crate::sampling::Times;
use clap::Args;
use gil_board_client::profile::{CORES_MAX, Calls, Fitted, Profile};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

/// Greatest distance of the quartiles, as part of the median, of times that nothing disturbed.
const SPREAD_MAX: f64 = 0.1;
/// How often a program is measured that something disturbed.
const ROUNDS: u32 = 3;
/// Processes that share the repetitions: before the guest's and behind them.
const NATIVE_PROCESSES: u32 = 16;
/// The same in the guest, where each is a run.
const GUEST_PROCESSES: u32 = 8;
/// The file of the program that measures on parts of a device.
const KERNELS: &str = "kernels.c";
/// Longest name of a program.
const NAME_MAX: usize = 32;

/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct ProgramsArgs {
    /// How many times to measure each program.
    #[arg(long, value_name = "NUMBER", default_value_t = 15,
          value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub times: u32,
    /// Use what the program benchmarks/programs/kernels.c (scenes.c for OpenGL ES) wrote on the
    /// board itself instead of running it here; for a board elsewhere, or for one that is busy
    /// now.
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
    /// The board that the guest uses, as of `gil run --board`; this machine's own if there is none.
    #[arg(long, value_name = "BOARD")]
    pub board: Option<String>,
    /// Options of `gil run` for the guest, such as --sim; may be repeated.
    #[arg(long = "run-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
}

/// What a program wrote on a part of a device.
#[derive(Clone, Debug)]
pub struct AtCores {
    /// Cores of that part.
    pub cores: u32,
    /// What it wrote.
    pub file: PathBuf,
}

impl FromStr for AtCores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=');
        let read = parts.and_then(|(cores, file)| Some((cores.parse().ok()?, file)));
        match read {
            Some((cores @ 1..=CORES_MAX, file)) => Ok(Self {
                cores,
                file: file.into(),
            }),
            _ => Err(format!(
                "it is CORES=FILE, such as 16=sixteen.txt, with 1 to {CORES_MAX} cores"
            )),
        }
    }
}

/// What programs took on parts of a device.
#[derive(Clone, Debug, Args)]
pub struct CoresArgs {
    /// What benchmarks/programs/kernels.c (or cores.cu) wrote on so many cores of the device; for two
    /// numbers at least, three on a CPU. Several files of one number count together.
    #[arg(long = "at", value_name = "CORES=FILE", required = true)]
    pub at: Vec<AtCores>,
    /// Fit the model to the times with these numbers of cores; the others say how good it is.
    #[arg(long = "fit", value_name = "CORES", required = true)]
    pub fit: Vec<u32>,
    /// What has the cores, and so by which law times follow their number.
    #[arg(long, value_enum, default_value_t)]
    pub device: Device,
}

/// How the programs' times follow the number of cores, and the device.
///
/// # Errors
/// [`BenchError`] names the file that is not what the program wrote, or says why there is no law.
pub fn cores(args: &CoresArgs) -> Result<(String, Cores), BenchError> {
    let mut all: BTreeMap<u32, Vec<Program>> = BTreeMap::new();
    let mut device: Option<(u32, String)> = None;
    let mut did: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for AtCores { cores, file } in &args.at {
        let wrong = |what: String| BenchError::File {
            path: file.clone(),
            what,
        };
        let (name, programs) = parsed(&c_program::written(file)?, file, KERNELS)?;
        let (most, known) = device.get_or_insert_with(|| (*cores, name.clone()));
        if model(known) != model(&name) {
            return Err(wrong(format!(
                "it is of {name:.80?}, and another file of {known:.80?}: give one device's"
            )));
        }
        if cores > most {
            device = Some((*cores, name));
        }
        let known = all.entry(*cores).or_default();
        // Those that only copy say nothing of the device's parts.
        for program in programs.into_iter().filter(|it| it.operations > 0) {
            let does = (program.operations, program.sum);
            if *did.entry(program.name.clone()).or_insert(does) != does {
                return Err(wrong(format!(
                    "{} did something else there than in another file: run one program everywhere",
                    program.name
                )));
            }
            match known.iter_mut().find(|it| it.name == program.name) {
                Some(it) => it.device.add(program.device),
                None => known.push(program),
            }
        }
    }
    let run = |(cores, programs): (u32, Vec<Program>)| {
        let times = programs.into_iter();
        let times = times.map(|program| (program.name, program.device.median()));
        (cores, times.collect())
    };
    let runs = all.into_iter().map(run).collect();
    let name = device.map(|(_, name)| name).unwrap_or_default();
    Ok((name, cores::spread(runs, &args.fit, args.device)?))
}

/// Without what a part of a device has behind a comma, the number of its multiprocessors.
fn model(device: &str) -> &str {
    device.split(',').next().unwrap_or_default()
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The API's name, in a profile.
    pub api: &'static str,
    /// For the board's profile.
    pub calls: Calls,
    /// The programs.
    pub accuracy: Accuracy,
}

/// One program's times.
#[derive(Clone, Debug)]
struct Program {
    name: String,
    wall: Times,
    device: Times,
    operations: u32,
    sum: u32,
}

impl Program {
    /// Distance of the quartiles as part of the median.
    fn spread(&self) -> f64 {
        let at = |part| self.wall.percentile(part).as_secs_f64();
        (at(0.75) - at(0.25)) / at(0.5).max(f64::MIN_POSITIVE)
    }

    /// The same program's other times too.
    fn add(&mut self, other: Self) {
        self.wall.add(other.wall);
        self.device.add(other.device);
    }

    fn is_disturbed(&self) -> bool {
        self.spread() > SPREAD_MAX
    }
}

/// Measures an API's programs; `say` hears of the progress. Files lie in `folder`, and what calls
/// cost is in the profile.
///
/// # Errors
/// [`BenchError`] says what cannot be measured.
pub fn programs(
    api: &Calibrated,
    args: &ProgramsArgs,
    profile: &Profile,
    folder: &Path,
    say: &dyn Fn(&str),
) -> Result<Programs, BenchError> {
    say("compiling the programs");
    let built = c_program::build(api.programs, folder, api.libraries, api.libraries)?;
    let natively = || {
        let named = |names: &[String]| {
            say(&progress("on this machine's device", names));
            c_program::pooled(NATIVE_PROCESSES / 2, || {
                let times = c_program::shared(args.times, NATIVE_PROCESSES);
                let mut command = Command::new(&built.native);
                c_program::said(command.arg(times.to_string()).args(names))
            })
        };
        settled(&built.native, Calibrated::file(api.programs), named)
    };
    let (device, mut native) = match &args.native {
        Some(path) => {
            let text = c_program::written(path)?;
            parsed(&text, path, Calibrated::file(api.programs))?
        }
        None => natively()?,
    };
    let guest = Guest {
        args,
        api,
        profile,
        folder,
        program: &built.guest,
        say,
    };
    let calls = profile.calls.get(api.name).cloned().unwrap_or_default();
    // Times of other programs, or of other work, are said before more time is spent.
    let before = matched(&native, &guest.run("as they are", None)?)?;
    let between = guest.run("with what calls cost", Some(&calls))?;
    let mut repeated = vec![None; native.len()];
    if args.native.is_none() {
        let (_, later) = natively()?;
        let later = matched(&native, &later)?;
        for ((own, later), repeated) in native.iter_mut().zip(later).zip(&mut repeated) {
            *repeated = Some(accuracy::part(later.wall.middle(), own.wall.middle()));
            own.add(later);
        }
    }
    let between = matched(&native, &between)?;
    let mut rows: Vec<Row> = native
        .iter()
        .zip(&before)
        .map(|(native, before)| row(api, native, before))
        .collect();
    for (row, repeated) in rows.iter_mut().zip(repeated) {
        row.repeated = repeated;
    }
    let points = native.iter().zip(&between);
    let points: Vec<Point> = points.map(|(native, guest)| point(native, guest)).collect();
    let fit = accuracy::fitted(&mut rows, &points)?;
    let mut calls = Calls {
        scale: calls.scale * fit.scale.value,
        offset_ns: (calls.offset_ns as f64 * fit.scale.value + fit.offset.value).round() as i64,
        device,
        ..calls
    };
    let after = guest.run("with scale and offset", Some(&calls))?;
    for (row, after) in rows.iter_mut().zip(matched(&native, &after)?) {
        row.after = after.wall.middle();
        row.is_disturbed |= after.is_disturbed();
    }
    let accuracy = Accuracy { rows, fit };
    let [_, errors] = accuracy.errors(false);
    calls.fit = Some(Fitted {
        programs: api.fitted.len() as u32,
        scale_within: accuracy.fit.scale.within,
        offset_within_ns: accuracy.fit.offset.within,
        left_out: errors.programs as u32,
        mean_error: errors.mean,
        worst_error: errors.most,
    });
    Ok(Programs {
        api: api.name,
        calls,
        accuracy,
    })
}

fn progress(what: &str, names: &[String]) -> String {
    match names.len() {
        0 => format!("running the programs {what}"),
        some => format!("running {some} programs {what} again, which something disturbed"),
    }
}

fn row(api: &Calibrated, native: &Program, before: &Program) -> Row {
    Row {
        name: native.name.clone(),
        is_fitted: api.fitted.contains(&&*native.name),
        native: native.wall.middle(),
        before: before.wall.middle(),
        after: Duration::ZERO,
        crossed: None,
        repeated: None,
        is_disturbed: native.is_disturbed() || before.is_disturbed(),
    }
}

fn point(native: &Program, guest: &Program) -> Point {
    let ns = |times: &Times| times.middle().as_nanos() as f64;
    let device = ns(&guest.device);
    Point {
        measured: ns(&native.wall),
        rest: ns(&guest.wall) - device,
        device,
        operations: guest.operations.into(),
    }
}

/// The guest's programs in the order of the native ones.
fn matched(native: &[Program], guest: &[Program]) -> Result<Vec<Program>, BenchError> {
    let one = |native: &Program| {
        let mut named = guest.iter().filter(|guest| guest.name == native.name);
        match named.next() {
            Some(found) if found.sum == native.sum => Ok(found.clone()),
            _ => Err(BenchError::OtherResults {
                name: native.name.clone(),
            }),
        }
    };
    native.iter().map(one).collect()
}

struct Guest<'a> {
    args: &'a ProgramsArgs,
    api: &'a Calibrated,
    profile: &'a Profile,
    folder: &'a Path,
    program: &'a Path,
    say: &'a dyn Fn(&str),
}

impl Guest<'_> {
    /// The programs' times in the guest, with this in the profile; none: without a profile.
    fn run(&self, how: &str, calls: Option<&Calls>) -> Result<Vec<Program>, BenchError> {
        let path = self.folder.join("profile.toml");
        if let Some(calls) = calls {
            // Nothing of another target: the native times are the board's own.
            let mut profile = Profile::empty();
            let copies = self.profile.copies.get(self.api.name);
            let copies = copies.map(|it| (self.api.name.into(), it.clone()));
            profile.copies.extend(copies);
            profile.calls.insert(self.api.name.into(), calls.clone());
            fs::write(&path, profile.text())?;
        }
        let named = |names: &[String]| {
            (self.say)(&progress(&format!("in the guest, times {how}"), names));
            let json = self.folder.join("report.json");
            c_program::pooled(GUEST_PROCESSES, || {
                let mut command = match &self.args.board {
                    Some(board) => {
                        let mut command = c_program::in_guest(&json)?;
                        command.arg("--board").arg(board);
                        command
                    }
                    None => c_program::in_guest_with_kernels(&json)?,
                };
                if calls.is_some() {
                    command.arg("--board-profile").arg(&path);
                }
                command.args(&self.args.options).arg(self.program);
                let times = c_program::shared(self.args.times, GUEST_PROCESSES);
                c_program::said(command.arg(times.to_string()).args(names))
            })
        };
        let file = Calibrated::file(self.api.programs);
        settled(self.program, file, named).map(|(_, programs)| programs)
    }
}

/// Runs the programs, and those again that something disturbed: the steadiest run counts.
fn settled(
    program: &Path,
    file: &str,
    run: impl Fn(&[String]) -> Result<String, BenchError>,
) -> Result<(String, Vec<Program>), BenchError> {
    let (device, mut programs) = parsed(&run(&[])?, program, file)?;
    for _ in 1..ROUNDS {
        let disturbed = programs.iter().filter(|program| program.is_disturbed());
        let names: Vec<String> = disturbed.map(|program| program.name.clone()).collect();
        if names.is_empty() {
            break;
        }
        let (_, again) = parsed(&run(&names)?, program, file)?;
        for new in again {
            let mut known = programs.iter_mut();
            let known = known.find(|known| known.name == new.name && known.spread() > new.spread());
            if let Some(known) = known {
                *known = new;
            }
        }
    }
    Ok((device, programs))
}

/// What the text of the program of this file says: the device, and each program's times.
fn parsed(text: &str, path: &Path, file: &str) -> Result<(String, Vec<Program>), BenchError> {
    let mut lines = text.lines();
    let device = lines.next().unwrap_or_default().trim().to_owned();
    let mut programs: Vec<(String, Vec<Line>)> = Vec::new();
    for (at, line) in lines.enumerate() {
        let (name, read) = Line::read(line).ok_or_else(|| BenchError::File {
            path: path.into(),
            what: format!(
                "line {} of what {file} writes has a name and four numbers, and is {line:.80?}",
                at + 2
            ),
        })?;
        match programs.iter_mut().find(|(known, _)| known == name) {
            Some((_, lines)) => lines.push(read),
            None => programs.push((name.into(), vec![read])),
        }
    }
    if programs.is_empty() {
        return Err(BenchError::File {
            path: path.into(),
            what: format!("{file} wrote no times there"),
        });
    }
    let programs = programs.into_iter().filter_map(|(name, lines)| {
        let last = *lines.last()?;
        let times = |of: fn(&Line) -> u64| {
            Times::new(lines.iter().map(of).map(Duration::from_nanos).collect())
        };
        Some(Program {
            name,
            wall: times(|line| line.wall),
            device: times(|line| line.device),
            operations: last.operations,
            sum: last.sum,
        })
    });
    Ok((device, programs.collect()))
}

#[derive(Clone, Copy, Debug)]
struct Line {
    wall: u64,
    device: u64,
    operations: u32,
    sum: u32,
}

impl Line {
    fn read(line: &str) -> Option<(&str, Self)> {
        let words: Vec<_> = line.split_whitespace().collect();
        let [name, wall, device, operations, sum] = words[..] else {
            return None;
        };
        let is_name = name.len() <= NAME_MAX && name.bytes().all(|it| it.is_ascii_alphanumeric());
        let line = Self {
            wall: wall.parse().ok()?,
            device: device.parse().ok()?,
            operations: operations.parse().ok()?,
            sum: sum.parse().ok()?,
        };
        is_name.then_some((name, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn read(text: &str) -> Result<(String, Vec<Program>), BenchError> {
        parsed(text, Path::new("native.txt"), KERNELS)
    }

    #[test]
    fn the_programs_text_is_read() {
        let text = "a GPU\nadd 300 100 4 7\nadd 100 120 4 7\nadd 200 110 4 7\nsort 50 40 2 9\n";
        let (device, programs) = read(text).unwrap();
        assert_eq!((&*device, programs.len()), ("a GPU", 2));
        assert_eq!(programs[0].wall.median(), Duration::from_nanos(200));
        assert_eq!((programs[1].operations, programs[1].sum), (2, 9));
        assert!(programs[0].is_disturbed() && !programs[1].is_disturbed());
    }

    #[test]
    fn what_the_program_did_not_write_is_refused() {
        for text in [
            "",
            "GPU\n",
            "GPU\nadd 1 2 3\n",
            "GPU\nadd 1 -2 3 4\n",
            "GPU\na/b 1 2 3 4\n",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("native.txt"), "{error}");
        }
    }

    #[test]
    fn what_was_disturbed_is_run_again_and_the_steadiest_counts() {
        let runs = Cell::new(0);
        let (_, programs) = settled(Path::new("p"), KERNELS, |names| {
            runs.set(runs.get() + 1);
            Ok(match names {
                [] => "GPU\na 1000 1 1 1\na 1500 1 1 1\na 2000 1 1 1\nb 5 1 1 1\n".into(),
                [one] if one == "a" && runs.get() == 2 => {
                    "GPU\na 1000 1 1 1\na 1001 1 1 1\na 1002 1 1 1\n".into()
                }
                _ => unreachable!("{names:?}"),
            })
        })
        .unwrap();
        assert_eq!(
            (runs.get(), programs[0].wall.median().as_nanos()),
            (2, 1001)
        );
    }

    #[test]
    fn other_results_are_refused() {
        let native = read("GPU\na 10 1 1 1\n").unwrap().1;
        let guest = read("GPU\na 10 1 1 2\n").unwrap().1;
        let refused = matched(&native, &guest).unwrap_err();
        assert!(matches!(refused, BenchError::OtherResults { .. }));
        assert!(matched(&native, &[]).is_err());
    }
}
