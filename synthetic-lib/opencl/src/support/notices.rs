//! Passes notices to the functions that contexts were created with: the driver's
//! about contexts, and the board's about launches that were refused after their call
//! had returned.

use super::details::Details;
use crate::generated::manual::{Guest, Object, Request};
use gil_guest::{Api, CallResult};
use gil_guest::{callbacks, notices};
use gil_wire::call::{OutData, OutRoom};
use gil_wire::envelope::Class;
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::{CString, c_char, c_void};

/// Most bytes of a text and of a driver's private data: the board cuts them.
const PART_MAX: u32 = 1024;

/// A function that a context was made with.
pub type Notify = unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void);

/// What a program's context calls, and with what.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextNotify {
    notify: Notify,
    user_data: *mut c_void,
}

// SAFETY: a program that gives a callback and its data to OpenCL agrees that
// another thread calls it.
unsafe impl Send for ContextNotify {}
// SAFETY: as above.
unsafe impl Sync for ContextNotify {}

impl ContextNotify {
    /// From now on the board is asked for what it has to say.
    pub(super) fn new(notify: Option<Notify>, user_data: *mut c_void) -> Option<Self> {
        notify.map(|notify| {
            notices::listen(ask);
            Self { notify, user_data }
        })
    }
}

/// Something said of a context.
struct Notice {
    errinfo: CString,
    private_info: Vec<u8>,
}

/// Asks the board until it has no more to say.
fn ask() {
    // Without a thread to call it on, the function is not called.
    while let Ok(Some((context, notice))) = take() {
        if let Some(context) = Object::numbered(Kind::Context, context) {
            let _ = tell(&context, notice);
        }
    }
}

/// The next notice, and the number of its context.
fn take() -> CallResult<Option<(gil_wire::call::Handle, Notice)>> {
    let request = Request::new(wire::GIL_TAKE_NOTICE, Class::Query, gil_guest::entry());
    let args = wire::GilTakeNoticeArgs {
        errinfo: OutRoom::Inline(PART_MAX),
        private_info: OutRoom::Inline(PART_MAX),
    };
    request.forward(&args, |reply| {
        let reply: wire::GilTakeNoticeReply = reply.decode()?;
        Guest::check(reply.result)?;
        let notice = Notice {
            errinfo: text(bytes(&reply.errinfo)),
            private_info: bytes(&reply.private_info).to_vec(),
        };
        Ok((!reply.context.is_null()).then_some((reply.context, notice)))
    })
}

fn bytes<'a>(data: &OutData<'a>) -> &'a [u8] {
    match data {
        OutData::Inline(bytes) => bytes,
        OutData::None | OutData::Region => &[],
    }
}

/// Up to the first NUL, as C reads it.
fn text(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|byte| *byte == 0);
    CString::new(&bytes[..end.unwrap_or(bytes.len())]).unwrap_or_default()
}

/// Has the context's function called on the library's thread, if it has one.
fn tell(context: &Object, notice: Notice) -> CallResult<()> {
    let Details::Context(details) = context.details() else {
        return Ok(());
    };
    let (Some(to), Some(held)) = (details.notify(), context.hold()) else {
        return Ok(());
    };
    let call = move || {
        let private = match notice.private_info.is_empty() {
            true => std::ptr::null(),
            false => notice.private_info.as_ptr().cast(),
        };
        let len = notice.private_info.len();
        // SAFETY: the program's function, with what it was registered with; the
        // text and the bytes live until it returns.
        unsafe { (to.notify)(notice.errinfo.as_ptr(), private, len, to.user_data) };
        drop(held);
    };
    // SAFETY: the program agrees that another thread calls its function.
    unsafe { callbacks::soon::<Guest>(call) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_at_their_first_nul() {
        assert_eq!(text(b"ab\0c").as_bytes(), b"ab");
        assert_eq!(text(b"ab").as_bytes(), b"ab");
        assert_eq!(text(b"").as_bytes(), b"");
    }
}
