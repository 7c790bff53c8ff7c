//! Files of the guest that its programs include, where the driver's compiler
//! finds them: in a folder of their own, under their paths in the guest.

use super::absolute::{self, led, original, without};
use super::generated::types::{CL_OUT_OF_HOST_MEMORY, CL_SUCCESS};
use super::refusal::OpenClRefusal;
use super::session::Session;
use crate::back_end::{Call, Refusal};
use crate::region::{Budget, Counted};
use gil_opencl_common::build_options::paths;
use gil_wire::call::unpack;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Most bytes of files that a session keeps.
const MAX_KEPT: u64 = 256 << 20;
/// What a file or a folder counts beside its bytes, which fill whole blocks.
const ENTRY_COST: usize = 4096;
/// Folders that one may lie in, one in the other, at most.
const MAX_DEPTH: usize = 64;
/// Files of one program, at most.
const MAX_FILES: usize = 16_384;

/// The files of one program.
#[derive(Debug)]
pub struct Files {
    root: TempDir,
    /// What the guest's relative paths start from.
    start: PathBuf,
    paths: Vec<PathBuf>,
    /// Against what the session may keep, and against its memory: the
    /// temporary folder may be in memory.
    _counted: [Counted; 2],
}

/// What the guest gave: a folder, then paths and texts in turn.
struct Given<'a> {
    start: PathBuf,
    files: Vec<(PathBuf, &'a [u8])>,
}

impl<'a> Given<'a> {
    fn read(pieces: &[Option<&'a [u8]>]) -> Result<Self, Refusal> {
        let Some((start, files)) = pieces.split_first() else {
            return Err(Refusal::missing_size("files"));
        };
        if files.len() / 2 > MAX_FILES {
            return Err(OpenClRefusal::Path.into());
        }
        let pair = |pair: &[Option<&'a [u8]>]| match *pair {
            [Some(path), Some(text)] => Ok((inside(path)?, text)),
            _ => Err(Refusal::missing_size("files")),
        };
        Ok(Self {
            start: inside(start.unwrap_or_default())?,
            files: files.chunks(2).map(pair).collect::<Result<_, _>>()?,
        })
    }

    /// Bytes that it takes on the board: whole blocks, and one for each folder.
    fn cost(&self) -> usize {
        let parents = self.files.iter().filter_map(|(path, _)| path.parent());
        let folders: HashSet<&Path> = parents
            .chain([self.start.as_path()])
            .flat_map(Path::ancestors)
            .collect();
        // And one in which all are.
        let folders = folders.len() + 1;
        let file = |text: &&[u8]| led_len(text).next_multiple_of(ENTRY_COST) + ENTRY_COST;
        let files: usize = self.files.iter().map(|(_, text)| text).map(file).sum();
        files + folders * ENTRY_COST
    }

    fn write(&self, counted: [Counted; 2]) -> Result<Files, OpenClRefusal> {
        let root = tempfile::Builder::new().prefix("gil-").tempdir()?;
        let folder = root.path().join(absolute::FOLDER);
        std::fs::create_dir_all(folder.join(&self.start))?;
        for (path, text) in &self.files {
            let at = folder.join(path);
            std::fs::create_dir_all(at.parent().unwrap_or(&folder))?;
            std::fs::write(at, led(text).as_deref().unwrap_or(text))?;
        }
        Ok(Files {
            root,
            start: self.start.clone(),
            paths: self.files.iter().map(|(path, _)| path.clone()).collect(),
            _counted: counted,
        })
    }
}

impl Files {
    /// The guest's root.
    fn folder(&self) -> PathBuf {
        self.root.path().join(absolute::FOLDER)
    }

    /// Build options with the guest's paths replaced, and with the folder that
    /// texts' absolute names are led to.
    fn options(&self, given: &CStr) -> Result<CString, Refusal> {
        let options = lead_to(&self.folder(), &self.start, given)?;
        let mut all = b"-I ".to_vec();
        all.extend_from_slice(self.root.path().as_os_str().as_bytes());
        all.push(b' ');
        all.extend_from_slice(options.as_bytes());
        Ok(CString::new(all).unwrap_or(options))
    }

