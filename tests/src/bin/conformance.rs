//! Runs the conformance tests of two folders, one for this machine and one for the
//! guest, on the same device, and compares subtest by subtest: OpenCL's, or where the
//! folders have dEQP's programs, those of OpenGL ES and EGL.
//!
//! ```text
//! scripts/test --long conformance NATIVE GUEST [NAMES]
//! ```

use clap::Parser;
use gil_tests::conformance::deqp::{self, Pair};
use gil_tests::conformance::known::Known;
use gil_tests::conformance::suite::{self, Suite};
use gil_tests::conformance::table::{self, Row, Verdict};
use gil_tests::conformance::{Options, guest, native};
use gil_tests::{root, target};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Compares the conformance tests of two folders: native and guest. They are OpenCL's, or
/// dEQP's (deqp-gles2, deqp-gles3, deqp-gles31, deqp-egl); build them as Khronos says.
#[derive(Parser)]
struct Args {
    /// Programs for this machine, below this folder.
    native: PathBuf,
    /// Programs for the guest, of 64 or 32 bits, below this one.
    guest: PathBuf,
    /// Only these: programs, such as `api`, or of dEQP groups of cases, such as
    /// `dEQP-GLES2.functional.shaders`; all that both folders hold without, and of dEQP
    /// the groups `info` and `functional`.
    names: Vec<String>,
    /// Of dEQP's cases only each so many-th.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Of dEQP's cases so many at most in one process.
    #[arg(long, default_value_t = 2000)]
    together: usize,
    /// Width and height of the surface that dEQP's cases draw to; some need more than 64.
    #[arg(long, default_value_t = 64)]
    surface: u32,
    /// Longest run of a process, and of a subtest alone, in seconds.
    #[arg(long, default_value_t = 3600)]
    timeout: u64,
    /// An option of `gil run`, such as `--run=--board=unix:/run/gil.sock`.
    #[arg(long, allow_hyphen_values = true)]
    run: Vec<String>,
    /// The table and the programs' output go here.
    #[arg(long)]
    out: Option<PathBuf>,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match compare(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing but what is known differs.
fn compare(args: &Args) -> Result<bool, Failure> {
    let known = Known::read(&root().join("tests/conformance/known.toml"))?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| target().join("conformance"));
    std::fs::create_dir_all(&out)?;
    let options = Options {
        timeout: Duration::from_secs(args.timeout),
        run: args.run.clone(),
        logs: out.clone(),
        surface: args.surface,
    };
    let mut rows = Vec::new();
    for pair in deqp::pairs(&args.native, &args.guest, &args.names)? {
        cases(&pair, &known, &options, args, &mut rows)?;
    }
    if !rows.is_empty() || args.names.iter().any(|name| deqp::is_case(name)) {
        return Ok(summary(&rows, &out.join("table.md"))?);
    }
    for pair in suite::pairs(&args.native, &args.guest, &args.names)? {
        let found = both(&pair, &known, &options)?;
        rows.extend(found);
        // What is there already counts if the run is ended.
        std::fs::write(out.join("table.md"), table::markdown(&rows))?;
    }
    Ok(summary(&rows, &out.join("table.md"))?)
}

/// One program, natively and in the guest.
fn both(
    (ours, theirs): &(Suite, Suite),
    known: &Known,
    options: &Options,
) -> Result<Vec<Row>, Failure> {
    let width = suite::width(theirs)?;
    let subtests = native::subtests(ours)?;
    eprint!(
        "conformance: {} ({} subtests), natively",
        ours.name,
        subtests.len()
    );
    let began = Instant::now();
    let native = native::run(ours, &subtests, options)?;
    eprint!(" {:.0} s, in the guest", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let guest = guest::run(theirs, width, &subtests, options)?;
    let rows = table::rows(&ours.name, width, &native, &guest, known);
    let [same, known, worse, other] = table::counts(&rows);
    eprintln!(
        " {:.0} s: {same} the same, {known} known differences, {worse} unexplained, {other} that did not pass natively",
        began.elapsed().as_secs_f64()
    );
    Ok(rows)
}

/// The cases of one of dEQP's programs, natively and in the guest, some at a time.
fn cases(
    pair: &Pair,
    known: &Known,
    options: &Options,
    args: &Args,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let width = suite::width(&pair.guest)?;
    let all = deqp::cases::all(&pair.native, pair.prefix)?;
    let chosen = deqp::cases::chosen(all, pair.prefix, &args.names, args.every);
    for some in chosen.chunks(args.together.max(1)) {
        eprint!("conformance: {} and {} more", some[0], some.len() - 1);
        let began = Instant::now();
        let native = deqp::run(some, |cases| {
            deqp::native::run(&pair.native, cases, options)
        })?;
        eprint!(", natively {:.0} s", began.elapsed().as_secs_f64());
        let began = Instant::now();
        let guest = deqp::run(some, |cases| {
            deqp::guest::run(&pair.guest, width, cases, options)
        })?;
        let found = table::rows(&pair.native.name, width, &native, &guest, known);
        let [same, known, worse, other] = table::counts(&found);
        eprintln!(
            ", in the guest {:.0} s: {same} the same, {known} known differences, {worse} unexplained, {other} that did not pass natively",
            began.elapsed().as_secs_f64()
        );
        rows.extend(found);
        std::fs::write(options.logs.join("table.md"), table::markdown(rows))?;
    }
    Ok(())
}

fn summary(rows: &[Row], path: &std::path::Path) -> std::io::Result<bool> {
    let different: Vec<Row> = rows
        .iter()
        .filter(|r| r.verdict() != Verdict::Same)
        .cloned()
        .collect();
    let mut out = std::io::stdout().lock();
    write!(out, "{}", table::markdown(&different))?;
    for row in rows.iter().filter(|row| row.is_stale()) {
        writeln!(
            out,
            "{}.{} passes: its line in known.toml has no use on this device",
            row.suite, row.test
        )?;
    }
    let [same, known, worse, other] = table::counts(rows);
    writeln!(
        out,
        "{} subtests: {same} the same, {known} known differences, {worse} unexplained, {other} that did not pass natively; all in {}",
        rows.len(),
        path.display()
    )?;
    Ok(worse == 0)
}
