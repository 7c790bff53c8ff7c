//! Draws the examples' frames by the kernel's own drivers on a stand-in board, and prints
//! how far their simulated times are from those of an independent simulation of the jobs'
//! times, and how soon the drivers have their interrupts. What it prints does not depend on
//! the machine.
//!
//! ```text
//! cargo run --release -p gil-tests --bin frame-accuracy
//! ```

use clap::Parser;
use gil_tests::accuracy::gpus::{GPUS, Gpu};
use gil_tests::accuracy::{EXAMPLES, FrameErrors, Interrupts, Measured, Setting, measure};

/// Compares frame times with a simulation of the script.
#[derive(Parser)]
struct Args {
    /// Frames of each program.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(2..=10_000))]
    frames: u16,
    /// The standard deviation of jobs' times, in hundredths of their mean.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=100))]
    percent: u64,
    /// How many times as long a job lasts while another processor is at work.
    #[arg(long, default_value_t = 2.1)]
    contention: f64,
    /// The seed of the first program; each has one of its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    let args = Args::parse();
    println!(
        "| GPU | program | frames | frame time | error with α: mean, most | with α = 1 | spread | the reference's |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let interrupts = GPUS.map(|gpu| (gpu.name, rows(&args, &gpu)));
    println!();
    println!("| GPU | interrupts | after the job's end: 99 of 100 within | all within |");
    println!("|---|---|---|---|");
    for (gpu, all) in interrupts {
        let us = |ns: f64| format!("{:.1} µs", ns / 1000.0);
        let (count, p99, most) = (all.count(), us(all.p99_ns()), us(all.most_ns()));
        println!("| {gpu} | {count} | {p99} | {most} |");
    }
}

/// Prints the programs' rows: the interrupts in all of them.
fn rows(args: &Args, gpu: &Gpu) -> Interrupts {
    let mut interrupts = Interrupts::default();
    for (program, seed) in EXAMPLES.into_iter().zip(args.seed..) {
        let setting = Setting {
            frames: args.frames.into(),
            percent: args.percent,
            seed,
            factor: args.contention,
        };
        let measured = measure(gpu, program, setting);
        println!("{}", row((gpu.name, program.0), &setting, &measured));
        interrupts.add(&measured.interrupts);
    }
    interrupts
}

fn row((gpu, program): (&str, &str), setting: &Setting, measured: &Measured) -> String {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let errors = |it: &FrameErrors| format!("{}, {}", percent(it.mean), percent(it.most));
    let cells = [
        gpu.into(),
        format!("`{program}`"),
        setting.frames.to_string(),
        format!("{:.3} ms", measured.frame_ns / 1e6),
        errors(&measured.with_contention),
        errors(&measured.without),
        percent(measured.spread),
        percent(measured.reference_spread),
    ];
    format!("| {} |", cells.join(" | "))
}
