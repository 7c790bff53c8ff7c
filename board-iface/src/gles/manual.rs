//! The calls that are written by hand.

use super::Gles;
use super::generated::manual::Manual;
use super::generated::types::*;
use super::support::Board;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use crate::egl::support::text;
use gil_gles_common::pixels::{Store, pixel_bytes};
use gil_wire::call::{Handle, InData};
use gil_wire::generated::gles as wire;
use std::ffi::{CStr, c_void};
use std::ptr::null;

/// No error: the driver keeps those that there are.
const NONE: i32 = GL_NO_ERROR as i32;
/// More values than a uniform has.
const UNIFORM_VALUES: usize = 16;

impl Gles {
    fn store(&self, alignment: u32) -> Store {
        Store {
            alignment: self.integer(alignment),
        }
    }

    /// The bytes of a picture of the program's; null for what has none, or of whose
    /// format the number of bytes is not known: a driver that knows it reads nothing.
    fn picture(
        &self,
        call: &mut Call,
        pixels: &InData<'_>,
        (width, height): (i32, i32),
        (format, ty): (u32, u32),
    ) -> Result<*const c_void, Refusal> {
        let bytes = self
            .store(GL_UNPACK_ALIGNMENT)
            .bytes(width, height, format, ty);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        match bytes.ok_or(Refusal::missing_size("pixels"))? {
            0 => Ok(null()),
            bytes => call.input(pixels, bytes),
        }
    }

    /// The values of a uniform: those that the driver writes over two different ones.
    fn uniform(&mut self, call: &mut Call, get: impl Fn(*mut u32)) -> Vec<u64> {
        let (mut zeros, mut ones) = ([0; UNIFORM_VALUES], [u32::MAX; UNIFORM_VALUES]);
        call.timed(|| get(zeros.as_mut_ptr()));
        get(ones.as_mut_ptr());
        let both = zeros.iter().zip(&ones);
        both.take_while(|(a, b)| a == b)
            .map(|(value, _)| u64::from(*value))
            .collect()
    }

    fn toggle(
        &mut self,
        call: &mut Call,
        (context, index): (Handle, u32),
        function: Option<unsafe extern "C" fn(GLuint)>,
    ) -> Result<(), Refusal> {
        self.make_current(context)?;
        if let Some(function) = function {
            // SAFETY: it takes any number.
            call.timed(|| unsafe { function(index) });
        }
        Ok(())
    }
}

impl Manual for Board {
    fn gl_enable_vertex_attrib_array(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlEnableVertexAttribArrayArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glEnableVertexAttribArray;
        session.toggle(call, (args.current, args.index), function)?;
        Ok(())
    }

    fn gl_disable_vertex_attrib_array(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDisableVertexAttribArrayArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glDisableVertexAttribArray;
        session.toggle(call, (args.current, args.index), function)?;
        Ok(())
    }

    fn gl_draw_arrays(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawArraysArgs,
    ) -> Result<(), Refusal> {
        session.draw(call, &args)?;
        Ok(())
    }

    fn gl_draw_elements(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsArgs<'_>,
    ) -> Result<(), Refusal> {
        session.draw_elements(call, &args)?;
        Ok(())
    }

    fn gl_get_error(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetErrorArgs,
    ) -> Result<wire::GlGetErrorReply, Refusal> {
        session.make_current(args.current)?;
        let kept = session.state(args.current)?.error.take();
        let value = match (kept, session.functions().glGetError) {
            (Some(code), _) => code,
            // SAFETY: it has no conditions.
            (None, Some(function)) => call.timed(|| unsafe { function() }),
            (None, None) => GL_NO_ERROR,
        };
        Ok(wire::GlGetErrorReply {
            result: NONE,
            value,
        })
    }

    fn gil_error(
        session: &mut Gles,
        _: &mut Call,
        args: wire::GilErrorArgs,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        if session.state(args.current)?.error.is_none() {
            // Only the first counts, and the driver may have it.
            let first = session
                .functions()
                .glGetError
                .map_or(GL_NO_ERROR, |function| {
                    // SAFETY: it has no conditions.
                    unsafe { function() }
                });
            let code = if first == GL_NO_ERROR {
                args.code
            } else {
                first
            };
            session.state(args.current)?.error = Some(code);
        }
        Ok(())
    }

    fn gl_get_string(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetStringArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.make_current(args.current)?;
        let function = session.functions().glGetString;
        let found = function.map_or(null(), |function| {
            // SAFETY: it takes any name.
            call.timed(|| unsafe { function(args.name) })
        });
        let bytes = match found.is_null() {
            true => &[],
            // SAFETY: a text of the driver's, which stays as long as the context.
            false => unsafe { CStr::from_ptr(found.cast()) }.to_bytes(),
        };
        let mut room = call.output(args.text, 0)?;
        let text = text(call, &mut room, bytes);
        back_end::encode(&wire::GlGetStringReply { result: NONE, text })
    }

