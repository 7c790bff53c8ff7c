//! Launching kernels. The board checks the first launch of each shape; an equal one cannot
//! fail later, so it travels in a batch.

use super::Details;
use super::capture;
use super::context::{self, Context};
use super::graph::work::{Kernel, Work};
use super::manual::plain_launches::Steps;
use super::shared::{self, Uses};
use super::streams::{self, Lane, Stream};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_cuda_common::attribute::{self, Attribute};
use gil_cuda_common::room::Room;
use gil_guest::accepted::{self, Accepted, Front, Parts, Shape};
use gil_guest::api::{Api, CallResult, new_number};
use gil_guest::process::is_forked;
use gil_wire::Op;
use gil_wire::call::{Handle, INLINE_MAX, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Engine, Envelope, Share};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::cell::RefCell;
use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A function of a module.
#[derive(Debug)]
pub struct Function {
    /// Its context.
    pub context: Arc<Context>,
    /// The program's handle of its module.
    pub module: usize,
    /// Its name.
    pub name: CString,
    /// Its parameters, as the board's driver has them.
    pub params: Params,
    /// What its device has room for of it.
    room: Room,
    /// What the board accepted of it.
    accepted: Mutex<Accepted<Geometry>>,
    /// What its next launch has, of one that is made in several steps.
    steps: Mutex<Steps>,
}

impl Function {
    /// One of which nothing is accepted yet.
    pub fn new(
        context: Arc<Context>,
        module: usize,
        name: CString,
        (params, room): (Params, Room),
    ) -> Self {
        Self {
            context,
            module,
            name,
            params,
            room,
            accepted: Mutex::default(),
            steps: Mutex::default(),
        }
    }

    /// What its next launch has, of one that is made in several steps.
    pub(super) fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accepted(&self) -> MutexGuard<'_, Accepted<Geometry>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much of the device a launch on a stream needs.
    fn share(&self, geometry: &Geometry, lane: &Lane) -> Share {
        let Geometry {
            grid,
            block,
            shared,
        } = *geometry;
        let thousandths = self.room.thousandths(grid, block, shared);
        let thousandths = thousandths.unwrap_or(1000).min(lane.part);
        Share::of_thousand(thousandths, self.context.number.0 as u32)
    }

    /// The next launch is judged anew.
    pub fn forget(&self) {
        changed();
        *self.accepted() = Accepted::default();
    }
}

/// A kernel's parameters: where each stands, and its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    all: Box<[(u32, u32)]>,
    /// Of all together.
    len: usize,
}

impl Params {
    /// Bytes of few parameters.
    const FEW: usize = 64;

    /// From the board's numbers, two a parameter; `None` if they overlap.
    pub fn new(words: &[u64]) -> Option<Self> {
        let (pairs, rest) = words.as_chunks::<2>();
        let mut end = 0u64;
        let mut all = Vec::new();
        for &[offset, size] in pairs {
            if offset < end || !rest.is_empty() {
                return None;
            }
            end = offset.checked_add(size)?;
            all.push((u32::try_from(offset).ok()?, u32::try_from(size).ok()?));
        }
        Some(Self {
            all: all.into(),
            len: usize::try_from(end).ok().filter(|len| *len <= 1 << 20)?,
        })
    }

    /// Where a parameter stands, and its bytes.
    pub fn get(&self, index: usize) -> Option<(usize, usize)> {
        let (offset, size) = *self.all.get(index)?;
        Some((offset as usize, size as usize))
    }

    /// Where each stands.
    pub fn offsets(&self) -> Vec<usize> {
        self.all
            .iter()
            .map(|(offset, _)| *offset as usize)
            .collect()
    }

