//! The C ABI: `include/gil_host.h`, declared again for Rust. The header is the
//! documentation; a test compiles it and compares.
//!
//! Rules: pointers are checked for NULL and otherwise trusted (see the header's
//! Safety paragraph); no panic crosses the border.

#![allow(non_camel_case_types)] // the header's names

mod checkpoint;
mod counters;
mod gpu;
mod watch;

use crate::config::Config;
use crate::events::{Sink, Standard};
use crate::host::{Host, Rung};
use crate::memory::{Callbacks, GuestMemory, Mapped, MemoryError};
use gil_address_tables::{RamMap, RamRange};
use gil_transport::client::Cancel;
use gil_uapi::{GuestAddress, GuestLength};
use gil_wire::control::Stream;
use gil_wire::monitor::Event;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// `GIL_HOST_ABI_VERSION`.
pub const ABI_VERSION: u32 = 1;
/// `GIL_HOST_NOT_COUNTED`.
pub const NOT_COUNTED: u64 = u64::MAX;

/// `gil_host_result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum gil_host_result {
    /// Success.
    Ok = 0,
    /// A NULL, a wrong size, no UTF-8.
    BadArgument = 1,
    /// The configuration.
    BadConfig = 2,
    /// Guest RAM.
    BadRam = 3,
    /// The monitor or the recording.
    BadFile = 4,
    /// RAM added after the first doorbell.
    TooLate = 5,
    /// A panic.
    Internal = 6,
    /// The board.
    NoBoard = 7,
    /// Sessions cannot be kept, or made again.
    NoCheckpoint = 8,
}

use gil_host_result as R;

/// `gil_host_read_fn`.
pub type gil_host_read_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, gpa: u64, to: *mut c_void, len: u64) -> c_int>;
/// `gil_host_write_fn`.
pub type gil_host_write_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, gpa: u64, from: *const c_void, len: u64) -> c_int,
>;
/// `gil_host_console_fn`.
pub type gil_host_console_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, stream: c_int, bytes: *const c_void, len: u64)>;
/// `gil_host_message_fn`.
pub type gil_host_message_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, fatal: c_int, text: *const c_char)>;

/// `gil_host_setup`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_host_setup {
    /// Its size: which version of this structure the caller knows.
    pub size: u64,
    /// The simulator's name.
    pub simulator: *const c_char,
    /// Passed to the functions.
    pub user: *mut c_void,
    /// Reads guest RAM.
    pub read: gil_host_read_fn,
    /// Writes guest RAM.
    pub write: gil_host_write_fn,
    /// Takes the program's output.
    pub console: gil_host_console_fn,
    /// Takes sentences for the user.
    pub message: gil_host_message_fn,
}

/// `gil_host`.
pub struct gil_host {
    host: Host,
    cancel: Cancel,
    config: Config,
    setup: Simulator,
    ram: Mutex<Ram>,
}

struct Ram {
    ranges: Vec<RamRange>,
    attached: bool,
}

/// The simulator's functions, and what it wants to be passed.
#[derive(Clone, Copy)]
struct Simulator {
    user: *mut c_void,
    read: gil_host_read_fn,
    write: gil_host_write_fn,
    console: gil_host_console_fn,
    message: gil_host_message_fn,
}

// SAFETY: the header says that the simulator's functions are called on any
// thread that uses the handle; `user` is only passed to them.
unsafe impl Send for Simulator {}
// SAFETY: as above; nothing in it is changed.
unsafe impl Sync for Simulator {}

impl Simulator {
    fn memory(self, ranges: Vec<RamRange>) -> Result<Box<dyn GuestMemory>, MemoryError> {
        let ram = RamMap::new(ranges)?;
        let read = move |gpa: GuestAddress, out: &mut [u8]| {
            let this = self;
            // SAFETY: the simulator's own function, with a buffer of that size.
            this.read.is_some_and(|read| unsafe {
                read(this.user, gpa.0, out.as_mut_ptr().cast(), out.len() as u64) != 0
            })
        };
        let write = move |gpa: GuestAddress, bytes: &[u8]| {
            let this = self;
            // SAFETY: as for reading.
            this.write.is_some_and(|write| unsafe {
                write(this.user, gpa.0, bytes.as_ptr().cast(), bytes.len() as u64) != 0
            })
        };
        Ok(Box::new(Callbacks::new(
            ram,
            Box::new(read),
            Box::new(write),
        )))
    }

