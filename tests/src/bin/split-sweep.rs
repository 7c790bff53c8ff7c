//! Runs the example `matmul-split` in the guest with every share of the rows on
//! the device, prints what its clock measured, and plots it as SVG.
//!
//! ```text
//! cargo run --release -p gil-tests --bin split-sweep -- docs/matmul-split.svg
//! ```

use clap::Parser;
use gil_tests::{Link, Run, guest_program};
use plotters::prelude::*;
use std::path::PathBuf;

/// Sweeps how matmul-split shares its rows; plots the simulated times.
#[derive(Parser)]
struct Args {
    /// Where to write the plot.
    svg: PathBuf,
    /// Rows and columns of the matrices.
    #[arg(long, default_value_t = 192)]
    size: u32,
    /// CPU threads.
    #[arg(long, default_value_t = 2)]
    threads: u32,
    /// Products for each share; the plot shows the middle one of their times.
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    /// Percent from one share to the next.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    step: u32,
    /// The board; without it an agent on this machine.
    #[arg(long)]
    board: Option<String>,
}

/// The times of one share, in simulated milliseconds.
struct Point {
    percent: u32,
    least: f64,
    middle: f64,
    most: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let mut points = Vec::new();
    println!("| rows on the device | least ms | middle ms | most ms |\n|---|---|---|---|");
    for percent in (0..=100).step_by(args.step as usize) {
        let point = measure(&args, percent)?;
        let Point {
            least,
            middle,
            most,
            ..
        } = point;
        println!("| {percent} % | {least:.3} | {middle:.3} | {most:.3} |");
        points.push(point);
    }
    plot(&args, &points)
}

/// Runs one share in a guest of its own.
fn measure(args: &Args, percent: u32) -> Result<Point, Box<dyn std::error::Error>> {
    let program = guest_program("examples/matmul-split/matmul-split.c", Link::OpenCl);
    let numbers = [percent, args.size, args.threads, args.repeats];
    let mut words: Vec<String> = match &args.board {
        Some(board) => vec!["--board".into(), board.clone()],
        None => Vec::new(),
    };
    words.push(program.display().to_string());
    words.extend(numbers.map(|number| number.to_string()));
    let run = Run::new(words).finish();
    if run.code != Some(0) {
        return Err(format!("matmul-split failed: {}", run.stderr).into());
    }
    let mut times: Vec<f64> = run.stderr.lines().filter_map(time_ms).collect();
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).ok_or("no time was printed")?;
    Ok(Point {
        percent,
        least: times[0],
        middle: *middle,
        most: times[times.len() - 1],
    })
}

/// The time in a line such as `matmul-split: 50 percent, 1234 ns`.
fn time_ms(line: &str) -> Option<f64> {
    let text = line.strip_prefix("matmul-split: ")?.strip_suffix(" ns")?;
    let (_, ns) = text.rsplit_once(' ')?;
    Some(ns.parse::<f64>().ok()? / 1e6)
}

fn plot(args: &Args, points: &[Point]) -> Result<(), Box<dyn std::error::Error>> {
    let top = points.iter().map(|point| point.most).fold(0.0, f64::max) * 1.05;
    let area = SVGBackend::new(&args.svg, (800, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let (size, threads) = (args.size, args.threads);
    let title = format!("{size}x{size} integer product: device and {threads} CPU threads");
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0u32..100u32, 0f64..top)?;
    chart
        .configure_mesh()
        .x_desc("rows on the device, percent")
        .y_desc("simulated milliseconds")
        .label_style(("sans-serif", 14))
        .light_line_style(WHITE)
        .draw()?;
    let line = points.iter().map(|point| (point.percent, point.middle));
    chart.draw_series(LineSeries::new(line, BLUE.stroke_width(2)))?;
    chart.draw_series(points.iter().map(|point| {
        let (least, middle, most) = (point.least, point.middle, point.most);
        ErrorBar::new_vertical(point.percent, least, middle, most, BLUE.filled(), 8)
    }))?;
    area.present()?;
    Ok(())
}