    /// The values that the program has in either form.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    ///
    /// # Safety
    /// As `cuLaunchKernel` of its values.
    pub unsafe fn taken(
        &self,
        values: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CallResult<Vec<u8>> {
        // SAFETY: the caller's.
        unsafe {
            let mut packed = self.unpacked(values, extra)?;
            let values = packed.as_mut().map_or(values, Vec::as_mut_ptr);
            match self.has_values(values) {
                true if self.all.is_empty() => Ok(Vec::new()),
                true => Ok(self.bytes(values)),
                false => Err(CUDA_ERROR_INVALID_VALUE),
            }
        }
    }

    /// Whether there is a value for each.
    ///
    /// # Safety
    /// `values` is null or names as many pointers as there are parameters.
    #[inline(always)]
    unsafe fn has_values(&self, values: *mut *mut c_void) -> bool {
        // SAFETY: the caller's.
        let value = |n: usize| unsafe { *values.add(n) };
        self.all.is_empty() || !values.is_null() && (0..self.all.len()).all(|n| !value(n).is_null())
    }

    /// Pointers to the values if they are all in one buffer, as `extra` says; otherwise
    /// `None`, and they are where the program has pointers to them.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if there are both, or the buffer is too small.
    ///
    /// # Safety
    /// `extra` is null or a list as `cuLaunchKernel` takes it.
    unsafe fn unpacked(
        &self,
        values: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CallResult<Option<Vec<*mut c_void>>> {
        if extra.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's.
        let (buffer, len) = unsafe { buffer(extra) }?;
        if !values.is_null() || buffer.is_null() && self.len > 0 || len < self.len {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let places = self.all.iter();
        let places = places.map(|(offset, _)| buffer.wrapping_byte_add(*offset as usize));
        Ok(Some(places.collect()))
    }

    /// Takes the values, if they are few; whether there is one for each parameter. In one turn: a
    /// launch is short.
    ///
    /// # Safety
    /// `values` is null or names pointers to as many bytes as each parameter has.
    #[inline(always)]
    unsafe fn take(&self, values: *mut *mut c_void, few: &mut [u8; Self::FEW]) -> bool {
        if self.len > Self::FEW {
            // SAFETY: the caller's.
            return unsafe { self.has_values(values) };
        }
        if values.is_null() {
            return self.all.is_empty();
        }
        // SAFETY: the caller's; all of them find room.
        unsafe { self.fill(values, few.as_mut_ptr()) }
    }

    /// Writes the values, each at its place.
    ///
    /// # Safety
    /// `values` names pointers to as many bytes as each parameter has; those of few were taken.
    #[inline(always)]
    unsafe fn write(&self, values: *mut *mut c_void, few: &[u8; Self::FEW], to: &mut Writer<'_>) {
        to.number(self.len as u64);
        if self.len <= Self::FEW {
            to.piece(few, self.len);
        } else {
            // SAFETY: the caller's.
            to.raw(&unsafe { self.bytes(values) });
        }
    }

    /// Puts the values to their places, as far as there are any; whether there is one for each parameter.
    ///
    /// # Safety
    /// `values` names pointers, each null or to as many bytes as its parameter has; `to` has space for all.
    #[inline(always)]
    unsafe fn fill(&self, values: *mut *mut c_void, to: *mut u8) -> bool {
        for (n, &(offset, size)) in self.all.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let (from, to) = ((*values.add(n)).cast::<u8>(), to.add(offset as usize));
                if from.is_null() {
                    return false;
                }
                match size {
                    8 => to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read()),
                    4 => to.cast::<[u8; 4]>().write(from.cast::<[u8; 4]>().read()),
                    1 => to.write(from.read()),
                    12 => to.cast::<[u8; 12]>().write(from.cast::<[u8; 12]>().read()),
                    16 => to.cast::<[u8; 16]>().write(from.cast::<[u8; 16]>().read()),
                    _ => from.copy_to_nonoverlapping(to, size as usize),
                }
            }
        }
        true
    }

    /// The same as bytes.
    ///
    /// # Safety
    /// `values` names pointers to as many bytes as each parameter has.
    unsafe fn bytes(&self, values: *mut *mut c_void) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: the caller's; all of them find room.
        unsafe { self.fill(values, bytes.as_mut_ptr()) };
        bytes
    }
}

/// What stands in a list of `cuLaunchKernel`'s: its end, where the values are, and where
/// their bytes' number is.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Where the values are that a list names, and how many bytes.
///
/// # Safety
/// As `cuLaunchKernel` of its `extra`.
unsafe fn buffer(mut list: *mut *mut c_void) -> CallResult<(*mut c_void, usize)> {
    let (mut buffer, mut len) = (std::ptr::null_mut(), 0);
    // One more than there are names: a longer list repeats some.
    for _ in 0..4 {
        // SAFETY: the caller's: a name, and behind each but the last its value.
        unsafe {
            match (*list).addr() {
                END => return Ok((buffer, len)),
                BUFFER => buffer = *list.add(1),
                BUFFER_SIZE if !(*list.add(1)).is_null() => {
                    len = (*list.add(1)).cast::<usize>().read_unaligned();
                }
                _ => break,
            }
            list = list.add(2);
        }
    }
    Err(CUDA_ERROR_INVALID_VALUE)
}

