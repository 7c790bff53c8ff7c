//! Creating contexts with an error function of the board's, and passing drivers'
//! notices on to the guest.

use super::generated::types::*;
use super::objects::Data;
use super::session::Session;
use crate::back_end::notices::{PRIVATE_MAX, TEXT_MAX, hear};
use crate::back_end::{
    Call, Enqueued, Objects, Pointer, Queues, References, Refusal, encode, list_ptr, words,
};
use gil_wire::Op;
use gil_wire::call::Handle;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::{c_char, c_void};

/// What drivers call.
///
/// # Safety
/// As OpenCL says of `pfn_notify`: `errinfo` is null or a string that ends with
/// a NUL, `private_info` null or `cb` bytes.
unsafe extern "C" fn collect(
    errinfo: *const c_char,
    private_info: *const c_void,
    cb: usize,
    user_data: *mut c_void,
) {
    // SAFETY: the caller's; no more is read than there is.
    let (text, private) = unsafe {
        let len = match errinfo.is_null() {
            true => 0,
            false => libc::strnlen(errinfo, TEXT_MAX),
        };
        (
            copy(errinfo.cast(), len),
            copy(private_info.cast(), cb.min(PRIVATE_MAX)),
        )
    };
    hear(user_data, text, private);
}

/// # Safety
/// `bytes` is null or names `len` bytes.
unsafe fn copy(bytes: *const u8, len: usize) -> Vec<u8> {
    match bytes.is_null() {
        true => Vec::new(),
        // SAFETY: the caller's.
        false => unsafe { std::slice::from_raw_parts(bytes, len) }.to_vec(),
    }
}

/// Makes a context: properties, what the driver calls and with what, result.
type Make<'f> = &'f dyn Fn(*const isize, Notify, *mut c_void, &mut cl_int) -> cl_context;
type Notify = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;

/// A context to be made.
struct NewContext<'a> {
    properties: &'a Option<Vec<gil_wire::call::Property>>,
    /// The guest gives user data without a callback, which drivers refuse.
    user_data: bool,
    new: Handle,
}

impl NewContext<'_> {
    fn create(
        &self,
        session: &mut Session,
        call: &mut Call,
        make: Make<'_>,
    ) -> Result<cl_int, Refusal> {
        let keys = [(CL_CONTEXT_PLATFORM as u64, Kind::Platform)];
        let list = session.properties(self.properties, &keys)?;
        let list = list.map(|list| words(&list, "properties")).transpose()?;
        let properties = list.as_deref().map_or(std::ptr::null(), <[isize]>::as_ptr);
        session.can_bind(self.new)?;
        let listener = (!self.user_data).then(|| session.notices.listen(self.new));
        let (notify, data): (Notify, _) = match &listener {
            None => (None, std::ptr::dangling_mut()),
            Some(listener) => (Some(collect), listener.user_data()),
        };
        let mut result = CL_SUCCESS;
        let context = call.timed(|| make(properties, notify, data, &mut result));
        if result == CL_SUCCESS {
            let data = Data::Context {
                _listener: listener,
            };
            session.bind_with(Kind::Context, self.new, context, data)?;
        }
        Ok(result)
    }
}

/// `clCreateContext`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_context(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateContextArgs,
) -> Result<cl_int, Refusal> {
    let Some(function) = session.functions().clCreateContext else {
        return Ok(CL_INVALID_OPERATION);
    };
    let list = args.devices.as_deref();
    let devices = list.map(|list| session.list(Kind::Device, list));
    let devices: Option<Vec<cl_device_id>> = devices.transpose()?;
    let count = args.num_devices;
    if devices
        .as_ref()
        .is_some_and(|list| list.len() < count as usize)
    {
        return Err(Refusal::missing_size("devices"));
    }
    let devices = devices.as_deref().map_or(std::ptr::null(), list_ptr);
    let new = NewContext {
        properties: &args.properties,
        user_data: args.user_data,
        new: args.new,
    };
    // SAFETY: the devices are alive and as many as said; the list is terminated.
    new.create(session, call, &|list, notify, data, result| unsafe {
        function(list, count, devices, notify, data, result)
    })
}

