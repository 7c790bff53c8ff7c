//! Elements of images: reading, writing and filling them.

use super::enqueue::Enqueue;
use super::memory::memory;
use crate::generated::manual::{Guest, Object};
use crate::generated::types::*;
use gil_guest::{Api, CallResult};
use gil_opencl_common::image::{Form, Layout};
use gil_wire::envelope::Engine;
use gil_wire::generated::opencl as wire;
use gil_wire::rows::Rows;
use std::ffi::c_void;

/// Where an image's elements lie in the program's memory.
pub(super) fn layout(object: &Object) -> CallResult<Layout> {
    let image = memory(object)?.as_image().ok_or(CL_INVALID_MEM_OBJECT)?;
    image.layout.ok_or(CL_IMAGE_FORMAT_NOT_SUPPORTED)
}

/// An origin or a region.
///
/// # Safety
/// `sizes` is null or names three.
pub(super) unsafe fn three(sizes: *const usize) -> CallResult<[u64; 3]> {
    // SAFETY: the caller's.
    let sizes = unsafe { sizes.cast::<[usize; 3]>().as_ref() };
    let sizes = sizes.ok_or(CL_INVALID_VALUE)?;
    Ok(sizes.map(|size| size as u64))
}

/// The rows of a region in memory with these pitches, of which 0 means that
/// nothing lies between.
fn rows(layout: &Layout, region: [u64; 3], (row, slice): (usize, usize)) -> CallResult<Rows> {
    let Layout { form, element, .. } = *layout;
    let (row, slice) = (row as u64, slice as u64);
    let tight = region[0].checked_mul(element).ok_or(CL_INVALID_VALUE)?;
    let row_pitch = if row == 0 { tight } else { row };
    let [_, height, depth] = region;
    let layers = if form == Form::OneDArray {
        height
    } else {
        depth
    };
    let size = [region[0], height, depth];
    let there = Layout::new(form, element, size, layers, (row_pitch, slice));
    let there = there.ok_or(CL_INVALID_VALUE)?;
    let slice_holds = there.slice_pitch >= there.row_pitch.saturating_mul(there.size[1]);
    let slice_is_due = slice == 0 || form.has_slices();
    match row_pitch >= tight && slice_holds && slice_is_due {
        true => Ok(there.rows(region)),
        false => Err(CL_INVALID_VALUE),
    }
}

/// A part of an image, and of the program's memory.
pub(super) struct Copy {
    pub(super) blocking: bool,
    pub(super) origin: *const usize,
    pub(super) region: *const usize,
    /// Row and slice pitch.
    pub(super) pitches: (usize, usize),
    pub(super) ptr: *mut c_void,
}

impl Copy {
    /// # Safety
    /// The origin and the region are null or name three sizes.
    unsafe fn place(&self, image: &Object) -> CallResult<([u64; 3], [u64; 3], Rows)> {
        let layout = layout(image)?;
        // SAFETY: the caller's.
        let (origin, region) = unsafe { (three(self.origin)?, three(self.region)?) };
        if self.ptr.is_null() {
            return Err(CL_INVALID_VALUE);
        }
        Ok((origin, region, rows(&layout, region, self.pitches)?))
    }
}

