//! The checkout of gil's sources that this binary was built from.

use std::path::{Path, PathBuf};

/// The checkout's root folder, if it is still there. What `cargo xtask dist` packs names none.
pub fn root() -> Option<PathBuf> {
    let manifest = match option_env!("GIL_PACKAGED") {
        Some(_) => None,
        None => Some(env!("CARGO_MANIFEST_DIR")),
    };
    let root = Path::new(manifest?).parent()?;
    root.join("synthetic-driver").is_dir().then(|| root.into())
}
