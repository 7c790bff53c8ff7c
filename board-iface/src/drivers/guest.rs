//! One guest's open files, and how an ioctl is executed for it.

use super::buffers::{Buffers, Files, New};
use super::gpu::Gpu;
use super::jobs::{Job, Jobs, executed_ns, now_ns};
use super::node::{Performed, Raw};
use super::refusal::{FILE, MEMORY_MAX, Refusal, WRITTEN_MAX};
use super::served::{Known, Served};
use crate::board::{Ended, Output};
use crate::region::{Budget, Region};
use foldhash::HashMapExt;
use gil_drivers::Does;
use gil_drivers::layout::{Layout, Place};
use gil_transport::memory::OutOfMemory;
use gil_wire::driver::{Answer, Ioctl, Memory, Opened};
use gil_wire::ending::Ending;
use nix::errno::Errno;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// Most open files.
const FILES_MOST: usize = 256;

/// What one guest has of a driver.
pub struct Guest<'b> {
    pub(super) served: &'b Served,
    pub(super) files: Files,
    pub(super) buffers: Buffers,
    pub(super) gpu: Gpu,
    budget: Budget,
    pub(super) limit: Duration,
    /// Its jobs.
    pub jobs: Jobs,
}

/// What a call came with.
#[derive(Debug)]
pub struct Given<'a> {
    /// Its arguments.
    pub args: &'a [u8],
    /// Its regions.
    pub regions: Vec<Region>,
    /// The event that it signals.
    pub event: Option<u64>,
    /// Whether its job ends before it is answered.
    pub finish: bool,
}

/// What a call did.
#[derive(Debug, Default)]
pub struct Did {
    /// Its answer.
    pub answer: Vec<u8>,
    /// Nanoseconds in the driver.
    pub cpu_ns: u64,
    /// What goes to its region.
    pub out: Vec<Output>,
    /// Its job, if it has ended.
    pub ended: Vec<Ended>,
    /// Why the driver refused it.
    pub error: Option<Errno>,
}

/// What an ioctl left, beside its argument.
struct Ran {
    result: Result<Performed, Errno>,
    submitted_ns: u64,
    cpu_ns: u64,
}

impl<'b> Guest<'b> {
    /// One that has nothing yet, and waits so long for a job.
    pub fn new(served: &'b Served, budget: &Budget, limit: Duration) -> Self {
        Self {
            served,
            files: Files::new(),
            buffers: Buffers::new(budget),
            gpu: Gpu::new(budget),
            budget: budget.clone(),
            limit,
            jobs: Jobs::new(limit),
        }
    }

