//! Launching kernels. The first launch of a kind is the board's to judge; what
//! it accepted once cannot fail again, and its like travels in a batch.

use super::border::{CallResult, check, decode};
use super::details::Details;
use super::objects::{Object, find, give_event, kernels, new_event, wait_list};
use super::request::Request;
use crate::generated::types::*;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::envelope::{Class, Engine};
use gil_wire::generated::opencl::{self as wire, Kind};
use serde::Serialize;

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

    fn slice(sizes: &Option<Sizes>, dimensions: cl_uint) -> Option<&[u64]> {
        sizes.as_ref().map(|sizes| &sizes[..sizes_len(dimensions)])
    }

    /// Whether the board, which accepted `self`, accepts `other` too: the same,
    /// or fewer work-groups of the same size.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let same_kind = (self.dimensions, self.offset, self.local)
            == (other.dimensions, other.offset, other.local);
        same_kind && (self.global == other.global || self.has_room_for(other))
    }

    fn has_room_for(&self, other: &Self) -> bool {
        let (Some(most), Some(global), Some(local)) = (self.global, other.global, self.local)
        else {
            return false;
        };
        (0..sizes_len(self.dimensions)).all(|n| {
            let (global, local) = (global[n], local[n]);
            local != 0 && global != 0 && global <= most[n] && global % local == 0
        })
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
unsafe fn read_sizes(sizes: *const usize, len: usize) -> Option<Sizes> {
    if sizes.is_null() {
        return None;
    }
    let mut all = [0; DIMENSIONS];
    for (n, size) in all.iter_mut().enumerate().take(len) {
        // SAFETY: the caller's; `n` is below `len`.
        *size = unsafe { *sizes.add(n) } as u64;
    }
    Some(all)
}

/// What the board accepted of a kernel: queues and sizes. A few: programs
/// launch a kernel in few ways.
#[derive(Debug, Default)]
pub(super) struct Launches(Vec<(Handle, Geometry)>);

impl Launches {
    const MAX: usize = 8;

    /// Whether the like of this launch was accepted before.
    pub(super) fn accepts(&self, queue: Handle, geometry: &Geometry) -> bool {
        let mut all = self.0.iter();
        all.any(|(on, accepted)| *on == queue && accepted.covers(geometry))
    }

    /// Notes that this launch was accepted.
    pub(super) fn accept(&mut self, queue: Handle, geometry: Geometry) {
        if self.0.len() == Self::MAX {
            self.0.remove(0);
        }
        self.0.push((queue, geometry));
    }

    /// The arguments are not what they were.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// [`wire::ClEnqueueNDRangeKernelArgs`], borrowed.
#[derive(Serialize)]
struct LaunchArgs<'a> {
    command_queue: Handle,
    kernel: Handle,
    work_dim: u32,
    global_work_offset: Option<&'a [u64]>,
    global_work_size: Option<&'a [u64]>,
    local_work_size: Option<&'a [u64]>,
    event_wait_list: &'a [Handle],
    event: NewEvent,
}

impl<'a> LaunchArgs<'a> {
    fn new(launch: &'a Launch, event: NewEvent) -> Self {
        let sizes = &launch.geometry;
        let slice = |of| Geometry::slice(of, sizes.dimensions);
        Self {
            command_queue: launch.queue.number(),
            kernel: launch.kernel.number(),
            work_dim: sizes.dimensions,
            global_work_offset: slice(&sizes.offset),
            global_work_size: slice(&sizes.global),
            local_work_size: slice(&sizes.local),
            event_wait_list: &launch.waits,
            event,
        }
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
        let queue = find(Kind::CommandQueue, queue)?;
        let kernel = find(Kind::Kernel, kernel)?;
        // SAFETY: the caller's.
        unsafe {
            let waits = wait_list(count, list)?;
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
    /// `event` is null or names room for one handle.
    pub(super) unsafe fn run(&self, entry: u64, event: *mut cl_event) -> CallResult<()> {
        let Details::Kernel(known) = self.kernel.details() else {
            return Err(CL_INVALID_KERNEL);
        };
        let signal = new_event(event);
        let mut request = Request::new(wire::CL_ENQUEUE_ND_RANGE_KERNEL, Class::Enqueue, entry);
        request.queue(self.queue.queue(), Engine::Compute);
        request.waits(&self.waits);
        request.signals(signal.number, signal.kept);
        let args = LaunchArgs::new(self, signal);
        let queue = self.queue.number();
        if self.at_home && known.launches().accepts(queue, &self.geometry) {
            request.post(&args)?;
        } else {
            request.forward(&args, |reply| {
                let reply: wire::ClEnqueueNDRangeKernelReply = decode(reply)?;
                check(reply.result)
            })?;
            known.launches().accept(queue, self.geometry);
        }
        // SAFETY: the caller's.
        unsafe { give_event(event, signal, &self.queue) };
        Ok(())
    }
}

/// An operation was refused although its like had been accepted: from here on
/// the board judges every kind of launch anew, before it is answered.
#[cold]
pub(super) fn refused_late(error: cl_int) -> cl_int {
    for kernel in kernels() {
        if let Details::Kernel(known) = kernel.details() {
            known.launches().forget();
        }
    }
    error
}

fn is_of_context(queue: &Object, event: cl_event) -> bool {
    let context = |object: &Object| object.context().map(|context| context.number());
    find(Kind::Event, event).is_ok_and(|event| context(&event) == context(queue))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn what_was_accepted_is_kept_for_a_few_launches() {
        let mut launches = Launches::default();
        let of = |n| geometry(Some([n, 1, 0]), None);
        for n in 1..=9 {
            launches.accept(Handle(1), of(n));
        }
        assert!(launches.accepts(Handle(1), &of(9)) && launches.accepts(Handle(1), &of(2)));
        assert!(!launches.accepts(Handle(1), &of(1)), "too long ago");
        assert!(!launches.accepts(Handle(2), &of(9)), "on another queue");
        launches.forget();
        assert!(!launches.accepts(Handle(1), &of(9)));
    }

    #[test]
    fn borrowed_arguments_have_the_bytes_of_the_wires() {
        let sizes = [3u64, 70_000];
        let event = NewEvent {
            number: Handle(9),
            kept: true,
        };
        let borrowed = LaunchArgs {
            command_queue: Handle(1),
            kernel: Handle(2),
            work_dim: 2,
            global_work_offset: None,
            global_work_size: Some(&sizes),
            local_work_size: Some(&sizes[..1]),
            event_wait_list: &[Handle(7)],
            event,
        };
        let owned = wire::ClEnqueueNDRangeKernelArgs {
            command_queue: Handle(1),
            kernel: Handle(2),
            work_dim: 2,
            global_work_offset: None,
            global_work_size: Some(sizes.to_vec()),
            local_work_size: Some(sizes[..1].to_vec()),
            event_wait_list: vec![Handle(7)],
            event,
        };
        let bytes = postcard::to_stdvec(&borrowed).unwrap();
        assert_eq!(bytes, postcard::to_stdvec(&owned).unwrap());
    }

    #[test]
    fn invalid_dimensions_have_no_sizes() {
        // SAFETY: no size is read.
        let read = |dims| unsafe {
            let sizes = [1usize; 3].as_ptr();
            Geometry::new(dims, std::ptr::null(), sizes, sizes)
        };
        assert_eq!(read(3).global, Some([1; 3]));
        let none = read(u32::MAX);
        assert_eq!(Geometry::slice(&none.global, u32::MAX), Some(&[][..]));
    }
}
