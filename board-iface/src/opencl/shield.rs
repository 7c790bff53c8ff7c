//! Calls that crash some drivers, where the specification names an error: the
//! agent answers them itself, so that no program takes the board from others.
//! What a driver with its own checks would have said is the same.

use super::generated::types::*;
use super::refusal::Refusal;
use super::support::{decode, encode};
use gil_wire::Op;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl as wire;

/// A call that no driver is asked.
#[derive(Debug)]
pub struct Refused {
    /// Its queue.
    pub queue: Handle,
    /// Its error.
    pub error: cl_int,
    /// What the guest gets.
    pub reply: Vec<u8>,
}

/// Looks at an enqueue; `None`: the driver is asked.
///
/// # Errors
/// [`Refusal`] if the request is none.
pub fn refused(op: Op, args: &[u8]) -> Result<Option<Refused>, Refusal> {
    match op {
        wire::CL_ENQUEUE_ND_RANGE_KERNEL => launch(decode(args)?),
        wire::CL_ENQUEUE_FILL_BUFFER => fill(decode(args)?),
        wire::CL_CREATE_BUFFER => {
            let args: wire::ClCreateBufferArgs<'_> = decode(args)?;
            check_memory(args.flags).map(|()| None)
        }
        wire::CL_CREATE_BUFFER_WITH_PROPERTIES => {
            let args: wire::ClCreateBufferWithPropertiesArgs<'_> = decode(args)?;
            check_memory(args.flags).map(|()| None)
        }
        _ => Ok(None),
    }
}

/// No memory object uses a call's memory, which goes when the call ends. Flags
/// that contradict each other are the driver's to refuse.
///
/// # Errors
/// [`Refusal::Parameter`].
pub fn check_memory(flags: cl_mem_flags) -> Result<(), Refusal> {
    let others = CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    let uses = flags & CL_MEM_USE_HOST_PTR != 0 && flags & others == 0;
    match uses {
        true => Err(Refusal::parameter("flags", flags)),
        false => Ok(()),
    }
}

/// NVIDIA's driver looks at the sizes of any number of dimensions first.
fn launch(args: wire::ClEnqueueNDRangeKernelArgs) -> Result<Option<Refused>, Refusal> {
    if (1..=3).contains(&args.work_dim) {
        return Ok(None);
    }
    let result = CL_INVALID_WORK_DIMENSION;
    Ok(Some(Refused {
        queue: args.command_queue,
        error: result,
        reply: encode(&wire::ClEnqueueNDRangeKernelReply { result })?,
    }))
}

/// NVIDIA's driver copies the pattern before it looks at anything.
fn fill(args: wire::ClEnqueueFillBufferArgs<'_>) -> Result<Option<Refused>, Refusal> {
    if !matches!(args.pattern, InData::Null) {
        return Ok(None);
    }
    let result = CL_INVALID_VALUE;
    Ok(Some(Refused {
        queue: args.command_queue,
        error: result,
        reply: encode(&wire::ClEnqueueFillBufferReply { result })?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::call::NewEvent;

    fn launch(work_dim: u32) -> Vec<u8> {
        encode(&wire::ClEnqueueNDRangeKernelArgs {
            command_queue: Handle(1),
            kernel: Handle(2),
            work_dim,
            global_work_offset: None,
            global_work_size: Some(vec![4; 3]),
            local_work_size: None,
            event_wait_list: Vec::new(),
            event: NewEvent::default(),
        })
        .unwrap()
    }

    #[test]
    fn one_to_three_dimensions_reach_the_driver() {
        let result = |work_dim| {
            let refused = refused(wire::CL_ENQUEUE_ND_RANGE_KERNEL, &launch(work_dim));
            refused.unwrap().map(|refused| refused.error)
        };
        for work_dim in 1..=3 {
            assert_eq!(result(work_dim), None);
        }
        for work_dim in [0, 4, u32::MAX] {
            assert_eq!(result(work_dim), Some(CL_INVALID_WORK_DIMENSION));
        }
    }

    #[test]
    fn fills_have_a_pattern() {
        let result = |pattern| {
            let args = encode(&wire::ClEnqueueFillBufferArgs {
                command_queue: Handle(1),
                buffer: Handle(2),
                pattern,
                pattern_size: 4,
                offset: 0,
                size: 16,
                event_wait_list: Vec::new(),
                event: NewEvent::default(),
            });
            let refused = refused(wire::CL_ENQUEUE_FILL_BUFFER, &args.unwrap());
            refused.unwrap().map(|refused| refused.error)
        };
        assert_eq!(result(InData::Null), Some(CL_INVALID_VALUE));
        assert_eq!(result(InData::Inline(&[1, 2, 3, 4])), None);
    }
}
