//! Boards whose clock can be set: machines in QEMU that count instructions. Measures
//! `benchmarks/programs/kernels.c` on one at four clocks, on the board itself and in the guest, and compares with what the model
//! of `gil run --target` says of three of them from the fastest. Leaves a table and a plot in the folder.
//!
//! ```text
//! docs/experiments/icount/run [--times NUMBER]
//! ```

mod plot;
mod times;

use clap::Parser;
use gil_board_client::profile::{Machine, Parts, Profile};
use gil_tests::board_machine::BoardMachine;
use gil_tests::{Link, Run, guest_program};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use times::{Errors, Point, Times, Which};

/// Compares times on boards of four clocks with the model's.
#[derive(Parser)]
struct Args {
    /// Where to write table.csv and plot.svg.
    folder: PathBuf,
    /// How many times to measure each program; the median counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
}

/// QEMU's shifts: of the board that the model starts from, and of those that it predicts.
const FIRST: u8 = 0;
const OTHERS: [u8; 3] = [1, 2, 3];
/// The API's name in a profile.
const API: &str = "opencl";

/// The clock of a machine whose instructions take 2 to the power of `shift` nanoseconds.
fn mhz(shift: u8) -> f64 {
    1000.0 / f64::from(1 << shift)
}

/// PoCL's device is the board's CPU, so both clocks are one.
fn machine(shift: u8) -> Machine {
    Machine {
        cpu_mhz: Some(mhz(shift)),
        gpu_mhz: Some(mhz(shift)),
        ..Machine::default()
    }
}

/// All of an operation's time is by the GPU's clock; nothing is fitted.
const PARTS: Parts = Parts {
    cpu: 0.0,
    gpu: 1.0,
    serial: 0.0,
    memory: 0.0,
    threads: None,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let bench = Bench::new(args.times)?;
    let (native, _) = bench.board(FIRST, true)?;
    let mut points = Vec::new();
    for shift in OTHERS {
        let (measured, in_guest) = bench.board(shift, false)?;
        let factor = PARTS.factor(&machine(FIRST), &machine(shift));
        let predicted = native.scaled(factor);
        points.extend(measured.compared("board", mhz(shift), &predicted)?);
        let predicted = bench.predicted(shift)?;
        points.extend(in_guest.compared("guest", mhz(shift), &predicted)?);
    }
    fs::write(args.folder.join("table.csv"), times::csv(&points))?;
    fs::write(args.folder.join("plot.svg"), plot::svg(&points)?)?;
    print!("{}", summary(&points));
    Ok(())
}

/// Where it is measured.
struct Bench {
    program: PathBuf,
    times: String,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(times: u32) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let profile = Profile {
            board: machine(FIRST),
            parts: [(API.to_owned(), PARTS)].into(),
            ..Profile::empty()
        };
        fs::write(folder.path().join("board.toml"), profile.text())?;
        Ok(Self {
            program: guest_program("benchmarks/programs/kernels.c", Link::OpenCl),
            times: times.to_string(),
            folder,
        })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The programs on a board of this clock, and in a guest with it, which may be recorded.
    fn board(&self, shift: u8, is_recorded: bool) -> Result<(Times, Times), Box<dyn Error>> {
        eprintln!("icount: a board of {} MHz", mhz(shift));
        // What the console writes must not fall into a measurement.
        let first = [(
            self.program.clone(),
            &*format!("{} >/root/times", self.times),
        )];
        let board = BoardMachine::with_clock(shift, &first, "cat /root/times; ");
        let native = Times::read(&board.console())?;
        eprintln!("icount: a guest with it");
        let recording = self.path("recording");
        let mut options = vec!["--measure-builds"];
        if is_recorded {
            options.extend(["--record", &*recording]);
        }
        let guest = self.guest(board.run(&options))?;
        Ok((native, guest))
    }

    /// The programs in a guest with the first board, as if it had this clock.
    fn predicted(&self, shift: u8) -> Result<Times, Box<dyn Error>> {
        let (recording, profile) = (self.path("recording"), self.path("board.toml"));
        let mhz = mhz(shift);
        self.guest(Run::new([
            format!("--board=replay:{recording}"),
            format!("--board-profile={profile}"),
            format!("--target=gpu_mhz={mhz}"),
            format!("--target=cpu_mhz={mhz}"),
        ]))
    }

    fn guest(&self, mut run: Run) -> Result<Times, Box<dyn Error>> {
        run.command().arg(&self.program).arg(&self.times);
        let run = run.finish();
        match run.code {
            Some(0) => Ok(Times::read(&run.stdout)?),
            _ => Err(format!("kernels.c failed in the guest: {}", run.stderr).into()),
        }
    }
}

/// A line for each place, time and clock.
fn summary(points: &[Point]) -> String {
    let mut text = "| where | time | clock | programs | mean error | median | worst |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    for (place, which) in [
        ("board", Which::Device),
        ("board", Which::Wall),
        ("guest", Which::Device),
        ("guest", Which::Wall),
    ] {
        for mhz in OTHERS.map(mhz) {
            let is_own = |it: &&Point| (it.place, it.which, it.mhz) == (place, which, mhz);
            let own: Vec<&Point> = points.iter().filter(is_own).collect();
            let Some(errors) = Errors::of(&own) else {
                continue;
            };
            let [mean, median, worst] =
                [errors.mean, errors.median, errors.worst.error()].map(|part| part * 100.0);
            let (programs, name) = (own.len(), &errors.worst.program);
            let _ = writeln!(
                text,
                "| {place} | {which} | {mhz} MHz | {programs} | {mean:.2} % | {median:.2} % | {worst:+.2} % (`{name}`) |",
            );
        }
    }
    text
}
