//! What the process has mapped to execute.

use gil_guest_names::{LIBRARIES, Library};
use gil_wire::control::{Module, Modules};

/// Most bytes of a path that are told: its last.
const PATH_MAX: usize = 400;
/// Modules that are told at once: they fit into a request.
const TOLD: usize = 16;
/// What is executed and in no file is supposed to be so far around an address.
const PAGE: usize = 4096;
/// Most ranges that are remembered.
const RANGES_MAX: usize = 4096;
/// What loaders of several APIs have in a library of its own.
const DISPATCH: &str = "libGLdispatch.so";

/// Whose code is at some addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// This library's.
    Ours,
    /// A loader's in front of it.
    Loader,
    /// The program's, or that of another library.
    Program,
}

impl Whose {
    pub(super) fn is_ours(self) -> bool {
        self == Self::Ours
    }
}

/// Addresses of one kind.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: usize,
    to: usize,
    whose: Whose,
}

impl Range {
    const NONE: Self = Self {
        from: 0,
        to: 0,
        whose: Whose::Program,
    };

    #[inline(always)]
    fn has(&self, at: usize) -> bool {
        at.wrapping_sub(self.from) < self.to - self.from
    }
}

/// The mappings so far.
#[derive(Debug)]
pub(crate) struct Known {
    /// This library's.
    ours: Range,
    all: Vec<Range>,
    /// The one that was looked up last.
    latest: Range,
}

impl Known {
    pub(crate) const fn new() -> Self {
        Self {
            ours: Range::NONE,
            all: Vec::new(),
            latest: Range::NONE,
        }
    }

    /// Whether this library is there.
    #[inline(always)]
    pub(super) fn is_ours(&self, at: usize) -> bool {
        self.ours.has(at)
    }

    /// Whether it is where the last one was that was looked up.
    #[inline(always)]
    pub(super) fn is_latest(&self, at: usize) -> bool {
        self.latest.has(at)
    }

    /// Whether a loader is there, of what was looked up last.
    #[inline(always)]
    pub(super) fn is_loader(&self, at: usize) -> bool {
        self.latest.has(at) && self.latest.whose == Whose::Loader
    }

    /// Whose code is there. What was not known before is told.
    #[cold]
    #[inline(never)]
    pub(super) fn look_up(&mut self, at: usize, tell: &mut impl FnMut(&Modules)) -> Whose {
        if self.at(at).is_none() {
            self.find().iter().for_each(tell);
        }
        self.latest = self.at(at).unwrap_or_else(|| self.suppose(at));
        self.latest.whose
    }

    fn at(&self, at: usize) -> Option<Range> {
        self.all.iter().find(|it| it.has(at)).copied()
    }

    /// An address that is in no file.
    fn suppose(&mut self, at: usize) -> Range {
        let from = at & !(PAGE - 1);
        let page = Range {
            from,
            to: from.saturating_add(PAGE),
            whose: Whose::Program,
        };
        if self.all.len() < RANGES_MAX {
            self.all.push(page);
        }
        page
    }

    /// Reads what is mapped; what was not known, a few at a time.
    fn find(&mut self) -> Vec<Modules> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut fresh = Vec::new();
        for module in maps.lines().filter_map(executed) {
            self.add(&module, &mut fresh);
        }
        let told = fresh.chunks(TOLD).map(|some| Modules {
            modules: some.to_vec(),
        });
        told.collect()
    }

    fn add(&mut self, module: &Module, fresh: &mut Vec<Module>) {
        let mut range = Range {
            from: module.from as usize,
            to: module.to as usize,
            whose: match is_loader(&module.path) {
                true => Whose::Loader,
                false => Whose::Program,
            },
        };
        // A library may be where another one was.
        let is_same = |it: &Range| (it.from, it.to) == (range.from, range.to);
        if self.all.iter().any(is_same) || self.all.len() >= RANGES_MAX {
            return;
        }
        self.all
            .retain(|it| it.to <= range.from || it.from >= range.to);
        if range.has(is_loader as fn(&str) -> bool as usize) {
            range.whose = Whose::Ours;
            self.ours = range;
        }
        self.all.push(range);
        fresh.push(module.clone());
    }
}

/// Whether it is a library that a program may have between itself and this one, in any
/// version.
fn is_loader(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let loader = |it: &Library| it.loader.map(|loader| loader.file);
    let files = LIBRARIES.iter().flat_map(|it| [Some(it.file), loader(it)]);
    let mut files = files.flatten().chain([DISPATCH]);
    files.any(|known| stem(known) == stem(file))
}

/// A library's name without its version.
fn stem(file: &str) -> &str {
    file.split(".so").next().unwrap_or(file)
}

/// A line of the kernel's list, if it is a file's and may be executed.
fn executed(line: &str) -> Option<Module> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    words.next().filter(|rights| rights.contains('x'))?;
    let offset = words.next()?;
    let path = words.nth(2)?.trim_start();
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut start = path.len().saturating_sub(PATH_MAX);
    while !path.is_char_boundary(start) {
        start += 1;
    }
    Some(Module {
        from: number(from)?,
        to: number(to)?,
        offset: number(offset)?,
        path: path[start..].into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_file_that_is_executed() {
        let line = "ffff8000-ffffa000 r-xp 00012000 fe:00 1234   /usr/lib/lib a.so";
        let module = executed(line).unwrap();
        assert_eq!((module.from, module.to), (0xffff_8000, 0xffff_a000));
        assert_eq!(
            (module.offset, &*module.path),
            (0x12000, "/usr/lib/lib a.so")
        );
        assert_eq!(executed(&line.replace("r-xp", "r--p")), None);
        assert_eq!(executed("no line"), None);
        let long = line.replace("lib a", &"é".repeat(400));
        assert!(executed(&long).unwrap().path.len() <= PATH_MAX);
        assert!(is_loader("/usr/lib/libEGL.so.1") && !is_loader("/libEGL.so.1/program"));
    }

    #[test]
    fn a_library_may_come_where_another_was() {
        let mut known = Known::new();
        let mut fresh = Vec::new();
        let module = |from, to| Module {
            from,
            to,
            offset: 0,
            path: "/a".into(),
        };
        known.add(&module(0x1000, 0x3000), &mut fresh);
        known.add(&module(0x1000, 0x3000), &mut fresh);
        assert_eq!(fresh.len(), 1);
        known.add(&module(0x2000, 0x4000), &mut fresh);
        assert!(known.at(0x1000).is_none() && known.at(0x3000).is_some());
        known.suppose(0x1234);
        assert!(known.at(0x1ffc).is_some() && !known.is_ours(0x1234));
    }
}
