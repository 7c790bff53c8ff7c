//! Calls whose bodies are not generated.

use super::absolute;
use super::build;
use super::enqueue::{Parts, first_error};
use super::event_info;
use super::files;
use super::generated::dispatch::run;
use super::generated::manual::Manual;
use super::generated::types::*;
use super::image;
use super::kernel_args;
use super::memory;
use super::migrate;
use super::notices;
use super::part;
use super::queue::{NewQueue, with_profiling};
use super::session::Session;
use super::shield;
use super::subgroups;
use super::support::Board;
use super::svm;
use crate::back_end::{Call, Objects, Order, Pointer, Queues, Refusal, encode, size};
use gil_wire::call::OutData;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What every enqueue about one memory object has.
macro_rules! about {
    ($args:ident, $object:ident) => {
        part::About {
            queue: $args.command_queue,
            object: $args.$object,
            waits: &$args.event_wait_list,
            event: $args.event,
        }
    };
}

/// The part of the memory object that it is about.
macro_rules! part {
    ($args:ident) => {
        part::Part {
            origin: &$args.origin,
            region: &$args.region,
        }
    };
}

impl Manual for Board {
    fn cl_create_buffer(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateBufferArgs<'_>,
    ) -> Result<wire::ClCreateBufferReply, Refusal> {
        shield::check_memory(args.flags)?;
        run::cl_create_buffer(session, call, &args)
    }

    fn cl_create_buffer_with_properties(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateBufferWithPropertiesArgs<'_>,
    ) -> Result<wire::ClCreateBufferWithPropertiesReply, Refusal> {
        shield::check_memory(args.flags)?;
        run::cl_create_buffer_with_properties(session, call, &args)
    }

    fn cl_create_sub_buffer(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateSubBufferArgs,
    ) -> Result<wire::ClCreateSubBufferReply, Refusal> {
        if let Some(result) = shield::part(&args) {
            return Ok(wire::ClCreateSubBufferReply { result });
        }
        run::cl_create_sub_buffer(session, call, &args)
    }

    fn cl_build_program(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClBuildProgramArgs<'_>,
    ) -> Result<wire::ClBuildProgramReply, Refusal> {
        let result = session.build_program(call, &args)?;
        Ok(wire::ClBuildProgramReply { result })
    }

    fn cl_compile_program(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCompileProgramArgs<'_>,
    ) -> Result<wire::ClCompileProgramReply, Refusal> {
        let result = session.compile_program(call, &args)?;
        Ok(wire::ClCompileProgramReply { result })
    }

    fn cl_link_program(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClLinkProgramArgs<'_>,
    ) -> Result<wire::ClLinkProgramReply, Refusal> {
        let result = session.link_program(call, &args)?;
        Ok(wire::ClLinkProgramReply { result })
    }

    fn cl_enqueue_nd_range_kernel(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueNDRangeKernelArgs,
    ) -> Result<wire::ClEnqueueNDRangeKernelReply, Refusal> {
        if let Some(result) = shield::launch(&args) {
            session.not_enqueued(call, args.command_queue, result);
            return Ok(wire::ClEnqueueNDRangeKernelReply { result });
        }
        session.warm_up(args.command_queue, &args.event_wait_list);
        session.may_be_first(&args);
        session.launching(call, (args.kernel, args.event), |session, call| {
            run::cl_enqueue_nd_range_kernel(session, call, &args)
        })
    }

    fn cl_enqueue_task(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueTaskArgs,
    ) -> Result<wire::ClEnqueueTaskReply, Refusal> {
        session.warm_up(args.command_queue, &args.event_wait_list);
        session.launching(call, (args.kernel, args.event), |session, call| {
            run::cl_enqueue_task(session, call, &args)
        })
    }

    fn cl_enqueue_fill_buffer(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueFillBufferArgs<'_>,
    ) -> Result<wire::ClEnqueueFillBufferReply, Refusal> {
        if let Some(result) = shield::fill(&args) {
            session.not_enqueued(call, args.command_queue, result);
            return Ok(wire::ClEnqueueFillBufferReply { result });
        }
        run::cl_enqueue_fill_buffer(session, call, &args)
    }