/// How a kernel is launched: blocks, threads of each, bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Geometry {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of each.
    pub block: [u32; 3],
    /// Bytes.
    pub shared: u32,
}

impl Geometry {
    const LEN: usize = 28;

    #[inline(always)]
    fn bytes(&self) -> &[u8; Self::LEN] {
        const { assert!(size_of::<Geometry>() == Geometry::LEN) };
        // SAFETY: it is seven numbers, with nothing between them.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }
}

impl Shape for Geometry {
    /// As bytes: a branch a number would take more instructions.
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }

    #[inline(always)]
    fn covers(&self, other: &Self) -> bool {
        self.is(other)
    }
}

/// [`wire::CuLaunchKernelArgs`], borrowed.
struct Args<'a> {
    context: Handle,
    stream: Handle,
    function: Handle,
    geometry: &'a Geometry,
    params: &'a Params,
    values: *mut *mut c_void,
    /// The values, if they are few.
    few: &'a [u8; Params::FEW],
    event: NewEvent,
}

/// The number of the variant of data inside a message.
const INLINE: u8 = 1;

impl Parts for Args<'_> {
    fn write_front(&self, to: &mut Writer<'_>) {
        to.handle(self.context);
        to.handle(self.stream);
        to.handle(self.function);
        let Geometry {
            grid,
            block,
            shared,
        } = *self.geometry;
        grid.iter()
            .chain(&block)
            .for_each(|n| to.number((*n).into()));
        to.number(shared.into());
        to.byte(INLINE);
    }

    #[inline(always)]
    fn write_rest(&self, to: &mut Writer<'_>) {
        // SAFETY: the program's promise; there is a value for each parameter.
        unsafe { self.params.write(self.values, self.few, to) };
        to.handle(self.event.number);
        to.byte(self.event.kept.into());
    }
}

/// A thread's latest launch, which the board had accepted.
#[derive(Debug)]
struct Latest {
    handle: usize,
    stream_handle: usize,
    generation: u64,
    geometry: Geometry,
    share: Share,
    front: Front,
    function: Object,
    context: Arc<Context>,
    /// None for the default stream.
    stream: Option<Arc<Stream>>,
}

thread_local! {
    /// Outside: where all libraries of a program have more than some 500 bytes of threads' variables, each
    /// look at one takes 30 instructions more, and every call has one.
    static LATEST: RefCell<Option<Box<Latest>>> = const { RefCell::new(None) };
}

/// Counts what may make a thread's latest launch another thing: objects that are destroyed,
/// functions that are judged anew.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Something is destroyed, or judged anew.
pub fn changed() {
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Another context is current in this thread.
pub fn forget_latest() {
    let last = LATEST.try_with(|latest| latest.try_borrow_mut().ok()?.take());
    drop(last);
}

impl Latest {
    /// Launches it again, if it is the same but for its values.
    ///
    /// # Safety
    /// As [`launch`].
    #[inline(always)]
    unsafe fn again(
        entry: u64,
        (handle, stream): (CUfunction, CUstream),
        geometry: &Geometry,
        values: *mut *mut c_void,
    ) -> Option<CallResult<()>> {
        let again = |latest: &RefCell<Option<Box<Self>>>| {
            let latest = latest.try_borrow().ok()?;
            let latest = latest.as_ref()?;
            let is_same = (latest.handle ^ handle.addr())
                | (latest.stream_handle ^ stream.addr())
                | (latest.generation ^ GENERATION.load(Ordering::Acquire)) as usize;
            if is_same != 0 || !latest.geometry.is(geometry) || is_forked() {
                return None;
            }
            let Details::Function(function) = latest.function.details() else {
                return None;
            };
            let context = &*latest.context;
            let mut few = [0; Params::FEW];
            // SAFETY: the caller's.
            if context.healthy().is_err() || unsafe { !function.params.take(values, &mut few) } {
                return None;
            }
            let lane = latest
                .stream
                .as_ref()
                .map_or(&context.legacy, |it| &it.lane);
            let args = Args {
                context: context.number,
                stream: lane.number,
                function: latest.function.number(),
                geometry,
                params: &function.params,
                values,
                few: &few,
                event: unkept(),
            };
            let accepted = (&latest.front, latest.share);
            Some(post(entry, context, lane, &args, accepted))
        };
        // None in a thread that is ending.
        LATEST.try_with(again).ok().flatten()
    }
}

fn unkept() -> NewEvent {
    NewEvent {
        number: new_number(),
        kept: false,
    }
}

#[inline(always)]
fn envelope(entry: u64, lane: &Lane, event: NewEvent, share: Share) -> Envelope<'static> {
    Envelope {
        queue: Some(lane.queue),
        engine: Engine::COMPUTE,
        share,
        signals: Some(event.number.0),
        ..Envelope::new(wire::CU_LAUNCH_KERNEL, Class::Enqueue, entry)
    }
}

