//! Buffers that the program maps: the driver has them mapped as long, so that it finds
//! what is wrong meanwhile. Bytes are copied at both ends.

use super::Gles;
use super::generated::types::*;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use crate::graphics::present::zeroes;
use gil_wire::call::{Handle, InData, OutData};
use gil_wire::generated::gles as wire;
use std::ffi::c_void;
use std::ptr::null_mut;

impl Gles {
    /// Has the driver map a part of a buffer; null if it refuses, and keeps why.
    fn map_range(
        &self,
        target: GLenum,
        (offset, length): (isize, isize),
        access: GLbitfield,
    ) -> *mut c_void {
        let map = self.functions().glMapBufferRange;
        // SAFETY: the driver checks the range against the buffer.
        map.map_or(null_mut(), |map| unsafe {
            map(target, offset, length, access)
        })
    }

    /// Has it end that.
    fn unmap_now(&self, target: GLenum) -> GLboolean {
        let unmap = self.functions().glUnmapBuffer;
        // SAFETY: it takes any target; nothing here keeps an address of what is mapped.
        unmap.map_or(0, |unmap| unsafe { unmap(target) })
    }

    /// Has a part of a buffer mapped for `use_it`, by the driver's rules; none if the
    /// driver refuses, and keeps why.
    fn with_mapped<R>(
        &self,
        target: GLenum,
        range: (isize, isize),
        access: GLbitfield,
        use_it: impl FnOnce(*mut c_void) -> R,
    ) -> Option<R> {
        let place = self.map_range(target, range, access);
        if place.is_null() {
            return None;
        }
        let result = use_it(place);
        self.unmap_now(target);
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
        let range = (offset, length);
        // As the program asked, so that what is wrong with that is found.
        let mut place = call.timed(|| self.map_range(args.target, range, args.access));
        let mut copied = false;
        if !place.is_null() && !to.is_null() {
            let copy = |from: *mut c_void| {
                // SAFETY: as many bytes are mapped, and there is room for them.
                unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), len) };
            };
            if args.access & GL_MAP_READ_BIT != 0 {
                copy(place);
                copied = true;
            } else {
                self.unmap_now(args.target);
                let read = self.with_mapped(args.target, range, GL_MAP_READ_BIT, copy);
                copied = read.is_some();
                place = self.map_range(args.target, range, args.access);
            }
        }
        let data = match copied {
            true => room.data(call, len),
            false => OutData::None,
        };
        back_end::encode(&wire::GlMapBufferRangeReply {
            result: GL_NO_ERROR as i32,
            is_mapped: !place.is_null(),
            data,
        })
    }

    /// `glUnmapBuffer`, with what the program wrote.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn unmap(
        &mut self,
        call: &mut Call,
        args: &wire::GlUnmapBufferArgs<'_>,
    ) -> Result<wire::GlUnmapBufferReply, Refusal> {
        self.make_current(args.current)?;
        self.write_mapped(call, args.target, 0, &args.data)?;
        let value = call.timed(|| self.unmap_now(args.target));
        Ok(wire::GlUnmapBufferReply {
            result: GL_NO_ERROR as i32,
            value,
        })
    }

    /// `glFlushMappedBufferRange`, with what the program wrote.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn flush_mapped(
        &mut self,
        call: &mut Call,
        args: &wire::GlFlushMappedBufferRangeArgs<'_>,
    ) -> Result<wire::GlFlushMappedBufferRangeReply, Refusal> {
        self.make_current(args.current)?;
        let narrow = |value: i64, name| isize::try_from(value).map_err(|_| Refusal::wide(name));
        let (offset, length) = (
            narrow(args.offset, "offset")?,
            narrow(args.length, "length")?,
        );
        if let Ok(offset) = usize::try_from(offset) {
            self.write_mapped(call, args.target, offset, &args.data)?;
        }
        if let Some(function) = self.functions().glFlushMappedBufferRange {
            // SAFETY: the driver checks the range against what is mapped.
            call.timed(|| unsafe { function(args.target, offset, length) });
        }
        Ok(wire::GlFlushMappedBufferRangeReply {
            result: GL_NO_ERROR as i32,
        })
    }

    /// Copies what the program wrote behind the first `offset` bytes of what is mapped, as
    /// far as the driver says that this may be written.
    fn write_mapped(
        &self,
        call: &mut Call,
        target: GLenum,
        offset: usize,
        data: &InData<'_>,
    ) -> Result<(), Refusal> {
        let Some(bytes) = call.bytes(data)? else {
            return Ok(());
        };
        let (place, room) = self.writable(target);
        let end = offset.checked_add(bytes.len());
        if !place.is_null() && end.is_some_and(|end| end <= room) {
            // SAFETY: so much is mapped for writing, and nothing else uses it.
            unsafe {
                let to = place.cast::<u8>().add(offset);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            };
        }
        Ok(())
    }

    /// Where the driver has a buffer mapped for writing, and how many bytes; null if it
    /// has not.
    fn writable(&self, target: GLenum) -> (*mut c_void, usize) {
        let none = (null_mut(), 0);
        let get = self.functions().glGetBufferParameteriv;
        let Some((get, pointer)) = get.zip(self.0.driver.buffer_pointer) else {
            return none;
        };
        let (mut access, mut length): (GLint, GLint) = (0, 0);
        let mut place = null_mut();
        // SAFETY: each name has one value.
        unsafe {
            get(target, GL_BUFFER_ACCESS_FLAGS, &mut access);
            get(target, GL_BUFFER_MAP_LENGTH, &mut length);
            pointer(target, GL_BUFFER_MAP_POINTER, &mut place);
        }
        match (
            access.cast_unsigned() & GL_MAP_WRITE_BIT,
            usize::try_from(length),
        ) {
            (GL_MAP_WRITE_BIT, Ok(length)) => (place, length),
            _ => none,
        }
    }

    /// Bytes of the buffer that is bound; 0 if the driver does not say.
    fn buffer_size(&self, target: GLenum) -> GLint {
        let mut size = 0;
        if let Some(get) = self.functions().glGetBufferParameteriv {
            // SAFETY: this name has one value.
            unsafe { get(target, GL_BUFFER_SIZE, &mut size) };
        }
        size
    }

    /// Bytes of the buffer of indices that is bound, if they can be read. An error of that
    /// is none of the program's; one that the program made before is kept.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn read_indices(
        &mut self,
        context: Handle,
        offset: u64,
        len: usize,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        let range = isize::try_from(offset).ok().zip(isize::try_from(len).ok());
        let Some(range) = range else {
            return Ok(None);
        };
        self.hold_error(context)?;
        if !is_within(range, self.buffer_size(GL_ELEMENT_ARRAY_BUFFER)) {
            // Of that question.
            self.driver_error();
            return Ok(None);
        }
        let mut bytes = zeroes(Some(len))?;
        let copy = |from: *mut c_void| {
            // SAFETY: as many bytes are mapped, and there is room for them.
            unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), bytes.as_mut_ptr(), len) };
        };
        let read = self.with_mapped(GL_ELEMENT_ARRAY_BUFFER, range, GL_MAP_READ_BIT, copy);
        if read.is_none() {
            self.driver_error();
        }
        Ok(read.map(|()| bytes))
    }
}

/// Whether a range, offset and length, is in a buffer of so many bytes.
fn is_within((offset, len): (isize, isize), size: GLint) -> bool {
    let end = offset.checked_add(len);
    let size = isize::try_from(size).unwrap_or(isize::MAX);
    offset >= 0 && len >= 0 && end.is_some_and(|end| end <= size)
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_range_is_in_its_buffer_or_is_not_read() {
        for (offset, len, size, is_in) in [
            (0, 0, 0, true),
            (4, 12, 16, true),
            (4, 13, 16, false),
            (isize::MAX, 1, i32::MAX, false),
            (-1, 2, 16, false),
            (0, 1, -1, false),
        ] {
            assert_eq!(is_within((offset, len), size), is_in, "{offset} {len}");
        }
    }
}
