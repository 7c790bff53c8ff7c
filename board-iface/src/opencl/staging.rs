//! Contents of memory objects, through a queue and a buffer of the board's own.

use super::checkpoint::failed;
use super::driver::fetch_handle;
use super::generated::types::*;
use super::session::Session;
use crate::back_end::staging::{Piece, Stage, Staging};
use crate::back_end::{Objects, Pointer, References};
use crate::board::Unable;
use gil_opencl_common::image::{Form as ImageForm, Layout};
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// What a memory object holds.
///
/// # Errors
/// [`Unable`] for what has no bytes that could be read.
pub(super) fn form_of(session: &Session, handle: Handle, mem: Pointer) -> Result<Staging, Unable> {
    let number = handle.0;
    let odd = || {
        Unable(format!(
            "the size of its memory object {number:#x} is not known"
        ))
    };
    let word = |bytes: Option<Vec<u8>>| {
        let bytes = bytes?;
        Some(usize::from_ne_bytes(*bytes.first_chunk()?))
    };
    let kind = session.mem_info(mem, CL_MEM_TYPE).ok_or_else(odd)?;
    let kind = cl_uint::from_ne_bytes(*kind.first_chunk().ok_or_else(odd)?);
    match kind {
        CL_MEM_OBJECT_BUFFER => {
            let size = word(session.mem_info(mem, CL_MEM_SIZE));
            size.map(Staging::Buffer).ok_or_else(odd)
        }
        CL_MEM_OBJECT_PIPE => Err(Unable(format!(
            "what its pipe {number:#x} holds cannot be read: release it before"
        ))),
        _ => image(session, mem, kind).ok_or_else(odd),
    }
}

fn image(session: &Session, mem: Pointer, kind: cl_uint) -> Option<Staging> {
    let ask = session.functions().clGetImageInfo?;
    let number = |name| {
        let mut value = 0usize;
        let room = (&raw mut value).cast();
        // SAFETY: the object is alive, the buffer has the stated size.
        let result = unsafe {
            ask(
                mem.as_ptr().cast(),
                name,
                size_of::<usize>(),
                room,
                null_mut(),
            )
        };
        (result == CL_SUCCESS).then_some(value as u64)
    };
    let extent = [
        number(CL_IMAGE_WIDTH)?,
        number(CL_IMAGE_HEIGHT)?,
        number(CL_IMAGE_DEPTH)?,
    ];
    let layers = number(CL_IMAGE_ARRAY_SIZE)?;
    let element = number(CL_IMAGE_ELEMENT_SIZE)?;
    let form = ImageForm::of(kind)?;
    let layout = Layout::new(form, element, extent, layers, (0, 0))?;
    let [width, rows, slices] = layout.size.map(|size| size as usize);
    // Layers of rows are rows to the functions that copy.
    let size = match form {
        ImageForm::OneDArray => [width, slices, 1],
        _ => [width, rows, slices],
    };
    let all = size
        .iter()
        .try_fold(element as usize, |all, n| all.checked_mul(*n));
    all.map(|_| Staging::Image(size, element as usize))
}

/// The board's own queue and buffer, in the context of a memory object.
pub(super) struct Staged<'s> {
    session: &'s Session,
    form: Staging,
    mem: cl_mem,
    queue: Pointer,
    buffer: Pointer,
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        let driver = self.session.driver;
        driver.release(Kind::Mem, self.buffer);
        driver.release(Kind::CommandQueue, self.queue);
    }
}

impl<'s> Staged<'s> {
    /// Of the memory object with this number.
    ///
    /// # Errors
    /// [`Unable`].
    pub(super) fn new(session: &'s Session, object: Handle) -> Result<Self, Unable> {
        let mem = session
            .table
            .get(object, Kind::Mem)
            .map_err(Unable::because)?;
        let form = form_of(session, object, mem)?;
        let context = session.mem_info(mem, CL_MEM_CONTEXT);
        let context = context.as_deref().and_then(fetch_handle);
        let context = context.ok_or_else(|| failed("clGetMemObjectInfo", CL_INVALID_VALUE))?;
        let queue = queue_in(session, context)?;
        let buffer = buffer_in(session, context, form.longest().max(1));
        let buffer = buffer.inspect_err(|_| session.driver.release(Kind::CommandQueue, queue))?;
        Ok(Self {
            session,
            form,
            mem: mem.as_ptr().cast(),
            queue,
            buffer,
        })
    }
}

