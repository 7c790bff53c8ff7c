//! Where the files of a run are on this machine, for `gil report` to find source lines.

use gil_guest_image::copied::Found;
use gil_guest_image::guest::Guest;
use gil_guest_image::program::Program;
use std::fs;

/// The guest's paths of the program and of what was copied there, and where they are here.
pub fn of(guest: &Guest) -> Vec<(String, String)> {
    let program = match &guest.program {
        Program::Local(local) => Some((local.guest_path(), local.path.clone())),
        Program::Guest(_) => None,
    };
    let own = |file: &Found| (file.name.clone(), file.source.clone());
    let all = guest.files.iter().map(own).chain(program);
    let named = all.filter_map(|(name, path)| {
        let path = fs::canonicalize(path).ok()?;
        Some((format!("/{name}"), path.to_str()?.to_owned()))
    });
    named.collect()
}
