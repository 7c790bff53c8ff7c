//! Hand-written entry points.

use super::callbacks::{self, EventNotify};
use super::details::Details;
use super::elements;
use super::image::{self, Maker};
use super::kernel_arg::KernelArgument;
use super::launch::Launch;
use super::map::{self, Asked};
use super::rect;
use super::svm::{self, commands};
use super::{clock, subgroups, task};
use crate::generated::exports;
use crate::generated::manual::{Guest, Manual, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, CallResult, Room, data};
use gil_wire::call::{Handle, InfoValue, OutRoom};
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::{CStr, c_char, c_void};

impl Manual for Guest {
    unsafe fn clSetKernelArg(
        entry: u64,
        kernel: cl_kernel,
        arg_index: cl_uint,
        arg_size: usize,
        arg_value: *const c_void,
    ) -> cl_int {
        Guest::returned(|| {
            let kernel = Object::find(Kind::Kernel, kernel)?;
            // SAFETY: the caller's.
            let argument = unsafe { KernelArgument::new(arg_size, arg_value) }?;
            argument.set(entry, &kernel, arg_index)
        })
    }

    unsafe fn clEnqueueNDRangeKernel(
        entry: u64,
        command_queue: cl_command_queue,
        kernel: cl_kernel,
        work_dim: cl_uint,
        global_work_offset: *const usize,
        global_work_size: *const usize,
        local_work_size: *const usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let sizes = [global_work_offset, global_work_size, local_work_size];
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        Guest::returned(|| unsafe {
            let launch = Launch::new((command_queue, kernel), work_dim, sizes, waits)?;
            launch.run(entry, event)
        })
    }

    unsafe fn clEnqueueTask(
        entry: u64,
        command_queue: cl_command_queue,
        kernel: cl_kernel,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        Guest::returned(|| unsafe { task::enqueue(entry, (command_queue, kernel), waits, event) })
    }

    unsafe fn clFlush(entry: u64, command_queue: cl_command_queue) -> cl_int {
        Guest::returned(|| {
            let queue = Object::find(Kind::CommandQueue, command_queue)?;
            let call = Envelope::new(wire::CL_FLUSH, Class::Post, entry);
            let args = wire::ClFlushArgs {
                command_queue: queue.number(),
            };
            gil_guest::client()
                .and_then(|client| client.post_now(&call, &args))
                .map_err(|error| Guest::failed(call.op, &error))
        })
    }

