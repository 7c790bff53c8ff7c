//! Launching kernels. The board checks the first launch of each kind; an equal
//! launch cannot fail later, so it travels in a batch.

use super::details::{Arguments, Details};
use super::helpers::is_of_context;
use crate::generated::manual::{Guest, Object};
use crate::generated::types::*;
use gil_guest::accepted::{self, Accepted, Front, Parts, Shape};
use gil_guest::{Api, CallResult};
use gil_wire::call::{Handle, NewEvent};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Engine, Envelope, Queue};
use gil_wire::generated::opencl::{self as wire, Kind};

/// Most dimensions of a launch.
const DIMENSIONS: usize = 3;

/// Sizes of a launch in each of its dimensions; 0 in those it does not have.
type Sizes = [u64; DIMENSIONS];

/// The sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    dimensions: cl_uint,
    offset: Option<Sizes>,
    global: Option<Sizes>,
    local: Option<Sizes>,
}

impl Geometry {
    /// # Safety
    /// Each pointer is null or names as many sizes as there are dimensions, if
    /// that number is a valid one.
    #[inline]
    unsafe fn new(
        dimensions: cl_uint,
        offset: *const usize,
        global: *const usize,
        local: *const usize,
    ) -> Self {
        let len = sizes_len(dimensions);
        // SAFETY: the caller's.
        let read = |sizes: *const usize| unsafe { read_sizes(sizes, len) };
        Self {
            dimensions,
            offset: read(offset),
            global: read(global),
            local: read(local),
        }
    }

    #[inline(always)]
    fn has_room_for(&self, other: &Self) -> bool {
        let (Some(local), Some(most), Some(global)) = (self.local, self.global, other.global)
        else {
            return false;
        };
        (0..sizes_len(self.dimensions)).all(|n| {
            let (global, local) = (global[n], local[n]);
            local != 0 && global != 0 && global <= most[n] && global % local == 0
        })
    }
}

impl Shape for Geometry {
    /// Without a branch a size.
    #[inline]
    fn is(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions
            && is_same(&self.global, &other.global)
            && is_same(&self.local, &other.local)
            && is_same(&self.offset, &other.offset)
    }

    /// The same, or fewer work-groups of the same size.
    #[inline(always)]
    fn covers(&self, other: &Self) -> bool {
        self.dimensions == other.dimensions
            && (is_same(&self.global, &other.global) || self.has_room_for(other))
            && is_same(&self.local, &other.local)
            && is_same(&self.offset, &other.offset)
    }
}

#[inline(always)]
fn is_same(one: &Option<Sizes>, other: &Option<Sizes>) -> bool {
    match (one, other) {
        (Some([a, b, c]), Some([x, y, z])) => (a ^ x) | (b ^ y) | (c ^ z) == 0,
        (None, None) => true,
        _ => false,
    }
}

/// How many sizes a launch of so many dimensions has; none if it is invalid.
fn sizes_len(dimensions: cl_uint) -> usize {
    match dimensions as usize {
        len if len <= DIMENSIONS => len,
        _ => 0,
    }
}

/// # Safety
/// `sizes` is null or names `len` sizes.
#[inline]
unsafe fn read_sizes(sizes: *const usize, len: usize) -> Option<Sizes> {
    if sizes.is_null() {
        return None;
    }
    let size = |n: usize| match n < len {
        // SAFETY: the caller's.
        true => unsafe { *sizes.add(n) as u64 },
        false => 0,
    };
    Some([size(0), size(1), size(2)])
}

/// What the board accepted of a kernel.
#[derive(Debug, Default)]
pub(super) struct Launches {
    accepted: Accepted<Geometry>,
    /// The queues on which it was accepted as a task.
    tasks: Vec<Handle>,
}

impl Launches {
    /// Notes that this launch was accepted.
    fn accept(&mut self, args: &LaunchArgs<'_>, front: Front) {
        self.accepted.accept(args.queue, args.geometry, front);
    }

