//! `gil sysroot`.

use crate::args::SysrootArgs;
use gil_guest_image::platforms::Platforms;
use gil_guest_image::sysroot::{self, SysrootError};
use gil_run_support::progress::Progress;

/// Makes the folder, or makes it anew.
///
/// # Errors
/// [`SysrootError`] says what is wrong.
pub fn run(args: &SysrootArgs) -> Result<(), SysrootError> {
    let progress = Progress::new(args.quiet);
    let platforms = Platforms::with_packages(args.package_platforms);
    let made = sysroot::make(&args.folder, &args.packages, platforms, &progress);
    progress.clear();
    made
}
