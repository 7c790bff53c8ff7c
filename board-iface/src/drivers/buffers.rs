//! A guest's buffers. Each has a handle in the files that used it, and the memory of the
//! board's driver; and a shadow, which has the bytes that guest and board last agreed on.

use super::node::{Mapped, Open, Raw};
use super::refusal::{BUFFER, FILE, Refusal};
use super::served::Served;
use crate::board::Output;
use crate::region::{Budget, Counted, Region};
use foldhash::{HashMap, HashMapExt};
use gil_address_tables::Differ;
use gil_transport::memory::OutOfMemory;
use gil_wire::differences;
use nix::errno::Errno;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// A guest's pages: a buffer has whole ones there.
const PAGE: u64 = 4096;
/// Most buffers of a guest's.
const MOST: usize = 1 << 16;

/// A guest's open files, by number.
pub type Files = HashMap<u32, Box<dyn Open>>;

/// A buffer.
struct Buffer {
    len: usize,
    /// By file.
    handles: HashMap<u32, u32>,
    /// As files import it, once no file has it.
    shared: Option<OwnedFd>,
    memory: Option<Memory>,
    _counted: Counted,
}

/// What a buffer holds.
struct Memory {
    mapped: Box<dyn Mapped>,
    shadow: Vec<u8>,
    _counted: Counted,
}

/// All buffers of a guest's.
pub struct Buffers {
    all: HashMap<u32, Buffer>,
    differ: Differ,
    /// What differed last.
    changed: Vec<Range<usize>>,
    /// As it travels.
    encoded: Vec<u8>,
    /// Wall time of reading, comparing and writing.
    took: Duration,
    budget: Budget,
}

/// A buffer that is about to be made.
#[derive(Debug)]
pub struct New {
    number: u32,
    len: usize,
    counted: Counted,
}

fn missing(number: u32) -> Refusal {
    let what = BUFFER;
    Refusal::Missing { what, number }
}

fn no_memory(_: OutOfMemory) -> Refusal {
    Refusal::Errno(Errno::ENOMEM)
}

impl Buffers {
    /// None.
    pub fn new(budget: &Budget) -> Self {
        Self {
            all: HashMap::new(),
            differ: Differ::shared(),
            changed: Vec::new(),
            encoded: Vec::new(),
            took: Duration::ZERO,
            budget: budget.clone(),
        }
    }

