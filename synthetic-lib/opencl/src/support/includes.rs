//! Files of the guest that programs include, in `-I` folders or by their
//! absolute paths: the board's compiler gets them with the build.
//!
//! Only a preprocessor knows which `#include` lines a compiler follows. Every line
//! that it may follow is resolved here, so some files are sent although they are not
//! needed.

use super::details::Details;
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult, Room, info};
use gil_opencl_common::build_options::paths;
use gil_wire::call::{InfoType, pack};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl as wire;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::ptr;

/// Most bytes of files sent with a program; the compiler does not find the rest.
const BYTES_MAX: u64 = 32 << 20;
/// Most files.
const FILES_MAX: usize = 4096;

/// Before a program is built with these options: gives the board the files that
/// its text includes.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `options` is null or a string.
pub unsafe fn build_options(
    entry: u64,
    program: &Object,
    options: *const c_char,
) -> CallResult<()> {
    let options = match options.is_null() {
        true => c"",
        // SAFETY: the caller's.
        false => unsafe { CStr::from_ptr(options) },
    };
    let is_absolute =
        matches!(program.details(), Details::Program(source) if source.includes_absolute);
    let Some(mut search) = Search::of(&options.to_string_lossy(), is_absolute) else {
        return Ok(());
    };
    search.follow(&source(entry, program)?);
    match search.files.is_empty() {
        true => Ok(()),
        false => give(entry, program, &search),
    }
}