    /// A text of the compiler's about these files, with the guest's paths.
    fn shown(&self, text: &[u8]) -> Vec<u8> {
        without(text, self.folder().as_os_str().as_bytes(), |_| true)
    }

    /// Every file under the names that may stand in `#include` lines.
    fn headers(&self, options: &str) -> Vec<(String, String)> {
        let folders = paths(options).into_iter().filter(|path| path.is_folder);
        let folders: Vec<PathBuf> = folders.map(|path| self.absolute(&path.text)).collect();
        let mut headers = Vec::new();
        for path in &self.paths {
            let Ok(text) = std::fs::read(self.folder().join(path)) else {
                continue;
            };
            let text = original(&text).unwrap_or(text);
            let text = String::from_utf8_lossy(&text).into_owned();
            let path = Path::new("/").join(path);
            let within = folders.iter().filter_map(|f| path.strip_prefix(f).ok());
            for name in within.chain([path.as_path()]) {
                headers.push((name.to_string_lossy().into_owned(), text.clone()));
            }
        }
        headers
    }

    fn absolute(&self, path: &str) -> PathBuf {
        Path::new("/").join(&self.start).join(path)
    }
}

/// Build options whose folders are those of `root`, even if they are not there,
/// and so are macros that are paths of files there. `start` is the guest's
/// working folder.
///
/// # Errors
/// [`OpenClRefusal::Option`] for a folder above the guest's root.
fn lead_to(root: &Path, start: &Path, given: &CStr) -> Result<CString, Refusal> {
    let text = given.to_string_lossy();
    let mut out = text.clone().into_owned();
    // From the end, so that the places before stay right.
    for path in paths(&text).iter().rev() {
        let front = match path.text.starts_with('/') {
            true => root.to_owned(),
            // With a separator at its end.
            false => root.join(start).join(""),
        };
        let mut there = front.clone().into_os_string();
        there.push(&path.text);
        let is_there = Path::new(&there).exists();
        let from_root = Path::new("/").join(start).join(&path.text);
        if path.is_folder && !stays_below(&from_root) {
            return Err(OpenClRefusal::Option(path.text.clone()).into());
        }
        if path.is_folder || is_there {
            out.insert_str(path.at, &front.to_string_lossy());
        }
    }
    Ok(CString::new(out).unwrap_or_else(|_| given.to_owned()))
}

/// Whether no part of a path leads above its root.
fn stays_below(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|part| match part {
        Component::ParentDir => {
            let above = depth.checked_sub(1);
            depth = above.unwrap_or_default();
            above.is_some()
        }
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => true,
    })
}

/// A guest's absolute path as one inside a folder.
fn inside(path: &[u8]) -> Result<PathBuf, Refusal> {
    let path = Path::new(OsStr::from_bytes(path));
    let inside = path.strip_prefix("/").map_err(|_| OpenClRefusal::Path)?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let deep = inside.components().count() > MAX_DEPTH + 1;
    match !deep && inside.components().all(is_plain) {
        true => Ok(inside.to_owned()),
        false => Err(OpenClRefusal::Path.into()),
    }
}

/// Bytes of a file on the board.
fn led_len(text: &[u8]) -> usize {
    led(text).map_or(text.len(), |led| led.len())
}

/// What all programs of a session have of files.
pub fn budget() -> Budget {
    Budget::new(MAX_KEPT)
}

/// The files of a program.
#[derive(Debug, Default)]
pub struct ProgramFiles {
    /// For the next build.
    given: Option<Files>,
    /// Of the last one.
    built: Option<Files>,
}

impl ProgramFiles {
    /// What a compiler says of the program, with the guest's paths.
    pub fn shown(&self, text: &[u8]) -> Vec<u8> {
        let shown = self.built.as_ref().map(|files| files.shown(text));
        absolute::shown(shown.as_deref().unwrap_or(text))
    }

