//! Parts of images and of buffers in three dimensions. Rows of the guest's memory are
//! sent contiguously; pitches stay in the guest.

use super::enqueue::Parts;
use super::generated::types::*;
use super::session::Session;
use crate::back_end::{Call, Objects, Order, Refusal, bytes as bytes_of, size};
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
use gil_wire::generated::opencl::Kind;
use gil_wire::length::Length;
use std::ptr::null_mut;

/// A part of a memory object with three dimensions.
pub struct Part<'a> {
    /// Its origin.
    pub origin: &'a [u64],
    /// Its size in each dimension.
    pub region: &'a [u64],
}

impl Part<'_> {
    fn sizes(&self) -> Result<([usize; 3], [usize; 3]), Refusal> {
        Ok((three(self.origin, "origin")?, three(self.region, "region")?))
    }

    /// Bytes of its elements, one behind the other.
    fn bytes(&self, element: usize) -> Result<usize, Refusal> {
        let bytes = self
            .region
            .iter()
            .fold(Length::of(element), |bytes, len| bytes * Length::of(*len));
        bytes_of(bytes, "region")
    }
}

fn three(sizes: &[u64], name: &'static str) -> Result<[usize; 3], Refusal> {
    let &[x, y, z] = sizes else {
        return Err(Refusal::parameter(name, sizes.len() as u64));
    };
    Ok([size(x, name)?, size(y, name)?, size(z, name)?])
}

/// Bytes of an image's element, or the driver's error if it is no image.
fn element(session: &Session, image: cl_mem) -> Result<usize, cl_int> {
    let function = session.functions().clGetImageInfo;
    let function = function.ok_or(CL_INVALID_OPERATION)?;
    let mut bytes = 0usize;
    let room = (&raw mut bytes).cast();
    let name = CL_IMAGE_ELEMENT_SIZE;
    // SAFETY: the object is alive, the buffer has the stated size.
    match unsafe { function(image, name, size_of::<usize>(), room, null_mut()) } {
        CL_SUCCESS => Ok(bytes),
        error => Err(error),
    }
}

/// Queue, wait list and event of an enqueue.
pub struct About<'a> {
    /// Its queue.
    pub queue: Handle,
    /// The memory object.
    pub object: Handle,
    /// The events of its wait list.
    pub waits: &'a [Handle],
    /// The event that it signals.
    pub event: NewEvent,
}

impl About<'_> {
    fn parts(&self) -> Parts<'_> {
        Parts::new(self.queue, self.waits, self.event)
    }
}

/// Reads elements of an image; without room, only waits.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn read(
    session: &mut Session,
    call: &mut Call,
    about: &About<'_>,
    part: &Part<'_>,
    room: OutRoom,
) -> Result<cl_int, Refusal> {
    let image: cl_mem = session.get(Kind::Mem, about.object)?;
    if room == OutRoom::Null {
        return about.parts().marker(session, call);
    }
    let (origin, region) = part.sizes()?;
    let element = match element(session, image) {
        Ok(element) => element,
        Err(error) => return Ok(error),
    };
    let memory = call.output(room, part.bytes(element)?)?.as_mut_ptr();
    let Some(read) = session.functions().clEnqueueReadImage else {
        return Ok(CL_INVALID_OPERATION);
    };
    let enqueue = |queue, count, list, event: *mut cl_event| {
        let (origin, region) = (origin.as_ptr(), region.as_ptr());
        // SAFETY: the objects are alive, and the memory, as long as the
        // region's elements, is the operation's until it ends.
        unsafe {
            read(
                queue, image, CL_FALSE, origin, region, 0, 0, memory, count, list, event,
            )
        }
    };
    about
        .parts()
        .enqueue(session, call, Order::Command, &enqueue)
}

/// Writes elements of an image; without data, only waits.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn write(
    session: &mut Session,
    call: &mut Call,
    about: &About<'_>,
    part: &Part<'_>,
    data: &InData<'_>,
) -> Result<cl_int, Refusal> {
    let image: cl_mem = session.get(Kind::Mem, about.object)?;
    if *data == InData::Null {
        return about.parts().marker(session, call);
    }
    let (origin, region) = part.sizes()?;
    let element = match element(session, image) {
        Ok(element) => element,
        Err(error) => return Ok(error),
    };
    let memory = call.keep_input(data, part.bytes(element)?)?;
    let Some(write) = session.functions().clEnqueueWriteImage else {
        return Ok(CL_INVALID_OPERATION);
    };
    let enqueue = |queue, count, list, event: *mut cl_event| {
        let (origin, region) = (origin.as_ptr(), region.as_ptr());
        // SAFETY: as for `read`.
        unsafe {
            write(
                queue, image, CL_FALSE, origin, region, 0, 0, memory, count, list, event,
            )
        }
    };
    about
        .parts()
        .enqueue(session, call, Order::Command, &enqueue)
}

