//! `gil machine`.

use crate::args::MachineArgs;
use gil_guest_image::machine::{self, MachineError, Wanted};
use gil_run_support::progress::Progress;

/// Writes `kernel` and `initrd`.
///
/// # Errors
/// [`MachineError`] says what is wrong.
pub fn run(args: &MachineArgs) -> Result<(), MachineError> {
    let progress = Progress::new(args.quiet);
    let wanted = Wanted {
        packages: &args.packages,
        debs: &args.debs,
        files: &args.files,
        program: &args.program,
    };
    let made = machine::make(&args.folder, &wanted, &progress);
    progress.clear();
    made
}
