//! Creating command queues.

use super::generated::types::*;
use super::objects::Data;
use super::session::Session;
use super::warm_up::WarmUp;
use crate::back_end::{Call, Objects, Refusal};
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;
use std::ptr::null_mut;

/// The flags of OpenCL 3.0, section 5.1.
const KNOWN: cl_command_queue_properties = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
    | CL_QUEUE_PROFILING_ENABLE
    | CL_QUEUE_ON_DEVICE
    | CL_QUEUE_ON_DEVICE_DEFAULT;

/// A queue to be made.
pub struct NewQueue {
    /// Its context.
    pub context: Handle,
    /// Its device.
    pub device: Handle,
    /// The guest's number for it.
    pub new: Handle,
    /// The guest's own properties.
    pub flags: cl_command_queue_properties,
}

/// The session's data about a queue.
#[derive(Debug)]
pub struct Made {
    /// Whether it executes in order.
    pub in_order: bool,
    /// The guest's number of its context.
    pub context: Handle,
    /// What is enqueued in front of a kernel that finds an idle device.
    pub warm_up: WarmUp,
}

impl NewQueue {
    /// Makes it, with profiling whatever the guest asked for: the durations
    /// come from there.
    ///
    /// # Errors
    /// [`Refusal`]; what the driver says is in the result.
    pub fn create(
        &self,
        session: &mut Session,
        call: &mut Call,
        list: Option<&[u64]>,
    ) -> Result<cl_int, Refusal> {
        let context: cl_context = session.get(Kind::Context, self.context)?;
        let device: cl_device_id = session.get(Kind::Device, self.device)?;
        session.can_bind(self.new)?;
        if self.flags & CL_QUEUE_ON_DEVICE != 0 && !has_device_queues(session, device) {
            return Ok(match self.flags & !KNOWN {
                0 => CL_INVALID_QUEUE_PROPERTIES,
                _ => CL_INVALID_VALUE,
            });
        }
        let flags = self.flags | CL_QUEUE_PROFILING_ENABLE;
        let functions = session.functions();
        let mut result = CL_INVALID_OPERATION;
        let queue: cl_command_queue = call.timed(|| {
            let with_list = functions.clCreateCommandQueueWithProperties.zip(list);
            // SAFETY: the objects are alive, and the list is terminated.
            unsafe {
                match (with_list, functions.clCreateCommandQueue) {
                    (Some((create, list)), _) => {
                        create(context, device, list.as_ptr(), &mut result)
                    }
                    (None, Some(create)) => create(context, device, flags, &mut result),
                    (None, None) => null_mut(),
                }
            }
        });
        if result == CL_SUCCESS {
            let in_order = self.flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
            let context = self.context;
            let made = Data::Queue(Made {
                in_order,
                context,
                warm_up: WarmUp::default(),
            });
            session.bind_with(Kind::CommandQueue, self.new, queue, made)?;
        }
        Ok(result)
    }
}

/// Whether kernels of the device can enqueue kernels. Some drivers without
/// such queues abort the process that asks for one (PoCL 3.1).
fn has_device_queues(session: &Session, device: cl_device_id) -> bool {
    let Some(get_info) = session.functions().clGetDeviceInfo else {
        return false;
    };
    let mut supported: cl_command_queue_properties = 0;
    // SAFETY: the device is alive; the value has the size that is said.
    let result = unsafe {
        get_info(
            device,
            CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
            size_of_val(&supported),
            (&raw mut supported).cast(),
            null_mut(),
        )
    };
    result == CL_SUCCESS && supported != 0
}

/// Adds profiling to a terminated property list; returns the guest's own flags.
pub fn with_profiling(list: &mut Vec<u64>) -> u64 {
    let profiling = CL_QUEUE_PROFILING_ENABLE;
    let key = u64::from(CL_QUEUE_PROPERTIES);
    let pairs = list.chunks_exact_mut(2);
    if let Some(pair) = pairs.into_iter().find(|pair| pair[0] == key) {
        let own = pair[1];
        pair[1] |= profiling;
        return own;
    }
    list.splice(0..0, [key, profiling]);
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_always_profile() {
        let (key, profiling) = (u64::from(CL_QUEUE_PROPERTIES), CL_QUEUE_PROFILING_ENABLE);
        let mut list = vec![0];
        assert_eq!(with_profiling(&mut list), 0);
        assert_eq!(list, [key, profiling, 0]);
        let mut list = vec![77, 5, key, 1, 0];
        assert_eq!(with_profiling(&mut list), 1);
        assert_eq!(list, [77, 5, key, 1 | profiling, 0]);
    }
}
