//! What `gil calibrate` measures of an API.

/// The programs that measure an API, in C. Those of each API write lines of the same form.
#[derive(Debug)]
pub struct Calibrated {
    /// The API's name in a profile.
    pub name: &'static str,
    /// The source of the program that launches kernels, or draws.
    pub launches: &'static str,
    /// How many launches it makes in a row, at least 2: as many as drivers take for each what they
    /// take in a long run.
    pub many: u32,
    /// The source of the program that has small programs in it.
    pub programs: &'static str,
    /// What both are linked with.
    pub libraries: &'static [&'static str],
    /// Over which small programs scale and offset are fitted: of each kind one, of which others
    /// are left out.
    pub fitted: &'static [&'static str],
    /// The words for what the device is given: one, and several.
    pub launch: [&'static str; 2],
    /// The words for what its program gives the device after a pause.
    pub paused: &'static str,
}

impl Calibrated {
    /// The file's name of a source.
    pub fn file(source: &str) -> &str {
        source.rsplit('/').next().unwrap_or(source)
    }
}
