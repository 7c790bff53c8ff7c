//! A script for an array of jobs, as Slurm and HyperQueue take it: each task runs some
//! points by `gil sweep --point`.

use std::fmt::Write as _;
use std::path::Path;

/// Most tasks of an array: Slurm takes numbers up to 1000 unless it is configured otherwise.
const TASKS_MAX: usize = 1000;

/// What the tasks are started by.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// The program `gil`.
    pub gil: &'a Path,
    /// The sweep's file.
    pub file: &'a Path,
    /// The sweep's folder.
    pub out: &'a Path,
    /// The tasks' own output.
    pub log: &'a Path,
    /// Whether failed points run again.
    pub again: bool,
}

/// The script: its tasks run these points, by number and in their order, of so many.
pub fn script(called: &Called<'_>, open: &[usize], points: usize) -> String {
    // As many points for each task as it takes.
    let each = points.div_ceil(TASKS_MAX).max(1);
    let task = |point: &usize| (point.saturating_sub(1)) / each + 1;
    let mut tasks: Vec<_> = open.iter().map(task).collect();
    tasks.dedup();
    let quoted = |path: &Path| quoted(&path.to_string_lossy());
    let again = if called.again { " --again failed" } else { "" };
    format!(
        "#!/bin/bash\n\
         # {} of {points} points, {each} for each task: submit it with sbatch.\n\
         #SBATCH --job-name=gil-sweep\n\
         #SBATCH --array={}\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task=1\n\
         #SBATCH --output=/dev/null\n\
         exec >>{} 2>&1 </dev/null\n\
         task=${{SLURM_ARRAY_TASK_ID:-${{HQ_TASK_ID:?}}}}\n\
         last=$((task * {each}))\n\
         if [ \"$last\" -gt {points} ]; then last={points}; fi\n\
         exec {} sweep {} --out {}{again} --jobs 1 --quiet \\\n  \
           --point \"$(((task - 1) * {each} + 1))-$last\"\n",
        open.len(),
        ranges(&tasks),
        quoted(called.log),
        quoted(called.gil),
        quoted(called.file),
        quoted(called.out),
    )
}

/// Rising numbers as `1-3,7`.
fn ranges(numbers: &[usize]) -> String {
    let mut text = String::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match run {
            [one] => write!(text, "{comma}{one}"),
            [first, .., last] => write!(text, "{comma}{first}-{last}"),
            [] => Ok(()),
        };
    }
    text
}

/// A word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SLURM: &str = "SLURM_ARRAY_TASK_ID";
    const HYPER_QUEUE: &str = "HQ_TASK_ID";

    fn script(open: &[usize], points: usize) -> String {
        let called = Called {
            gil: Path::new("/bin/echo"),
            file: Path::new("it's a $file.toml"),
            out: Path::new("out"),
            log: Path::new("/dev/stdout"),
            again: true,
        };
        super::script(&called, open, points)
    }

    /// What a task of the script calls, in one of both engines.
    fn task(script: &str, variable: &str, number: &str) -> String {
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).env(variable, number);
        String::from_utf8(bash.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn each_open_point_has_a_task() {
        let script = script(&[1, 2, 3, 7, 9, 10], 10);
        assert!(script.contains("#SBATCH --array=1-3,7,9-10\n"), "{script}");
        let said = task(&script, SLURM, "7");
        let words =
            "sweep it's a $file.toml --out out --again failed --jobs 1 --quiet --point 7-7\n";
        assert_eq!(said, words);
    }

    #[test]
    fn many_points_share_a_task() {
        let open: Vec<_> = (1..=2500).collect();
        let script = script(&open, 2500);
        assert!(script.contains("#SBATCH --array=1-834\n"), "{script}");
        assert!(task(&script, HYPER_QUEUE, "1").ends_with("--point 1-3\n"));
        assert!(task(&script, SLURM, "834").ends_with("--point 2500-2500\n"));
        assert_eq!(ranges(&[]), "");
    }
}