/// `clCreateContextFromType`.
///
/// # Errors
/// [`Refusal`]; what the driver says is in the result.
pub fn create_context_from_type(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClCreateContextFromTypeArgs,
) -> Result<cl_int, Refusal> {
    let Some(function) = session.functions().clCreateContextFromType else {
        return Ok(CL_INVALID_OPERATION);
    };
    let new = NewContext {
        properties: &args.properties,
        user_data: args.user_data,
        new: args.new,
    };
    let kind = args.device_type;
    // SAFETY: the list is terminated.
    new.create(session, call, &|list, notify, data, result| unsafe {
        function(list, kind, notify, data, result)
    })
}

/// Gives the guest what was said next; context 0 if nothing was.
///
/// # Errors
/// [`Refusal`].
pub fn take(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilTakeNoticeArgs,
) -> Result<Vec<u8>, Refusal> {
    let notice = session.notices.next().unwrap_or_default();
    let mut errinfo = call.output(args.errinfo, 0)?;
    let mut private_info = call.output(args.private_info, 0)?;
    errinfo.put(&notice.text);
    private_info.put(&notice.private);
    encode(&wire::GilTakeNoticeReply {
        result: CL_SUCCESS,
        context: notice.context,
        errinfo: errinfo.data(call, notice.text.len()),
        private_info: private_info.data(call, notice.private.len()),
    })
}

impl Session {
    /// The result of an enqueue function; for tests, an error in its place,
    /// whatever became of the operation.
    pub(super) fn result_of(&self, call: &mut Call, op: &Enqueued<'_>) -> cl_int {
        let refused = self.driver.refuses_posted(call.op());
        let Some(error) = refused.filter(|_| !call.is_answered()) else {
            return op.result;
        };
        if let (CL_SUCCESS, Some(event)) = (op.result, Pointer::new(op.event.cast())) {
            self.driver.release(Kind::Event, event);
            // The operation may still use it.
            std::mem::forget(call.take_memory());
        }
        error
    }

    /// An enqueue that the driver is not asked about: nothing comes of it but
    /// this error.
    pub(super) fn not_enqueued(&mut self, call: &mut Call, queue: Handle, error: cl_int) {
        call.set_enqueued();
        self.refused(call, queue, error);
    }

    /// Says to a queue's context that an operation was refused.
    pub(super) fn say_refused(&self, op: Op, queue: Handle, error: cl_int) {
        if let Some(context) = self.queue(queue).map(|made| made.context) {
            self.notices.say(context, sentence(op, error));
        }
    }
}

fn sentence(op: Op, error: cl_int) -> String {
    format!(
        "{op} had returned when the device's driver refused it with error {error}: its event has that status, and the next call that waits for its queue returns it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back_end::notices::Notices;

    fn say(data: *mut c_void, text: &std::ffi::CStr, private: &[u8]) {
        // SAFETY: a string and bytes that are alive.
        unsafe { collect(text.as_ptr(), private.as_ptr().cast(), private.len(), data) };
    }

    #[test]
    fn what_a_driver_says_is_kept_in_order_and_cut() {
        let mut notices = Notices::default();
        let listener = notices.listen(Handle(7));
        let number = listener.user_data();
        assert!(!notices.take_news());
        say(number, c"first", b"\0\x01");
        let long = std::ffi::CString::new(vec![b'x'; 5000]).unwrap();
        say(number, &long, &[9; 5000]);
        // SAFETY: null is allowed.
        unsafe { collect(std::ptr::null(), std::ptr::null(), 9, number) };
        assert!(notices.take_news() && !notices.take_news());
        let first = notices.next().unwrap();
        assert_eq!((first.context, &first.text[..]), (Handle(7), &b"first"[..]));
        assert_eq!(first.private, [0, 1]);
        let cut = notices.next().unwrap();
        assert_eq!((cut.text.len(), cut.private.len()), (TEXT_MAX, PRIVATE_MAX));
        assert_eq!(notices.next().unwrap().text, b"");
        assert_eq!(notices.next(), None);
    }
}