fn give(entry: u64, program: &Object, search: &Search) -> CallResult<()> {
    let folder = search.start.as_os_str().as_bytes();
    let files = search.files.iter();
    let pieces = files.flat_map(|(path, text)| [path.as_os_str().as_bytes(), text]);
    let packed = pack([folder].into_iter().chain(pieces).map(Some));
    let mut request = Request::new(wire::GIL_GIVE_FILES, Class::Sync, entry);
    let args = wire::GilGiveFilesArgs {
        program: program.number(),
        count: 1 + 2 * search.files.len() as u32,
        // SAFETY: `packed` outlives the request.
        files: unsafe { request.input(packed.as_ptr().cast(), packed.len()) },
    };
    request.forward(&args, |reply| {
        let reply: wire::GilGiveFilesReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// The program's own text; empty if it was not made of one.
fn source(entry: u64, program: &Object) -> CallResult<Vec<u8>> {
    let mut text = vec![0; ask_source(entry, program, &mut [])?];
    ask_source(entry, program, &mut text)?;
    Ok(text)
}

fn ask_source(entry: u64, program: &Object, text: &mut [u8]) -> CallResult<usize> {
    let mut size = 0;
    let value: *mut c_void = match text.len() {
        0 => ptr::null_mut(),
        _ => text.as_mut_ptr().cast(),
    };
    let room = Room {
        size: text.len(),
        value,
        size_ret: &raw mut size,
    };
    let kind = InfoType::Bytes;
    let mut request = Request::new(wire::CL_GET_PROGRAM_INFO, Class::Query, entry);
    let args = wire::ClGetProgramInfoArgs {
        program: program.number(),
        param_name: CL_PROGRAM_SOURCE,
        // SAFETY: `text` has this room until the answer came.
        param_value: unsafe { request.info_room(kind, value, text.len()) },
    };
    request.forward(&args, |reply| {
        let reply: wire::ClGetProgramInfoReply = reply.decode()?;
        Guest::check(reply.result)?;
        // SAFETY: as above; `size` lives as long.
        unsafe { info::answer_info::<Guest>(&room, kind, reply.size, &reply.value) }
    })?;
    Ok(size)
}

/// Where included files are looked for, and what was found.
#[derive(Debug)]
struct Search {
    /// What relative paths start from.
    start: PathBuf,
    /// The `-I` folders.
    folders: Vec<PathBuf>,
    /// The macros that are paths.
    macros: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    bytes: u64,
}

impl Search {
    /// `None` if the options name no place to search, and no absolute path is
    /// included.
    fn of(options: &str, is_absolute: bool) -> Option<Self> {
        let (folders, macros): (Vec<_>, Vec<_>) =
            paths(options).into_iter().partition(|path| path.is_folder);
        if folders.is_empty() && macros.is_empty() && !is_absolute {
            return None;
        }
        let start = std::env::current_dir().ok()?;
        let places = |paths: Vec<gil_opencl_common::build_options::Path>| {
            let place =
                |path: gil_opencl_common::build_options::Path| plain(&start.join(path.text));
            paths.into_iter().map(place).collect()
        };
        Some(Self {
            folders: places(folders),
            macros: places(macros),
            start,
            files: BTreeMap::new(),
            bytes: 0,
        })
    }

    /// Finds what a text includes, and what that includes.
    fn follow(&mut self, text: &[u8]) {
        let mut new = self.included(text, None);
        while let Some(path) = new.pop() {
            let text = self.files[&path].clone();
            new.extend(self.included(&text, path.parent()));
        }
    }

    /// The files that a text includes and that were not found before.
    fn included(&mut self, text: &[u8], beside: Option<&Path>) -> Vec<PathBuf> {
        let mut new = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            match include(line) {
                None => {}
                Some(Include::Name(name)) => new.extend(self.find(name, beside)),
                Some(Include::Computed(tokens)) => new.extend(self.guess(tokens, beside)),
            }
        }
        new
    }

    /// Reads the first file of this name.
    fn find(&mut self, name: &str, beside: Option<&Path>) -> Option<PathBuf> {
        if name.starts_with('/') {
            return self.first(&[plain(Path::new(name))]);
        }
        let folders = self.folders.iter().map(PathBuf::as_path);
        let places: Vec<PathBuf> = beside
            .into_iter()
            .chain(folders)
            .map(|folder| plain(&folder.join(name)))
            .collect();
        self.first(&places)
    }

    /// What a line of macros may include: what a part of it, or a macro, names.
    fn guess(&mut self, tokens: &str, beside: Option<&Path>) -> Vec<PathBuf> {
        let macros = self.macros.clone();
        let mut new: Vec<_> = macros
            .iter()
            .filter_map(|file| self.first(std::slice::from_ref(file)))
            .collect();
        for part in tokens.split(|c: char| !(c.is_alphanumeric() || "._/+-".contains(c))) {
            // The front may be a macro.
            let tails = part.match_indices('/').map(|(at, _)| &part[at + 1..]);
            let names = [part].into_iter().chain(tails);
            for name in names.filter(|name| !name.is_empty()) {
                let places: Vec<_> = macros.iter().map(|m| plain(&m.join(name))).collect();
                new.extend(self.first(&places).or_else(|| self.find(name, beside)));
            }
        }
        new
    }

    /// Reads the first of these that is a file, unless it was read before.
    fn first(&mut self, places: &[PathBuf]) -> Option<PathBuf> {
        let is_file = |path: &&PathBuf| self.files.contains_key(*path) || path.is_file();
        let path = places.iter().find(is_file)?;
        if self.files.contains_key(path) || self.files.len() == FILES_MAX {
            return None;
        }
        let len = path.metadata().ok()?.len();
        if self.bytes + len > BYTES_MAX {
            return None;
        }
        self.bytes += len;
        self.files.insert(path.clone(), std::fs::read(path).ok()?);
        Some(path.clone())
    }
}

/// What an `#include` line names.
#[derive(Debug, PartialEq, Eq)]
enum Include<'a> {
    Name(&'a str),
    /// Macros that are replaced first.
    Computed(&'a str),
}

fn include(line: &[u8]) -> Option<Include<'_>> {
    let line = line.trim_ascii_start().strip_prefix(b"#")?;
    let rest = line.trim_ascii_start().strip_prefix(b"include")?;
    let rest = str::from_utf8(rest).ok()?;
    let close = match rest.trim_start().chars().next()? {
        '"' => '"',
        '<' => '>',
        _ if rest.starts_with(char::is_whitespace) => return Some(Include::Computed(rest.trim())),
        _ => return None,
    };
    let name = &rest.trim_start()[1..];
    name.find(close).map(|end| Include::Name(&name[..end]))
}

/// The path without `.` and `..`, as compilers' messages do not have it, but as
/// one name for each file.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_opencl_common::include_lines::has_absolute;

    #[test]
    fn include_lines_are_read() {
        let name = |text| Some(Include::Name(text));
        assert_eq!(include(b"#include \"a.h\" // b"), name("a.h"));
        assert_eq!(include(b"  #  include<x/y.cl>\r"), name("x/y.cl"));
        let computed = Some(Include::Computed("STR(DIR/a.h)"));
        assert_eq!(include(b"#include STR(DIR/a.h) \r"), computed);
        for none in [
            "#included \"a\"",
            "include \"a\"",
            "#include \"a",
            "#include",
            "#inc",
        ] {
            assert_eq!(include(none.as_bytes()), None, "{none}");
        }
    }

    fn found(options: &str, text: &str) -> Vec<String> {
        let is_absolute = has_absolute(text.as_bytes());
        let mut search = Search::of(options, is_absolute).expect("places to search");
        search.follow(text.as_bytes());
        let names = search.files.keys().map(|path| path.file_name().unwrap());
        names
            .map(|name| name.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_a_text_includes_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/one.h", "#include \"two.h\"\n#include <three.h>\n");
        write("a/two.h", "#include \"one.h\"\n#include \"../b/four.h\"\n");
        write("b/three.h", "");
        write("b/four.h", "#include \"absent.h\"");
        write("b/unused.h", "");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let options = format!("-I {} -I{}", a.display(), b.display());
        let text = "int x;\n# include \"one.h\"\n";
        let all = ["one.h", "two.h", "four.h", "three.h"];
        assert_eq!(found(&options, text), all);
        assert!(found(&options, "#include \"sub/one.h\"").is_empty());
        let options = format!("-D DIR={}", b.display());
        assert_eq!(found(&options, "#include S(DIR/three.h)"), ["three.h"]);
        let options = format!("-DFILE=\\\"{}/four.h\\\"", b.display());
        assert_eq!(found(&options, "#include FILE"), ["four.h"]);
        assert!(Search::of("-DX=1 -cl-std=CL2.0", false).is_none());
        // Without an option, an absolute path is one, and what lies beside it.
        let one = a.join("one.h");
        for options in ["", "-DX=1"] {
            let all = ["one.h", "two.h", "four.h"];
            let text = format!("int x;\n # include \"{}\"", one.display());
            assert_eq!(found(options, &text), all);
            let text = format!("#include <{}>", b.join("three.h").display());
            assert_eq!(found(options, &text), ["three.h"]);
        }
        assert_eq!(found(&options, "#include \"/absent/one.h\""), [""; 0]);
    }
}