/// Fills elements of an image.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn fill(
    session: &mut Session,
    call: &mut Call,
    about: &About<'_>,
    part: &Part<'_>,
    color: &InData<'_>,
) -> Result<cl_int, Refusal> {
    let image: cl_mem = session.get(Kind::Mem, about.object)?;
    let (origin, region) = part.sizes()?;
    // Four numbers of four bytes, whatever the image has of them.
    let mut four = [0u32; 4];
    let given = call.bytes(color)?.unwrap_or_default();
    for (number, bytes) in four.iter_mut().zip(given.chunks_exact(4)) {
        *number = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let Some(fill) = session.functions().clEnqueueFillImage else {
        return Ok(CL_INVALID_OPERATION);
    };
    let enqueue = |queue, count, list, event: *mut cl_event| {
        let (origin, region) = (origin.as_ptr(), region.as_ptr());
        let color = four.as_ptr().cast();
        // SAFETY: the objects are alive; the color is copied by the call.
        unsafe { fill(queue, image, color, origin, region, count, list, event) }
    };
    about
        .parts()
        .enqueue(session, call, Order::Command, &enqueue)
}

/// Where the guest's rows begin in their memory.
static START: [usize; 3] = [0; 3];

/// A rectangle's way in a buffer.
pub struct Pitches {
    /// Bytes from row to row.
    pub row: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
}

/// Reads a rectangle of a buffer.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn read_rect(
    session: &mut Session,
    call: &mut Call,
    about: &About<'_>,
    (part, pitches): (&Part<'_>, &Pitches),
    room: OutRoom,
) -> Result<cl_int, Refusal> {
    let buffer: cl_mem = session.get(Kind::Mem, about.object)?;
    let (origin, region) = part.sizes()?;
    let row = size(pitches.row, "row_pitch")?;
    let slice = size(pitches.slice, "slice_pitch")?;
    let memory = call.output(room, part.bytes(1)?)?.as_mut_ptr();
    let Some(read) = session.functions().clEnqueueReadBufferRect else {
        return Ok(CL_INVALID_OPERATION);
    };
    let enqueue = |queue, count, list, event: *mut cl_event| {
        let (origin, region, here) = (origin.as_ptr(), region.as_ptr(), START.as_ptr());
        // SAFETY: the objects are alive, and the memory, as long as the region,
        // is the operation's until it ends.
        unsafe {
            read(
                queue, buffer, CL_FALSE, origin, here, region, row, slice, 0, 0, memory, count,
                list, event,
            )
        }
    };
    about
        .parts()
        .enqueue(session, call, Order::Command, &enqueue)
}

/// Writes a rectangle of a buffer.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn write_rect(
    session: &mut Session,
    call: &mut Call,
    about: &About<'_>,
    (part, pitches): (&Part<'_>, &Pitches),
    data: &InData<'_>,
) -> Result<cl_int, Refusal> {
    let buffer: cl_mem = session.get(Kind::Mem, about.object)?;
    let (origin, region) = part.sizes()?;
    let row = size(pitches.row, "row_pitch")?;
    let slice = size(pitches.slice, "slice_pitch")?;
    let memory = call.keep_input(data, part.bytes(1)?)?;
    let Some(write) = session.functions().clEnqueueWriteBufferRect else {
        return Ok(CL_INVALID_OPERATION);
    };
    let enqueue = |queue, count, list, event: *mut cl_event| {
        let (origin, region, here) = (origin.as_ptr(), region.as_ptr(), START.as_ptr());
        // SAFETY: as for `read_rect`.
        unsafe {
            write(
                queue, buffer, CL_FALSE, origin, here, region, row, slice, 0, 0, memory, count,
                list, event,
            )
        }
    };
    about
        .parts()
        .enqueue(session, call, Order::Command, &enqueue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_part_has_a_size_or_none(
            origin in prop::collection::vec(any::<u64>(), 0..5),
            region in prop::collection::vec(any::<u64>(), 0..5),
            element: usize,
        ) {
            let part = Part { origin: &origin, region: &region };
            let whole = region.iter().try_fold(element as u64, |n, len| n.checked_mul(*len));
            let whole = whole.and_then(|n| usize::try_from(n).ok());
            prop_assert_eq!(part.bytes(element).ok(), whole);
            let fits = [&origin, &region].iter().all(|sizes| {
                sizes.len() == 3 && sizes.iter().all(|size| usize::try_from(*size).is_ok())
            });
            prop_assert_eq!(part.sizes().is_ok(), fits);
        }
    }
}
