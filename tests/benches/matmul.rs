//! Where the wall time of the matrix multiplication goes: simulator, bridge and
//! board, each by its own stopwatch, as shares of the program's wall time.
//!
//!     cargo bench -p gil-tests --bench matmul [-- RUNS [PRODUCTS]]
//!
//! One JSON line a run, then the medians.

use gil_tests::{Finished, Link, Run, guest_program};

const PARTS: [&str; 3] = ["simulator", "bridge", "board"];

fn shares(run: &Finished) -> Vec<f64> {
    let total = run.number("/wall/total_ns");
    PARTS
        .iter()
        .map(|part| run.number(&format!("/wall/{part}_ns")) / total)
        .collect()
}

fn print_line(kind: &str, wall_s: f64, shares: &[f64]) {
    let parts: Vec<_> = PARTS
        .iter()
        .zip(shares)
        .map(|(part, share)| format!("\"{part}\":{share:.4}"))
        .collect();
    let sum: f64 = shares.iter().sum();
    println!(
        "{{\"bench\":\"matmul\",\"{kind}\":{wall_s:.3},{},\"sum\":{sum:.4}}}",
        parts.join(",")
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|arg| arg.parse::<usize>().ok());
    let runs = numbers.next().unwrap_or(3);
    let products = numbers.next().unwrap_or(300);
    let program = guest_program("examples/matmul/matmul.c", Link::OpenCl);
    let mut walls = Vec::new();
    let mut all = Vec::new();
    for _ in 0..runs.max(1) {
        let args = [program.display().to_string(), products.to_string()];
        let run = Run::new(args).finish().ok();
        let wall_s = run.number("/wall/total_ns") / 1e9;
        let shares = shares(&run);
        print_line("wall_s", wall_s, &shares);
        walls.push(wall_s);
        all.push(shares);
    }
    let medians: Vec<f64> = (0..PARTS.len())
        .map(|part| median(all.iter().map(|shares| shares[part]).collect()))
        .collect();
    print_line("median_wall_s", median(walls), &medians);
}