/// Posts a launch whose like the board accepted.
#[inline(always)]
fn post(
    entry: u64,
    context: &Context,
    lane: &Lane,
    args: &Args<'_>,
    (front, share): (&Front, Share),
) -> CallResult<()> {
    streams::order(entry, context, lane)?;
    // It has no memory of its own, which to find out takes a fiftieth of a launch.
    let envelope = ManuallyDrop::new(envelope(entry, lane, args.event, share));
    accepted::post::<Guest>(&envelope, args, front)?;
    lane.has_one_more(context);
    Ok(())
}

/// Launches a function.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuLaunchKernel` in CUDA's documentation.
#[inline]
pub unsafe fn launch(
    entry: u64,
    handle: CUfunction,
    geometry: &Geometry,
    stream: CUstream,
    (values, extra): (*mut *mut c_void, *mut *mut c_void),
) -> CallResult<()> {
    if extra.is_null() {
        // SAFETY: the caller's.
        let again = unsafe { Latest::again(entry, (handle, stream), geometry, values) };
        if let Some(done) = again {
            return done;
        }
    }
    if capture::is_any() {
        // SAFETY: the caller's.
        let kernel = || unsafe { node(handle, geometry, (values, extra), &[]) };
        if capture::takes(stream, kernel)? {
            return Ok(());
        }
    }
    shared::around((entry, Some(stream)), Uses::All, || {
        // SAFETY: the caller's.
        unsafe { other(entry, handle, geometry, stream, (values, extra)) }
    })
}

/// A launch as a node of a graph.
///
/// # Safety
/// As [`launch`].
unsafe fn node(
    handle: CUfunction,
    geometry: &Geometry,
    values: (*mut *mut c_void, *mut *mut c_void),
    attributes: &[Attribute],
) -> CallResult<Work> {
    // SAFETY: the caller's.
    let kernel = unsafe { Kernel::new(handle, *geometry, values, attributes.to_vec()) }?;
    Ok(Work::Kernel(Box::new(kernel)))
}

