//! Reads and writes of rectangles of buffers. The program's pitches stay in the
//! guest; the board sees contiguous rows.

use super::elements::three;
use super::enqueue::Enqueue;
use super::memory::memory;
use crate::generated::manual::Guest;
use crate::generated::types::*;
use gil_guest::{Api, CallResult};
use gil_wire::envelope::Engine;
use gil_wire::generated::opencl as wire;
use gil_wire::length::Length;
use gil_wire::rows::Rows;
use std::ffi::c_void;

/// A program's request to copy a rectangle.
pub(super) struct Copy {
    pub(super) blocking: bool,
    pub(super) buffer_origin: *const usize,
    pub(super) host_origin: *const usize,
    pub(super) region: *const usize,
    /// Row and slice pitch.
    pub(super) buffer_pitches: (usize, usize),
    pub(super) host_pitches: (usize, usize),
    pub(super) ptr: *mut c_void,
}

/// The program's side of it, checked.
struct Checked {
    origin: [u64; 3],
    region: [u64; 3],
    ptr: *mut c_void,
    rows: Rows,
}

impl Copy {
    /// # Safety
    /// Every array is null or has three sizes.
    unsafe fn check(&self) -> CallResult<Checked> {
        // SAFETY: the caller's.
        let (origin, host_origin, region) = unsafe {
            (
                three(self.buffer_origin)?,
                three(self.host_origin)?,
                three(self.region)?,
            )
        };
        let rows = host_rows(region, self.host_pitches)?;
        let skip = skipped(host_origin, &rows).get().ok_or(CL_INVALID_VALUE)?;
        match self.ptr.is_null() {
            true => Err(CL_INVALID_VALUE),
            false => Ok(Checked {
                origin,
                region,
                ptr: self.ptr.wrapping_byte_add(skip),
                rows,
            }),
        }
    }
}

/// The rows of a region (bytes, rows, slices) in memory with these pitches, of
/// which 0 means that nothing lies between.
fn host_rows([width, height, depth]: [u64; 3], pitches: (usize, usize)) -> CallResult<Rows> {
    let (row, slice) = (pitches.0 as u64, pitches.1 as u64);
    let row_pitch = if row == 0 { width } else { row };
    let tight = height.checked_mul(row_pitch).ok_or(CL_INVALID_VALUE)?;
    let slice_pitch = if slice == 0 { tight } else { slice };
    let is_empty = width == 0 || height == 0 || depth == 0;
    if is_empty || row_pitch < width || slice_pitch < tight || slice_pitch % row_pitch != 0 {
        return Err(CL_INVALID_VALUE);
    }
    Ok(Rows {
        row: width,
        rows: height,
        row_pitch,
        slices: depth,
        slice_pitch,
    })
}

/// Bytes before an origin (bytes, rows, slices).
fn skipped([x, y, z]: [u64; 3], rows: &Rows) -> Length {
    Length::of(x)
        + Length::of(y) * Length::of(rows.row_pitch)
        + Length::of(z) * Length::of(rows.slice_pitch)
}

/// `clEnqueueReadBufferRect`.
///
/// # Safety
/// As `clEnqueueReadBufferRect` in the OpenCL specification.
pub(super) unsafe fn read(
    entry: u64,
    (queue, buffer): (cl_command_queue, cl_mem),
    copy: &Copy,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    // SAFETY: the caller's.
    Guest::returned(|| unsafe {
        let enqueue = Enqueue::new(queue, buffer, waits, event)?;
        let host = copy.check()?;
        memory(&enqueue.object)?.check_read()?;
        let op = wire::CL_ENQUEUE_READ_BUFFER_RECT;
        let mut request = enqueue.request(op, Engine::COPY_OUT, entry);
        request.blocking(copy.blocking);
        let args = wire::ClEnqueueReadBufferRectArgs {
            command_queue: enqueue.queue.number(),
            buffer: enqueue.object.number(),
            origin: host.origin.to_vec(),
            region: host.region.to_vec(),
            row_pitch: copy.buffer_pitches.0 as u64,
            slice_pitch: copy.buffer_pitches.1 as u64,
            memory: request.output_rows(host.ptr, host.rows)?,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueReadBufferRectReply = reply.decode()?;
            Guest::check(reply.result)
        })?;
        enqueue.give_event();
        Ok(())
    })
}

/// `clEnqueueWriteBufferRect`.
///
/// # Safety
/// As `clEnqueueWriteBufferRect` in the OpenCL specification.
pub(super) unsafe fn write(
    entry: u64,
    (queue, buffer): (cl_command_queue, cl_mem),
    copy: &Copy,
    waits: (cl_uint, *const cl_event),
    event: *mut cl_event,
) -> cl_int {
    // SAFETY: the caller's.
    Guest::returned(|| unsafe {
        let enqueue = Enqueue::new(queue, buffer, waits, event)?;
        let host = copy.check()?;
        let op = wire::CL_ENQUEUE_WRITE_BUFFER_RECT;
        let mut request = enqueue.request(op, Engine::COPY_IN, entry);
        request.blocking(copy.blocking);
        let args = wire::ClEnqueueWriteBufferRectArgs {
            command_queue: enqueue.queue.number(),
            buffer: enqueue.object.number(),
            origin: host.origin.to_vec(),
            region: host.region.to_vec(),
            row_pitch: copy.buffer_pitches.0 as u64,
            slice_pitch: copy.buffer_pitches.1 as u64,
            memory: request.input_rows(host.ptr, host.rows)?,
            event_wait_list: enqueue.waits.clone(),
            event: enqueue.signal,
        };
        request.forward(&args, |reply| {
            let reply: wire::ClEnqueueWriteBufferRectReply = reply.decode()?;
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
        let region = [4, 3, 2];
        let rows = host_rows(region, (0, 0)).unwrap();
        assert_eq!((rows.row_pitch, rows.slice_pitch), (4, 12));
        let rows = host_rows(region, (10, 100)).unwrap();
        assert_eq!(skipped([1, 2, 3], &rows).number(), Some(321));
        for (region, pitches) in [
            (region, (3, 0)),
            (region, (10, 29)),
            (region, (10, 35)),
            ([0, 3, 2], (0, 0)),
            ([4, 3, 0], (0, 0)),
            ([u64::MAX, 3, 1], (0, 0)),
        ] {
            assert_eq!(host_rows(region, pitches), Err(CL_INVALID_VALUE));
        }
    }

    proptest! {
        #[test]
        fn any_pitches_give_rows_or_an_error(
            region: [u64; 3], origin: [u64; 3], pitches: (usize, usize),
        ) {
            if let Ok(rows) = host_rows(region, pitches) {
                let _ = (skipped(origin, &rows), rows.merged().span());
            }
        }
    }
}
