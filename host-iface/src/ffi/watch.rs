//! `include/gil_watch.h`.

use super::{R, copy_text, gil_host_result, guarded, text};
use crate::config::Config;
use gil_detect::btf::Kind;
use gil_detect::watch::arguments::{Argument, Convention, Value};
use gil_detect::watch::{Guest, Mapping, Point, Watches, When};
use gil_uapi::VirtualAddress;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::PathBuf;

/// `GIL_WATCH_SP`.
pub const SP: c_uint = 31;
/// `GIL_WATCH_NO_TIME`.
pub const NO_TIME: u64 = u64::MAX;

/// `gil_watch`.
pub struct gil_watch {
    watches: Watches,
    kernel: Option<PathBuf>,
}

/// `gil_watch_guest`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_watch_guest {
    /// Its size.
    pub size: u64,
    /// Passed to the functions.
    pub user: *mut c_void,
    /// Reads a register.
    pub reg: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            number: c_uint,
            is_32bit: c_int,
            value: *mut u64,
        ) -> c_int,
    >,
    /// Reads memory at a virtual address.
    pub read: Option<
        unsafe extern "C" fn(user: *mut c_void, address: u64, to: *mut c_void, len: u64) -> c_int,
    >,
    /// The running process's number.
    pub process: Option<unsafe extern "C" fn(user: *mut c_void, number: *mut u32) -> c_int>,
}

/// `gil_watch_point`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_watch_point {
    /// Its size.
    pub size: u64,
    /// The virtual address to stop at.
    pub address: u64,
    /// The watch's number.
    pub id: u64,
}

impl gil_watch_point {
    fn place(&self) -> (VirtualAddress, Point) {
        (VirtualAddress(self.address), point(self.id))
    }
}

impl gil_watch_guest {
    fn value(&self, number: c_uint, convention: Convention) -> Option<u64> {
        let reg = self.reg?;
        let mut value = 0;
        let is_32bit = c_int::from(convention == Convention::Aarch32);
        // SAFETY: the simulator's own function, with a place for the value.
        let is_there = unsafe { reg(self.user, number, is_32bit, &mut value) };
        (is_there != 0).then_some(value)
    }
}

impl Guest for gil_watch_guest {
    fn register(&self, number: u8, convention: Convention) -> Option<u64> {
        self.value(number.into(), convention)
    }

    fn stack(&self, convention: Convention) -> Option<VirtualAddress> {
        self.value(SP, convention).map(VirtualAddress)
    }

    fn process(&self) -> Option<u32> {
        let mut number = 0;
        // SAFETY: the simulator's own function, with a place for the number.
        let is_there = unsafe { self.process?(self.user, &mut number) };
        (is_there != 0).then_some(number)
    }

    fn read(&self, address: VirtualAddress, out: &mut [u8]) -> bool {
        let (to, len) = (out.as_mut_ptr().cast(), out.len() as u64);
        // SAFETY: the simulator's own function, with a buffer of that size.
        self.read
            .is_some_and(|read| unsafe { read(self.user, address.0, to, len) != 0 })
    }
}

/// `gil_watch_function`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_watch_function {
    /// Its size.
    pub size: u64,
    /// Calls seen.
    pub calls: u64,
}

/// `GIL_WATCH_FIRST`.
pub const FIRST: u64 = 2;

fn id(point: Point) -> u64 {
    match point {
        Point::Loaded => 0,
        Point::Mapped => 1,
        Point::Watched(number) => FIRST + number as u64,
    }
}

fn point(id: u64) -> Point {
    match id {
        0 => Point::Loaded,
        1 => Point::Mapped,
        id => Point::Watched(usize::try_from(id - FIRST).unwrap_or(usize::MAX)),
    }
}