    fn cl_enqueue_migrate_mem_objects(
        session: &mut Session,
        call: &mut Call,
        mut args: wire::ClEnqueueMigrateMemObjectsArgs,
    ) -> Result<wire::ClEnqueueMigrateMemObjectsReply, Refusal> {
        args.flags = migrate::flags(&session.operations, args.flags);
        run::cl_enqueue_migrate_mem_objects(session, call, &args)
    }

    fn cl_create_context(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateContextArgs,
    ) -> Result<wire::ClCreateContextReply, Refusal> {
        let result = notices::create_context(session, call, &args)?;
        session.number_context(call, args.new);
        Ok(wire::ClCreateContextReply { result })
    }

    fn cl_create_context_from_type(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateContextFromTypeArgs,
    ) -> Result<wire::ClCreateContextFromTypeReply, Refusal> {
        let result = notices::create_context_from_type(session, call, &args)?;
        session.number_context(call, args.new);
        Ok(wire::ClCreateContextFromTypeReply { result })
    }

    fn gil_take_notice(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilTakeNoticeArgs,
    ) -> Result<Vec<u8>, Refusal> {
        notices::take(session, call, &args)
    }

    fn cl_create_command_queue(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateCommandQueueArgs,
    ) -> Result<wire::ClCreateCommandQueueReply, Refusal> {
        let queue = NewQueue {
            context: args.context,
            device: args.device,
            new: args.new,
            flags: args.properties,
        };
        let result = queue.create(session, call, None)?;
        Ok(wire::ClCreateCommandQueueReply { result })
    }

    fn cl_create_command_queue_with_properties(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateCommandQueueWithPropertiesArgs,
    ) -> Result<wire::ClCreateCommandQueueWithPropertiesReply, Refusal> {
        let mut list = session
            .properties(&args.properties, &[])?
            .unwrap_or(vec![0]);
        let queue = NewQueue {
            context: args.context,
            device: args.device,
            new: args.new,
            flags: with_profiling(&mut list),
        };
        let result = queue.create(session, call, Some(&list))?;
        Ok(wire::ClCreateCommandQueueWithPropertiesReply { result })
    }

    fn cl_create_program_with_source(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateProgramWithSourceArgs<'_>,
    ) -> Result<wire::ClCreateProgramWithSourceReply, Refusal> {
        let result = absolute::create_program(session, call, &args)?;
        Ok(wire::ClCreateProgramWithSourceReply { result })
    }

