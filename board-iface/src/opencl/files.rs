//! Files of the guest that its programs include, where the driver's compiler
//! finds them: in a folder of their own, under their paths in the guest.

use super::call::Call;
use super::generated::types::{CL_OUT_OF_HOST_MEMORY, CL_SUCCESS};
use super::refusal::Refusal;
use super::session::Session;
use crate::table::Pointer;
use gil_wire::build_options::paths;
use gil_wire::call::unpack;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// Most bytes of files that a session keeps.
const MAX_KEPT: usize = 256 << 20;
/// What a file counts beside its bytes.
const FILE_COST: usize = 4096;

/// The files of one program.
#[derive(Debug)]
pub struct Files {
    root: TempDir,
    /// What the guest's relative paths start from.
    start: PathBuf,
    paths: Vec<PathBuf>,
    bytes: usize,
}

impl Files {
    /// Writes what the guest gave: a folder, then paths and texts in turn.
    fn write(pieces: &[Option<&[u8]>]) -> Result<Self, Refusal> {
        let Some((start, files)) = pieces.split_first() else {
            return Err(Refusal::missing_size("files"));
        };
        let mut all = Self {
            root: tempfile::Builder::new().prefix("gil-").tempdir()?,
            start: inside(start.unwrap_or_default())?,
            paths: Vec::new(),
            bytes: 0,
        };
        std::fs::create_dir_all(all.root.path().join(&all.start))?;
        for file in files.chunks(2) {
            let [Some(path), Some(text)] = *file else {
                return Err(Refusal::missing_size("files"));
            };
            let path = inside(path)?;
            let at = all.root.path().join(&path);
            std::fs::create_dir_all(at.parent().unwrap_or(all.root.path()))?;
            std::fs::write(at, text)?;
            all.bytes += text.len() + FILE_COST;
            all.paths.push(path);
        }
        Ok(all)
    }

    /// Build options with the guest's paths replaced, where they lead to files
    /// that it gave.
    fn options(&self, given: &CStr) -> CString {
        let Ok(text) = given.to_str() else {
            return given.to_owned();
        };
        let mut out = text.to_owned();
        // From the end, so that the places before stay right.
        for path in paths(text).iter().rev() {
            let root = self.root.path().as_os_str();
            let front = match path.text.starts_with('/') {
                true => root.to_owned(),
                // With a separator at its end.
                false => self.root.path().join(&self.start).join("").into(),
            };
            let mut there = front.clone();
            there.push(&path.text);
            if let Some(front) = front.to_str().filter(|_| Path::new(&there).exists()) {
                out.insert_str(path.at, front);
            }
        }
        CString::new(out).unwrap_or_else(|_| given.to_owned())
    }

    /// A text of the compiler's about these files, with the guest's paths.
    pub fn shown(&self, text: Vec<u8>) -> Vec<u8> {
        let root = self.root.path().as_os_str().as_bytes();
        let mut out = Vec::with_capacity(text.len());
        let mut rest = &text[..];
        while let Some(at) = rest.windows(root.len()).position(|bytes| bytes == root) {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at + root.len()..];
        }
        out.extend_from_slice(rest);
        out
    }

    /// Every file under the names that may stand in `#include` lines.
    fn headers(&self, options: &str) -> Vec<(String, String)> {
        let folders = paths(options).into_iter().filter(|path| path.is_folder);
        let folders: Vec<PathBuf> = folders.map(|path| self.absolute(&path.text)).collect();
        let mut headers = Vec::new();
        for path in &self.paths {
            let Ok(text) = std::fs::read(self.root.path().join(path)) else {
                continue;
            };
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

/// A guest's absolute path as one inside a folder.
fn inside(path: &[u8]) -> Result<PathBuf, Refusal> {
    let path = Path::new(OsStr::from_bytes(path));
    let inside = path.strip_prefix("/").map_err(|_| Refusal::Path)?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    match inside.components().all(is_plain) {
        true => Ok(inside.to_owned()),
        false => Err(Refusal::Path),
    }
}

/// The files of a session's programs.
#[derive(Debug, Default)]
pub struct AllFiles {
    /// For the next build.
    given: HashMap<Pointer, Files>,
    /// Of the last one.
    built: HashMap<Pointer, Files>,
}

impl AllFiles {
    /// The program is gone.
    pub fn release(&mut self, program: Pointer) {
        self.given.remove(&program);
        self.built.remove(&program);
    }

    /// The files that a program was last built with.
    pub fn of(&self, program: Pointer) -> Option<&Files> {
        self.built.get(&program)
    }

    fn bytes(&self) -> usize {
        let all = self.given.values().chain(self.built.values());
        all.map(|files| files.bytes).sum()
    }

    /// The options to build a program with.
    pub fn options(&mut self, program: Pointer, given: &CStr) -> Option<CString> {
        self.built.remove(&program);
        let files = self.given.remove(&program)?;
        let options = files.options(given);
        self.built.insert(program, files);
        Some(options)
    }

    /// The headers among a program's next build's files.
    pub fn headers(&self, program: Pointer, options: &str) -> Vec<(String, String)> {
        let files = self.given.get(&program);
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
    let program = session.table.get(args.program, Kind::Program)?;
    let data = call.bytes(&args.files)?.unwrap_or_default();
    let pieces = unpack(args.count, data)?;
    session.files.given.remove(&program);
    let cost = data.len() + pieces.len() / 2 * FILE_COST;
    if session.files.bytes() + cost > MAX_KEPT {
        return Ok(CL_OUT_OF_HOST_MEMORY);
    }
    session.files.given.insert(program, Files::write(&pieces)?);
    Ok(CL_SUCCESS)
}