impl Stage for Staged<'_> {
    fn form(&self) -> Staging {
        self.form
    }

    fn copy_out(&self, piece: &Piece) -> Result<(), Unable> {
        let functions = self.session.functions();
        let (queue, mem) = (self.queue.as_ptr().cast(), self.mem);
        let buffer = self.buffer.as_ptr().cast();
        let (origin, region) = (piece.origin.as_ptr(), piece.region.as_ptr());
        // SAFETY: the objects are alive; the piece lies in the object, and the
        // buffer is as long as the longest piece.
        let result = unsafe {
            match self.form {
                Staging::Buffer(_) => functions.clEnqueueCopyBuffer.map(|copy| {
                    copy(
                        queue,
                        mem,
                        buffer,
                        piece.at,
                        0,
                        piece.len,
                        0,
                        null(),
                        null_mut(),
                    )
                }),
                Staging::Image(..) => functions
                    .clEnqueueCopyImageToBuffer
                    .map(|copy| copy(queue, mem, buffer, origin, region, 0, 0, null(), null_mut())),
            }
        };
        worked("copy from a memory object", result)
    }

    fn copy_in(&self, piece: &Piece) -> Result<(), Unable> {
        let functions = self.session.functions();
        let (queue, mem) = (self.queue.as_ptr().cast(), self.mem);
        let buffer = self.buffer.as_ptr().cast();
        let (origin, region) = (piece.origin.as_ptr(), piece.region.as_ptr());
        // SAFETY: as above.
        let result = unsafe {
            match self.form {
                Staging::Buffer(_) => functions.clEnqueueCopyBuffer.map(|copy| {
                    copy(
                        queue,
                        buffer,
                        mem,
                        0,
                        piece.at,
                        piece.len,
                        0,
                        null(),
                        null_mut(),
                    )
                }),
                Staging::Image(..) => functions
                    .clEnqueueCopyBufferToImage
                    .map(|copy| copy(queue, buffer, mem, 0, origin, region, 0, null(), null_mut())),
            }
        };
        worked("copy to a memory object", result)
    }

    fn read(&self, bytes: &mut [u8]) -> Result<(), Unable> {
        let read = self.session.functions().clEnqueueReadBuffer;
        let (queue, buffer) = (self.queue.as_ptr().cast(), self.buffer.as_ptr().cast());
        let (to, len) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len());
        // SAFETY: the objects are alive, and the memory is there until the
        // function returns, with all read.
        let result = read
            .map(|read| unsafe { read(queue, buffer, CL_TRUE, 0, len, to, 0, null(), null_mut()) });
        worked("read of a buffer", result)
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Unable> {
        let write = self.session.functions().clEnqueueWriteBuffer;
        let (queue, buffer) = (self.queue.as_ptr().cast(), self.buffer.as_ptr().cast());
        let (from, len) = (bytes.as_ptr().cast::<c_void>(), bytes.len());
        // SAFETY: as above.
        let result = write.map(|write| unsafe {
            write(queue, buffer, CL_TRUE, 0, len, from, 0, null(), null_mut())
        });
        worked("write of a buffer", result)
    }

    fn finish(&self) -> Result<(), Unable> {
        let finish = self.session.functions().clFinish;
        // SAFETY: the queue is alive.
        let result = finish.map(|finish| unsafe { finish(self.queue.as_ptr().cast()) });
        worked("clFinish", result)
    }
}

fn worked(what: &str, result: Option<cl_int>) -> Result<(), Unable> {
    match result.unwrap_or(CL_INVALID_OPERATION) {
        CL_SUCCESS => Ok(()),
        code => Err(failed(what, code)),
    }
}

/// An in-order queue on the context's first device.
fn queue_in(session: &Session, context: Pointer) -> Result<Pointer, Unable> {
    let functions = session.functions();
    let device = session.context_device(context);
    let create = functions.clCreateCommandQueue.zip(device);
    let mut result = CL_INVALID_OPERATION;
    // SAFETY: both are alive.
    let queue = create.map(|(create, device)| unsafe {
        let (context, device) = (context.as_ptr().cast(), device.as_ptr().cast());
        create(context, device, 0, &mut result)
    });
    let queue = queue.and_then(|queue| Pointer::new(queue.cast()));
    queue.ok_or_else(|| failed("clCreateCommandQueue", result))
}

fn buffer_in(session: &Session, context: Pointer, len: usize) -> Result<Pointer, Unable> {
    let mut result = CL_INVALID_OPERATION;
    // SAFETY: the context is alive.
    let buffer = session.functions().clCreateBuffer.map(|create| unsafe {
        let context = context.as_ptr().cast();
        create(context, CL_MEM_READ_WRITE, len, null_mut(), &mut result)
    });
    let buffer = buffer.and_then(|buffer| Pointer::new(buffer.cast()));
    buffer.ok_or_else(|| failed("clCreateBuffer", result))
}