    fn gl_get_uniformfv(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetUniformfvArgs,
    ) -> Result<wire::GlGetUniformfvReply, Refusal> {
        session.make_current(args.current)?;
        let function = session.functions().glGetUniformfv;
        let values = function.map_or(Vec::new(), |function| {
            // SAFETY: there is space for the values of any uniform.
            session.uniform(call, |place| unsafe {
                function(args.program, args.location, place.cast());
            })
        });
        Ok(wire::GlGetUniformfvReply {
            result: NONE,
            values,
        })
    }

    fn gl_get_uniformiv(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetUniformivArgs,
    ) -> Result<wire::GlGetUniformivReply, Refusal> {
        session.make_current(args.current)?;
        let function = session.functions().glGetUniformiv;
        let values = function.map_or(Vec::new(), |function| {
            // SAFETY: there is space for the values of any uniform.
            session.uniform(call, |place| unsafe {
                function(args.program, args.location, place.cast());
            })
        });
        Ok(wire::GlGetUniformivReply {
            result: NONE,
            values,
        })
    }

    fn gl_tex_image2d(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlTexImage2DArgs<'_>,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        let size = (args.width, args.height);
        let kind = (args.format, args.r#type);
        let pixels = session.picture(call, &args.pixels, size, kind)?;
        if let Some(function) = session.functions().glTexImage2D {
            // SAFETY: the picture has as many bytes as the driver reads.
            call.timed(|| unsafe {
                function(
                    args.target,
                    args.level,
                    args.internalformat,
                    args.width,
                    args.height,
                    args.border,
                    args.format,
                    args.r#type,
                    pixels,
                );
            });
        }
        Ok(())
    }

    fn gl_tex_sub_image2d(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlTexSubImage2DArgs<'_>,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        let (mut width, mut height) = (args.width, args.height);
        let kind = (args.format, args.r#type);
        let pixels = session.picture(call, &args.pixels, (width, height), kind)?;
        if pixels.is_null() && width > 0 && height > 0 {
            // Nothing is read, and what else is wrong is found.
            (width, height) = (0, 0);
        }
        if let Some(function) = session.functions().glTexSubImage2D {
            // SAFETY: the picture has as many bytes as the driver reads.
            call.timed(|| unsafe {
                function(
                    args.target,
                    args.level,
                    args.xoffset,
                    args.yoffset,
                    width,
                    height,
                    args.format,
                    args.r#type,
                    pixels,
                );
            });
        }
        Ok(())
    }

    fn gl_read_pixels(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlReadPixelsArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.make_current(args.current)?;
        let (mut width, mut height) = (args.width, args.height);
        let store = session.store(GL_PACK_ALIGNMENT);
        let bytes = store.bytes(width, height, args.format, args.r#type);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Refusal::missing_size("pixels"))?;
        let mut room = call.output(args.pixels, bytes)?;
        let is_known = pixel_bytes(args.format, args.r#type).is_some();
        if !is_known || room.as_mut_ptr().is_null() {
            // Nothing is written, and what else is wrong is found.
            (width, height) = (width.min(0), height.min(0));
        }
        if let Some(function) = session.functions().glReadPixels {
            let place = room.as_mut_ptr();
            // SAFETY: there is room for as many bytes as the driver writes.
            call.timed(|| unsafe {
                function(
                    args.x,
                    args.y,
                    width,
                    height,
                    args.format,
                    args.r#type,
                    place,
                );
            });
        }
        let pixels = room.data(call, bytes);
        back_end::encode(&wire::GlReadPixelsReply { pixels })
    }

    fn gl_vertex_attrib_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlVertexAttribPointerArgs,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        let offset = usize::try_from(args.offset).map_err(|_| Refusal::wide("offset"))?;
        let is_bound = session.integer(GL_ARRAY_BUFFER_BINDING) != 0;
        // An address of the guest's means nothing here.
        let pointer = std::ptr::without_provenance(if is_bound { offset } else { 0 });
        if let Some(function) = session.functions().glVertexAttribPointer {
            // SAFETY: the address is kept, not used; draws are checked.
            call.timed(|| unsafe {
                function(
                    args.index,
                    args.size,
                    args.r#type,
                    args.normalized,
                    args.stride,
                    pointer,
                );
            });
        }
        session.state(args.current)?.arrays.remove(&args.index);
        Ok(())
    }

    fn gil_client_array(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GilClientArrayArgs<'_>,
    ) -> Result<(), Refusal> {
        session.take_array(call, &args)?;
        Ok(())
    }

    fn gil_index_range(
        session: &mut Gles,
        _: &mut Call,
        args: wire::GilIndexRangeArgs,
    ) -> Result<wire::GilIndexRangeReply, Refusal> {
        session.make_current(args.current)?;
        let found = session.buffer_range(args.count, args.r#type, args.offset);
        let (least, most) = found.unwrap_or((1, 0));
        Ok(wire::GilIndexRangeReply {
            result: NONE,
            least,
            most,
        })
    }
}
