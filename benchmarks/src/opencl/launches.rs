//! What an empty kernel costs beside itself: a program launches kernels natively on this
//! machine's device, or on a board where a person ran it, and in the guest without and with
//! what was found.
//!
//! With the medians `one` of a launch and a finish, `many` of `n` launches and a finish,
//! `launch` from the call to the kernel's start and `device` of its execution:
//!
//! ```text
//! each       = (many - one) / (n - 1)
//! offset     = min(each - device, 0)
//! gap        = max(each - device, 0)
//! completion = one - launch - device - offset
//! ```
//!
//! `device` is of a kernel whose event is profiled, as the board does with all. Where a driver
//! spends time on that, one that nobody profiles is faster, and the offset below 0: an H200
//! says 16 us of an empty kernel, and executes one in 6 us.

use crate::c_program;
use crate::error::BenchError;
use crate::sampling::Times;
use clap::Args;
use gil_board_client::profile::{Calls, Profile};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = "benchmarks/programs/launches.c";
/// The API's name in a profile.
const API: &str = "opencl";
/// Launches in a row.
const MANY: u32 = 64;
/// Columns of a line of the program.
const COLUMNS: usize = 4;
/// Most bytes of what the program wrote elsewhere.
const NATIVE_MAX: u64 = 1 << 20;

/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct LaunchesArgs {
    /// How many times to measure.
    #[arg(long, value_name = "NUMBER", default_value_t = 40,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub times: u32,
    /// Use what the program benchmarks/programs/launches.c wrote on another board, with 64 as its second
    /// argument, instead of running it here; the guest is not run.
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
}

/// Medians of the program's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launches {
    /// Of a launch and a finish.
    pub one: Duration,
    /// Of [`Launched::number`] launches and a finish.
    pub many: Duration,
    /// From the call until the kernel starts.
    pub launch: Duration,
    /// Of the kernel.
    pub device: Duration,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Launched {
    /// The API's name, in a profile.
    pub api: &'static str,
    /// For the board's profile.
    pub calls: Calls,
    /// How many launches are many.
    pub number: u32,
    /// On the board itself.
    pub native: Launches,
    /// In the guest, as the board's timers say; without and with what was found.
    pub guest: Option<[Launches; 2]>,
}

/// Measures what launches cost; `say` hears of the progress. Programs lie in `folder`, and
/// the guest has the rest of this profile.
///
/// # Errors
/// [`BenchError`] says what cannot be measured.
pub fn launches(
    args: &LaunchesArgs,
    profile: &Profile,
    folder: &Path,
    say: &dyn Fn(&str),
) -> Result<Launched, BenchError> {
    if let Some(path) = &args.native {
        let (calls, native) = found(&read(path)?, path)?;
        return Ok(Launched {
            api: API,
            calls,
            number: MANY,
            native,
            guest: None,
        });
    }
    say("compiling the program");
    let built = c_program::build(SOURCE, folder, &["-lOpenCL"], &[])?;
    say("launching kernels on this machine's device");
    let mut command = Command::new(&built.native);
    let text = c_program::said(command.args(words(args)))?;
    let (calls, native) = found(&text, &built.native)?;
    let mut guest = Vec::new();
    for (calls, how) in [(None, "as they are"), (Some(&calls), "corrected")] {
        say(&format!("launching kernels in the guest, times {how}"));
        guest.push(in_guest(args, profile, calls, folder, &built.guest)?);
    }
    Ok(Launched {
        api: API,
        calls,
        number: MANY,
        native,
        guest: guest.try_into().ok(),
    })
}

fn words(args: &LaunchesArgs) -> [String; 2] {
    [args.times, MANY].map(|number| number.to_string())
}

/// What the program says in the guest, with this in the profile.
fn in_guest(
    args: &LaunchesArgs,
    profile: &Profile,
    calls: Option<&Calls>,
    folder: &Path,
    program: &Path,
) -> Result<Launches, BenchError> {
    let mut profile = profile.clone();
    profile.calls.remove(API);
    let named = calls.map(|calls| (API.into(), calls.clone()));
    profile.calls.extend(named);
    let path = folder.join("profile.toml");
    fs::write(&path, profile.text())?;
    let mut command = c_program::in_guest_with_kernels(&folder.join("report.json"))?;
    command.arg("--board-profile").arg(&path);
    let text = c_program::said(command.arg(program).args(words(args)))?;
    Ok(found(&text, program)?.1)
}