    /// A program opens the node.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn open(&mut self, number: u32) -> Result<Did, Refusal> {
        if number == 0 || self.files.contains_key(&number) {
            return Err(Refusal::Taken { what: FILE, number });
        }
        let opened = match self.files.len() < FILES_MOST {
            true => self.served.node.open(),
            false => Err(Errno::EMFILE),
        };
        let result = match opened {
            Ok(file) => {
                self.files.insert(number, file);
                0
            }
            Err(error) => -(error as i32),
        };
        let version = self.served.node.version().numbers;
        Ok(Did {
            answer: Opened { result, version }.encode(),
            ..Did::default()
        })
    }

    /// It closes it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn close(&mut self, number: u32) -> Result<Did, Refusal> {
        self.buffers.leave(&self.files, number);
        let file = self.files.remove(&number);
        file.ok_or(Refusal::Missing { what: FILE, number })?;
        self.jobs.close(number);
        Ok(Did::default())
    }

    /// Nobody has a buffer any more.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn free(&mut self, number: u32) -> Result<Did, Refusal> {
        self.buffers.free(&self.files, number)?;
        Ok(Did::default())
    }

    /// A buffer's bytes, as differences from those of before.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn changed(&mut self, number: u32, regions: &[Region]) -> Result<Did, Refusal> {
        let wanted = self.buffers.len(number)?;
        let [region] = regions else {
            return Err(Refusal::Region { index: 0, wanted });
        };
        if !region.dir().is_in() {
            return Err(Refusal::Region { index: 0, wanted });
        }
        self.buffers
            .push(self.served, &self.files, number, region.bytes())?;
        Ok(Did::default())
    }

    /// An ioctl.
    ///
    /// # Errors
    /// [`Refusal`]: nothing was called.
    pub fn ioctl(&mut self, known: &Known, mut given: Given<'_>) -> Result<Did, Refusal> {
        let outs = known.layout.pointers.iter().map(|it| it.is_out);
        let args = Ioctl::parse(given.args, outs)?;
        let regions = std::mem::take(&mut given.regions);
        let (memory, rest) = memory(&args.memory, regions)?;
        let call = Raw::of(&known.ioctl, &known.layout, args.argument, memory)?;
        if let (Does::Start, Some(event)) = (known.ioctl.does, given.event) {
            self.jobs.check(event)?;
        }
        if !rest.is_empty() {
            return Err(Refusal::Region {
                index: rest.len(),
                wanted: 0,
            });
        }
        match self.perform(known, call, &args, &given) {
            // What a driver could have said is the program's to read.
            Err(refusal) => match refusal.errno() {
                Some(error) => Ok(refused(known, &args, &given, error)),
                None => Err(refusal),
            },
            did => did,
        }
    }

    fn perform(
        &mut self,
        known: &Known,
        mut call: Raw<'_>,
        args: &Ioctl<'_>,
        given: &Given<'_>,
    ) -> Result<Did, Refusal> {
        let number = args.file;
        let missing = Refusal::Missing { what: FILE, number };
        self.files.get(&number).ok_or(missing)?;
        // Counts while the call lasts.
        let lens = call.memory().iter().map(Vec::len).sum::<usize>();
        let _counted = self.budget.object(lens as u64)?;
        let before = call.argument().to_vec();
        let buffers = known.layout.processor.map(|_| named(known, &call));
        self.handles(known, &mut call, number)?;
        let new = self.vacant(known, &before)?;
        self.times(known, &mut call)?;
        let ran = self.run(known, &mut call, number)?;
        let Performed { result, fence } = match ran.result {
            Ok(performed) => performed,
            Err(error) => {
                let did = refused_after(known, &call, &before, args, given, error);
                return Ok(Did {
                    cpu_ns: ran.cpu_ns,
                    ..did
                });
            }
        };
        if let Some(new) = new {
            self.made(known, &call, new, number)?;
        }
        let processor = known.layout.processor.map_or(0, |it| it.read(&before));
        let job = |event| Job {
            event,
            submitted_ns: ran.submitted_ns,
            fence: fence.map(Rc::from),
            buffers,
            after: Vec::new(),
        };
        let ended = self.started(known, given, (number, processor), job);
        Ok(Did {
            answer: answer(known, &call, &before, args, result),
            cpu_ns: ran.cpu_ns,
            ended,
            ..Did::default()
        })
    }

    /// Handles of the file instead of buffers' numbers.
    fn handles(&mut self, known: &Known, call: &mut Raw<'_>, file: u32) -> Result<(), Refusal> {
        let Layout {
            buffers, pointers, ..
        } = &known.layout;
        let (argument, memory) = call.parts_mut();
        for place in buffers {
            self.translate(file, *place, argument)?;
        }
        for (pointer, memory) in pointers.iter().zip(memory) {
            if pointer.is_out || pointer.buffers.is_empty() {
                continue;
            }
            for element in memory.chunks_exact_mut(pointer.element) {
                for place in &pointer.buffers {
                    self.translate(file, *place, element)?;
                }
            }
        }
        Ok(())
    }

    fn translate(&mut self, file: u32, place: Place, bytes: &mut [u8]) -> Result<(), Refusal> {
        let number = place.read(bytes);
        if number == 0 {
            return Ok(());
        }
        let number = u32::try_from(number).map_err(|_| Errno::ENOENT)?;
        let handle = self.buffers.handle(&self.files, file, number)?;
        place.write(bytes, handle.into());
        Ok(())
    }

    /// Space for the buffer that a call makes.
    fn vacant(&self, known: &Known, argument: &[u8]) -> Result<Option<New>, Refusal> {
        let Some(place) = known.layout.new_buffer else {
            return Ok(None);
        };
        let number = u32::try_from(place.read(argument)).unwrap_or(0);
        let size = known.layout.buffer_size.map_or(0, |it| it.read(argument));
        self.buffers.vacant(number, size).map(Some)
    }

    /// Fences and times are the board's own.
    fn times(&self, known: &Known, call: &mut Raw<'_>) -> Result<(), Refusal> {
        if let Some(fence) = known.layout.fence
            && fence.flags.read(call.argument()) & (fence.waits | fence.signals) != 0
        {
            return Err(Errno::EINVAL.into());
        }
        if known.ioctl.does == Does::Start {
            call.ask_for_fence();
        }
        let limit = self.limit.as_nanos() as u64;
        let end = now_ns().saturating_add(limit);
        let (argument, _) = call.parts_mut();
        for place in &known.layout.deadlines {
            place.write(argument, end);
        }
        Ok(())
    }

    fn run(&self, known: &Known, call: &mut Raw<'_>, file: u32) -> Result<Ran, Refusal> {
        let missing = Refusal::Missing {
            what: FILE,
            number: file,
        };
        let open = self.files.get(&file).ok_or(missing)?;
        // What a wait takes is its job's time.
        let clock = match known.ioctl.does {
            Does::Wait => executed_ns,
            _ => now_ns,
        };
        let (began, submitted_ns) = (clock(), now_ns());
        call.submit_at(submitted_ns);
        let result = open.ioctl(call);
        Ok(Ran {
            result,
            submitted_ns,
            cpu_ns: clock().saturating_sub(began),
        })
    }

    /// The driver made a buffer.
    fn made(&mut self, known: &Known, call: &Raw<'_>, new: New, file: u32) -> Result<(), Refusal> {
        let place = known.layout.new_buffer;
        let handle = place.map_or(0, |it| it.read(call.argument()));
        match u32::try_from(handle) {
            Ok(handle) if handle != 0 => {
                self.buffers.add(new, file, handle);
                Ok(())
            }
            _ => Err(Errno::EIO.into()),
        }
    }

    /// The driver started a job.
    fn started(
        &mut self,
        known: &Known,
        given: &Given<'_>,
        queue: (u32, u64),
        job: impl FnOnce(u64) -> Job,
    ) -> Vec<Ended> {
        let Some(event) = given.event.filter(|_| known.ioctl.does == Does::Start) else {
            return Vec::new();
        };
        self.jobs.add(queue, job(event));
        let ended = given.finish.then(|| self.jobs.finish(event));
        Vec::from_iter(ended.flatten())
    }
}

