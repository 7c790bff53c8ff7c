//! Where the simulator looks at the kernel's own panfrost and lima: at their stores, or at
//! their functions.

use gil_tests::stand_in::Board;
use gil_tests::{Finished, Link, Run, guest_program};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const GPUS: [(&str, &str); 2] = [("mali-t628", "panfrost"), ("mali-400", "lima")];
const TIMES: &str = "slot1=20000;slot0=90000;gp=20000;pp=90000";

/// For each processor where its jobs begin, in order.
type Starts = BTreeMap<String, Vec<u64>>;

fn number(text: &str) -> u64 {
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{text}"))
}

/// Jobs that the board got, as registers started them.
fn by_registers(log: &str) -> Starts {
    let mut all = Starts::new();
    for line in log.lines() {
        let Some((_, rest)) = line.split_once("registers start ") else {
            continue;
        };
        let (processor, at) = rest.split_once(" at ").unwrap();
        all.entry(processor.into()).or_default().push(number(at));
    }
    all
}

/// The numbers of an argument that a watch shows.
fn shown(line: &str, name: &str) -> Vec<u64> {
    let (_, rest) = line.split_once(&format!(" {name}=")).unwrap();
    match rest.strip_prefix('{') {
        Some(list) => list
            .split('}')
            .next()
            .unwrap()
            .split(',')
            .map(number)
            .collect(),
        None => vec![number(rest.split([',', ')']).next().unwrap())],
    }
}

/// Jobs at the entries of the functions that start them.
fn by_symbols(run: &Finished) -> Starts {
    let mut all = Starts::new();
    let mut start = |processor: &str, at| all.entry(processor.into()).or_default().push(at);
    for line in run.stderr.lines() {
        if line.contains(":panfrost_job_run(") {
            // A job of fragments has this requirement (panfrost_drm.h).
            let slot = ["slot1", "slot0"][shown(line, "requirements")[0] as usize & 1];
            start(slot, shown(line, "jc")[0]);
        } else if line.contains(":lima_gp_task_run(") {
            let frame = shown(line, "frame");
            let has_vertices = frame[0] != frame[1];
            start("gp", if has_vertices { frame[0] } else { frame[2] });
        } else if line.contains(":lima_pp_task_run(") {
            let lists = shown(line, "plbu_array_address");
            let used = &lists[..shown(line, "num_pp")[0] as usize];
            for (n, at) in used.iter().enumerate() {
                start(&format!("pp{n}"), *at);
            }
        }
    }
    all
}

/// With `--detect symbol` the kernel driver's functions show each job's GPU addresses: the
/// same, in the same order, as its stores to registers.
#[test]
fn the_drivers_symbols_show_the_same_jobs_as_its_registers() {
    for (gpu, _) in GPUS {
        let board = Board::new(TIMES, 30_000);
        let program = guest_program("examples/gles-rubik/gles-rubik.c", Link::Gles);
        let program = program.display().to_string();
        let options = ["--detect", "symbol"];
        let run = board.run_as(["--gpu", gpu], &options, &[&program, "12"]);
        let run = run.ok();
        let seen = by_symbols(&run);
        let processors = if gpu == "mali-400" { 5 } else { 2 };
        assert_eq!(seen.len(), processors, "{run:#?}");
        assert!(seen.values().all(|starts| starts.len() >= 12), "{seen:?}");
        assert_eq!(seen, by_registers(&board.log()), "{gpu}");
        let of = |name: &str| run.integer(&format!("/starts/{name}"));
        let all = seen.values().map(Vec::len).sum::<usize>() as i128;
        assert_eq!(
            (of("jobs"), of("jobs_without"), of("calls_without")),
            (all, 0, 0)
        );
    }
}

/// Where a GPU is given up, the driver's function is entered for jobs that it does not start
/// any more: those of its entries that no store to a start register follows.
#[test]
fn entries_that_start_no_job_are_told_by_the_start_register() {
    let board = Board::new("slot1=20000;slot0=never,90000", 300);
    let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
    let program = program.display().to_string();
    let options = ["--detect", "symbol"];
    let run = board.run_as(["--gpu", "mali-t628"], &options, &[&program, "6"]);
    let run = run.ok();
    let (entered, started) = (by_symbols(&run), by_registers(&board.log()));
    let more = entered["slot0"].len() - started["slot0"].len();
    assert!(more > 0, "{entered:#x?}");
    assert_eq!(entered["slot1"], started["slot1"]);
    let seen = |name: &str| run.integer(&format!("/starts/{name}"));
    assert_eq!(
        (seen("calls_without"), seen("jobs_without")),
        (more as i128, 0)
    );
    for (processor, starts) in started {
        let mut entries = entered[&processor].iter();
        let is_entered = |start: &u64| entries.any(|entry| entry == start);
        assert!(
            starts.iter().all(is_entered),
            "{processor}: {starts:#x?} {entered:#x?}"
        );
    }
}

/// Instructions in a module's code that store a word without an offset, as `writel()` does.
fn stores(module: &Path) -> u64 {
    let mut command = Command::new("aarch64-linux-gnu-objdump");
    let output = command.args(["-d", "-j", ".text"]).arg(module).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let is_one = |line: &&str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| *word == "str") else {
            return false;
        };
        let operands: Vec<_> = words[at + 1..].iter().take(2).collect();
        let place = operands
            .get(1)
            .is_some_and(|it| it.starts_with('[') && it.ends_with(']'));
        operands[0].starts_with('w') && place
    };
    text.lines().filter(is_one).count() as u64
}

/// The simulator stops at stores of the GPU's driver and nowhere else, when the driver is
/// gone and loaded again, too; without such a GPU nowhere at all.
#[test]
fn no_instruction_outside_the_drivers_module_is_instrumented() {
    for (gpu, module) in GPUS {
        let board = Board::new(TIMES, 30_000);
        let program = guest_program("examples/gles-quads/gles-quads.c", Link::Gles);
        let file = format!("{}:/root/draw", program.display());
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("module.ko");
        let out = format!("/usr/lib/gil/{module}.ko:{}", copy.display());
        let script = format!(
            "/root/draw 5 && rmmod {module} && insmod /usr/lib/gil/{module}.ko && /root/draw 5"
        );
        let options = ["--file", &file, "--out", &out];
        let run = board.run_as(["--gpu", gpu], &options, &["sh", "-c", &script]);
        let run = run.ok();
        assert_eq!(run.stdout.matches(": PASS").count(), 2, "{run:#?}");
        let seen = |name: &str| run.integer(&format!("/instrumented/{name}")) as u64;
        let instructions = seen("instructions");
        // The module may be at another address the second time.
        assert!(
            (1..=2 * stores(&copy)).contains(&instructions),
            "{instructions}"
        );
        assert!(seen("executed") > 100, "{run:#?}");
        assert_eq!(seen("outside"), 0, "{gpu}");
    }
    let run = Run::new(["--gpu", "none", "true"]).finish().ok();
    assert!(run.report.pointer("/instrumented").is_none(), "{run:#?}");
}
