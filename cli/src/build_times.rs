//! Where runs keep what builds of programs took, so that the same build takes the same
//! simulated time in each of them.

use gil_run_support::cache::Cache;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;

/// In gil's cache, of whose entries it is none: it is small, and stays when they go.
const NAME: &str = "build-times.csv";

/// Puts a link there to the times that runs share. A run whose cache cannot be used remembers
/// its own.
pub fn link(at: &Path) {
    let Ok(cache) = Cache::open() else {
        return;
    };
    let file = cache.root().join(NAME);
    if File::options()
        .create(true)
        .append(true)
        .open(&file)
        .is_ok()
    {
        let _ = symlink(file, at);
    }
}
