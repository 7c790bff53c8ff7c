//! Creating images.

use super::details::Details;
use super::memory::{Image, Memory};
use crate::generated::manual::{Guest, Helpers, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult, Reply};
use gil_opencl_common::image::{Form, Layout, element_bytes};
use gil_wire::call::{Handle, InData};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;

/// Most entries of a list of properties.
const PROPERTIES_MAX: usize = 64;

/// The function that creates an image.
#[derive(Clone, Copy)]
pub(super) enum Maker {
    /// `clCreateImage`.
    Image,
    /// `clCreateImage2D`.
    Image2D,
    /// `clCreateImage3D`.
    Image3D,
    /// `clCreateImageWithProperties`.
    WithProperties(*const cl_mem_properties),
}

/// An image to be made.
struct NewImage {
    context: Object,
    /// The memory object that it lies in.
    within: Option<Object>,
    flags: cl_mem_flags,
    format: cl_image_format,
    desc: cl_image_desc,
    host_ptr: *mut c_void,
    new: Handle,
}

/// `clCreateImage` and its like.
///
/// # Safety
/// As of `clCreateImage` in the OpenCL specification.
pub(super) unsafe fn create_image(
    entry: u64,
    maker: Maker,
    (context, flags): (cl_context, cl_mem_flags),
    (format, desc): (*const cl_image_format, *const cl_image_desc),
    host_ptr: *mut c_void,
    errcode_ret: *mut cl_int,
) -> cl_mem {
    // SAFETY: the caller's.
    unsafe {
        Guest::written(errcode_ret, || {
            let context = Object::find(Kind::Context, context)?;
            let format = *format.as_ref().ok_or(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
            let desc = *desc.as_ref().ok_or(CL_INVALID_IMAGE_DESCRIPTOR)?;
            if desc.num_mip_levels != 0 || desc.num_samples != 0 {
                // These are extensions', which are not offered.
                return Err(CL_INVALID_IMAGE_DESCRIPTOR);
            }
            let within = Object::find_optional(Kind::Mem, desc.mem_object);
            let image = NewImage {
                context,
                within: within.map_err(|_| CL_INVALID_IMAGE_DESCRIPTOR)?,
                flags,
                format,
                desc,
                host_ptr,
                new: gil_guest::new_number(),
            };
            image.send(entry, maker)?;
            Ok(image.create())
        })
    }
}

impl NewImage {
    fn layout(&self) -> Option<Layout> {
        let (order, data_type) = (
            self.format.image_channel_order,
            self.format.image_channel_data_type,
        );
        let desc = &self.desc;
        let size = [desc.image_width, desc.image_height, desc.image_depth];
        Layout::new(
            Form::of(desc.image_type)?,
            element_bytes(order, data_type)?,
            size.map(|len| len as u64),
            desc.image_array_size as u64,
            (desc.image_row_pitch as u64, desc.image_slice_pitch as u64),
        )
    }

    /// What the board reads of the program's memory.
    ///
    /// # Safety
    /// The program's memory is there if its flags say so.
    unsafe fn host_memory<'a>(&self, request: &mut Request) -> InData<'a> {
        let is_used = self.flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
        let bytes = self.layout().and_then(|layout| layout.bytes().get());
        let len = bytes.filter(|_| is_used).unwrap_or(0);
        // SAFETY: the caller's.
        unsafe { request.input(self.host_ptr, len) }
    }

    /// # Safety
    /// As of the function that makes it.
    unsafe fn send(&self, entry: u64, maker: Maker) -> CallResult<()> {
        let mut request = Request::new(maker.op(), Class::Sync, entry);
        let (format, desc) = (&self.format, &self.desc);
        let (context, new) = (self.context.number(), self.new);
        let flags = Guest::device_flags(self.flags);
        let channel_order = format.image_channel_order;
        let channel_type = format.image_channel_data_type;
        let (width, height) = (desc.image_width as u64, desc.image_height as u64);
        let depth = desc.image_depth as u64;
        let array_size = desc.image_array_size as u64;
        let row_pitch = desc.image_row_pitch as u64;
        let slice_pitch = desc.image_slice_pitch as u64;
        // SAFETY: the caller's.
        let host_ptr = unsafe { self.host_memory(&mut request) };
        match maker {
            Maker::Image2D => request.forward(
                &wire::ClCreateImage2DArgs {
                    context,
                    new,
                    flags,
                    channel_order,
                    channel_type,
                    width,
                    height,
                    row_pitch,
                    host_ptr,
                },
                made,
            ),
            Maker::Image3D => request.forward(
                &wire::ClCreateImage3DArgs {
                    context,
                    new,
                    flags,
                    channel_order,
                    channel_type,
                    width,
                    height,
                    depth,
                    row_pitch,
                    slice_pitch,
                    host_ptr,
                },
                made,
            ),
            Maker::Image => request.forward(
                &wire::ClCreateImageArgs {
                    context,
                    new,
                    flags,
                    channel_order,
                    channel_type,
                    image_type: desc.image_type,
                    width,
                    height,
                    depth,
                    array_size,
                    row_pitch,
                    slice_pitch,
                    num_mip_levels: desc.num_mip_levels,
                    num_samples: desc.num_samples,
                    mem_object: Object::number_of(&self.within),
                    host_ptr,
                },
                made,
            ),
            Maker::WithProperties(list) => request.forward(
                &wire::ClCreateImageWithPropertiesArgs {
                    context,
                    new,
                    flags,
                    channel_order,
                    channel_type,
                    // SAFETY: the caller's.
                    properties: unsafe { properties(list) }?,
                    image_type: desc.image_type,
                    width,
                    height,
                    depth,
                    array_size,
                    row_pitch,
                    slice_pitch,
                    num_mip_levels: desc.num_mip_levels,
                    num_samples: desc.num_samples,
                    mem_object: Object::number_of(&self.within),
                    host_ptr,
                },
                made,
            ),
        }
    }

    /// The object, once the board has made it.
    fn create(&self) -> cl_mem {
        let order = self.format.image_channel_order;
        let image = Image {
            layout: self.layout(),
            is_depth: order == CL_DEPTH,
        };
        let whole = self.within.as_ref().map(|within| within.details());
        let memory = match whole {
            Some(Details::Memory(whole)) => whole.image_in(self.flags, image),
            _ => Memory::image(self.flags, image, self.host_ptr as usize),
        };
        let parent = self.within.as_ref().unwrap_or(&self.context);
        Object::create(
            Kind::Mem,
            self.new,
            &[parent],
            Details::Memory(Box::new(memory)),
        )
    }
}

/// A descriptor of an image without anything.
pub(super) const fn no_image(image_type: cl_mem_object_type) -> cl_image_desc {
    cl_image_desc {
        image_type,
        image_width: 0,
        image_height: 0,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        mem_object: std::ptr::null_mut(),
    }
}

/// Every maker's reply is the same.
fn made(reply: Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::ClCreateImageReply = reply.decode()?;
    Guest::check(reply.result)
}

impl Maker {
    const fn op(self) -> gil_wire::Op {
        match self {
            Self::Image => wire::CL_CREATE_IMAGE,
            Self::Image2D => wire::CL_CREATE_IMAGE2D,
            Self::Image3D => wire::CL_CREATE_IMAGE3D,
            Self::WithProperties(_) => wire::CL_CREATE_IMAGE_WITH_PROPERTIES,
        }
    }
}

/// A list of properties with its end; empty if null.
///
/// # Safety
/// `list` is null or names a list that ends with a 0.
unsafe fn properties(list: *const cl_mem_properties) -> CallResult<Vec<u64>> {
    let mut all = Vec::new();
    if list.is_null() {
        return Ok(all);
    }
    for pair in 0..PROPERTIES_MAX {
        // SAFETY: the list has not ended; a key that is not 0 has a value.
        unsafe {
            let key = *list.add(2 * pair);
            if key == 0 {
                all.push(0);
                return Ok(all);
            }
            all.extend([key, *list.add(2 * pair + 1)]);
        }
    }
    Err(CL_INVALID_PROPERTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_sizes_are_those_of_opencls_numbers() {
        for (order, data_type, bytes) in [
            (CL_R, CL_UNSIGNED_INT8, 1),
            (CL_RG, CL_HALF_FLOAT, 4),
            (CL_RGBA, CL_FLOAT, 16),
            (CL_BGRA, CL_UNORM_INT8, 4),
            (CL_RGB, CL_UNORM_SHORT_565, 2),
            (CL_RGBx, CL_UNORM_INT_101010, 4),
            (CL_RGBA, CL_UNORM_INT_101010_2, 4),
            (CL_DEPTH, CL_UNORM_INT16, 2),
            (CL_DEPTH, CL_FLOAT, 4),
            (CL_DEPTH_STENCIL, CL_UNORM_INT24, 4),
            (CL_sRGBA, CL_UNORM_INT8, 4),
            (CL_ABGR, CL_SIGNED_INT16, 8),
            (CL_LUMINANCE, CL_SNORM_INT16, 2),
        ] {
            assert_eq!(element_bytes(order, data_type), Some(bytes), "{order:#x}");
        }
    }
}