    unsafe fn clEnqueueMapBuffer(
        entry: u64,
        command_queue: cl_command_queue,
        buffer: cl_mem,
        blocking_map: cl_bool,
        map_flags: cl_map_flags,
        offset: usize,
        size: usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
        errcode_ret: *mut cl_int,
    ) -> *mut c_void {
        let asked = Asked {
            blocking: blocking_map != CL_FALSE,
            flags: map_flags,
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        let about = (command_queue, buffer);
        let bytes = (offset, size);
        // SAFETY: the caller's.
        unsafe { map::map_buffer(entry, about, asked, bytes, waits, event, errcode_ret) }
    }

    unsafe fn clEnqueueMapImage(
        entry: u64,
        command_queue: cl_command_queue,
        image: cl_mem,
        blocking_map: cl_bool,
        map_flags: cl_map_flags,
        origin: *const usize,
        region: *const usize,
        image_row_pitch: *mut usize,
        image_slice_pitch: *mut usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
        errcode_ret: *mut cl_int,
    ) -> *mut c_void {
        let asked = Asked {
            blocking: blocking_map != CL_FALSE,
            flags: map_flags,
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        let about = (command_queue, image);
        let (part, pitches) = ((origin, region), (image_row_pitch, image_slice_pitch));
        // SAFETY: the caller's.
        unsafe {
            map::map_image(
                entry,
                about,
                asked,
                part,
                pitches,
                (waits, event),
                errcode_ret,
            )
        }
    }

    unsafe fn clCreateImage(
        entry: u64,
        context: cl_context,
        flags: cl_mem_flags,
        image_format: *const cl_image_format,
        image_desc: *const cl_image_desc,
        host_ptr: *mut c_void,
        errcode_ret: *mut cl_int,
    ) -> cl_mem {
        let (of, what) = ((context, flags), (image_format, image_desc));
        // SAFETY: the caller's.
        unsafe { image::create_image(entry, Maker::Image, of, what, host_ptr, errcode_ret) }
    }

    unsafe fn clCreateImageWithProperties(
        entry: u64,
        context: cl_context,
        properties: *const cl_mem_properties,
        flags: cl_mem_flags,
        image_format: *const cl_image_format,
        image_desc: *const cl_image_desc,
        host_ptr: *mut c_void,
        errcode_ret: *mut cl_int,
    ) -> cl_mem {
        let maker = Maker::WithProperties(properties);
        let (of, what) = ((context, flags), (image_format, image_desc));
        // SAFETY: the caller's.
        unsafe { image::create_image(entry, maker, of, what, host_ptr, errcode_ret) }
    }

    unsafe fn clCreateImage2D(
        entry: u64,
        context: cl_context,
        flags: cl_mem_flags,
        image_format: *const cl_image_format,
        image_width: usize,
        image_height: usize,
        image_row_pitch: usize,
        host_ptr: *mut c_void,
        errcode_ret: *mut cl_int,
    ) -> cl_mem {
        let desc = cl_image_desc {
            image_width,
            image_height,
            image_row_pitch,
            ..image::no_image(CL_MEM_OBJECT_IMAGE2D)
        };
        let (of, what) = ((context, flags), (image_format, &raw const desc));
        // SAFETY: the caller's.
        unsafe { image::create_image(entry, Maker::Image2D, of, what, host_ptr, errcode_ret) }
    }

    unsafe fn clCreateImage3D(
        entry: u64,
        context: cl_context,
        flags: cl_mem_flags,
        image_format: *const cl_image_format,
        image_width: usize,
        image_height: usize,
        image_depth: usize,
        image_row_pitch: usize,
        image_slice_pitch: usize,
        host_ptr: *mut c_void,
        errcode_ret: *mut cl_int,
    ) -> cl_mem {
        let desc = cl_image_desc {
            image_width,
            image_height,
            image_depth,
            image_row_pitch,
            image_slice_pitch,
            ..image::no_image(CL_MEM_OBJECT_IMAGE3D)
        };
        let (of, what) = ((context, flags), (image_format, &raw const desc));
        // SAFETY: the caller's.
        unsafe { image::create_image(entry, Maker::Image3D, of, what, host_ptr, errcode_ret) }
    }

    unsafe fn clEnqueueReadImage(
        entry: u64,
        command_queue: cl_command_queue,
        image: cl_mem,
        blocking_read: cl_bool,
        origin: *const usize,
        region: *const usize,
        row_pitch: usize,
        slice_pitch: usize,
        ptr: *mut c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let copy = elements::Copy {
            blocking: blocking_read != CL_FALSE,
            origin,
            region,
            pitches: (row_pitch, slice_pitch),
            ptr,
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        unsafe { elements::read(entry, (command_queue, image), &copy, waits, event) }
    }

    unsafe fn clEnqueueWriteImage(
        entry: u64,
        command_queue: cl_command_queue,
        image: cl_mem,
        blocking_write: cl_bool,
        origin: *const usize,
        region: *const usize,
        input_row_pitch: usize,
        input_slice_pitch: usize,
        ptr: *const c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let copy = elements::Copy {
            blocking: blocking_write != CL_FALSE,
            origin,
            region,
            pitches: (input_row_pitch, input_slice_pitch),
            ptr: ptr.cast_mut(),
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        unsafe { elements::write(entry, (command_queue, image), &copy, waits, event) }
    }

    unsafe fn clEnqueueFillImage(
        entry: u64,
        command_queue: cl_command_queue,
        image: cl_mem,
        fill_color: *const c_void,
        origin: *const usize,
        region: *const usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let waits = (num_events_in_wait_list, event_wait_list);
        let (about, part) = ((command_queue, image), (origin, region));
        // SAFETY: the caller's.
        unsafe { elements::fill(entry, about, fill_color, part, waits, event) }
    }

    unsafe fn clEnqueueReadBufferRect(
        entry: u64,
        command_queue: cl_command_queue,
        buffer: cl_mem,
        blocking_read: cl_bool,
        buffer_origin: *const usize,
        host_origin: *const usize,
        region: *const usize,
        buffer_row_pitch: usize,
        buffer_slice_pitch: usize,
        host_row_pitch: usize,
        host_slice_pitch: usize,
        ptr: *mut c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let copy = rect::Copy {
            blocking: blocking_read != CL_FALSE,
            buffer_origin,
            host_origin,
            region,
            buffer_pitches: (buffer_row_pitch, buffer_slice_pitch),
            host_pitches: (host_row_pitch, host_slice_pitch),
            ptr,
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        unsafe { rect::read(entry, (command_queue, buffer), &copy, waits, event) }
    }

    unsafe fn clEnqueueWriteBufferRect(
        entry: u64,
        command_queue: cl_command_queue,
        buffer: cl_mem,
        blocking_write: cl_bool,
        buffer_origin: *const usize,
        host_origin: *const usize,
        region: *const usize,
        buffer_row_pitch: usize,
        buffer_slice_pitch: usize,
        host_row_pitch: usize,
        host_slice_pitch: usize,
        ptr: *const c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let copy = rect::Copy {
            blocking: blocking_write != CL_FALSE,
            buffer_origin,
            host_origin,
            region,
            buffer_pitches: (buffer_row_pitch, buffer_slice_pitch),
            host_pitches: (host_row_pitch, host_slice_pitch),
            ptr: ptr.cast_mut(),
        };
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        unsafe { rect::write(entry, (command_queue, buffer), &copy, waits, event) }
    }

    unsafe fn clEnqueueUnmapMemObject(
        entry: u64,
        command_queue: cl_command_queue,
        memobj: cl_mem,
        mapped_ptr: *mut c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let waits = (num_events_in_wait_list, event_wait_list);
        // SAFETY: the caller's.
        unsafe { map::unmap(entry, command_queue, memobj, mapped_ptr, waits, event) }
    }

    unsafe fn clSetEventCallback(
        _entry: u64,
        event: cl_event,
        command_exec_callback_type: cl_int,
        pfn_notify: Option<EventNotify>,
        user_data: *mut c_void,
    ) -> cl_int {
        // SAFETY: the caller's.
        unsafe { callbacks::set_event(event, command_exec_callback_type, pfn_notify, user_data) }
    }

    unsafe fn clSetUserEventStatus(
        entry: u64,
        event: cl_event,
        execution_status: cl_int,
    ) -> cl_int {
        callbacks::set_user_event(entry, event, execution_status)
    }

    unsafe fn clSetMemObjectDestructorCallback(
        _entry: u64,
        memobj: cl_mem,
        pfn_notify: Option<unsafe extern "C" fn(cl_mem, *mut c_void)>,
        user_data: *mut c_void,
    ) -> cl_int {
        // SAFETY: the caller's.
        unsafe {
            callbacks::set_destructor(
                (wire::CL_SET_MEM_OBJECT_DESTRUCTOR_CALLBACK, Kind::Mem),
                memobj,
                pfn_notify,
                user_data,
            )
        }
    }

    unsafe fn clSetContextDestructorCallback(
        _entry: u64,
        context: cl_context,
        pfn_notify: Option<unsafe extern "C" fn(cl_context, *mut c_void)>,
        user_data: *mut c_void,
    ) -> cl_int {
        // SAFETY: the caller's.
        unsafe {
            callbacks::set_destructor(
                (wire::CL_SET_CONTEXT_DESTRUCTOR_CALLBACK, Kind::Context),
                context,
                pfn_notify,
                user_data,
            )
        }
    }

    unsafe fn clSetProgramReleaseCallback(
        entry: u64,
        program: cl_program,
        pfn_notify: Option<unsafe extern "C" fn(cl_program, *mut c_void)>,
        user_data: *mut c_void,
    ) -> cl_int {
        // SAFETY: the caller's.
        unsafe { callbacks::set_program_release(entry, program, pfn_notify, user_data) }
    }

    unsafe fn clSVMAlloc(
        entry: u64,
        context: cl_context,
        flags: cl_svm_mem_flags,
        size: usize,
        alignment: cl_uint,
    ) -> *mut c_void {
        svm::alloc(entry, context, flags, size, alignment)
    }

    unsafe fn clSVMFree(_entry: u64, context: cl_context, svm_pointer: *mut c_void) {
        svm::free(context, svm_pointer);
    }

    unsafe fn clEnqueueSVMFree(
        entry: u64,
        command_queue: cl_command_queue,
        num_svm_pointers: cl_uint,
        svm_pointers: *mut *mut c_void,
        pfn_free_func: Option<commands::FreeFunction>,
        user_data: *mut c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let pointers = (num_svm_pointers, svm_pointers);
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe {
            commands::enqueue_free(
                entry,
                command_queue,
                pointers,
                pfn_free_func,
                user_data,
                events,
            )
        }
    }

    unsafe fn clEnqueueSVMMemcpy(
        entry: u64,
        command_queue: cl_command_queue,
        blocking_copy: cl_bool,
        dst_ptr: *mut c_void,
        src_ptr: *const c_void,
        size: usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let blocking = blocking_copy != CL_FALSE;
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe {
            commands::memcpy(
                entry,
                command_queue,
                blocking,
                (dst_ptr, src_ptr, size),
                events,
            )
        }
    }

    unsafe fn clEnqueueSVMMemFill(
        entry: u64,
        command_queue: cl_command_queue,
        svm_ptr: *mut c_void,
        pattern: *const c_void,
        pattern_size: usize,
        size: usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let (memory, pattern) = ((svm_ptr, size), (pattern, pattern_size));
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe { commands::fill(entry, command_queue, memory, pattern, events) }
    }

    unsafe fn clEnqueueSVMMap(
        entry: u64,
        command_queue: cl_command_queue,
        blocking_map: cl_bool,
        flags: cl_map_flags,
        svm_ptr: *mut c_void,
        size: usize,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let asked = commands::Asked {
            blocking: blocking_map != CL_FALSE,
            flags,
            address: svm_ptr,
            size,
        };
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe { commands::map(entry, command_queue, &asked, events) }
    }

    unsafe fn clEnqueueSVMUnmap(
        entry: u64,
        command_queue: cl_command_queue,
        svm_ptr: *mut c_void,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe { commands::unmap(entry, command_queue, svm_ptr, events) }
    }

    unsafe fn clEnqueueSVMMigrateMem(
        entry: u64,
        command_queue: cl_command_queue,
        num_svm_pointers: cl_uint,
        svm_pointers: *mut *const c_void,
        sizes: *const usize,
        flags: cl_mem_migration_flags,
        num_events_in_wait_list: cl_uint,
        event_wait_list: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        let memory = (num_svm_pointers, svm_pointers.cast_const(), sizes);
        let events = (num_events_in_wait_list, event_wait_list, event);
        // SAFETY: the caller's.
        unsafe { commands::migrate(entry, command_queue, memory, flags, events) }
    }

    unsafe fn clSetKernelArgSVMPointer(
        entry: u64,
        kernel: cl_kernel,
        arg_index: cl_uint,
        arg_value: *const c_void,
    ) -> cl_int {
        svm::set_kernel_arg(entry, kernel, arg_index, arg_value)
    }

    unsafe fn clSetKernelExecInfo(
        entry: u64,
        kernel: cl_kernel,
        param_name: cl_kernel_exec_info,
        param_value_size: usize,
        param_value: *const c_void,
    ) -> cl_int {
        // SAFETY: the caller's.
        unsafe { svm::set_exec_info(entry, kernel, param_name, param_value_size, param_value) }
    }

    unsafe fn clGetExtensionFunctionAddress(_entry: u64, func_name: *const c_char) -> *mut c_void {
        // SAFETY: the caller's.
        unsafe { extension_function(func_name) }
    }

    unsafe fn clGetExtensionFunctionAddressForPlatform(
        _entry: u64,
        platform: cl_platform_id,
        func_name: *const c_char,
    ) -> *mut c_void {
        match Object::find(Kind::Platform, platform) {
            // SAFETY: the caller's.
            Ok(_) => unsafe { extension_function(func_name) },
            Err(_) => std::ptr::null_mut(),
        }
    }

    unsafe fn clSetCommandQueueProperty(
        _entry: u64,
        command_queue: cl_command_queue,
        properties: cl_command_queue_properties,
        enable: cl_bool,
        old_properties: *mut cl_command_queue_properties,
    ) -> cl_int {
        Guest::returned(|| {
            let queue = Object::find(Kind::CommandQueue, command_queue)?;
            let Details::Queue(queue) = queue.details() else {
                return Err(CL_INVALID_COMMAND_QUEUE);
            };
            let old = queue.set(properties, enable != CL_FALSE)?;
            // SAFETY: the caller's.
            unsafe { data::write(old_properties, old) };
            Ok(())
        })
    }

    unsafe fn clGetDeviceAndHostTimer(
        entry: u64,
        device: cl_device_id,
        device_timestamp: *mut cl_ulong,
        host_timestamp: *mut cl_ulong,
    ) -> cl_int {
        Guest::returned(|| {
            let device = Object::find(Kind::Device, device)?;
            // That the device has none goes before what is wrong.
            let now = clock::now(entry, &device)?;
            if device_timestamp.is_null() || host_timestamp.is_null() {
                return Err(CL_INVALID_VALUE);
            }
            // SAFETY: the caller's.
            unsafe {
                data::write(device_timestamp, now);
                data::write(host_timestamp, now);
            }
            Ok(())
        })
    }

    unsafe fn clGetHostTimer(
        entry: u64,
        device: cl_device_id,
        host_timestamp: *mut cl_ulong,
    ) -> cl_int {
        Guest::returned(|| {
            let device = Object::find(Kind::Device, device)?;
            let now = clock::now(entry, &device)?;
            if host_timestamp.is_null() {
                return Err(CL_INVALID_VALUE);
            }
            // SAFETY: the caller's.
            unsafe { data::write(host_timestamp, now) };
            Ok(())
        })
    }

    unsafe fn clGetKernelSubGroupInfo(
        entry: u64,
        kernel: cl_kernel,
        device: cl_device_id,
        param_name: cl_kernel_sub_group_info,
        input_value_size: usize,
        input_value: *const c_void,
        param_value_size: usize,
        param_value: *mut c_void,
        param_value_size_ret: *mut usize,
    ) -> cl_int {
        Guest::returned(|| {
            let device = match device.is_null() {
                true => Handle::NULL,
                false => Object::find(Kind::Device, device)?.number(),
            };
            let asked = subgroups::Asked {
                kernel: &Object::find(Kind::Kernel, kernel)?,
                device,
                param_name,
            };
            let room = Room {
                size: param_value_size,
                value: param_value,
                size_ret: param_value_size_ret,
            };
            // SAFETY: the caller's.
            unsafe { asked.answer(entry, input_value_size, input_value, &room) }
        })
    }

    unsafe fn clGetProgramInfo_CL_PROGRAM_BINARIES(
        entry: u64,
        program: &Object,
        room: &Room,
    ) -> CallResult<()> {
        let sizes = binary_sizes(entry, program)?;
        let bytes = sizes.len() * size_of::<*mut c_void>();
        // SAFETY: the caller's; the buffer was compared with the length.
        unsafe {
            room.announce::<Guest>(bytes)?;
            if room.value.is_null() {
                return Ok(());
            }
            let places = std::slice::from_raw_parts(room.value.cast(), sizes.len());
            for (n, (place, size)) in places.iter().zip(sizes).enumerate() {
                binary(entry, program, n as u32, *place, size)?;
            }
        }
        Ok(())
    }
}

/// The address of a function that an extension adds; those of OpenCL itself are
/// not asked for in this way.
///
/// # Safety
/// `name` is null or a string with a NUL.
unsafe fn extension_function(name: *const c_char) -> *mut c_void {
    if name.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's.
    let name = unsafe { CStr::from_ptr(name) };
    let suffix = name.to_bytes().last_chunk::<2>();
    match suffix.is_some_and(|two| two.iter().all(u8::is_ascii_uppercase)) {
        true => exports::find(name),
        false => std::ptr::null_mut(),
    }
}

fn binary_sizes(entry: u64, program: &Object) -> CallResult<Vec<u64>> {
    let args = wire::ClGetProgramInfoArgs {
        program: program.number(),
        param_name: CL_PROGRAM_BINARY_SIZES,
        param_value: OutRoom::Null,
    };
    let request = Request::new(wire::CL_GET_PROGRAM_INFO, Class::Query, entry);
    request.forward(&args, |reply| {
        let reply: wire::ClGetProgramInfoReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        match reply.value {
            InfoValue::Sizes(sizes) => Ok(sizes.into_vec()),
            _ => Err(CL_OUT_OF_RESOURCES),
        }
    })
}

/// # Safety
/// `place` is null or points to space for `size` bytes.
unsafe fn binary(
    entry: u64,
    program: &Object,
    index: u32,
    place: *mut c_void,
    size: u64,
) -> CallResult<()> {
    if place.is_null() || size == 0 {
        return Ok(());
    }
    let room = usize::try_from(size).map_err(|_| CL_OUT_OF_HOST_MEMORY)?;
    let mut request = Request::new(wire::GIL_GET_PROGRAM_BINARY, Class::Query, entry);
    let args = wire::GilGetProgramBinaryArgs {
        program: program.number(),
        index,
        // SAFETY: the caller's.
        binary: unsafe { request.output(place, room) },
    };
    request.forward(&args, |reply| {
        let reply: wire::GilGetProgramBinaryReply<'_> = reply.decode()?;
        Guest::check(reply.result)?;
        // SAFETY: the caller's.
        unsafe { data::write_data(&reply.binary, place, room) };
        Ok(())
    })
}