    /// Whether it was accepted as a task on this queue before.
    pub(super) fn accepts_task(&self, queue: Handle) -> bool {
        self.tasks.contains(&queue)
    }

    /// Notes that it was accepted as a task.
    pub(super) fn accept_task(&mut self, queue: Handle) {
        if !self.accepts_task(queue) && self.tasks.len() < Accepted::<Geometry>::MAX {
            self.tasks.push(queue);
        }
    }

    /// The arguments are not what they were.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// One launch.
pub(super) struct Launch {
    queue: Object,
    kernel: Object,
    geometry: Geometry,
    waits: Vec<Handle>,
    /// Whether the events it waits for are of the queue's context.
    at_home: bool,
}

impl Launch {
    /// # Safety
    /// As `clEnqueueNDRangeKernel` in the OpenCL specification.
    pub(super) unsafe fn new(
        (queue, kernel): (cl_command_queue, cl_kernel),
        dimensions: cl_uint,
        [offset, global, local]: [*const usize; 3],
        (count, list): (cl_uint, *const cl_event),
    ) -> CallResult<Self> {
        let queue = Object::find(Kind::CommandQueue, queue)?;
        let kernel = Object::find(Kind::Kernel, kernel)?;
        // SAFETY: the caller's.
        unsafe {
            let waits = Object::wait_list(count, list)?;
            Ok(Self {
                at_home: waits.is_empty() || is_of_context(&queue, *list),
                geometry: Geometry::new(dimensions, offset, global, local),
                queue,
                kernel,
                waits,
            })
        }
    }

    /// Launches it.
    ///
    /// # Safety
    /// `event` is null or points to space for one handle.
    #[inline]
    pub(super) unsafe fn run(&self, entry: u64, event: *mut cl_event) -> CallResult<()> {
        let Details::Kernel(known) = self.kernel.details() else {
            return Err(CL_INVALID_KERNEL);
        };
        let signal = gil_guest::new_event(event);
        let queue = self.queue.queue();
        let args = self.args(signal);
        match self.front(known) {
            Some(front) if self.waits.is_empty() => {
                let call = Self::call(entry, queue, signal, &[]);
                accepted::post::<Guest>(&call, &args, &front)?;
            }
            Some(_) => self.post_waiting(entry, queue, &args)?,
            None => {
                let front = Front::new(&args);
                self.ask(entry, queue, &args, &front)?;
                known.launches().accept(&args, front);
            }
        }
        // SAFETY: the caller's.
        unsafe { Object::give_event(event, signal, &self.queue) };
        Ok(())
    }

    /// The first arguments, as far as they are encoded, if the like of this
    /// launch was accepted.
    #[inline]
    fn front(&self, known: &Arguments) -> Option<Front> {
        match self.at_home {
            true => known
                .launches()
                .accepted
                .like(self.queue.number(), &self.geometry),
            false => None,
        }
    }

    #[inline]
    fn call(entry: u64, queue: Queue, event: NewEvent, waits: &[u64]) -> Envelope<'_> {
        Envelope {
            queue: Some(queue),
            engine: Engine::COMPUTE,
            waits: waits.into(),
            signals: Some(event.number.0),
            observable: event.kept,
            ..Envelope::new(wire::CL_ENQUEUE_ND_RANGE_KERNEL, Class::Enqueue, entry)
        }
    }

    #[inline(never)]
    fn post_waiting(&self, entry: u64, queue: Queue, args: &LaunchArgs<'_>) -> CallResult<()> {
        let waits: Vec<u64> = self.waits.iter().map(|event| event.0).collect();
        let call = Self::call(entry, queue, args.event, &waits);
        accepted::post_waiting::<Guest>(&call, args)
    }

