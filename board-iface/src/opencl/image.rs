//! Creating images, with their initial contents.

use super::generated::types::*;
use super::session::Session;
use super::shield;
use crate::back_end::{Call, Objects, Refusal, size};
use gil_opencl_common::image::{Form, Layout, element_bytes};
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A driver's function that makes an image of these flags, format and memory.
pub type Make<'f> = &'f dyn Fn(
    cl_context,
    cl_mem_flags,
    &cl_image_format,
    &cl_image_desc,
    *mut c_void,
    &mut cl_int,
) -> cl_mem;

/// An image to be made.
pub struct NewImage<'a> {
    /// Its context.
    pub context: Handle,
    /// The guest's number for it.
    pub new: Handle,
    /// Its flags.
    pub flags: cl_mem_flags,
    /// Channel order and data type.
    pub format: (cl_channel_order, cl_channel_type),
    /// The image's type.
    pub image_type: cl_mem_object_type,
    /// Width, height and depth.
    pub extent: [u64; 3],
    /// Layers.
    pub array_size: u64,
    /// Row and slice pitch.
    pub pitches: (u64, u64),
    /// Mip levels and samples.
    pub levels: (cl_uint, cl_uint),
    /// The memory object that it lies in, or null.
    pub within: Handle,
    /// The guest's memory.
    pub host_ptr: &'a InData<'a>,
}

const HOST_POINTER: cl_mem_flags = CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;

impl NewImage<'_> {
    /// Makes it with the driver's function.
    ///
    /// # Errors
    /// [`Refusal`]; what the driver says is in the result.
    pub fn create(
        &self,
        session: &mut Session,
        call: &mut Call,
        make: Make<'_>,
    ) -> Result<cl_int, Refusal> {
        if self.levels != (0, 0) {
            // Some drivers end the process over what they do not implement.
            return Ok(CL_INVALID_IMAGE_DESCRIPTOR);
        }
        shield::check_memory(self.flags)?;
        let context: cl_context = session.get(Kind::Context, self.context)?;
        let desc = self.desc(session)?;
        let format = cl_image_format {
            image_channel_order: self.format.0,
            image_channel_data_type: self.format.1,
        };
        session.can_bind(self.new)?;
        let (flags, host_ptr) = self.host_memory(call)?;
        let mut result = CL_SUCCESS;
        let image = call.timed(|| make(context, flags, &format, &desc, host_ptr, &mut result));
        if result == CL_SUCCESS {
            session.bind(Kind::Mem, self.new, image, self.context)?;
            if flags != self.flags {
                // What it should hold could not be read.
                session.release(Kind::Mem, self.new)?;
                result = CL_IMAGE_FORMAT_NOT_SUPPORTED;
            }
        }
        Ok(result)
    }

    fn desc(&self, session: &Session) -> Result<cl_image_desc, Refusal> {
        let [width, height, depth] = self.extent;
        Ok(cl_image_desc {
            image_type: self.image_type,
            image_width: size(width, "image_width")?,
            image_height: size(height, "image_height")?,
            image_depth: size(depth, "image_depth")?,
            image_array_size: size(self.array_size, "image_array_size")?,
            image_row_pitch: size(self.pitches.0, "image_row_pitch")?,
            image_slice_pitch: size(self.pitches.1, "image_slice_pitch")?,
            num_mip_levels: self.levels.0,
            num_samples: self.levels.1,
            mem_object: session.get_optional(Kind::Mem, self.within)?,
        })
    }

    /// The flags and the memory for the driver. Of an image whose size is not
    /// known it reads nothing: it is to say what is wrong with that.
    fn host_memory(&self, call: &mut Call) -> Result<(cl_mem_flags, *mut c_void), Refusal> {
        let reads = self.flags & HOST_POINTER != 0 && *self.host_ptr != InData::Null;
        let needed = match self.bytes() {
            _ if !reads => 0,
            Some(bytes) => bytes,
            None => return Ok((self.flags & !HOST_POINTER, null_mut())),
        };
        let host_ptr = call.input(self.host_ptr, needed)?;
        Ok((self.flags, host_ptr.cast_mut()))
    }

    fn bytes(&self) -> Option<usize> {
        let form = Form::of(self.image_type)?;
        let element = element_bytes(self.format.0, self.format.1)?;
        let layout = Layout::new(form, element, self.extent, self.array_size, self.pitches)?;
        layout.bytes().get()
    }
}

