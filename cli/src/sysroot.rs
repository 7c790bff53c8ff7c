//! `gil sysroot`.

use crate::args::SysrootArgs;
use crate::signals::Signalled;
use gil_guest_image::platforms::Platforms;
use gil_guest_image::sysroot::{self, SysrootError};
use gil_run_support::cache::At;
use gil_run_support::progress::Progress;
use std::path::Path;

/// Makes the folder, or makes it anew. A signal ends this; what there is of the folder
/// then is removed.
///
/// # Errors
/// [`SysrootError`] says what is wrong.
pub fn run(args: &SysrootArgs) -> Result<(), SysrootError> {
    let progress = Progress::new(args.quiet);
    let signalled = Signalled::install(&progress).at(&args.folder)?;
    let platforms = Platforms::with_packages(args.package_platforms);
    let starts = |folder: &Path| signalled.remove_at_exit(folder.into());
    let made = sysroot::make(&args.folder, &args.packages, platforms, &progress, &starts);
    signalled.comes_first(made.is_err());
    progress.clear();
    made
}