    #[inline(never)]
    fn ask(
        &self,
        entry: u64,
        queue: Queue,
        args: &LaunchArgs<'_>,
        front: &Front,
    ) -> CallResult<()> {
        let waits: Vec<u64> = self.waits.iter().map(|event| event.0).collect();
        let call = Self::call(entry, queue, args.event, &waits);
        accepted::ask::<Guest>(&call, args, front, |reply| {
            let reply: wire::ClEnqueueNDRangeKernelReply = reply.decode()?;
            Guest::check(reply.result)
        })
    }

    #[inline]
    fn args(&self, event: NewEvent) -> LaunchArgs<'_> {
        LaunchArgs {
            queue: self.queue.number(),
            kernel: self.kernel.number(),
            geometry: &self.geometry,
            waits: &self.waits,
            event,
        }
    }
}

/// [`wire::ClEnqueueNDRangeKernelArgs`], borrowed.
struct LaunchArgs<'a> {
    queue: Handle,
    kernel: Handle,
    geometry: &'a Geometry,
    waits: &'a [Handle],
    event: NewEvent,
}

impl Parts for LaunchArgs<'_> {
    fn write_front(&self, to: &mut Writer<'_>) {
        let sizes = self.geometry;
        to.handle(self.queue);
        to.handle(self.kernel);
        to.number(sizes.dimensions.into());
        let len = sizes_len(sizes.dimensions);
        write_sizes(to, &sizes.offset, len);
        write_sizes(to, &sizes.global, len);
        write_sizes(to, &sizes.local, len);
    }

    #[inline(always)]
    fn write_rest(&self, to: &mut Writer<'_>) {
        to.number(self.waits.len() as u64);
        self.waits.iter().for_each(|event| to.handle(*event));
        to.handle(self.event.number);
        to.byte(self.event.kept.into());
    }
}

fn write_sizes(to: &mut Writer<'_>, sizes: &Option<Sizes>, len: usize) {
    let Some(sizes) = sizes else {
        return to.byte(0);
    };
    to.byte(1);
    to.number(len as u64);
    sizes.iter().take(len).for_each(|size| to.number(*size));
}

