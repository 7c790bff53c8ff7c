//! The project's tasks: `cargo xtask gen`, `ci`, `skips`, `mutants`, `guest`, `dist`, `book`.

use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use xtask::{book, ci, dist, r#gen, guest, mutants};

/// The project's tasks.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Generate both sides of every API from api/*.toml.
    Gen {
        /// Write nothing; fail and name the files that differ.
        #[arg(long)]
        check: bool,
    },
    /// Run the checks, all or those named.
    Ci {
        /// Names of checks.
        names: Vec<String>,
        /// Print the table of checks.
        #[arg(long)]
        list: bool,
    },
    /// Compare what `cargo mutants` left alive with the list of those that may be.
    Mutants {
        /// Where its folder `mutants.out` is.
        folder: PathBuf,
    },
    /// Print which tests a run passed over, and why (tests/need).
    Skips,
    /// Build what runs in the guest: its init and its libraries.
    Guest {
        /// The libraries of 32-bit programs, too.
        #[arg(long)]
        armhf: bool,
        /// The libraries of examples/toy-api, too.
        #[arg(long)]
        toy: bool,
        /// The libraries of Android, too; its NDK's compilers are to be in the path.
        #[arg(long)]
        android: bool,
    },
    /// Lay out the pages as a book in target/book; scripts/docs builds it.
    Book,
    /// Build and pack the command gil with all that it needs, and the board
    /// agent for ARM boards: a tarball and a Debian package for each.
    Dist {
        /// What is packed: gil, and the agent by Debian's names of machines, arm64
        /// and armhf; all if nothing is named.
        names: Vec<String>,
        /// cargo's profile for the command; release packs what was built for use
        /// in the checkout.
        #[arg(long, default_value = dist::build::PROFILE)]
        profile: String,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse().task, &root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).into()
}

fn run(task: &Task, root: &Path) -> Result<(), Box<dyn std::error::Error>> {
    match task {
        Task::Gen { check: true } => r#gen::check(root)?,
        Task::Gen { check: false } => {
            for path in r#gen::write(root)? {
                println!("{}", path.display());
            }
        }
        Task::Ci { list: true, .. } => {
            for check in ci::CHECKS {
                println!("{:<8} {}", check.name, check.about);
            }
        }
        Task::Mutants { folder } => {
            let judged = mutants::judge(root, folder)?;
            print!("{judged}");
            judged.ok()?;
        }
        Task::Skips => print!("{}", gil_need::Summary::of_this_run()?),
        Task::Ci { names, .. } => ci::run(root, names, &mut |line| println!("{line}"))?,
        Task::Guest {
            armhf,
            toy,
            android,
        } => {
            let wanted = guest::Wanted {
                armhf: *armhf,
                toy: *toy,
                android: *android,
                remapped: false,
            };
            for path in guest::build(root, wanted)? {
                println!("{}", path.display());
            }
        }
        Task::Book => println!("{}", book::stage(root)?.display()),
        Task::Dist { names, profile } => {
            for path in dist::run(root, names, profile)? {
                println!("{}", path.display());
            }
        }
    }
    Ok(())
}