    fn message(self, fatal: bool, text: &str) -> bool {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the simulator's own function, with a string that lives on.
        self.message
            .map(|message| unsafe { message(self.user, fatal.into(), text.as_ptr()) })
            .is_some()
    }

    fn console(self, stream: Stream, bytes: &[u8]) -> bool {
        let stream = match stream {
            Stream::Out => 1,
            Stream::Err => 2,
        };
        let (start, len) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: the simulator's own function, with bytes that live on.
        self.console
            .map(|console| unsafe { console(self.user, stream, start, len) })
            .is_some()
    }
}

impl Sink for Simulator {
    fn tell(&mut self, event: Event) {
        let told = match &event {
            Event::Console { stream, bytes } => self.console(*stream, bytes),
            Event::Warning { text } => self.message(false, text),
            Event::Fatal { text } => self.message(true, text),
            Event::Failed { reason, .. } => self.message(true, reason),
            _ => true,
        };
        if !told {
            Standard.tell(event);
        }
    }
}

/// Runs `body`; a panic becomes [`gil_host_result::Internal`].
fn guarded(body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(R::Internal)
}

/// Writes text and a NUL to a C buffer, cut between characters.
///
/// # Safety
/// `to` is NULL or has `cap` writable bytes.
unsafe fn copy_text(text: &str, to: *mut c_char, cap: usize) {
    if to.is_null() || cap == 0 {
        return;
    }
    let mut len = text.len().min(cap - 1);
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    // SAFETY: `len` bytes and a NUL are no more than `cap`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
        *to.add(len) = 0;
    }
}

/// # Safety
/// `text` is NULL or a NUL-terminated string that outlives the result.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// The library's version of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn gil_host_abi_version() -> u32 {
    ABI_VERSION
}

/// See `gil_host.h`.
///
/// # Safety
/// As the header says: strings end with NUL, `setup` has as many bytes as its
/// `size`, `out` is writable, `error` has `error_cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_new(
    config: *const c_char,
    setup: *const gil_host_setup,
    out: *mut *mut gil_host,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    guarded(|| {
        if out.is_null() {
            return R::BadArgument;
        }
        // SAFETY: the caller's promises are this function's.
        let made = unsafe { new(config, setup) };
        let (handle, result) = match made {
            Ok(host) => (Box::into_raw(host), R::Ok),
            Err((result, reason)) => {
                // SAFETY: as the caller promises.
                unsafe { copy_text(&reason, error, error_cap) };
                (std::ptr::null_mut(), result)
            }
        };
        // SAFETY: not NULL, and writable as the caller promises.
        unsafe { *out = handle };
        result
    })
}

/// # Safety
/// As [`gil_host_new`].
unsafe fn new(
    config: *const c_char,
    setup: *const gil_host_setup,
) -> Result<Box<gil_host>, (R, String)> {
    let bad = |reason: &str| (R::BadArgument, String::from(reason));
    // SAFETY: as the caller promises.
    let config = unsafe { text(config) }.ok_or_else(|| bad("config is NULL or no UTF-8"))?;
    // SAFETY: as the caller promises; the size is read before the rest.
    let size = unsafe { setup.cast::<u64>().as_ref() };
    let size = *size.ok_or_else(|| bad("setup is NULL"))?;
    let ours = size_of::<gil_host_setup>() as u64;
    if size != ours {
        return Err(bad(&format!(
            "setup has {size} bytes, this library's {ours}: compile against its own gil_host.h"
        )));
    }
    // SAFETY: it has the size of the structure.
    let setup = unsafe { *setup };
    // SAFETY: as the caller promises.
    let simulator = unsafe { text(setup.simulator) };
    let simulator = simulator.ok_or_else(|| bad("setup.simulator is NULL or no UTF-8"))?;
    let config: Config = config
        .parse()
        .map_err(|error: crate::config::ConfigError| (R::BadConfig, error.to_string()))?;
    if setup.read.is_some() != setup.write.is_some() {
        return Err(bad("setup.read and setup.write: both or none"));
    }
    if setup.read.is_none() && config.ram.is_none() {
        return Err(bad(
            "where is guest RAM? Give ram=PATH, or setup.read and setup.write",
        ));
    }
    let setup = Simulator {
        user: setup.user,
        read: setup.read,
        write: setup.write,
        console: setup.console,
        message: setup.message,
    };
    let host = Host::new(&config, simulator, Box::new(setup));
    let host = host.map_err(|error| (R::BadFile, error.to_string()))?;
    Ok(Box::new(gil_host {
        cancel: host.cancel(),
        host,
        config,
        setup,
        ram: Mutex::new(Ram {
            ranges: Vec::new(),
            attached: false,
        }),
    }))
}

