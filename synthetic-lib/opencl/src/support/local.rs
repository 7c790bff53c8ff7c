//! Queries answered in the guest, from what it knows and from the timeline.

use super::details::{Details, QueueDetails};
use super::memory::Memory;
use crate::generated::manual::{Guest, Local, Object};
use crate::generated::types::*;
use gil_guest::{Api, CallResult};
use gil_wire::Op;
use gil_wire::ending::Ending;
use gil_wire::envelope::{Observation, State};
use gil_wire::generated::opencl::{self as wire, Kind};

/// Name of this vendor's functions and environment, after `cl_khr_icd`.
const ICD_SUFFIX: &[u8] = b"GIL\0";

impl Local for Guest {
    fn clGetPlatformInfo(
        _entry: u64,
        _platform: &Object,
        param_name: cl_uint,
    ) -> CallResult<Vec<u8>> {
        match param_name {
            CL_PLATFORM_ICD_SUFFIX_KHR => Ok(ICD_SUFFIX.to_vec()),
            _ => Err(CL_INVALID_VALUE),
        }
    }

    fn clGetDeviceInfo(entry: u64, device: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        match param_name {
            // What the device can, less what only one memory for both can.
            CL_DEVICE_SVM_CAPABILITIES => {
                super::svm::capabilities(entry, device.number()).map(bytes)
            }
            _ => references(device, param_name, CL_DEVICE_REFERENCE_COUNT),
        }
    }

    fn clGetContextInfo(_entry: u64, context: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        match (param_name, context.details()) {
            (CL_CONTEXT_PROPERTIES, Details::Context(context)) => {
                let properties = context.properties();
                Ok(properties.iter().flat_map(|p| p.to_ne_bytes()).collect())
            }
            _ => references(context, param_name, CL_CONTEXT_REFERENCE_COUNT),
        }
    }

    fn clGetCommandQueueInfo(
        _entry: u64,
        command_queue: &Object,
        param_name: cl_uint,
    ) -> CallResult<Vec<u8>> {
        match (param_name, command_queue.details()) {
            (CL_QUEUE_REFERENCE_COUNT, _) => Ok(bytes(command_queue.references())),
            (_, Details::Queue(queue)) => queue_info(queue, param_name),
            _ => Err(CL_INVALID_VALUE),
        }
    }

    fn clGetMemObjectInfo(
        _entry: u64,
        memobj: &Object,
        param_name: cl_uint,
    ) -> CallResult<Vec<u8>> {
        match (param_name, memobj.details()) {
            (CL_MEM_REFERENCE_COUNT, _) => Ok(bytes(memobj.references())),
            (_, Details::Memory(memory)) => memory_info(memory, param_name),
            _ => Err(CL_INVALID_VALUE),
        }
    }

    fn clGetSamplerInfo(_entry: u64, sampler: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        references(sampler, param_name, CL_SAMPLER_REFERENCE_COUNT)
    }

    fn clGetProgramInfo(_entry: u64, program: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        references(program, param_name, CL_PROGRAM_REFERENCE_COUNT)
    }

    fn clGetKernelInfo(_entry: u64, kernel: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        references(kernel, param_name, CL_KERNEL_REFERENCE_COUNT)
    }

    fn clGetEventInfo(entry: u64, event: &Object, param_name: cl_uint) -> CallResult<Vec<u8>> {
        match param_name {
            CL_EVENT_COMMAND_EXECUTION_STATUS => {
                let observed = observe(wire::CL_GET_EVENT_INFO, entry, event)?;
                Ok(bytes(execution_status(event, &observed)))
            }
            _ => references(event, param_name, CL_EVENT_REFERENCE_COUNT),
        }
    }

    fn clGetEventProfilingInfo(
        entry: u64,
        event: &Object,
        param_name: cl_uint,
    ) -> CallResult<Vec<u8>> {
        let queue = event.parent().filter(|p| p.kind() == Kind::CommandQueue);
        let has_times = queue.is_some_and(|queue| match queue.details() {
            Details::Queue(queue) => queue.has_profiling(),
            _ => false,
        });
        if !has_times {
            return Err(CL_PROFILING_INFO_NOT_AVAILABLE);
        }
        let observed = observe(wire::CL_GET_EVENT_PROFILING_INFO, entry, event)?;
        if observed.state != State::Complete || observed.ending != Ending::Done {
            return Err(CL_PROFILING_INFO_NOT_AVAILABLE);
        }
        profile(&observed, param_name).map(bytes)
    }
}

/// A number as the guest keeps it in memory.
fn bytes(value: impl Number) -> Vec<u8> {
    value.bytes()
}

trait Number {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Number for $number {
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        })*
    };
}
numbers! { i32 u32 u64 usize }

fn references(object: &Object, asked: cl_uint, name: cl_uint) -> CallResult<Vec<u8>> {
    match asked == name {
        true => Ok(bytes(object.references())),
        false => Err(CL_INVALID_VALUE),
    }
}

fn queue_info(queue: &QueueDetails, param_name: cl_uint) -> CallResult<Vec<u8>> {
    match param_name {
        CL_QUEUE_PROPERTIES => Ok(bytes(queue.properties())),
        CL_QUEUE_PROPERTIES_ARRAY => {
            Ok(queue.list().iter().flat_map(|w| w.to_ne_bytes()).collect())
        }
        // Only queues on the device have a size.
        CL_QUEUE_SIZE => queue.size().map(bytes).ok_or(CL_INVALID_COMMAND_QUEUE),
        _ => Err(CL_INVALID_VALUE),
    }
}

fn memory_info(memory: &Memory, param_name: cl_uint) -> CallResult<Vec<u8>> {
    match param_name {
        CL_MEM_FLAGS => Ok(bytes(memory.flags())),
        CL_MEM_HOST_PTR => Ok(bytes(memory.host_ptr())),
        CL_MEM_MAP_COUNT => Ok(bytes(memory.map_count())),
        _ => Err(CL_INVALID_VALUE),
    }
}

/// How far an event is. How it ended is asked once: that never changes.
fn observe(op: Op, entry: u64, event: &Object) -> CallResult<Observation> {
    let Details::Event(ended) = event.details() else {
        return Err(CL_INVALID_EVENT);
    };
    if let Some(ended) = ended.get() {
        return Ok(*ended);
    }
    let polled = gil_guest::client()
        .and_then(|client| client.poll(op, entry, &[event.number().0]))
        .map_err(|error| Guest::failed(op, &error))?;
    let observed = *polled.first().ok_or(CL_OUT_OF_RESOURCES)?;
    if observed.state == State::Complete {
        let _ = ended.set(observed);
    }
    Ok(observed)
}

fn execution_status(event: &Object, observed: &Observation) -> cl_int {
    let is_user = event.parent().is_some_and(|p| p.kind() == Kind::Context);
    match observed.state {
        State::Complete => gil_opencl_common::status::of(observed.ending),
        _ if is_user => CL_SUBMITTED,
        State::Queued => CL_QUEUED,
        State::Submitted => CL_SUBMITTED,
        State::Running => CL_RUNNING,
    }
}

fn profile(observed: &Observation, param_name: cl_uint) -> CallResult<cl_ulong> {
    match param_name {
        CL_PROFILING_COMMAND_QUEUED => Ok(observed.queued_ns),
        CL_PROFILING_COMMAND_SUBMIT => Ok(observed.submitted_ns),
        CL_PROFILING_COMMAND_START => Ok(observed.start_ns),
        CL_PROFILING_COMMAND_END | CL_PROFILING_COMMAND_COMPLETE => Ok(observed.end_ns),
        _ => Err(CL_INVALID_VALUE),
    }
}
