//! Buffers that the program maps: the driver's mapping lasts while the bytes are copied.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_wire::call::OutData;
use gil_wire::generated::gles as wire;
use std::ffi::c_void;

impl Gles {
    /// Has a part of a buffer mapped for `use_it`, by the driver's rules; none if the
    /// driver refuses, and keeps why.
    fn with_mapped<R>(
        &self,
        target: GLenum,
        (offset, length): (isize, isize),
        access: GLbitfield,
        use_it: impl FnOnce(*mut c_void) -> R,
    ) -> Option<R> {
        let (map, unmap) = (
            self.functions().glMapBufferRange?,
            self.functions().glUnmapBuffer?,
        );
        // SAFETY: the driver checks the range against the buffer.
        let place = unsafe { map(target, offset, length, access) };
        if place.is_null() {
            return None;
        }
        let result = use_it(place);
        // SAFETY: it is mapped.
        unsafe { unmap(target) };
        Some(result)
    }

    /// `glMapBufferRange`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn map(
        &mut self,
        call: &mut Call,
        args: &wire::GlMapBufferRangeArgs,
    ) -> Result<Vec<u8>, Refusal> {
        self.make_current(args.current)?;
        let narrow = |value: i64, name| isize::try_from(value).map_err(|_| Refusal::wide(name));
        let (offset, length) = (
            narrow(args.offset, "offset")?,
            narrow(args.length, "length")?,
        );
        let len = usize::try_from(length).unwrap_or(0);
        let mut room = call.output(args.data, 0)?;
        if !room.as_mut_ptr().is_null() && room.room() < len {
            let have = room.room();
            return Err(Refusal::Short { have, needed: len });
        }
        let to = room.as_mut_ptr();
        // As the program asked, so that what is wrong with that is found.
        let range = (offset, length);
        let asked = call.timed(|| self.with_mapped(args.target, range, args.access, |_| ()));
        let mut copied = false;
        if asked.is_some() && !to.is_null() {
            let copy = |from: *mut c_void| {
                // SAFETY: as many bytes are mapped, and there is room for them.
                unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), len) };
            };
            copied = self
                .with_mapped(args.target, range, GL_MAP_READ_BIT, copy)
                .is_some();
        }
        let data = match copied {
            true => room.data(call, len),
            false => OutData::None,
        };
        back_end::encode(&wire::GlMapBufferRangeReply {
            result: GL_NO_ERROR as i32,
            is_mapped: asked.is_some(),
            data,
        })
    }

    /// Bytes of the buffer of indices that is bound, if they can be read.
    pub fn read_indices(&self, offset: u64, len: usize) -> Option<Vec<u8>> {
        let range = (isize::try_from(offset).ok()?, isize::try_from(len).ok()?);
        let mut bytes = vec![0; len];
        let copy = |from: *mut c_void| {
            // SAFETY: as many bytes are mapped, and there is room for them.
            unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), bytes.as_mut_ptr(), len) };
        };
        let error = self.functions().glGetError?;
        let read = self.with_mapped(GL_ELEMENT_ARRAY_BUFFER, range, GL_MAP_READ_BIT, copy);
        if read.is_none() {
            // It is none of the program's.
            // SAFETY: it has no conditions.
            unsafe { error() };
        }
        read.map(|()| bytes)
    }
}