impl gil_host {
    fn ram(&self) -> std::sync::MutexGuard<'_, Ram> {
        self.ram.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_ram(&self, range: RamRange) -> Result<(), (R, String)> {
        let mut ram = self.ram();
        if ram.attached {
            let reason = "RAM is added after the first doorbell: add it before";
            return Err((R::TooLate, reason.into()));
        }
        let mut ranges = ram.ranges.clone();
        ranges.push(range);
        let checked = RamMap::new(ranges.clone());
        checked.map_err(|error| (R::BadRam, error.to_string()))?;
        ram.ranges = ranges;
        Ok(())
    }

    /// Guest RAM is complete: the first doorbell.
    fn attach(&self) -> Result<(), MemoryError> {
        let mut ram = self.ram();
        if ram.attached {
            return Ok(());
        }
        let ranges = ram.ranges.clone();
        let memory = match (&self.setup.read, &self.config.ram) {
            (None, Some(path)) => Box::new(Mapped::open(path, self.config.ram_base, ranges)?),
            _ => self.setup.memory(ranges)?,
        };
        self.host.set_memory(memory);
        ram.attached = true;
        Ok(())
    }

    fn doorbell(&self, gpa: u64, instructions: u64) -> Result<Rung, R> {
        if let Err(error) = self.attach() {
            self.host.fatal(error.to_string());
            return Err(R::BadRam);
        }
        let counted = Some(instructions).filter(|&count| count != NOT_COUNTED);
        Ok(self.host.doorbell(GuestAddress(gpa), counted))
    }
}

/// Runs `body` on a handle.
///
/// # Safety
/// `host` is NULL or a live handle.
unsafe fn with(host: *const gil_host, body: impl FnOnce(&gil_host) -> R) -> R {
    // SAFETY: as the caller promises.
    match unsafe { host.as_ref() } {
        Some(host) => guarded(|| body(host)),
        None => R::BadArgument,
    }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `error` has `error_cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_add_ram(
    host: *mut gil_host,
    gpa: u64,
    len: u64,
    offset: u64,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    let range = RamRange {
        gpa: GuestAddress(gpa),
        len: GuestLength(len),
        offset,
    };
    let add = |host: &gil_host| match host.add_ram(range) {
        Ok(()) => R::Ok,
        Err((result, reason)) => {
            // SAFETY: as the caller promises.
            unsafe { copy_text(&reason, error, error_cap) };
            result
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, add) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `error` has `error_cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_check_board(
    host: *mut gil_host,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    let check = |host: &gil_host| match host.host.check_board() {
        Ok(()) => R::Ok,
        Err(reason) => {
            // SAFETY: as the caller promises.
            unsafe { copy_text(&reason.to_string(), error, error_cap) };
            R::NoBoard
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, check) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_doorbell(
    host: *mut gil_host,
    gpa: u64,
    instructions: u64,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    unsafe {
        with(host, |host| match host.doorbell(gpa, instructions) {
            Ok(_) => R::Ok,
            Err(result) => result,
        })
    }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_idle(host: *mut gil_host, instructions: u64) -> gil_host_result {
    let idle = |host: &gil_host| {
        host.host.idle(instructions);
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, idle) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_cancel(host: *mut gil_host) -> gil_host_result {
    let cancel = |host: &gil_host| {
        host.cancel.set();
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, cancel) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is a live handle, `json` is NULL or has `cap` bytes, `len` is NULL
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_finish(
    host: *mut gil_host,
    json: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> gil_host_result {
    let finish = |host: &gil_host| {
        let report = host.host.finish();
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        // SAFETY: as the caller promises.
        unsafe {
            copy_text(&text, json, cap);
            if let Some(len) = len.as_mut() {
                *len = text.len();
            }
        }
        R::Ok
    };
    // SAFETY: as the caller promises.
    unsafe { with(host, finish) }
}

/// See `gil_host.h`.
///
/// # Safety
/// `host` is NULL or a live handle that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_host_free(host: *mut gil_host) {
    if host.is_null() {
        return;
    }
    // SAFETY: as the caller promises, it came from `Box::into_raw`.
    let host = unsafe { Box::from_raw(host) };
    guarded(|| {
        host.host.finish();
        drop(host);
        R::Ok
    });
}