fn set_up(config: &str) -> Result<gil_watch, String> {
    let config: Config = config
        .parse()
        .map_err(|error: crate::config::ConfigError| error.to_string())?;
    let (specs, kernel) = (&config.watch, config.kernel.as_deref());
    let watches = Watches::new(specs, kernel, config.watch_limit);
    let mut watches = watches.map_err(|error| error.to_string())?;
    if let Some(kernel) = kernel {
        let followed = watches.follow_mappings(kernel);
        followed.map_err(|error| error.to_string())?;
    }
    let kernel = config.kernel;
    Ok(gil_watch { watches, kernel })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `config` ends with NUL, `out` is writable, `error` has `error_cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_new(
    config: *const c_char,
    out: *mut *mut gil_watch,
    error: *mut c_char,
    error_cap: usize,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let Some(config) = (unsafe { text(config) }) else {
            return R::BadArgument;
        };
        if out.is_null() {
            return R::BadArgument;
        }
        let (handle, result) = match set_up(config) {
            Ok(watch) => (Box::into_raw(Box::new(watch)), R::Ok),
            Err(reason) => {
                // SAFETY: as the caller promises.
                unsafe { copy_text(&reason, error, error_cap) };
                (std::ptr::null_mut(), R::BadConfig)
            }
        };
        // SAFETY: not NULL, and writable as the caller promises.
        unsafe { *out = handle };
        result
    })
}

/// Whether a structure of the caller's is the one that is known here.
///
/// # Safety
/// `structure` is NULL or begins with its size.
unsafe fn is_whole<T>(structure: *const T) -> bool {
    // SAFETY: as the caller promises.
    let size = unsafe { structure.cast::<u64>().as_ref() };
    size == Some(&(size_of::<T>() as u64))
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle, `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_point_at(
    watch: *const gil_watch,
    index: u64,
    out: *mut gil_watch_point,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (watch, is_whole) = unsafe { (watch.as_ref(), is_whole(out)) };
        let known = |watch: &gil_watch| watch.watches.known_at(usize::try_from(index).ok()?);
        let found = watch.and_then(known);
        match (found, is_whole) {
            (Some((address, found)), true) => {
                // SAFETY: not NULL, and as large as it says.
                unsafe {
                    (*out).address = address.0;
                    (*out).id = id(found);
                }
                R::Ok
            }
            _ => R::BadArgument,
        }
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; `point` and `guest` are NULL or have the
/// size they say; `line` has `cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_reach(
    watch: *mut gil_watch,
    at: *const gil_watch_point,
    guest: *const gil_watch_guest,
    now_ns: u64,
    line: *mut c_char,
    cap: usize,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (watch, are_whole) = unsafe { (watch.as_ref(), is_whole(at) && is_whole(guest)) };
        let (Some(watch), true) = (watch, are_whole) else {
            return R::BadArgument;
        };
        // SAFETY: not NULL, and of their sizes.
        let (at, guest) = unsafe { (*at, *guest) };
        let when = (now_ns != NO_TIME).then_some(When::Nanoseconds(now_ns));
        let seen = watch.watches.reach(at.place(), &guest, when);
        let text = seen.map(|seen| seen.to_string()).unwrap_or_default();
        // SAFETY: as the caller promises.
        unsafe { copy_text(&text, line, cap) };
        R::Ok
    })
}

/// `GIL_WATCH_REGISTER` and the following.
mod argument {
    use std::ffi::c_uint;

    pub const REGISTER: c_uint = 0;
    pub const SIGNED: c_uint = 1;
    pub const UNSIGNED: c_uint = 2;
    pub const ADDRESS: c_uint = 3;
    pub const TEXT: c_uint = 4;
    pub const STRUCTURE: c_uint = 5;
    pub const COPY_AT: c_uint = 6;
    pub const FLOAT: c_uint = 7;
}

/// `GIL_WATCH_WORDS`.
pub const WORDS: usize = 16;

/// `gil_watch_argument`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct gil_watch_argument {
    /// Its size.
    pub size: u64,
    /// Its kind.
    pub kind: c_uint,
    /// The number of words.
    pub count: u32,
    /// Bytes of an integer or a structure.
    pub bytes: u64,
    /// The value.
    pub words: [u64; WORDS],
}

impl gil_watch_argument {
    fn set(&mut self, argument: &Argument<'_>) {
        self.kind = kind(argument);
        self.bytes = match argument.kind {
            Some(Kind::Integer { size, .. } | Kind::Composite { size }) => size.into(),
            _ => 0,
        };
        let words = argument.value.as_ref().and_then(words).unwrap_or_default();
        self.words = [0; WORDS];
        let places = self.words.iter_mut().zip(&words);
        self.count = places.map(|(to, word)| *to = *word).count() as u32;
    }
}

fn kind(argument: &Argument<'_>) -> c_uint {
    match (argument.kind, &argument.value) {
        (None, _) => argument::REGISTER,
        (Some(Kind::Integer { signed: true, .. }), _) => argument::SIGNED,
        (Some(Kind::Integer { signed: false, .. }), _) => argument::UNSIGNED,
        (Some(Kind::Pointer), _) => argument::ADDRESS,
        (Some(Kind::Text), _) => argument::TEXT,
        (Some(Kind::Composite { .. }), Some(Value::Words(_))) => argument::STRUCTURE,
        (Some(Kind::Composite { .. }), _) => argument::COPY_AT,
        (Some(Kind::Float), _) => argument::FLOAT,
    }
}

