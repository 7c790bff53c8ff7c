//! Memory objects in the board's own memory count against the session's bound, and
//! devices report that bound as their memory.

use super::driver::{Driver, fetch, fetch_handle};
use super::generated::types::*;
use super::refusal::OpenClRefusal;
use super::session::Session;
use crate::back_end::{Call, InfoReply, Objects, Pointer, Refusal, info};
use gil_wire::generated::opencl::{self as wire, Kind};

impl Session {
    /// Counts a new memory object until the driver has destroyed it, which
    /// kernels and commands put off.
    ///
    /// # Errors
    /// [`Refusal::Objects`] if there is no room for it.
    pub(super) fn count(&self, mem: Pointer) -> Result<(), Refusal> {
        let bytes = self.own_bytes(mem).unwrap_or(0);
        if bytes == 0 {
            return Ok(());
        }
        let counted = self.driver.keep(mem, self.budget.object(bytes)?);
        Ok(counted.map_err(OpenClRefusal::Uncounted)?)
    }

    /// Bytes of the board's memory that a memory object has for itself.
    fn own_bytes(&self, mem: Pointer) -> Option<u64> {
        let ask = |name| self.mem_info(mem, name);
        let flags = cl_mem_flags::from_ne_bytes(*ask(CL_MEM_FLAGS)?.first_chunk()?);
        let within = ask(CL_MEM_ASSOCIATED_MEMOBJECT).and_then(|bytes| fetch_handle(&bytes));
        if flags & CL_MEM_USE_HOST_PTR != 0 || within.is_some() {
            return None;
        }
        let context = fetch_handle(&ask(CL_MEM_CONTEXT)?)?;
        let size = usize::from_ne_bytes(*ask(CL_MEM_SIZE)?.first_chunk()?);
        self.is_in_memory(context).then_some(size as u64)
    }

    /// Whether what a context makes lies in the board's memory.
    pub(super) fn is_in_memory(&self, context: Pointer) -> bool {
        let devices = self.context_devices(context);
        devices
            .into_iter()
            .any(|device| self.driver.is_in_memory(device))
    }
}

impl Driver {
    /// Whether a device has no memory but the board's.
    fn is_in_memory(&self, device: Pointer) -> bool {
        let Some(info) = self.functions.clGetDeviceInfo else {
            return false;
        };
        let ask = |name| {
            // SAFETY: the device is alive, and `fetch` provides a buffer of the size it states.
            fetch(|size, value, len| unsafe {
                info(device.as_ptr().cast(), name, size, value, len)
            })
        };
        let kind = ask(CL_DEVICE_TYPE);
        let kind = kind.and_then(|bytes| Some(u64::from_ne_bytes(*bytes.first_chunk()?)));
        let unified = ask(CL_DEVICE_HOST_UNIFIED_MEMORY);
        kind.is_some_and(|kind| kind & CL_DEVICE_TYPE_CPU != 0)
            || unified.is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0))
    }
}

/// `clGetDeviceInfo`: a device has no more of the board's memory than the
/// session may use.
///
/// # Errors
/// [`Refusal`].
pub fn device_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetDeviceInfoArgs,
) -> Result<InfoReply, Refusal> {
    let Some(function) = session.functions().clGetDeviceInfo else {
        return Ok(InfoReply::failed(CL_INVALID_OPERATION));
    };
    let pointer = session.table.get(args.device, Kind::Device)?;
    let name = args.param_name;
    let kind = wire::cl_get_device_info(name);
    let kind = kind.ok_or(Refusal::parameter("param_name", name.into()))?;
    let is_bounded = matches!(
        name,
        CL_DEVICE_GLOBAL_MEM_SIZE | CL_DEVICE_MAX_MEM_ALLOC_SIZE
    );
    let bound = session.budget.limit();
    let bound = (is_bounded && session.driver.is_in_memory(pointer)).then_some(bound);
    let device: cl_device_id = pointer.as_ptr().cast();
    let room = args.param_value;
    info(session, call, kind, room, |size, value, size_ret| {
        // SAFETY: the device is alive, and `info` provides a buffer of the size it states.
        let result = unsafe { function(device, name, size, value, size_ret) };
        if let (CL_SUCCESS, Some(bound), false, 8) = (result, bound, value.is_null(), size) {
            let value = value.cast::<cl_ulong>();
            // SAFETY: as above; the value is of this type.
            unsafe { value.write_unaligned(value.read_unaligned().min(bound)) };
        }
        result
    })
}