/// `clEnqueueReadImage`.
///
/// # Safety
/// As `clEnqueueReadImage` in the OpenCL specification.
pub(super) unsafe fn read(
    entry: u64,
    (queue, image): (cl_command_queue, cl_mem),
    copy: &Copy,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    // SAFETY: the caller's.
    Guest::returned(|| unsafe {
        let enqueue = Enqueue::new(queue, image, waits, event)?;
        let (origin, region, rows) = copy.place(&enqueue.object)?;
        memory(&enqueue.object)?.check_read()?;
        let mut request = enqueue.request(wire::CL_ENQUEUE_READ_IMAGE, Engine::COPY_OUT, entry);
        request.blocking(copy.blocking);
        let args = wire::ClEnqueueReadImageArgs {
            command_queue: enqueue.queue.number(),
            image: enqueue.object.number(),
            origin: origin.to_vec(),
            region: region.to_vec(),
            memory: request.output_rows(copy.ptr, rows)?,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueReadImageReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        enqueue.give_event();
        Ok(())
    })
}

/// `clEnqueueWriteImage`.
///
/// # Safety
/// As `clEnqueueWriteImage` in the OpenCL specification.
pub(super) unsafe fn write(
    entry: u64,
    (queue, image): (cl_command_queue, cl_mem),
    copy: &Copy,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    // SAFETY: the caller's.
    Guest::returned(|| unsafe {
        let enqueue = Enqueue::new(queue, image, waits, event)?;
        let (origin, region, rows) = copy.place(&enqueue.object)?;
        let mut request = enqueue.request(wire::CL_ENQUEUE_WRITE_IMAGE, Engine::COPY_IN, entry);
        request.blocking(copy.blocking);
        let args = wire::ClEnqueueWriteImageArgs {
            command_queue: enqueue.queue.number(),
            image: enqueue.object.number(),
            origin: origin.to_vec(),
            region: region.to_vec(),
            memory: request.input_rows(copy.ptr, rows)?,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueWriteImageReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        enqueue.give_event();
        Ok(())
    })
}

/// `clEnqueueFillImage`.
///
/// # Safety
/// As `clEnqueueFillImage` in the OpenCL specification.
pub(super) unsafe fn fill(
    entry: u64,
    (queue, image): (cl_command_queue, cl_mem),
    color: *const c_void,
    (origin, region): (*const usize, *const usize),
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    // SAFETY: the caller's.
    Guest::returned(|| unsafe {
        let enqueue = Enqueue::new(queue, image, waits, event)?;
        let image = memory(&enqueue.object)?.as_image();
        // Four numbers of four bytes, or one.
        let len = if image.ok_or(CL_INVALID_MEM_OBJECT)?.is_depth {
            4
        } else {
            16
        };
        if color.is_null() {
            return Err(CL_INVALID_VALUE);
        }
        let mut request = enqueue.request(wire::CL_ENQUEUE_FILL_IMAGE, Engine::COMPUTE, entry);
        let args = wire::ClEnqueueFillImageArgs {
            command_queue: enqueue.queue.number(),
            image: enqueue.object.number(),
            fill_color: request.input(color, len),
            origin: three(origin)?.to_vec(),
            region: three(region)?.to_vec(),
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueFillImageReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        enqueue.give_event();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pitches_that_cannot_be_are_refused() {
        let layout = |form| Layout::new(form, 4, [10, 5, 3], 7, (0, 0)).unwrap();
        let (flat, deep) = (layout(Form::TwoD), layout(Form::ThreeD));
        let rows = |layout, pitches| rows(layout, [10, 5, 1], pitches);
        assert_eq!(rows(&flat, (0, 0)).unwrap().row_pitch, 40);
        assert_eq!(rows(&flat, (64, 0)).unwrap().row_pitch, 64);
        assert_eq!(rows(&flat, (39, 0)), Err(CL_INVALID_VALUE));
        assert_eq!(rows(&flat, (64, 400)), Err(CL_INVALID_VALUE));
        assert_eq!(rows(&deep, (64, 400)).unwrap().slice_pitch, 400);
        assert_eq!(rows(&deep, (64, 319)), Err(CL_INVALID_VALUE));
    }

    proptest! {
        #[test]
        fn any_pitches_give_rows_or_an_error(
            size: [u64; 3], region: [u64; 3], pitches: (usize, usize), form in 0u32..7,
        ) {
            let form = Form::of(0x10f1 + form).unwrap_or(Form::TwoD);
            let layout = Layout::new(form, 16, size, size[2], (0, 0));
            let rows = layout.map(|layout| rows(&layout, region, pitches));
            if let Some(Ok(rows)) = rows {
                let _ = (rows.merged().span(), rows.starts().map(|mut s| s.next()));
            }
        }
    }
}