    fn cl_get_program_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetProgramInfoArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let info = absolute::get_info(session, call, &args)?;
        encode(&wire::ClGetProgramInfoReply {
            result: info.result,
            size: info.size,
            value: info.value(),
        })
    }

    fn cl_get_program_build_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetProgramBuildInfoArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let info = build::get_info(session, call, &args)?;
        encode(&wire::ClGetProgramBuildInfoReply {
            result: info.result,
            size: info.size,
            value: info.value(),
        })
    }

    fn cl_get_kernel_arg_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetKernelArgInfoArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let info = build::get_arg_info(session, call, &args)?;
        encode(&wire::ClGetKernelArgInfoReply {
            result: info.result,
            size: info.size,
            value: info.value(),
        })
    }

    fn cl_get_device_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetDeviceInfoArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let info = memory::device_info(session, call, &args)?;
        encode(&wire::ClGetDeviceInfoReply {
            result: info.result,
            size: info.size,
            value: info.value(),
        })
    }

    fn cl_get_event_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetEventInfoArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let info = event_info::get_info(session, call, &args)?;
        encode(&wire::ClGetEventInfoReply {
            result: info.result,
            size: info.size,
            value: info.value(),
        })
    }

    fn cl_set_kernel_arg(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSetKernelArgArgs<'_>,
    ) -> Result<wire::ClSetKernelArgReply, Refusal> {
        let result = kernel_args::set(session, call, &args)?;
        Ok(wire::ClSetKernelArgReply { result })
    }

    fn cl_create_user_event(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateUserEventArgs,
    ) -> Result<wire::ClCreateUserEventReply, Refusal> {
        let context: cl_context = session.get(Kind::Context, args.context)?;
        session.can_bind(args.new)?;
        let mut result = CL_INVALID_OPERATION;
        if let Some(function) = session.functions().clCreateUserEvent {
            // SAFETY: the context is alive.
            let event = call.timed(|| unsafe { function(context, &mut result) });
            if result == CL_SUCCESS {
                session.bind(Kind::Event, args.new, event, args.context)?;
                session.user_event(pointer(event)?);
            }
        }
        Ok(wire::ClCreateUserEventReply { result })
    }

    fn cl_set_user_event_status(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSetUserEventStatusArgs,
    ) -> Result<wire::ClSetUserEventStatusReply, Refusal> {
        let event: cl_event = session.get(Kind::Event, args.event)?;
        let status = args.execution_status;
        let mut result = CL_INVALID_OPERATION;
        session.unblocking(call, |session, call| {
            if let Some(function) = session.functions().clSetUserEventStatus {
                // SAFETY: the event is alive.
                result = call.timed(|| unsafe { function(event, status) });
            }
            if result == CL_SUCCESS {
                let ending = gil_opencl_common::status::ending(status);
                call.report_own(ending);
                session.operations.saw(ending);
                session.user_event_set(pointer(event)?, call);
            }
            Ok(wire::ClSetUserEventStatusReply { result })
        })
    }

    fn cl_set_program_release_callback(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSetProgramReleaseCallbackArgs,
    ) -> Result<wire::ClSetProgramReleaseCallbackReply, Refusal> {
        let program: cl_program = session.get(Kind::Program, args.program)?;
        let notify = args
            .notify
            .then_some(ignore_release as unsafe extern "C" fn(cl_program, *mut c_void));
        let result = match session.functions().clSetProgramReleaseCallback {
            // SAFETY: the program is alive; the function lives for ever.
            Some(function) => call.timed(|| unsafe { function(program, notify, null_mut()) }),
            None => CL_INVALID_OPERATION,
        };
        Ok(wire::ClSetProgramReleaseCallbackReply { result })
    }

    fn cl_svm_alloc(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSVMAllocArgs,
    ) -> Result<wire::ClSVMAllocReply, Refusal> {
        let address = svm::alloc(session, call, &args)?;
        let result = CL_SUCCESS;
        Ok(wire::ClSVMAllocReply { result, address })
    }

    fn cl_svm_free(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSVMFreeArgs,
    ) -> Result<wire::ClSVMFreeReply, Refusal> {
        svm::free(session, call, args.address);
        Ok(wire::ClSVMFreeReply::default())
    }

    fn cl_enqueue_svm_free(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMFreeArgs<'_>,
    ) -> Result<wire::ClEnqueueSVMFreeReply, Refusal> {
        let result = svm::enqueue_free(session, call, &args)?;
        session.is_of(args.event, CL_COMMAND_SVM_FREE);
        Ok(wire::ClEnqueueSVMFreeReply { result })
    }

    fn cl_enqueue_svm_memcpy(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMMemcpyArgs<'_>,
    ) -> Result<wire::ClEnqueueSVMMemcpyReply, Refusal> {
        let result = svm::memcpy(session, call, &args)?;
        Ok(wire::ClEnqueueSVMMemcpyReply { result })
    }

    fn cl_enqueue_svm_mem_fill(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMMemFillArgs<'_>,
    ) -> Result<wire::ClEnqueueSVMMemFillReply, Refusal> {
        let result = svm::fill(session, call, &args)?;
        Ok(wire::ClEnqueueSVMMemFillReply { result })
    }

    fn cl_enqueue_svm_map(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMMapArgs,
    ) -> Result<wire::ClEnqueueSVMMapReply, Refusal> {
        let result = svm::map(session, call, &args)?;
        session.is_of(args.event, CL_COMMAND_SVM_MAP);
        Ok(wire::ClEnqueueSVMMapReply { result })
    }

    fn cl_enqueue_svm_unmap(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMUnmapArgs<'_>,
    ) -> Result<wire::ClEnqueueSVMUnmapReply, Refusal> {
        let result = svm::unmap(session, call, &args)?;
        session.is_of(args.event, CL_COMMAND_SVM_UNMAP);
        Ok(wire::ClEnqueueSVMUnmapReply { result })
    }

    fn cl_set_kernel_arg_svm_pointer(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSetKernelArgSVMPointerArgs,
    ) -> Result<wire::ClSetKernelArgSVMPointerReply, Refusal> {
        let result = svm::set_kernel_arg(session, call, &args)?;
        Ok(wire::ClSetKernelArgSVMPointerReply { result })
    }

    fn cl_set_kernel_exec_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClSetKernelExecInfoArgs<'_>,
    ) -> Result<wire::ClSetKernelExecInfoReply, Refusal> {
        let result = svm::set_exec_info(session, call, &args)?;
        Ok(wire::ClSetKernelExecInfoReply { result })
    }

    fn cl_enqueue_svm_migrate_mem(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueSVMMigrateMemArgs<'_>,
    ) -> Result<wire::ClEnqueueSVMMigrateMemReply, Refusal> {
        let result = svm::migrate(session, call, &args)?;
        Ok(wire::ClEnqueueSVMMigrateMemReply { result })
    }

    fn gil_create_svm_buffer(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilCreateSvmBufferArgs,
    ) -> Result<wire::GilCreateSvmBufferReply, Refusal> {
        let result = svm::create_buffer(session, call, &args)?;
        Ok(wire::GilCreateSvmBufferReply { result })
    }

    fn gil_give_files(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilGiveFilesArgs<'_>,
    ) -> Result<wire::GilGiveFilesReply, Refusal> {
        let result = files::give(session, call, &args)?;
        Ok(wire::GilGiveFilesReply { result })
    }

    fn gil_get_svm_capabilities(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilGetSvmCapabilitiesArgs,
    ) -> Result<wire::GilGetSvmCapabilitiesReply, Refusal> {
        svm::capabilities(session, call, &args)
    }

    fn cl_enqueue_map_buffer(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueMapBufferArgs,
    ) -> Result<wire::ClEnqueueMapBufferReply, Refusal> {
        let buffer: cl_mem = session.get(Kind::Mem, args.buffer)?;
        let (offset, len) = (size(args.offset, "offset")?, size(args.size, "size")?);
        let memory = call.output(args.memory, len)?.as_mut_ptr();
        let read = session.functions().clEnqueueReadBuffer;
        let enqueue = |queue, count, list, event: *mut cl_event| match read {
            // SAFETY: the objects are alive, and the memory is the operation's
            // until it ends.
            Some(read) => unsafe {
                read(
                    queue, buffer, CL_FALSE, offset, len, memory, count, list, event,
                )
            },
            None => CL_INVALID_OPERATION,
        };
        let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
        let result = match memory.is_null() {
            true => op.marker(session, call)?,
            false => op.enqueue(session, call, Order::Command, &enqueue)?,
        };
        session.is_of(args.event, CL_COMMAND_MAP_BUFFER);
        Ok(wire::ClEnqueueMapBufferReply { result })
    }

    fn cl_enqueue_unmap_mem_object(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueUnmapMemObjectArgs<'_>,
    ) -> Result<wire::ClEnqueueUnmapMemObjectReply, Refusal> {
        if !args.region.is_empty() {
            let about = about!(args, memobj);
            let result = part::write(session, call, &about, &part!(args), &args.memory)?;
            session.is_of(args.event, CL_COMMAND_UNMAP_MEM_OBJECT);
            return Ok(wire::ClEnqueueUnmapMemObjectReply { result });
        }
        let buffer: cl_mem = session.get(Kind::Mem, args.memobj)?;
        let (offset, len) = (size(args.offset, "offset")?, size(args.size, "size")?);
        let memory = call.keep_input(&args.memory, len)?;
        let write = session.functions().clEnqueueWriteBuffer;
        let enqueue = |queue, count, list, event: *mut cl_event| match write {
            // SAFETY: as above.
            Some(write) => unsafe {
                write(
                    queue, buffer, CL_FALSE, offset, len, memory, count, list, event,
                )
            },
            None => CL_INVALID_OPERATION,
        };
        let op = Parts::new(args.command_queue, &args.event_wait_list, args.event);
        let result = match memory.is_null() {
            true => op.marker(session, call)?,
            false => op.enqueue(session, call, Order::Command, &enqueue)?,
        };
        session.is_of(args.event, CL_COMMAND_UNMAP_MEM_OBJECT);
        Ok(wire::ClEnqueueUnmapMemObjectReply { result })
    }

    fn cl_create_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateImageArgs<'_>,
    ) -> Result<wire::ClCreateImageReply, Refusal> {
        let result = image::create_image(session, call, &args)?;
        Ok(wire::ClCreateImageReply { result })
    }

    fn cl_create_image_with_properties(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateImageWithPropertiesArgs<'_>,
    ) -> Result<wire::ClCreateImageWithPropertiesReply, Refusal> {
        let result = image::create_image_with_properties(session, call, &args)?;
        Ok(wire::ClCreateImageWithPropertiesReply { result })
    }

    fn cl_create_image2d(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateImage2DArgs<'_>,
    ) -> Result<wire::ClCreateImage2DReply, Refusal> {
        let result = image::create_image_2d(session, call, &args)?;
        Ok(wire::ClCreateImage2DReply { result })
    }

    fn cl_create_image3d(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClCreateImage3DArgs<'_>,
    ) -> Result<wire::ClCreateImage3DReply, Refusal> {
        let result = image::create_image_3d(session, call, &args)?;
        Ok(wire::ClCreateImage3DReply { result })
    }

    fn cl_enqueue_read_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueReadImageArgs,
    ) -> Result<wire::ClEnqueueReadImageReply, Refusal> {
        let about = about!(args, image);
        let result = part::read(session, call, &about, &part!(args), args.memory)?;
        Ok(wire::ClEnqueueReadImageReply { result })
    }

    fn cl_enqueue_map_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueMapImageArgs,
    ) -> Result<wire::ClEnqueueMapImageReply, Refusal> {
        let about = about!(args, image);
        let result = part::read(session, call, &about, &part!(args), args.memory)?;
        session.is_of(args.event, CL_COMMAND_MAP_IMAGE);
        Ok(wire::ClEnqueueMapImageReply { result })
    }

    fn cl_enqueue_write_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueWriteImageArgs<'_>,
    ) -> Result<wire::ClEnqueueWriteImageReply, Refusal> {
        let about = about!(args, image);
        let result = part::write(session, call, &about, &part!(args), &args.memory)?;
        Ok(wire::ClEnqueueWriteImageReply { result })
    }

    fn cl_enqueue_fill_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueFillImageArgs<'_>,
    ) -> Result<wire::ClEnqueueFillImageReply, Refusal> {
        let about = about!(args, image);
        let color = &args.fill_color;
        let result = part::fill(session, call, &about, &part!(args), color)?;
        Ok(wire::ClEnqueueFillImageReply { result })
    }

    fn cl_enqueue_read_buffer_rect(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueReadBufferRectArgs,
    ) -> Result<wire::ClEnqueueReadBufferRectReply, Refusal> {
        let pitches = part::Pitches {
            row: args.row_pitch,
            slice: args.slice_pitch,
        };
        let (about, part) = (about!(args, buffer), part!(args));
        let result = part::read_rect(session, call, &about, (&part, &pitches), args.memory)?;
        Ok(wire::ClEnqueueReadBufferRectReply { result })
    }

    fn cl_enqueue_write_buffer_rect(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueWriteBufferRectArgs<'_>,
    ) -> Result<wire::ClEnqueueWriteBufferRectReply, Refusal> {
        let pitches = part::Pitches {
            row: args.row_pitch,
            slice: args.slice_pitch,
        };
        let (about, part) = (about!(args, buffer), part!(args));
        let result = part::write_rect(session, call, &about, (&part, &pitches), &args.memory)?;
        Ok(wire::ClEnqueueWriteBufferRectReply { result })
    }

    fn cl_enqueue_marker(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueMarkerArgs,
    ) -> Result<wire::ClEnqueueMarkerReply, Refusal> {
        let result = Parts::new(args.command_queue, &[], args.event).marker(session, call)?;
        Ok(wire::ClEnqueueMarkerReply { result })
    }

    fn cl_enqueue_barrier(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueBarrierArgs,
    ) -> Result<wire::ClEnqueueBarrierReply, Refusal> {
        let result = Parts::new(args.command_queue, &[], args.event).barrier(session, call)?;
        Ok(wire::ClEnqueueBarrierReply { result })
    }

    fn cl_enqueue_wait_for_events(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClEnqueueWaitForEventsArgs,
    ) -> Result<wire::ClEnqueueWaitForEventsReply, Refusal> {
        let op = Parts::new(args.command_queue, &args.event_list, args.event);
        let result = op.barrier(session, call)?;
        Ok(wire::ClEnqueueWaitForEventsReply { result })
    }

    fn cl_get_kernel_sub_group_info(
        session: &mut Session,
        call: &mut Call,
        args: wire::ClGetKernelSubGroupInfoArgs<'_>,
    ) -> Result<Vec<u8>, Refusal> {
        subgroups::info(session, call, &args)
    }

    fn gil_get_program_binary(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilGetProgramBinaryArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let program: cl_program = session.get(Kind::Program, args.program)?;
        let sizes = match binary_sizes(session, call, program) {
            Ok(sizes) => sizes,
            Err(result) => return no_binary(result),
        };
        let Some(size) = sizes.get(args.index as usize).copied() else {
            return no_binary(CL_INVALID_VALUE);
        };
        let mut room = call.output(args.binary, 0)?;
        let mut binary = OutData::None;
        if size > 0 && room.room() >= size {
            let mut pointers = vec![null_mut::<c_void>(); sizes.len()];
            pointers[args.index as usize] = room.as_mut_ptr();
            let result = program_info(session, call, program, CL_PROGRAM_BINARIES, &mut pointers);
            if result != CL_SUCCESS {
                return no_binary(result);
            }
            binary = room.data(call, size);
        }
        encode(&wire::GilGetProgramBinaryReply {
            result: CL_SUCCESS,
            size: size as u64,
            binary,
        })
    }
}

