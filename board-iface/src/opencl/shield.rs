//! Calls that crash some drivers where the specification names an error. The agent
//! returns that error itself, as a driver with its own checks would, so that no program
//! takes the board from others.

use super::generated::types::*;
use crate::back_end::Refusal;
use gil_wire::call::InData;
use gil_wire::generated::opencl as wire;

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

/// The error of a launch that no driver is asked about: NVIDIA's looks at the
/// sizes of any number of dimensions first.
pub fn launch(args: &wire::ClEnqueueNDRangeKernelArgs) -> Option<cl_int> {
    let is_one = (1..=3).contains(&args.work_dim);
    (!is_one).then_some(CL_INVALID_WORK_DIMENSION)
}

/// The same of a fill: NVIDIA's driver copies the pattern before it looks at
/// anything.
pub fn fill(args: &wire::ClEnqueueFillBufferArgs<'_>) -> Option<cl_int> {
    matches!(args.pattern, InData::Null).then_some(CL_INVALID_VALUE)
}

/// The same of a part of a buffer whose end no address has: PoCL adds origin and size without
/// a look at the carry, makes the part, and its reads give memory of the process.
pub fn part(args: &wire::ClCreateSubBufferArgs) -> Option<cl_int> {
    let region = args.buffer_create_info.as_ref()?;
    let end = region.origin.checked_add(region.size);
    end.is_none().then_some(CL_INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_wire::call::{Handle, NewEvent};

    #[test]
    fn one_to_three_dimensions_reach_the_driver() {
        let result = |work_dim| {
            launch(&wire::ClEnqueueNDRangeKernelArgs {
                command_queue: Handle(1),
                kernel: Handle(2),
                work_dim,
                global_work_offset: None,
                global_work_size: Some(vec![4; 3]),
                local_work_size: None,
                event_wait_list: Vec::new(),
                event: NewEvent::default(),
            })
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
            fill(&wire::ClEnqueueFillBufferArgs {
                command_queue: Handle(1),
                buffer: Handle(2),
                pattern,
                pattern_size: 4,
                offset: 0,
                size: 16,
                event_wait_list: Vec::new(),
                event: NewEvent::default(),
            })
        };
        assert_eq!(result(InData::Null), Some(CL_INVALID_VALUE));
        assert_eq!(result(InData::Inline(&[1, 2, 3, 4])), None);
    }
}