/// `clCreateImage`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_image(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateImageArgs<'_>,
) -> Result<cl_int, Refusal> {
    let function = session.functions().clCreateImage;
    let make: Make<'_> = &|context, flags, format, desc, host_ptr, result| match function {
        // SAFETY: the objects are alive, and the memory is as large as the
        // driver reads.
        Some(create) => unsafe { create(context, flags, format, desc, host_ptr, result) },
        None => missing(result),
    };
    NewImage::from(args).create(session, call, make)
}

/// `clCreateImageWithProperties`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_image_with_properties(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateImageWithPropertiesArgs<'_>,
) -> Result<cl_int, Refusal> {
    let function = session.functions().clCreateImageWithProperties;
    // With its end; more of them, whatever the guest sent.
    let list: Vec<u64> = args.properties.iter().copied().chain([0, 0]).collect();
    let list = match args.properties.is_empty() {
        true => null(),
        false => list.as_ptr(),
    };
    let make: Make<'_> = &|context, flags, format, desc, host_ptr, result| match function {
        // SAFETY: as above; the list ends with a 0 where a key belongs.
        Some(create) => unsafe { create(context, list, flags, format, desc, host_ptr, result) },
        None => missing(result),
    };
    NewImage::from(args).create(session, call, make)
}

/// `clCreateImage2D`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_image_2d(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateImage2DArgs<'_>,
) -> Result<cl_int, Refusal> {
    let function = session.functions().clCreateImage2D;
    let make: Make<'_> = &|context, flags, format, desc, host_ptr, result| {
        let (width, height) = (desc.image_width, desc.image_height);
        let row = desc.image_row_pitch;
        match function {
            // SAFETY: as above.
            Some(create) => unsafe {
                create(context, flags, format, width, height, row, host_ptr, result)
            },
            None => missing(result),
        }
    };
    NewImage::from(args).create(session, call, make)
}

/// `clCreateImage3D`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_image_3d(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateImage3DArgs<'_>,
) -> Result<cl_int, Refusal> {
    let function = session.functions().clCreateImage3D;
    let make: Make<'_> = &|context, flags, format, desc, host_ptr, result| {
        let (width, height, depth) = (desc.image_width, desc.image_height, desc.image_depth);
        let (row, slice) = (desc.image_row_pitch, desc.image_slice_pitch);
        match function {
            // SAFETY: as above.
            Some(create) => unsafe {
                create(
                    context, flags, format, width, height, depth, row, slice, host_ptr, result,
                )
            },
            None => missing(result),
        }
    };
    NewImage::from(args).create(session, call, make)
}

/// The driver lacks the function.
fn missing(result: &mut cl_int) -> cl_mem {
    *result = CL_INVALID_OPERATION;
    null_mut()
}

impl<'a> From<&'a wire::ClCreateImageArgs<'a>> for NewImage<'a> {
    fn from(args: &'a wire::ClCreateImageArgs<'a>) -> Self {
        Self {
            context: args.context,
            new: args.new,
            flags: args.flags,
            format: (args.channel_order, args.channel_type),
            image_type: args.image_type,
            extent: [args.width, args.height, args.depth],
            array_size: args.array_size,
            pitches: (args.row_pitch, args.slice_pitch),
            levels: (args.num_mip_levels, args.num_samples),
            within: args.mem_object,
            host_ptr: &args.host_ptr,
        }
    }
}