/// What a program wrote natively, elsewhere.
///
/// # Errors
/// [`BenchError::File`].
pub fn read(path: &Path) -> Result<String, BenchError> {
    let wrong = |what: String| BenchError::File {
        path: path.into(),
        what,
    };
    let length = fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    match length.len() <= NATIVE_MAX {
        true => fs::read_to_string(path).map_err(|error| wrong(error.to_string())),
        false => Err(wrong(format!(
            "it has more than {NATIVE_MAX} bytes: give what the program wrote"
        ))),
    }
}

/// What the program's text says.
fn found(text: &str, path: &Path) -> Result<(Calls, Launches), BenchError> {
    let wrong = |what: String| BenchError::File {
        path: path.into(),
        what,
    };
    let mut lines = text.lines();
    let device = lines.next().unwrap_or_default().trim().to_owned();
    let mut columns: [Vec<Duration>; COLUMNS] = Default::default();
    for (at, line) in lines.enumerate() {
        let numbers: Vec<_> = line.split_whitespace().map(str::parse::<u64>).collect();
        let numbers: Result<Vec<u64>, _> = numbers.into_iter().collect();
        match numbers {
            Ok(numbers) if numbers.len() == COLUMNS => {
                for (column, ns) in columns.iter_mut().zip(numbers) {
                    column.push(Duration::from_nanos(ns));
                }
            }
            _ => {
                let what = format!(
                    "line {} of what launches.c writes has four times, and is {line:.80?}",
                    at + 2
                );
                return Err(wrong(what));
            }
        }
    }
    let repetitions = columns[0].len() as u32;
    if repetitions == 0 {
        return Err(wrong("launches.c wrote no times there".into()));
    }
    let [one, many, launch, device_time] = columns.map(|times| Times::new(times).median());
    let native = Launches {
        one,
        many,
        launch,
        device: device_time,
    };
    Ok((native.calls(repetitions, device), native))
}

impl Launches {
    /// What they cost.
    fn calls(&self, repetitions: u32, device: String) -> Calls {
        let each = self.many.saturating_sub(self.one) / (MANY - 1);
        let kernel = self.device.min(each);
        let rest = self.one.saturating_sub(kernel);
        let launch = self.launch.min(rest);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let spared = i64::try_from(ns(self.device - kernel)).unwrap_or(i64::MAX);
        Calls {
            launch_ns: ns(launch),
            gap_ns: ns(each - kernel),
            offset_ns: -spared,
            completion_ns: ns(rest - launch),
            repetitions,
            device,
            ..Calls::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Calls, Launches), BenchError> {
        found(text, Path::new("native.txt"))
    }

    #[test]
    fn costs_are_what_the_kernel_does_not_take() {
        let text = "GPU of mine\n50000 239000 27000 2000\n40000 229000 25000 1000\n60000 249000 29000 3000\n";
        let (calls, native) = read(text).unwrap();
        assert_eq!(native.one, Duration::from_micros(50));
        // 189 µs for 63 launches.
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!(costs, (27_000, 1_000, 21_000));
        assert_eq!((calls.repetitions, &*calls.device), (3, "GPU of mine"));
    }

    #[test]
    fn no_cost_is_below_nothing() {
        let (calls, _) = read("GPU\n5000 257000 90000 4000\n").unwrap();
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!(costs, (1_000, 0, 0));
        let (calls, _) = read("GPU\n1000 500 500 4000\n").unwrap();
        assert_eq!((calls.launch_ns, calls.completion_ns), (500, 500));
    }

    #[test]
    fn what_profiling_costs_is_taken_off() {
        let (calls, _) = read("GPU\n45000 423000 11000 16000\n").unwrap();
        let costs = (calls.launch_ns, calls.gap_ns, calls.completion_ns);
        assert_eq!((costs, calls.offset_ns), ((11_000, 0, 28_000), -10_000));
    }

    #[test]
    fn what_the_program_did_not_write_is_refused() {
        for text in [
            "",
            "GPU\n",
            "GPU\n1 2 3\n",
            "GPU\n1 2 3 4 5\n",
            "GPU\n1 2 3 -4\n",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("native.txt"), "{error}");
        }
    }
}
