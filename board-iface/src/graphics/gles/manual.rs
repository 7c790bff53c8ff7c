//! The calls that are written by hand.

use super::Gles;
use super::arrays::Elements;
use super::generated::manual::*;
use super::generated::types::*;
use super::reads::{Room, Written};
use super::support::Board;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use crate::graphics::egl::support::text;
use gil_gles_common::fixed::Array;
use gil_gles_common::pixels::{packed_bytes, pixel_bytes};
use gil_wire::call::{Handle, OutData};
use gil_wire::generated::gles as wire;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

/// No error: the driver keeps those that there are.
const NONE: i32 = GL_NO_ERROR as i32;
/// How long one call waits at most.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Bytes of the longest label that is looked at.
const LABEL_MAX: usize = 4096;
/// More values than a uniform has.
const UNIFORM_VALUES: usize = 16;

impl Gles {
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
        (context, what): (Handle, u32),
        function: Option<unsafe extern "C" fn(u32)>,
    ) -> Result<(), Refusal> {
        self.make_current(context)?;
        if let Some(function) = function {
            // SAFETY: it takes any number.
            call.timed(|| unsafe { function(what) });
        }
        Ok(())
    }
}

/// What a draw by indices names, of the arguments of any of them.
macro_rules! elements {
    ($args:ident, $instances:expr, $base:expr) => {
        Elements {
            current: $args.current,
            count: $args.count,
            ty: $args.r#type,
            offset: $args.offset,
            indices: &$args.indices,
            instances: $instances,
            base: $base,
        }
    };
}

impl Manual for Board {
    fn gl_enable(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlEnableArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glEnable;
        session.toggle(call, (args.current, args.cap), function)?;
        session.note_switch(args.current, args.cap)
    }

    fn gl_disable(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDisableArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glDisable;
        session.toggle(call, (args.current, args.cap), function)?;
        session.note_switch(args.current, args.cap)
    }

    /// Those values that the driver writes over two different ones.
    fn gl_get_internalformativ(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetInternalformativArgs,
    ) -> Result<wire::GlGetInternalformativReply, Refusal> {
        session.make_current(args.current)?;
        let size = u32::try_from(args.bufSize).map_err(|_| Refusal::missing_size("params"))?;
        let size = back_end::room(size);
        let (mut zeros, mut ones): (Vec<GLint>, Vec<GLint>) = (vec![0; size], vec![-1; size]);
        if let Some(function) = session
            .functions()
            .glGetInternalformativ
            .filter(|_| args.params)
        {
            let (target, format, name) = (args.target, args.internalformat, args.pname);
            // SAFETY: there is space for as many values.
            let get = |to: &mut [GLint]| unsafe {
                function(target, format, name, to.len() as GLsizei, to.as_mut_ptr());
            };
            call.timed(|| get(&mut zeros));
            get(&mut ones);
        }
        let written = zeros.iter().zip(&ones).take_while(|(a, b)| a == b).count();
        zeros.truncate(written);
        Ok(wire::GlGetInternalformativReply { params: zeros })
    }

    fn gl_get_error(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetErrorArgs,
    ) -> Result<wire::GlGetErrorReply, Refusal> {
        session.make_current(args.current)?;
        let kept = session.state(args.current)?.error.take();
        // One that came behind a kept one is forgotten, as by a driver that keeps one.
        let value = call.timed(|| session.driver_error());
        let value = kept.unwrap_or(value);
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
        session.keep_error(args.current, args.code)
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

    /// Nothing waits for the guest for long: its program asks again.
    fn gl_client_wait_sync(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlClientWaitSyncArgs,
    ) -> Result<wire::GlClientWaitSyncReply, Refusal> {
        session.make_current(args.current)?;
        let sync: GLsync = session.get(wire::Kind::Sync, args.sync)?;
        let timeout = args.timeout.min(LONGEST_WAIT_NS);
        let value = match session.functions().glClientWaitSync {
            // SAFETY: the object is alive.
            Some(function) => call.timed(|| unsafe { function(sync, args.flags, timeout) }),
            None => GL_WAIT_FAILED,
        };
        Ok(wire::GlClientWaitSyncReply {
            result: NONE,
            value,
        })
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
        let kind = (args.count, args.r#type);
        let found = session.buffer_range(args.current, kind, args.offset)?;
        let (least, most) = found.unwrap_or((1, 0));
        Ok(wire::GilIndexRangeReply {
            result: NONE,
            least,
            most,
        })
    }
}

impl Buffers for Board {
    fn gl_map_buffer_range(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlMapBufferRangeArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.map(call, &args)
    }

    fn gl_unmap_buffer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlUnmapBufferArgs<'_>,
    ) -> Result<wire::GlUnmapBufferReply, Refusal> {
        session.unmap(call, &args)
    }

    fn gl_flush_mapped_buffer_range(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlFlushMappedBufferRangeArgs<'_>,
    ) -> Result<wire::GlFlushMappedBufferRangeReply, Refusal> {
        session.flush_mapped(call, &args)
    }
}

impl Draws for Board {
    fn gl_draw_arrays(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawArraysArgs,
    ) -> Result<(), Refusal> {
        session.draw(call, &args)?;
        Ok(())
    }