/// An operation was refused although its like had been accepted: from here on
/// the board judges every kind of launch anew, before it is answered.
#[cold]
pub(super) fn forget_all() {
    for kernel in Object::all(Kind::Kernel) {
        if let Details::Kernel(known) = kernel.details() {
            known.launches().forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn geometry(global: Option<Sizes>, local: Option<Sizes>) -> Geometry {
        Geometry {
            dimensions: 2,
            offset: None,
            global,
            local,
        }
    }

    #[test]
    fn fewer_groups_of_the_same_size_are_alike() {
        let accepted = geometry(Some([64, 32, 0]), Some([8, 4, 0]));
        let like = |global| accepted.covers(&geometry(Some(global), Some([8, 4, 0])));
        assert!(like([64, 32, 0]) && like([8, 4, 0]) && like([64, 4, 0]));
        assert!(!like([72, 32, 0]), "more groups");
        assert!(!like([60, 32, 0]), "a group that is not whole");
        assert!(!like([0, 32, 0]), "none at all");
        let other = geometry(Some([64, 32, 0]), Some([4, 4, 0]));
        assert!(!accepted.covers(&other), "groups of another size");
    }

    #[test]
    fn without_a_local_size_only_the_same_is_alike() {
        let accepted = geometry(Some([64, 32, 0]), None);
        assert!(accepted.covers(&accepted));
        assert!(!accepted.covers(&geometry(Some([32, 32, 0]), None)));
        assert!(!accepted.covers(&geometry(None, None)));
    }

    fn args(queue: u64, geometry: &Geometry) -> LaunchArgs<'_> {
        LaunchArgs {
            queue: Handle(queue),
            kernel: Handle(5),
            geometry,
            waits: &[],
            event: NewEvent::default(),
        }
    }

    fn accept(launches: &mut Launches, geometry: &Geometry) {
        let args = args(1, geometry);
        launches.accept(&args, Front::new(&args));
    }

    #[test]
    fn what_was_accepted_is_kept_for_a_few_launches() {
        let mut launches = Launches::default();
        let of = |n| geometry(Some([n, 1, 0]), None);
        for n in 1..=9 {
            accept(&mut launches, &of(n));
        }
        let mut accepts = |queue, n| launches.accepted.like(Handle(queue), &of(n)).is_some();
        assert!(accepts(1, 9) && accepts(1, 2));
        assert!(!accepts(1, 1), "too long ago");
        assert!(!accepts(2, 9), "on another queue");
        launches.forget();
        assert_eq!(launches.accepted.like(Handle(1), &of(9)), None);
    }

    #[test]
    fn the_first_arguments_are_known_of_the_same_launch_only() {
        let mut launches = Launches::default();
        let of = |n| geometry(Some([n, 8, 0]), Some([2, 2, 0]));
        let (same, fewer) = (of(8), of(4));
        accept(&mut launches, &same);
        accept(&mut launches, &geometry(None, None));
        for _ in 0..2 {
            let front = Front::new(&args(1, &same));
            assert_eq!(launches.accepted.like(Handle(1), &same), Some(front));
        }
        assert_eq!(launches.accepted.like(Handle(1), &fewer), Some(Front::NONE));
        let long = geometry(Some([u64::MAX; 3]), Some([u64::MAX; 3]));
        accept(&mut launches, &long);
        assert_eq!(
            launches
                .accepted
                .like(Handle(1), &long)
                .unwrap()
                .bytes()
                .len(),
            3 + 1 + 2 * 22
        );
        let longer = Geometry {
            offset: Some([u64::MAX; 3]),
            ..long
        };
        accept(&mut launches, &longer);
        assert_eq!(
            launches.accepted.like(Handle(1), &longer),
            Some(Front::NONE)
        );
    }

    fn sizes() -> impl Strategy<Value = Option<Sizes>> {
        proptest::option::of(any::<Sizes>())
    }

    proptest! {
        #[test]
        fn arguments_are_written_as_postcard_does(
            handles in any::<[u64; 3]>(),
            dimensions in prop_oneof![0u32..5, any::<u32>()],
            (offset, global, local) in (sizes(), sizes(), sizes()),
            waits in prop::collection::vec(any::<u64>().prop_map(Handle), 0..5),
            kept: bool,
        ) {
            let [queue, kernel, number] = handles.map(Handle);
            let event = NewEvent { number, kept };
            let geometry = Geometry { dimensions, offset, global, local };
            let owned = |sizes: Option<Sizes>| sizes.map(|s| s[..sizes_len(dimensions)].to_vec());
            let wanted = postcard::to_stdvec(&wire::ClEnqueueNDRangeKernelArgs {
                command_queue: queue,
                kernel,
                work_dim: dimensions,
                global_work_offset: owned(offset),
                global_work_size: owned(global),
                local_work_size: owned(local),
                event_wait_list: waits.clone(),
                event,
            });
            let args = LaunchArgs { queue, kernel, geometry: &geometry, waits: &waits, event };
            for front in [Front::NONE, Front::new(&args)] {
                let mut bytes = [0; 300];
                let mut writer = Writer::new(&mut bytes, 0);
                args.write_behind(&front, &mut writer);
                let len = writer.end().unwrap();
                prop_assert_eq!(&bytes[..len], wanted.as_deref().unwrap());
            }
        }
    }

    #[test]
    fn invalid_dimensions_have_no_sizes() {
        // SAFETY: no size is read.
        let read = |dims| unsafe {
            let sizes = [1usize; 3].as_ptr();
            Geometry::new(dims, std::ptr::null(), sizes, sizes)
        };
        assert_eq!(read(3).global, Some([1; 3]));
        assert_eq!(read(u32::MAX).global, Some([0; 3]));
    }
}
