//! Source lines of call sites: of the guest's files, as far as they are on this machine.

mod file;

use file::File;
use gil_files::calls::{Place, Reader};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

/// Most places that are remembered.
const PLACES_MAX: usize = 1 << 16;

/// A function that is executed at an address: the one whose code it is, or one that was put
/// into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its name, if it is known.
    pub function: Option<String>,
    /// Source file and line in it.
    pub line: Option<(String, u32)>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.function.as_deref().unwrap_or("(unknown)");
        match &self.line {
            Some((file, line)) => write!(f, "{function} ({}:{line})", short(file)),
            None => f.write_str(function),
        }
    }
}

/// Source lines, read from files with debug information.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Where to look: files, and folders of such.
    given: Vec<PathBuf>,
    /// When the run ended: what was written later is not what ran.
    written: Option<SystemTime>,
    files: BTreeMap<String, Option<File>>,
    known: BTreeMap<(String, u64), Vec<Frame>>,
}

impl Symbols {
    /// Those of these files and folders, and of the files of the log's run.
    /// A file of the run that was written after the run, at `written`, is not what ran.
    pub fn new(given: Vec<PathBuf>, written: Option<SystemTime>) -> Self {
        Self {
            given,
            written,
            ..Self::default()
        }
    }

    /// The functions at a call site, the innermost first: several if some are put into
    /// others. One at least.
    pub fn frames<R: Read>(&mut self, process: u32, site: u64, names: &Reader<R>) -> Vec<Frame> {
        let Some(place) = names.place(process, site) else {
            return vec![named(match site {
                0 => "(not known)".into(),
                at => format!("{at:#x}"),
            })];
        };
        let key = (place.path.to_owned(), place.offset);
        if let Some(frames) = self.known.get(&key) {
            return frames.clone();
        }
        let frames = self.find(place, names.file(place.path));
        if self.known.len() < PLACES_MAX {
            self.known.insert(key, frames.clone());
        }
        frames
    }

    fn find(&mut self, place: Place<'_>, of_run: Option<&str>) -> Vec<Frame> {
        let given = &self.given;
        let is_changed = of_run.is_some_and(|path| is_later(Path::new(path), self.written));
        let of_run = of_run.filter(|_| !is_changed);
        let opened = self.files.entry(place.path.into());
        let file = opened.or_insert_with(|| open(place.path, given, of_run));
        let found = file.as_ref().map(|file| file.frames(place.offset));
        match found {
            Some(frames) if !frames.is_empty() => frames,
            _ => {
                let why = match is_changed {
                    true => ", changed since the run",
                    false => "",
                };
                let name = name(place.path);
                vec![named(format!("{name} + {:#x}{why}", place.offset))]
            }
        }
    }
}

/// Whether the file was written after `written`.
fn is_later(path: &Path, written: Option<SystemTime>) -> bool {
    let changed = fs::metadata(path).and_then(|it| it.modified());
    match (changed, written) {
        (Ok(changed), Some(written)) => changed > written,
        _ => false,
    }
}

/// The last two names of a path, which tell most files apart.
fn short(path: &str) -> &str {
    let start = path.rmatch_indices('/').nth(1).map(|(at, _)| at + 1);
    &path[start.unwrap_or(0)..]
}

fn named(text: String) -> Frame {
    Frame {
        function: Some(text),
        line: None,
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first of the files that may be it and can be read.
fn open(path: &str, given: &[PathBuf], of_run: Option<&str>) -> Option<File> {
    let in_given = given.iter().flat_map(|it| candidates(path, it));
    let all = in_given.chain(of_run.map(PathBuf::from));
    all.filter_map(|path| File::open(&path)).next()
}

fn candidates(path: &str, given: &Path) -> Vec<PathBuf> {
    let file = Path::new(name(path));
    // A guest's path stays inside.
    if path.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    if given.is_dir() {
        let inside = path.trim_start_matches('/');
        return vec![
            given.join(inside),
            given.join(format!("{inside}.debug")),
            given.join(file),
            given.join(format!("{}.debug", file.display())),
        ];
    }
    let is_it = given.file_name() == Some(file.as_os_str());
    is_it.then(|| given.to_owned()).into_iter().collect()
}

/// Symbols that several parts of a report use.
#[derive(Clone, Debug, Default)]
pub struct SharedSymbols(Rc<RefCell<Symbols>>);

impl SharedSymbols {
    /// Shares them.
    pub fn new(symbols: Symbols) -> Self {
        Self(Rc::new(RefCell::new(symbols)))
    }

    /// As [`Symbols::frames`].
    pub fn frames<R: Read>(&self, process: u32, site: u64, names: &Reader<R>) -> Vec<Frame> {
        self.0.borrow_mut().frames(process, site, names)
    }

    /// The line of a call site, for people: behind it the lines that its function was put
    /// into.
    pub fn line<R: Read>(&self, process: u32, site: u64, names: &Reader<R>) -> String {
        let frames = self.frames(process, site, names);
        let frames: Vec<String> = frames.iter().map(Frame::to_string).collect();
        frames.join(" in ")
    }
}