/// A value's words; all of them, or none.
fn words(value: &Value) -> Option<Vec<u64>> {
    let wide = |value: u128| vec![value as u64, (value >> 64) as u64];
    match value {
        Value::Signed(value) => Some(wide(*value as u128)),
        Value::Unsigned(value) => Some(wide(*value)),
        Value::Word(word) => Some(vec![*word]),
        Value::CopyAt(address) | Value::Text { address, .. } => Some(vec![address.0]),
        Value::Words(words) => words.iter().copied().collect(),
    }
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; `at`, `guest` and `out` are NULL or have the
/// size they say; `name` has `cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_argument_at(
    watch: *const gil_watch,
    at: *const gil_watch_point,
    guest: *const gil_watch_guest,
    index: u64,
    out: *mut gil_watch_argument,
    name: *mut c_char,
    cap: usize,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let are_whole = unsafe { is_whole(at) && is_whole(guest) && is_whole(out) };
        // SAFETY: as the caller promises.
        let (Some(watch), true) = (unsafe { watch.as_ref() }, are_whole) else {
            return R::BadArgument;
        };
        // SAFETY: not NULL, and of their sizes.
        let (at, guest, out) = unsafe { (*at, *guest, &mut *out) };
        let all = watch.watches.arguments(at.place(), &guest);
        let values = all.map(|all| all.values).unwrap_or_default();
        let found = usize::try_from(index).ok();
        let Some(argument) = found.and_then(|index| values.get(index)) else {
            return R::BadArgument;
        };
        out.set(argument);
        // SAFETY: as the caller promises.
        unsafe { copy_text(&argument.name, name, cap) };
        R::Ok
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_mapped(
    watch: *mut gil_watch,
    start: u64,
    end: u64,
    offset: u64,
) -> gil_host_result {
    // SAFETY: as the caller promises.
    let Some(watch) = (unsafe { watch.as_ref() }) else {
        return R::BadArgument;
    };
    guarded(|| {
        let (start, end) = (VirtualAddress(start), VirtualAddress(end));
        watch.watches.mapped(&Mapping { start, end, offset });
        R::Ok
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_loaded(watch: *mut gil_watch, bias: u64) -> gil_host_result {
    // SAFETY: as the caller promises.
    let Some(watch) = (unsafe { watch.as_ref() }) else {
        return R::BadArgument;
    };
    guarded(|| {
        watch.watches.loaded_at(bias);
        R::Ok
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; nothing else uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_resumed(watch: *mut gil_watch) -> gil_host_result {
    // SAFETY: as the caller promises.
    let Some(watch) = (unsafe { watch.as_mut() }) else {
        return R::BadArgument;
    };
    guarded(|| {
        let kernel = watch.kernel.as_deref();
        match kernel.map(|kernel| watch.watches.resume(kernel)) {
            None | Some(Ok(())) => R::Ok,
            Some(Err(_)) => R::BadConfig,
        }
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; `at` is NULL or has the size it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_restore(
    watch: *mut gil_watch,
    at: *const gil_watch_point,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (watch, is_whole) = unsafe { (watch.as_ref(), is_whole(at)) };
        let (Some(watch), true) = (watch, is_whole) else {
            return R::BadArgument;
        };
        // SAFETY: not NULL, and of its size.
        let at = unsafe { *at };
        match watch.watches.restore(at.place()) {
            true => R::Ok,
            false => R::BadArgument,
        }
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; `out` is NULL or has the size it says;
/// `name` has `cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_function_at(
    watch: *const gil_watch,
    index: u64,
    out: *mut gil_watch_function,
    name: *mut c_char,
    cap: usize,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let (watch, is_whole) = unsafe { (watch.as_ref(), is_whole(out)) };
        let calls = watch.map(|watch| watch.watches.calls());
        let found = calls.and_then(|calls| calls.into_iter().nth(usize::try_from(index).ok()?));
        match (found, is_whole) {
            (Some((label, calls)), true) => {
                // SAFETY: not NULL, and as large as it says.
                unsafe { (*out).calls = calls };
                // SAFETY: as the caller promises.
                unsafe { copy_text(&label, name, cap) };
                R::Ok
            }
            _ => R::BadArgument,
        }
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle; `line` has `cap` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_summary(
    watch: *const gil_watch,
    index: u64,
    line: *mut c_char,
    cap: usize,
) -> gil_host_result {
    guarded(|| {
        // SAFETY: as the caller promises.
        let watch = unsafe { watch.as_ref() };
        let lines = watch
            .map(|watch| watch.watches.summary())
            .unwrap_or_default();
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| lines.get(index));
        match found {
            Some(found) => {
                // SAFETY: as the caller promises.
                unsafe { copy_text(found, line, cap) };
                R::Ok
            }
            None => R::BadArgument,
        }
    })
}

/// See `gil_watch.h`.
///
/// # Safety
/// `watch` is NULL or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gil_watch_free(watch: *mut gil_watch) {
    if !watch.is_null() {
        // SAFETY: made by `gil_watch_new`, given up by the caller.
        drop(unsafe { Box::from_raw(watch) });
    }
}
