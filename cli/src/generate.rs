//! What packages install beside the command, made from its command line:
//! completions for shells, and man pages.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use clap::CommandFactory;
use gil_run_support::cache::{At, CacheError};
use std::io::{self, Write};
use std::path::Path;

/// Prints what a shell needs to complete `gil`'s words.
///
/// # Errors
/// The system's.
pub fn completions(args: &CompletionsArgs) -> io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gil", &mut text);
    print(&text)
}

/// Prints the man page of `gil`, or writes those of all its commands into a
/// folder.
///
/// # Errors
/// [`CacheError`] names the place that cannot be written.
pub fn man(args: &ManArgs) -> Result<(), CacheError> {
    match &args.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder).at(folder)?;
            clap_mangen::generate_to(Cli::command(), folder).at(folder)
        }
        None => {
            let mut text = Vec::new();
            let rendered = clap_mangen::Man::new(Cli::command()).render(&mut text);
            let out = Path::new("standard output");
            rendered.and_then(|()| print(&text)).at(out)
        }
    }
}

fn print(text: &[u8]) -> io::Result<()> {
    match io::stdout().lock().write_all(text) {
        // A closed pipe is the reader's wish.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_in_order() {
        Cli::command().debug_assert();
    }
}