    /// Space for a buffer of this number, for which the program wants so many bytes.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn vacant(&self, number: u32, size: u64) -> Result<New, Refusal> {
        if number == 0 || self.all.contains_key(&number) {
            let what = BUFFER;
            return Err(Refusal::Taken { what, number });
        }
        // Drivers make no empty ones.
        let len = size.max(1).checked_next_multiple_of(PAGE);
        let len = len.filter(|_| self.all.len() < MOST).ok_or(Errno::ENOMEM)?;
        let counted = self.budget.object(len)?;
        let len = usize::try_from(len).map_err(|_| Errno::ENOMEM)?;
        Ok(New {
            number,
            len,
            counted,
        })
    }

    /// The driver made it, with this handle in this file.
    pub fn add(&mut self, new: New, file: u32, handle: u32) {
        let buffer = Buffer {
            len: new.len,
            handles: HashMap::from_iter([(file, handle)]),
            shared: None,
            memory: None,
            _counted: new.counted,
        };
        self.all.insert(new.number, buffer);
    }

    /// The handle of a buffer in a file, which imports it if it was made in another.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn handle(&mut self, files: &Files, file: u32, number: u32) -> Result<u32, Refusal> {
        let buffer = self.all.get_mut(&number).ok_or_else(|| missing(number))?;
        if let Some(handle) = buffer.handles.get(&file) {
            return Ok(*handle);
        }
        let what = FILE;
        let importer = files
            .get(&file)
            .ok_or(Refusal::Missing { what, number: file })?;
        let handle = match &buffer.shared {
            Some(shared) => importer.import(shared.as_fd())?,
            None => importer.import(buffer.export(files)?.as_fd())?,
        };
        buffer.handles.insert(file, handle);
        Ok(handle)
    }

    /// A file is about to be closed: buffers that only it has stay for others.
    pub fn leave(&mut self, files: &Files, file: u32) {
        for (number, buffer) in &mut self.all {
            let is_last = buffer.handles.len() == 1 && buffer.handles.contains_key(&file);
            if is_last && buffer.shared.is_none() {
                match buffer.export(files) {
                    Ok(shared) => buffer.shared = Some(shared),
                    Err(error) => tracing::debug!("buffer {number} ends with its file: {error}"),
                }
            }
            buffer.handles.remove(&file);
        }
    }

    /// Nobody has a buffer any more.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn free(&mut self, files: &Files, number: u32) -> Result<(), Refusal> {
        let buffer = self.all.remove(&number).ok_or_else(|| missing(number))?;
        let handles = buffer.handles.iter();
        let open = handles.filter_map(|(file, handle)| Some((files.get(file)?, *handle)));
        // Each is given back, whatever the driver says of another.
        let closed: Vec<_> = open.map(|(open, handle)| open.close(handle)).collect();
        Ok(closed.into_iter().collect::<Result<(), Errno>>()?)
    }

    /// Bytes of a buffer.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn len(&self, number: u32) -> Result<usize, Refusal> {
        let buffer = self.all.get(&number).ok_or_else(|| missing(number))?;
        Ok(buffer.len)
    }

    /// The guest has these bytes in a buffer, as differences from what it had: they go to
    /// the board's memory, and leave there what a job wrote beside them.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn push(
        &mut self,
        served: &Served,
        files: &Files,
        number: u32,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let began = Instant::now();
        let ranges = differences::decode(bytes, self.len(number)?)?;
        if ranges.is_empty() {
            return Ok(());
        }
        self.map(served, files, number)?;
        let memory = self.all.get_mut(&number).and_then(|it| it.memory.as_mut());
        let memory = memory.ok_or(Errno::EINVAL)?;
        if bytes.len() == memory.shadow.len() {
            // Of all bytes, those count that the guest did not have before.
            self.differ
                .update(&mut memory.shadow, bytes, &mut self.changed);
            for range in &self.changed {
                memory.mapped.write(range.start, &bytes[range.clone()]);
            }
        } else {
            for (offset, bytes) in ranges {
                memory.mapped.write(offset, bytes);
                memory.shadow[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        self.took += began.elapsed();
        Ok(())
    }

    /// What the guest does not have yet of a buffer that it waited for, as differences.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn pull(
        &mut self,
        served: &Served,
        files: &Files,
        number: u32,
        mut region: Region,
    ) -> Result<Output, Refusal> {
        let began = Instant::now();
        let wanted = self.len(number)?;
        if region.len() != wanted || region.dir().is_in() {
            return Err(Refusal::Region { index: 0, wanted });
        }
        self.map(served, files, number)?;
        let memory = self.all.get_mut(&number).and_then(|it| it.memory.as_mut());
        let Some(memory) = memory else {
            return Ok(Output::None);
        };
        memory.mapped.read(region.bytes_mut());
        self.differ
            .update(&mut memory.shadow, region.bytes(), &mut self.changed);
        differences::encode(region.bytes(), &self.changed, &mut self.encoded);
        let len = self.encoded.len();
        let bytes = region.bytes_mut().get_mut(..len).unwrap_or_default();
        bytes.copy_from_slice(&self.encoded);
        self.took += began.elapsed();
        Ok(match len {
            0 => Output::None,
            _ => Output::Bytes { region, len },
        })
    }

    /// Wall time that buffers' memory took since the last look.
    pub fn take_time(&mut self) -> Duration {
        std::mem::take(&mut self.took)
    }

    /// Maps a buffer's memory, if it has any.
    fn map(&mut self, served: &Served, files: &Files, number: u32) -> Result<(), Refusal> {
        let buffer = self.all.get_mut(&number).ok_or_else(|| missing(number))?;
        if buffer.memory.is_some() {
            return Ok(());
        }
        let file = match buffer.handles.keys().find(|file| files.contains_key(*file)) {
            Some(file) => *file,
            None => *files.keys().next().ok_or(Errno::ENOENT)?,
        };
        let handle = self.handle(files, file, number)?;
        let open = files.get(&file).ok_or(Errno::EBADF)?;
        let offset = match place(served, &**open, handle) {
            Ok(offset) => offset,
            // Some have no memory that a program could map.
            Err(refusal) => {
                tracing::debug!("buffer {number} is not mapped: {refusal}");
                return Ok(());
            }
        };
        let len = self.len(number)?;
        let counted = self.budget.object(len as u64)?;
        // As a driver makes buffers, and the guest.
        let mut shadow = Vec::new();
        OutOfMemory::reserve(&mut shadow, len).map_err(no_memory)?;
        shadow.resize(len, 0);
        let memory = Memory {
            mapped: open.map(offset, len)?,
            shadow,
            _counted: counted,
        };
        if let Some(buffer) = self.all.get_mut(&number) {
            buffer.memory = Some(memory);
        }
        Ok(())
    }
}

impl Buffer {
    /// As other files can import it.
    fn export(&self, files: &Files) -> Result<OwnedFd, Refusal> {
        let mut here = self.handles.iter();
        let found = here.find_map(|(file, handle)| Some((files.get(file)?, handle)));
        let (open, handle) = found.ok_or(Errno::ENOENT)?;
        Ok(open.export(*handle)?)
    }
}

/// Where the driver has a buffer be mapped.
fn place(served: &Served, open: &dyn Open, handle: u32) -> Result<u64, Refusal> {
    let known = served.maps().ok_or(Errno::ENOSYS)?;
    let mut argument = vec![0; known.layout.size];
    for place in &known.layout.buffers {
        place.write(&mut argument, handle.into());
    }
    let mut call = Raw::of(&known.ioctl, &known.layout, &argument, Vec::new())?;
    open.ioctl(&mut call)?;
    let offset = known.layout.mmap_offset.ok_or(Errno::ENOSYS)?;
    Ok(offset.read(call.argument()))
}
