//! Where runs keep what builds of programs took, so that the same build, or load of drivers, takes the same
//! simulated time in each of them.

use gil_host::work_times::WorkTimes;
use gil_run_support::cache::Cache;
use gil_run_support::progress::Progress;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// In gil's cache, of whose entries it is none: it is small, and stays when they go.
const NAME: &str = "build-times.csv";

/// Puts a link there to the times that runs share. A run whose cache cannot be used remembers
/// its own; what lies in their place and is something else is said.
pub fn link(at: &Path, progress: &Progress) {
    let Ok(cache) = Cache::open() else {
        return;
    };
    let file = cache.root().join(NAME);
    let is_other = fs::metadata(&file).is_ok_and(|meta| !meta.is_file());
    if is_other || WorkTimes::open(&file).is_err() {
        progress.note(&format!(
            "what builds took is not kept: {} cannot be used; remove it, and it is made anew",
            file.display()
        ));
        return;
    }
    let _ = symlink(file, at);
}