impl<'a> From<&'a wire::ClCreateImageWithPropertiesArgs<'a>> for NewImage<'a> {
    fn from(args: &'a wire::ClCreateImageWithPropertiesArgs<'a>) -> Self {
        Self {
            context: args.context,
            new: args.new,
            flags: args.flags,
            format: (args.channel_order, args.channel_type),
            image_type: args.image_type,
            extent: [args.width, args.height, args.depth],
            array_size: args.array_size,
            pitches: (args.row_pitch, args.slice_pitch),
            levels: (args.num_mip_levels, args.num_samples),
            within: args.mem_object,
            host_ptr: &args.host_ptr,
        }
    }
}

impl<'a> From<&'a wire::ClCreateImage2DArgs<'a>> for NewImage<'a> {
    fn from(args: &'a wire::ClCreateImage2DArgs<'a>) -> Self {
        Self {
            context: args.context,
            new: args.new,
            flags: args.flags,
            format: (args.channel_order, args.channel_type),
            image_type: CL_MEM_OBJECT_IMAGE2D,
            extent: [args.width, args.height, 0],
            array_size: 0,
            pitches: (args.row_pitch, 0),
            levels: (0, 0),
            within: Handle::NULL,
            host_ptr: &args.host_ptr,
        }
    }
}

impl<'a> From<&'a wire::ClCreateImage3DArgs<'a>> for NewImage<'a> {
    fn from(args: &'a wire::ClCreateImage3DArgs<'a>) -> Self {
        Self {
            context: args.context,
            new: args.new,
            flags: args.flags,
            format: (args.channel_order, args.channel_type),
            image_type: CL_MEM_OBJECT_IMAGE3D,
            extent: [args.width, args.height, args.depth],
            array_size: 0,
            pitches: (args.row_pitch, args.slice_pitch),
            levels: (0, 0),
            within: Handle::NULL,
            host_ptr: &args.host_ptr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image<'a>(host_ptr: &'a InData<'a>, image_type: u32, extent: [u64; 3]) -> NewImage<'a> {
        NewImage {
            context: Handle(1),
            new: Handle(2),
            flags: CL_MEM_COPY_HOST_PTR,
            format: (CL_RGBA, CL_UNORM_INT8),
            image_type,
            extent,
            array_size: 3,
            pitches: (0, 0),
            levels: (0, 0),
            within: Handle::NULL,
            host_ptr,
        }
    }

    fn call() -> Call {
        Call::new(wire::CL_CREATE_IMAGE, Some(1), Vec::new())
    }

    #[test]
    fn the_guests_memory_must_hold_the_whole_image() {
        let bytes = [0; 100];
        let data = InData::Inline(&bytes);
        let host = |image: NewImage<'_>| image.host_memory(&mut call());
        let fits = image(&data, CL_MEM_OBJECT_IMAGE2D, [5, 5, 0]);
        assert!(!host(fits).unwrap().1.is_null());
        let short = host(image(&data, CL_MEM_OBJECT_IMAGE2D, [5, 6, 0]));
        assert!(matches!(
            short,
            Err(Refusal::Short {
                have: 100,
                needed: 120
            })
        ));
        let layers = host(image(&data, CL_MEM_OBJECT_IMAGE2D_ARRAY, [5, 2, 0]));
        assert!(matches!(layers, Err(Refusal::Short { needed: 120, .. })));
    }

    #[test]
    fn of_what_has_no_size_nothing_is_read() {
        let data = InData::Inline(&[1]);
        let odd = NewImage {
            format: (CL_RGBA, 0),
            ..image(&data, CL_MEM_OBJECT_IMAGE2D, [5, 5, 0])
        };
        assert_eq!(odd.host_memory(&mut call()).unwrap(), (0, null_mut()));
        let huge = image(&data, CL_MEM_OBJECT_IMAGE2D, [u64::MAX, 5, 0]);
        assert_eq!(huge.host_memory(&mut call()).unwrap(), (0, null_mut()));
    }
}