/// A launch that is not the thread's latest one.
///
/// # Safety
/// As [`launch`].
#[inline(never)]
unsafe fn other(
    entry: u64,
    handle: CUfunction,
    geometry: &Geometry,
    stream: CUstream,
    (values, extra): (*mut *mut c_void, *mut *mut c_void),
) -> CallResult<()> {
    context::with(|context| {
        let object = Object::find(Kind::Function, handle)?;
        let Details::Function(function) = object.details() else {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        };
        if !Arc::ptr_eq(&function.context, context) {
            return Err(CUDA_ERROR_INVALID_CONTEXT);
        }
        // SAFETY: the caller's.
        let mut packed = unsafe { function.params.unpacked(values, extra) }?;
        let values = packed.as_mut().map_or(values, Vec::as_mut_ptr);
        let mut few = [0; Params::FEW];
        // SAFETY: the caller's.
        if unsafe { !function.params.take(values, &mut few) } {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let generation = GENERATION.load(Ordering::Acquire);
        streams::with_lane(context, stream, |lane| {
            let args = Args {
                context: context.number,
                stream: lane.number,
                function: object.number(),
                geometry,
                params: &function.params,
                values,
                few: &few,
                event: unkept(),
            };
            let share = function.share(geometry, lane);
            let known = function.accepted().like(Handle(lane.queue.id), geometry);
            let Some(front) = known else {
                streams::order(entry, context, lane)?;
                let call = envelope(entry, lane, args.event, share);
                // SAFETY: the caller's.
                unsafe { first(&call, &args, function, context) }?;
                lane.has_one_more(context);
                return Ok(());
            };
            post(entry, context, lane, &args, (&front, share))?;
            if shared::is_any() {
                return Ok(());
            }
            // The launch is made, also if another thread destroyed the stream meanwhile.
            let Ok(stream_of) = streams::of(context, stream) else {
                return Ok(());
            };
            let latest = Latest {
                handle: handle.addr(),
                stream_handle: stream.addr(),
                generation,
                geometry: *geometry,
                share,
                front,
                function: object.clone(),
                context: context.clone(),
                stream: stream_of,
            };
            // One that cannot be kept is looked for again.
            let _ = LATEST.try_with(|place| {
                place
                    .try_borrow_mut()
                    .map(|mut it| it.replace(Box::new(latest)))
            });
            Ok(())
        })
    })
}

/// Launches a function with attributes, which the board judges each time.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// As `cuLaunchKernelEx` in CUDA's documentation.
pub unsafe fn launch_with(
    (entry, op): (u64, Op),
    handle: CUfunction,
    geometry: &Geometry,
    stream: CUstream,
    (values, extra): (*mut *mut c_void, *mut *mut c_void),
    attributes: &[Attribute],
) -> CallResult<()> {
    if capture::is_any() {
        // SAFETY: the caller's.
        let kernel = || unsafe { node(handle, geometry, (values, extra), attributes) };
        if capture::takes(stream, kernel)? {
            return Ok(());
        }
    }
    let launch = |context: &Arc<Context>| {
        let object = Object::find(Kind::Function, handle)?;
        let Details::Function(function) = object.details() else {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        };
        if !Arc::ptr_eq(&function.context, context) {
            return Err(CUDA_ERROR_INVALID_CONTEXT);
        }
        // SAFETY: the caller's.
        let mut packed = unsafe { function.params.unpacked(values, extra) }?;
        let values = packed.as_mut().map_or(values, Vec::as_mut_ptr);
        // SAFETY: the caller's.
        if unsafe { !function.params.has_values(values) } {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        streams::with_lane(context, stream, |lane| {
            streams::order(entry, context, lane)?;
            let event = unkept();
            let mut request = Request::new(op, Class::Enqueue, entry);
            request.queue(lane.queue, Engine::COMPUTE);
            request.share(function.share(geometry, lane));
            request.signals(event.number, false);
            let Geometry {
                grid,
                block,
                shared,
            } = *geometry;
            // Both calls have the same arguments.
            let args = wire::CuLaunchKernelExArgs {
                current: context.number,
                hStream: lane.number,
                f: object.number(),
                grid_x: grid[0],
                grid_y: grid[1],
                grid_z: grid[2],
                block_x: block[0],
                block_y: block[1],
                block_z: block[2],
                shared,
                // SAFETY: there is a value for each parameter; the bytes are an argument of
                // this request alone.
                params: unsafe { request.input_of(function.params.bytes(values)) },
                attributes: attribute::words(attributes),
                event,
            };
            let asked = request.forward(&args, |reply| {
                let reply: wire::CuLaunchKernelExReply = reply.decode()?;
                Guest::check(reply.result)
            });
            asked.or_else(|code| context.failed(code))?;
            lane.has_one_more(context);
            Ok(())
        })
    };
    shared::around((entry, Some(stream)), Uses::All, || context::with(launch))
}

/// Has the board judge a launch.
///
/// # Safety
/// As [`launch`].
#[inline(never)]
unsafe fn first(
    call: &Envelope<'_>,
    args: &Args<'_>,
    function: &Function,
    context: &Context,
) -> CallResult<()> {
    let asked = match args.params.len <= INLINE_MAX {
        true => {
            let front = Front::new(args);
            let asked = accepted::ask::<Guest>(call, args, &front, |reply| {
                let reply: wire::CuLaunchKernelReply = reply.decode()?;
                Guest::check(reply.result)
            });
            if asked.is_ok() {
                let queue = Handle(call.queue.map_or(0, |queue| queue.id));
                function.accepted().accept(queue, args.geometry, front);
            }
            asked
        }
        // SAFETY: the caller's.
        false => unsafe { large(call, args) },
    };
    asked.or_else(|code| context.failed(code))
}

/// The same of values that do not fit into a message.
///
/// # Safety
/// As [`launch`].
unsafe fn large(call: &Envelope<'_>, args: &Args<'_>) -> CallResult<()> {
    let mut request = Request::new(call.op, call.class, call.entry);
    if let Some(queue) = call.queue {
        request.queue(queue, call.engine);
        request.share(call.share);
    }
    request.signals(args.event.number, false);
    let Geometry {
        grid,
        block,
        shared,
    } = *args.geometry;
    // SAFETY: the caller's; the bytes are an argument of this request alone.
    let params = unsafe { request.input_of(args.params.bytes(args.values)) };
    let args = wire::CuLaunchKernelArgs {
        current: args.context,
        hStream: args.stream,
        f: args.function,
        grid_x: grid[0],
        grid_y: grid[1],
        grid_z: grid[2],
        block_x: block[0],
        block_y: block[1],
        block_z: block[2],
        shared,
        params,
        event: args.event,
    };
    request.forward(&args, |reply| {
        let reply: wire::CuLaunchKernelReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// An operation was refused although its like had been accepted: from here on
/// the board judges every shape of launch anew, before it is answered.
#[cold]
pub fn forget_all() {
    for function in Object::all(Kind::Function) {
        if let Details::Function(function) = function.details() {
            function.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::call::InData;
    use proptest::prelude::*;

    #[test]
    fn parameters_do_not_overlap() {
        let params = Params::new(&[0, 8, 8, 4, 16, 12]).unwrap();
        assert_eq!((params.len, params.get(2)), (28, Some((16, 12))));
        assert_eq!(params.get(3), None);
        assert_eq!(Params::new(&[0, 8, 4, 4]), None);
        assert_eq!(Params::new(&[0, 8, 8]), None);
        assert_eq!(Params::new(&[u64::MAX, 8]), None);
        assert_eq!(Params::new(&[0, 1 << 21]), None);
    }

    proptest! {
        #[test]
        fn arguments_are_written_as_postcard_does(
            handles: [u64; 4],
            grid: [u32; 3],
            block: [u32; 3],
            shared: u32,
            sizes in prop::collection::vec(1u64..40, 0..6),
        ) {
            let (mut words, mut at) = (Vec::new(), 0u64);
            for size in &sizes {
                words.extend([at, *size]);
                at = (at + size).next_multiple_of(8);
            }
            let params = Params::new(&words).unwrap();
            let mut values: Vec<Vec<u8>> = sizes
                .iter()
                .enumerate()
                .map(|(n, size)| vec![n as u8 + 1; *size as usize])
                .collect();
            let mut pointers: Vec<*mut c_void> =
                values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
            let [context, stream, function, number] = handles.map(Handle);
            let geometry = Geometry { grid, block, shared };
            let mut few = [0; Params::FEW];
            // SAFETY: there is a value for each parameter.
            let is_taken = unsafe { params.take(pointers.as_mut_ptr(), &mut few) };
            prop_assert!(is_taken);
            let args = Args {
                context,
                stream,
                function,
                geometry: &geometry,
                params: &params,
                values: pointers.as_mut_ptr(),
                few: &few,
                event: NewEvent { number, kept: false },
            };
            // SAFETY: there is a value for each parameter.
            let bytes = unsafe { params.bytes(pointers.as_mut_ptr()) };
            let wanted = postcard::to_stdvec(&wire::CuLaunchKernelArgs {
                current: context,
                hStream: stream,
                f: function,
                grid_x: grid[0],
                grid_y: grid[1],
                grid_z: grid[2],
                block_x: block[0],
                block_y: block[1],
                block_z: block[2],
                shared,
                params: InData::Inline(&bytes),
                event: args.event,
            })
            .unwrap();
            for front in [Front::NONE, Front::new(&args)] {
                let mut bytes = [0; 600];
                let mut writer = Writer::new(&mut bytes, 0);
                args.write_behind(&front, &mut writer);
                let len = writer.end().unwrap();
                prop_assert_eq!(&bytes[..len], wanted.as_slice());
            }
            // One that is missing, wherever it is.
            let nowhere = std::ptr::null_mut();
            for n in 0..pointers.len() {
                let value = std::mem::replace(&mut pointers[n], nowhere);
                // SAFETY: there is a value for each other parameter.
                let is_taken = unsafe { params.take(pointers.as_mut_ptr(), &mut few) };
                prop_assert!(!is_taken);
                pointers[n] = value;
            }
            // SAFETY: null is no list.
            prop_assert_eq!(unsafe { params.take(std::ptr::null_mut(), &mut few) }, sizes.is_empty());
        }
    }
}