/// The numbers of the buffers that a call names, and whether it may write there.
fn named(known: &Known, call: &Raw<'_>) -> BTreeMap<u32, bool> {
    let Layout {
        buffers, pointers, ..
    } = &known.layout;
    let mut all = BTreeMap::new();
    let mut add = |number: u64, writes: bool| {
        *all.entry(number as u32).or_default() |= writes;
    };
    for place in buffers {
        add(place.read(call.argument()), true);
    }
    for (pointer, memory) in pointers.iter().zip(call.memory()) {
        for element in memory.chunks_exact(pointer.element) {
            for place in &pointer.buffers {
                add(place.read(element), pointer.writes(element));
            }
        }
    }
    all
}

/// The memory of a call's pointers, and the regions that are not of it.
fn memory(
    pointers: &[Memory<'_>],
    regions: Vec<Region>,
) -> Result<(Vec<Vec<u8>>, Vec<Region>), Refusal> {
    let lens = pointers.iter().map(|it| match it {
        Memory::Bytes(bytes) => bytes.len(),
        Memory::Region(len) | Memory::Room(len) => *len as usize,
    });
    let sum = lens.fold(0, usize::saturating_add);
    let written = pointers.iter().map(|it| match it {
        Memory::Room(len) => *len as usize,
        _ => 0,
    });
    if sum > MEMORY_MAX || written.fold(0, usize::saturating_add) > WRITTEN_MAX {
        return Err(Refusal::Memory(sum));
    }
    let mut regions = regions.into_iter();
    let mut index = 0;
    let mut all = Vec::new();
    for pointer in pointers {
        all.push(match pointer {
            Memory::Bytes(bytes) => copied(bytes)?,
            Memory::Room(len) => zeroes(*len as usize)?,
            Memory::Region(len) => {
                let wanted = *len as usize;
                let fits = |it: &Region| it.dir().is_in() && it.len() == wanted;
                let region = regions.next().filter(fits);
                let region = region.ok_or(Refusal::Region { index, wanted })?;
                index += 1;
                copied(region.bytes())?
            }
        });
    }
    Ok((all, regions.collect()))
}

/// A copy of bytes.
///
/// # Errors
/// `ENOMEM`.
pub(super) fn copied(bytes: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut copy = Vec::new();
    OutOfMemory::reserve(&mut copy, bytes.len()).map_err(|_| Errno::ENOMEM)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

fn zeroes(len: usize) -> Result<Vec<u8>, Errno> {
    let mut zeroes = Vec::new();
    OutOfMemory::reserve(&mut zeroes, len).map_err(|_| Errno::ENOMEM)?;
    zeroes.resize(len, 0);
    Ok(zeroes)
}

/// The argument as the program gets it back: what the driver wrote, and of the board's
/// own numbers what the guest had there.
fn returned(known: &Known, call: &Raw<'_>, before: &[u8], args: &Ioctl<'_>) -> Vec<u8> {
    let layout = &known.layout;
    let mut after = call.argument().to_vec();
    let fence = layout.fence.iter().flat_map(|it| [it.flags, it.descriptor]);
    let own = layout.pointers.iter().map(|it| it.at).chain(fence);
    let own = own.chain(layout.buffers.iter().copied());
    let own = own.chain(layout.new_buffer).chain(layout.sync_out);
    for place in own.chain(layout.deadlines.iter().copied()) {
        place.write(&mut after, place.read(before));
    }
    let mut argument = args.argument.to_vec();
    let len = argument.len().min(after.len());
    argument[..len].copy_from_slice(&after[..len]);
    argument
}

fn answer(known: &Known, call: &Raw<'_>, before: &[u8], args: &Ioctl<'_>, result: i32) -> Vec<u8> {
    let memory = known.layout.pointers.iter().zip(call.memory());
    let written = memory.filter(|(pointer, _)| pointer.is_out);
    let answer = Answer {
        result,
        argument: &returned(known, call, before, args),
        written: written.map(|(_, bytes)| bytes.as_slice()).collect(),
    };
    answer.encode()
}

/// The answer to a call that failed, whose argument is this.
fn failure(known: &Known, given: &Given<'_>, argument: &[u8], error: Errno) -> Did {
    let outs = known.layout.pointers.iter().filter(|it| it.is_out);
    let result = -(error as i32);
    let answer = Answer {
        result,
        argument,
        written: outs.map(|_| &[][..]).collect(),
    };
    let event = given.event.filter(|_| known.ioctl.does == Does::Start);
    let ended = event.map(|event| Ended {
        rejected: true,
        ..Ended::bare(event, Ending::Failed(result))
    });
    Did {
        answer: answer.encode(),
        ended: Vec::from_iter(ended),
        error: Some(error),
        ..Did::default()
    }
}

/// Nothing was called.
fn refused(known: &Known, args: &Ioctl<'_>, given: &Given<'_>, error: Errno) -> Did {
    failure(known, given, args.argument, error)
}

/// The driver refused it.
fn refused_after(
    known: &Known,
    call: &Raw<'_>,
    before: &[u8],
    args: &Ioctl<'_>,
    given: &Given<'_>,
    error: Errno,
) -> Did {
    let argument = returned(known, call, before, args);
    failure(known, given, &argument, error)
}