/// The guest knows itself when a program goes, and calls its own function then.
unsafe extern "C" fn ignore_release(_program: cl_program, _user_data: *mut c_void) {}

/// The address of an object that the driver just made.
///
/// # Errors
/// [`Refusal::Parameter`] if it made none.
pub fn pointer<T>(object: *mut T) -> Result<Pointer, Refusal> {
    Pointer::new(object.cast()).ok_or(Refusal::parameter("new object", 0))
}

fn no_binary(result: cl_int) -> Result<Vec<u8>, Refusal> {
    encode(&wire::GilGetProgramBinaryReply {
        result,
        ..Default::default()
    })
}

fn program_info<T>(
    session: &Session,
    call: &mut Call,
    program: cl_program,
    name: cl_uint,
    room: &mut [T],
) -> cl_int {
    let Some(function) = session.functions().clGetProgramInfo else {
        return CL_INVALID_OPERATION;
    };
    let pointer = room.as_mut_ptr().cast();
    let size = size_of_val(room);
    // SAFETY: the program is alive, the buffer has the stated size.
    call.timed(|| unsafe { function(program, name, size, pointer, null_mut()) })
}

/// Bytes of the binary for each of the program's devices.
fn binary_sizes(
    session: &Session,
    call: &mut Call,
    program: cl_program,
) -> Result<Vec<usize>, cl_int> {
    let mut count = [0 as cl_uint];
    let result = program_info(session, call, program, CL_PROGRAM_NUM_DEVICES, &mut count);
    let mut sizes = vec![0usize; count[0] as usize];
    let result = first_error(result, || {
        program_info(session, call, program, CL_PROGRAM_BINARY_SIZES, &mut sizes)
    });
    match result {
        CL_SUCCESS => Ok(sizes),
        code => Err(code),
    }
}