    fn gl_draw_arrays_instanced(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawArraysInstancedArgs,
    ) -> Result<(), Refusal> {
        session.draw_instanced(call, &args)
    }

    fn gl_draw_elements(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, 1, 0);
        let function = session.functions().glDrawElements;
        let draw = function.map(|function| {
            // SAFETY: the indices are there, and arrays in memory have the elements that
            // they name; buffers are the driver's.
            move |indices| unsafe { function(args.mode, args.count, args.r#type, indices) }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_elements_instanced(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsInstancedArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, args.instances, 0);
        let function = session.functions().glDrawElementsInstanced;
        let draw = function.map(|function| {
            // SAFETY: as in `gl_draw_elements`.
            move |indices| unsafe {
                function(args.mode, args.count, args.r#type, indices, args.instances)
            }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_range_elements(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawRangeElementsArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, 1, 0);
        let function = session.functions().glDrawRangeElements;
        let draw = function.map(|function| {
            // SAFETY: as in `gl_draw_elements`.
            move |indices| unsafe {
                function(
                    args.mode,
                    args.start,
                    args.end,
                    args.count,
                    args.r#type,
                    indices,
                )
            }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_elements_base_vertex(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsBaseVertexArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, 1, args.base);
        let function = session.functions().glDrawElementsBaseVertex;
        let draw = function.map(|function| {
            // SAFETY: as in `gl_draw_elements`.
            move |indices| unsafe {
                function(args.mode, args.count, args.r#type, indices, args.base)
            }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_elements_instanced_base_vertex(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsInstancedBaseVertexArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, args.instances, args.base);
        let function = session.functions().glDrawElementsInstancedBaseVertex;
        let draw = function.map(|function| {
            // SAFETY: as in `gl_draw_elements`.
            move |indices| unsafe {
                function(
                    args.mode,
                    args.count,
                    args.r#type,
                    indices,
                    args.instances,
                    args.base,
                )
            }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_range_elements_base_vertex(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawRangeElementsBaseVertexArgs<'_>,
    ) -> Result<(), Refusal> {
        let elements = elements!(args, 1, args.base);
        let function = session.functions().glDrawRangeElementsBaseVertex;
        let draw = function.map(|function| {
            // SAFETY: as in `gl_draw_elements`.
            move |indices| unsafe {
                function(
                    args.mode,
                    args.start,
                    args.end,
                    args.count,
                    args.r#type,
                    indices,
                    args.base,
                )
            }
        });
        session.draw_elements(call, &elements, draw)
    }

    fn gl_draw_arrays_indirect(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawArraysIndirectArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glDrawArraysIndirect;
        let draw = function.map(|function| {
            // SAFETY: the offset is one in the driver's own buffer.
            move |offset| unsafe { function(args.mode, offset) }
        });
        session.draw_indirect(call, args.current, args.offset, draw)
    }

    fn gl_draw_elements_indirect(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlDrawElementsIndirectArgs,
    ) -> Result<(), Refusal> {
        let function = session.functions().glDrawElementsIndirect;
        let draw = function.map(|function| {
            // SAFETY: the offset is one in the driver's own buffer.
            move |offset| unsafe { function(args.mode, args.r#type, offset) }
        });
        session.draw_indirect(call, args.current, args.offset, draw)
    }
}

impl FixedArrays for Board {
    fn gl_vertex_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlVertexPointerArgs,
    ) -> Result<(), Refusal> {
        let elements = (args.size, args.r#type, args.stride);
        session.point(call, args.current, |_| Array::Vertex, elements, args.offset)
    }

    fn gl_color_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlColorPointerArgs,
    ) -> Result<(), Refusal> {
        let elements = (args.size, args.r#type, args.stride);
        session.point(call, args.current, |_| Array::Color, elements, args.offset)
    }

    fn gl_tex_coord_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlTexCoordPointerArgs,
    ) -> Result<(), Refusal> {
        let elements = (args.size, args.r#type, args.stride);
        session.point(
            call,
            args.current,
            Gles::active_array,
            elements,
            args.offset,
        )
    }

    fn gl_normal_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlNormalPointerArgs,
    ) -> Result<(), Refusal> {
        let elements = (3, args.r#type, args.stride);
        session.point(call, args.current, |_| Array::Normal, elements, args.offset)
    }

    fn gl_point_size_pointer_oes(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlPointSizePointerOESArgs,
    ) -> Result<(), Refusal> {
        let elements = (1, args.r#type, args.stride);
        session.point(
            call,
            args.current,
            |_| Array::PointSize,
            elements,
            args.offset,
        )
    }
}

impl Framebuffers for Board {
    fn gl_egl_image_target_texture2does(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlEGLImageTargetTexture2DOESArgs,
    ) -> Result<(), Refusal> {
        let image = session.image(args.image)?;
        session.make_current(args.current)?;
        if let Some(function) = session.functions().glEGLImageTargetTexture2DOES {
            // SAFETY: the image is the table's, so it is alive.
            call.timed(|| unsafe { function(args.target, image) });
        }
        Ok(())
    }

    fn gl_egl_image_target_renderbuffer_storage_oes(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlEGLImageTargetRenderbufferStorageOESArgs,
    ) -> Result<(), Refusal> {
        let image = session.image(args.image)?;
        session.make_current(args.current)?;
        if let Some(function) = session.functions().glEGLImageTargetRenderbufferStorageOES {
            // SAFETY: the same.
            call.timed(|| unsafe { function(args.target, image) });
        }
        Ok(())
    }
}

impl ImageStorage for Board {
    fn gl_egl_image_target_tex_storage_ext(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlEGLImageTargetTexStorageEXTArgs,
    ) -> Result<(), Refusal> {
        let image = session.image(args.image)?;
        session.make_current(args.current)?;
        if let Some(function) = session.functions().glEGLImageTargetTexStorageEXT {
            // SAFETY: the same; without attributes.
            call.timed(|| unsafe { function(args.target, image, null()) });
        }
        Ok(())
    }
}

impl Messages for Board {
    fn gl_object_ptr_label(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlObjectPtrLabelArgs<'_>,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        let sync: GLsync = session.get(wire::Kind::Sync, args.sync)?;
        let label = call.bytes(&args.label)?;
        let (label, length) = match label {
            None => (null(), 0),
            Some(label) => (label.as_ptr(), GLsizei::try_from(label.len()).unwrap_or(0)),
        };
        if let Some(function) = session.functions().glObjectPtrLabel {
            // SAFETY: the object is alive, the label so long.
            unsafe { function(sync.cast_const().cast(), length, label) };
        }
        Ok(())
    }

    /// With the 0 behind it, as far as there is room; without room, its length alone.
    fn gl_get_object_ptr_label(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetObjectPtrLabelArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.make_current(args.current)?;
        let sync: GLsync = session.get(wire::Kind::Sync, args.sync)?;
        let mut room = call.output(args.label, 0)?;
        let mut bytes = vec![0; room.room().min(LABEL_MAX)];
        let mut length = 0;
        if let Some(function) = session.functions().glGetObjectPtrLabel {
            let size = GLsizei::try_from(bytes.len()).unwrap_or(0);
            let place = match size {
                0 => null_mut(),
                _ => bytes.as_mut_ptr(),
            };
            // SAFETY: the object is alive, and there is space for as many bytes.
            unsafe { function(sync.cast_const().cast(), size, &mut length, place) };
        }
        bytes.truncate(usize::try_from(length).unwrap_or(0).saturating_add(1));
        let label = text(call, &mut room, &bytes);
        back_end::encode(&wire::GlGetObjectPtrLabelReply {
            result: NONE,
            length,
            label,
        })
    }
}

impl Reads for Board {
    fn gl_pixel_storei(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlPixelStoreiArgs,
    ) -> Result<(), Refusal> {
        session.pixel_store(call, &args)
    }

    fn gl_read_pixels(
        session: &mut Gles,
        call: &mut Call,
        mut args: wire::GlReadPixelsArgs,
    ) -> Result<Vec<u8>, Refusal> {
        session.make_current(args.current)?;
        let is_bound = session.has_pixel_buffer(GL_PIXEL_PACK_BUFFER_BINDING);
        session.arrange_pack(!is_bound)?;
        let bytes = match is_bound {
            true => Some(0),
            false => packed_bytes((args.width, args.height, 1), args.format, args.r#type),
        };
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Refusal::missing_size("pixels"))?;
        let mut room = call.output(args.pixels, bytes)?;
        let place: *mut c_void = match is_bound {
            true => std::ptr::without_provenance_mut(
                usize::try_from(args.offset).map_err(|_| Refusal::wide("offset"))?,
            ),
            false => room.as_mut_ptr(),
        };
        let is_known = pixel_bytes(args.format, args.r#type).is_some();
        if !is_bound && (!is_known || place.is_null()) {
            // Nothing is written, and what else is wrong is found.
            (args.width, args.height) = (args.width.min(0), args.height.min(0));
        }
        let written = match Room::new(&args, place, bytes) {
            Some(room) => session.read_into(call, &args, room)?,
            None => {
                // SAFETY: without a buffer there is room for the picture; with one, its
                // driver checks the offset.
                unsafe { session.read_pixels(call, &args, place) };
                Written::All
            }
        };
        let (pixels, (columns, rows)) = match written {
            Written::All => (room.data(call, bytes), Default::default()),
            Written::Part(columns, rows) => (OutData::None, (columns, rows)),
        };
        // Of a picture whose sides have 31 bits.
        let number = |value: usize| i32::try_from(value).unwrap_or(0);
        back_end::encode(&wire::GlReadPixelsReply {
            result: NONE,
            pixels,
            left: number(columns.start),
            low: number(rows.start),
            wide: number(columns.len()),
            high: number(rows.len()),
        })
    }
}

impl Uniforms for Board {
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

    fn gl_get_uniformuiv(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlGetUniformuivArgs,
    ) -> Result<wire::GlGetUniformuivReply, Refusal> {
        session.make_current(args.current)?;
        let function = session.functions().glGetUniformuiv;
        let values = function.map_or(Vec::new(), |function| {
            // SAFETY: there is space for the values of any uniform.
            session.uniform(call, |place| unsafe {
                function(args.program, args.location, place.cast());
            })
        });
        Ok(wire::GlGetUniformuivReply {
            result: NONE,
            values,
        })
    }
}

impl VertexArrays for Board {
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
        session.forget_array(args.current, args.index)
    }

    fn gl_vertex_attrib_i_pointer(
        session: &mut Gles,
        call: &mut Call,
        args: wire::GlVertexAttribIPointerArgs,
    ) -> Result<(), Refusal> {
        session.make_current(args.current)?;
        let offset = usize::try_from(args.offset).map_err(|_| Refusal::wide("offset"))?;
        let is_bound = session.integer(GL_ARRAY_BUFFER_BINDING) != 0;
        let pointer = std::ptr::without_provenance(if is_bound { offset } else { 0 });
        if let Some(function) = session.functions().glVertexAttribIPointer {
            let (index, size) = (args.index, args.size);
            // SAFETY: the address is kept, not used; draws are checked.
            call.timed(|| unsafe { function(index, size, args.r#type, args.stride, pointer) });
        }
        session.forget_array(args.current, args.index)
    }
}