    /// The options to build the program with.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn options(&mut self, given: &CStr) -> Result<CString, Refusal> {
        self.built = None;
        let Some(files) = self.given.take() else {
            // Folders in which the guest has nothing that is included.
            let nothing = std::env::temp_dir().join("gil-none");
            return lead_to(&nothing, Path::new(""), given);
        };
        let options = files.options(given)?;
        self.built = Some(files);
        Ok(options)
    }

    /// The last build was not the one that counts: the next has its files.
    pub fn again(&mut self) {
        self.given = self.built.take();
    }

    /// The headers among the files of the next build.
    pub fn headers(&self, options: &str) -> Vec<(String, String)> {
        let files = self.given.as_ref();
        files.map_or_else(Vec::new, |files| files.headers(options))
    }
}

/// `gilGiveFiles`.
///
/// # Errors
/// [`Refusal`].
pub fn give(
    session: &mut Session,
    call: &Call,
    args: &wire::GilGiveFilesArgs<'_>,
) -> Result<i32, Refusal> {
    session.table.get(args.program, Kind::Program)?;
    let data = call.bytes(&args.files)?.unwrap_or_default();
    let pieces = unpack(args.count, data)?;
    let budgets = [session.files.clone(), session.budget.clone()];
    let program = session.program_mut(args.program);
    let program = program.ok_or(Refusal::parameter("program", args.program.0))?;
    program.files.given = None;
    let given = Given::read(&pieces)?;
    let cost = given.cost() as u64;
    let [Ok(kept), Ok(in_memory)] = budgets.map(|budget| budget.object(cost)) else {
        return Ok(CL_OUT_OF_HOST_MEMORY);
    };
    program.files.given = Some(given.write([kept, in_memory])?);
    Ok(CL_SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// Bytes of the disk that a folder takes, with all in it.
    fn taken(folder: &Path) -> u64 {
        let entries = std::fs::read_dir(folder).unwrap();
        let below = entries.map(|entry| entry.unwrap().path());
        let below: u64 = below
            .map(|path| match path.is_dir() {
                true => taken(&path),
                false => path.metadata().unwrap().blocks() * 512,
            })
            .sum();
        below + folder.metadata().unwrap().blocks() * 512
    }

    #[test]
    fn what_files_take_is_counted_folders_too() {
        let deep = format!("/{}a.h", "n/".repeat(MAX_DEPTH));
        let wide: Vec<String> = (0..50).map(|n| format!("/w{n}/x/y/{n}.h")).collect();
        let mut pieces: Vec<Option<&[u8]>> = vec![Some(b"/home/user")];
        for path in wide.iter().chain([&deep]) {
            pieces.extend([Some(path.as_bytes()), Some(&[b' '; 5000][..])]);
        }
        let given = Given::read(&pieces).unwrap();
        let budget = Budget::new(10 << 20);
        let cost = given.cost() as u64;
        let counted = [super::budget(), budget.clone()].map(|of| of.object(cost).unwrap());
        let files = given.write(counted).unwrap();
        assert!(taken(files.root.path()) <= cost);
        // Each of the folders is one.
        assert!(cost > ((MAX_DEPTH + 3 * 50) * ENTRY_COST) as u64);
        assert!(budget.object((10 << 20) - cost + 1).is_err());
        let root = files.root.path().to_owned();
        drop(files);
        assert!(!root.exists() && budget.object(10 << 20).is_ok());
    }

    #[test]
    fn paths_are_bounded_and_lead_nowhere_else() {
        let given = |path: &str| {
            let pieces = [Some(&b"/"[..]), Some(path.as_bytes()), Some(&b""[..])];
            Given::read(&pieces).map(|_| ())
        };
        let is_path = |result: Result<(), Refusal>| match result {
            Err(Refusal::Api(why)) => matches!(why.downcast_ref(), Some(OpenClRefusal::Path)),
            _ => false,
        };
        assert!(given(&format!("/{}a.h", "n/".repeat(MAX_DEPTH))).is_ok());
        for path in [
            &format!("/{}a.h", "n/".repeat(MAX_DEPTH + 1)),
            &format!("/{}a.h", "n/".repeat(1500)),
            "a.h",
            "/../a.h",
            "/a/../../b.h",
        ] {
            assert!(is_path(given(path)), "{path}");
        }
        let many = vec![Some(&b"/a"[..]); 1 + 2 * (MAX_FILES + 1)];
        assert!(is_path(Given::read(&many).map(|_| ())));
    }
}
