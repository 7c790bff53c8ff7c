//! One file of a guest's, with what it says of its code.

use super::Frame;
use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadRef};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Largest file that is read: 1 GiB.
const FILE_MAX: u64 = 1 << 30;

type Bytes = EndianArcSlice<RunTimeEndian>;

/// An ELF file.
pub(super) struct File {
    /// Parts of the file and their addresses: offset, address, length.
    segments: Vec<[u64; 3]>,
    lines: Option<Context<Bytes>>,
    /// Functions by address: address, length, name.
    functions: Vec<(u64, u64, String)>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let functions = self.functions.len();
        f.debug_struct("File")
            .field("functions", &functions)
            .finish_non_exhaustive()
    }
}

impl File {
    /// Reads one; none if it is no such file.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        // Of what the kernel makes as it is read, which may never end, the length is 0.
        if !meta.is_file() || !(1..=FILE_MAX).contains(&meta.len()) {
            return None;
        }
        Self::read(&fs::read(path).ok()?)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let segment = |it: object::Segment<'_, '_>| {
            let (offset, len) = it.file_range();
            [offset, it.address(), len]
        };
        Some(Self {
            segments: file.segments().map(segment).collect(),
            lines: lines(&file),
            functions: functions(&file),
        })
    }

    /// The functions of the call that returns to an offset in the file, the innermost
    /// first; none if nothing is known of it.
    pub(super) fn frames(&self, offset: u64) -> Vec<Frame> {
        let Some(address) = self.address(offset) else {
            return Vec::new();
        };
        // The call is in front of where it returns. In Thumb code that is odd.
        let call = (address & !1).saturating_sub(1);
        let found = self.lines.as_ref().map(|lines| source(lines, call));
        match found {
            Some(frames) if !frames.is_empty() => self.with_names(frames, call),
            _ => self.function(call).into_iter().collect(),
        }
    }

    fn address(&self, offset: u64) -> Option<u64> {
        let mut segments = self.segments.iter();
        let has =
            |[from, _, len]: &&[u64; 3]| offset.checked_sub(*from).is_some_and(|it| it < *len);
        let [from, address, _] = segments.find(has)?;
        address.checked_add(offset - from)
    }

    /// The outermost has the name of the symbol, if no other.
    fn with_names(&self, mut frames: Vec<Frame>, call: u64) -> Vec<Frame> {
        if let Some(last) = frames.last_mut().filter(|it| it.function.is_none()) {
            last.function = self.symbol(call).map(|(name, _)| name.to_owned());
        }
        frames
    }

    fn function(&self, call: u64) -> Option<Frame> {
        let (name, since) = self.symbol(call)?;
        Some(Frame {
            function: Some(format!("{} + {:#x}", demangled(name), since + 1)),
            line: None,
        })
    }

    /// The function that has an address, and how far into it that is.
    fn symbol(&self, at: u64) -> Option<(&str, u64)> {
        let behind = self
            .functions
            .partition_point(|(address, ..)| *address <= at);
        let (address, len, name) = self.functions.get(behind.checked_sub(1)?)?;
        let since = at - address;
        (*len == 0 || since < *len).then_some((name, since))
    }
}

fn demangled(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

fn source(lines: &Context<Bytes>, call: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut found) = lines.find_frames(call).skip_all_loads() else {
        return frames;
    };
    while let Ok(Some(frame)) = found.next() {
        let function = frame.function.as_ref().and_then(|it| it.demangle().ok());
        let location = frame
            .location
            .and_then(|it| Some((it.file?.to_owned(), it.line?)));
        frames.push(Frame {
            function: function.map(|name| name.into_owned()),
            line: location,
        });
    }
    frames
}

fn lines<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Option<Context<Bytes>> {
    let endian = match file.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let load = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let bytes = section
            .and_then(|it| it.uncompressed_data().ok())
            .unwrap_or_default();
        Ok::<_, gimli::Error>(Bytes::new(Arc::from(&*bytes), endian))
    };
    file.section_by_name(SectionId::DebugInfo.name())?;
    Context::from_dwarf(Dwarf::load(load).ok()?).ok()
}

fn functions<'data, R: ReadRef<'data>>(file: &object::File<'data, R>) -> Vec<(u64, u64, String)> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let code = symbols.filter(|it| it.kind() == object::SymbolKind::Text && it.is_definition());
    let known =
        code.filter_map(|it| Some((it.address() & !1, it.size(), it.name().ok()?.to_owned())));
    let mut all: Vec<_> = known.collect();
    all.sort();
    all
}
