//! An NVML without a device, for tests: what the board's agent loads in the place of
//! `libnvidia-ml.so.1` if `GIL_NVML_DRIVER` names it, and what a test's program is linked with
//! natively.
//!
//! It has two devices that are not there. Each answer is a number that is made of the query's
//! name, the device and the other arguments, so that no two are the same, and one that comes
//! from elsewhere is seen. It checks its arguments as NVML does.
//!
//! | module | what |
//! |---|---|
//! | here | the start, the devices, and what makes answers |
//! | `queries` | the queries whose answers are such numbers |
//! | `lists` | lists, whose length goes both ways |
//!
//! It has no function that changes a device, and none about processes: no board may call one.

#![allow(non_snake_case)]
#![expect(missing_docs, reason = "the functions are NVML's")]
#![expect(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "as NVML's documentation says of the caller: places have space for one value, and \
              texts end with a 0"
)]

mod lists;
mod queries;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

pub type Code = c_int;
/// A device's handle, as a program has it.
pub type Device = *const c_void;

pub const SUCCESS: Code = 0;
pub const UNINITIALIZED: Code = 1;
pub const INVALID_ARGUMENT: Code = 2;
pub const NOT_FOUND: Code = 6;
pub const INSUFFICIENT_SIZE: Code = 7;
pub const VERSION_MISMATCH: Code = 25;

/// Handles are the addresses of these.
static DEVICES: [u8; 2] = [0; 2];
/// Starts without an end.
static STARTS: AtomicU32 = AtomicU32::new(0);

/// What an argument adds to an answer.
pub(crate) trait Word {
    /// # Errors
    /// `INVALID_ARGUMENT` for a device that is none.
    fn word(self) -> Result<u64, Code>;
}

impl Word for Device {
    fn word(self) -> Result<u64, Code> {
        let mut devices = DEVICES.iter();
        let place = devices.position(|device| std::ptr::from_ref(device).cast() == self);
        place.map(|place| place as u64).ok_or(INVALID_ARGUMENT)
    }
}

impl Word for c_int {
    fn word(self) -> Result<u64, Code> {
        Ok(u64::from(self.cast_unsigned()))
    }
}

impl Word for c_uint {
    fn word(self) -> Result<u64, Code> {
        Ok(u64::from(self))
    }
}

/// The answers of one query, by their places.
#[derive(Clone, Copy)]
pub(crate) struct Answers(u64);

impl Answers {
    /// Of a query with these arguments.
    pub(crate) fn of(query: &str, words: &[u64]) -> Self {
        let seed = query.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        Self(bytes.fold(seed, mix))
    }

    /// The number at a place.
    pub(crate) fn number(self, place: u64) -> u64 {
        place.to_le_bytes().into_iter().fold(self.0, mix)
    }

    /// A byte of a structure.
    fn byte(self, place: usize) -> u8 {
        self.number(place as u64) as u8
    }

    /// Fills a structure from this byte on.
    unsafe fn fill(self, to: *mut u8, from: usize, len: usize) {
        for place in from..len {
            unsafe { to.add(place).write(self.byte(place)) };
        }
    }
}

/// A step of FNV-1a.
fn mix(sum: u64, byte: u8) -> u64 {
    (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

/// Does something once NVML is started.
pub(crate) fn run(work: impl FnOnce() -> Result<(), Code>) -> Code {
    if STARTS.load(Ordering::Relaxed) == 0 {
        return UNINITIALIZED;
    }
    work().err().unwrap_or(SUCCESS)
}

/// Writes a result.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    unsafe { to.write(value) };
    Ok(())
}

pub(crate) unsafe fn put_text(to: *mut c_char, len: c_uint, text: &str) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if len as usize <= text.len() {
        return Err(INSUFFICIENT_SIZE);
    }
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// Fills a structure of so many bytes.
pub(crate) unsafe fn put_structure(
    to: *mut c_void,
    len: usize,
    answers: Answers,
) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    unsafe { answers.fill(to.cast(), 0, len) };
    Ok(())
}

/// Fills a structure whose first word says its version, and whose second one may be an argument.
pub(crate) unsafe fn put_versioned(
    to: *mut c_void,
    versions: &[u32],
    query: &str,
    words: &[u64],
) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let given = unsafe { to.cast::<[u32; 2]>().read() };
    if !versions.contains(&given[0]) {
        return Err(VERSION_MISMATCH);
    }
    let words = [words, &given.map(u64::from)].concat();
    let len = (given[0] & 0xff_ffff) as usize;
    unsafe { Answers::of(query, &words).fill(to.cast(), 4, len) };
    Ok(())
}

// ---- the start ----

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    STARTS.fetch_add(1, Ordering::Relaxed);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> Code {
    nvmlInit_v2()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(flags: c_uint) -> Code {
    // It does not look at flags that it does not know.
    let _ = flags;
    nvmlInit_v2()
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    let less = |starts: u32| starts.checked_sub(1);
    let ended = STARTS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    ended.map_or(UNINITIALIZED, |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: Code) -> *const c_char {
    match result {
        SUCCESS => c"no error",
        UNINITIALIZED => c"not started",
        _ => c"another error",
    }
    .as_ptr()
}

// ---- the devices ----

/// A device's name among those that programs find it by.
fn name_of(what: &str, device: u64) -> String {
    match what {
        "pci" => format!("0000000{}:07:00.0", device + 1),
        _ => format!("null-{what}-{device}"),
    }
}

/// The device with this name.
unsafe fn find(what: &str, name: *const c_char, to: *mut Device) -> Code {
    run(|| {
        if name.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let name = unsafe { CStr::from_ptr(name) };
        let is_it = |device: &usize| name.to_bytes() == name_of(what, *device as u64).as_bytes();
        let device = (0..DEVICES.len()).find(is_it).ok_or(NOT_FOUND)?;
        unsafe { put(to, std::ptr::from_ref(&DEVICES[device]).cast()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> Code {
    run(|| unsafe { put(count, DEVICES.len() as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, to: *mut Device) -> Code {
    run(|| {
        let device = DEVICES.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        unsafe { put(to, std::ptr::from_ref(device).cast()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleBySerial(name: *const c_char, to: *mut Device) -> Code {
    unsafe { find("serial", name, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(name: *const c_char, to: *mut Device) -> Code {
    unsafe { find("uuid", name, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(
    name: *const c_char,
    to: *mut Device,
) -> Code {
    // A text that is no address is no argument.
    let is_address = !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().contains(&b':');
    match unsafe { find("pci", name, to) } {
        NOT_FOUND if !is_address => INVALID_ARGUMENT,
        ended => ended,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: Device, index: *mut c_uint) -> Code {
    run(|| unsafe { put(index, device.word()? as c_uint) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: Device, to: *mut c_char, len: c_uint) -> Code {
    run(|| unsafe { put_text(to, len, &format!("Null device {}", device.word()?)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSerial(device: Device, to: *mut c_char, len: c_uint) -> Code {
    run(|| unsafe { put_text(to, len, &name_of("serial", device.word()?)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: Device, to: *mut c_char, len: c_uint) -> Code {
    run(|| unsafe { put_text(to, len, &name_of("uuid", device.word()?)) })
}

/// The text has no length: its place has 64 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGspFirmwareVersion(device: Device, to: *mut c_char) -> Code {
    run(|| unsafe { put_text(to, 64, &name_of("firmware", device.word()?)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: Device, to: *mut c_void) -> Code {
    run(|| unsafe {
        let answers = Answers::of("nvmlDeviceGetPciInfo_v3", &[device.word()?]);
        put_structure(to, 68, answers)?;
        let place = to.cast::<c_char>().add(36);
        put_text(place, 32, &name_of("pci", device.word()?))
    })
}

/// The only one that has a fault is the first device.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceValidateInforom(device: Device) -> Code {
    const CORRUPTED_INFOROM: Code = 14;
    run(|| match device.word()? {
        0 => Err(CORRUPTED_INFOROM),
        _ => Ok(()),
    })
}

/// A part of a device is the other one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Device,
    index: c_uint,
    to: *mut Device,
) -> Code {
    run(|| {
        let part = device.word()? as usize ^ 1;
        match index {
            3 => unsafe { put(to, std::ptr::from_ref(&DEVICES[part]).cast()) },
            _ => Err(NOT_FOUND),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    part: Device,
    to: *mut Device,
) -> Code {
    run(|| {
        let whole = part.word()? as usize ^ 1;
        unsafe { put(to, std::ptr::from_ref(&DEVICES[whole]).cast()) }
    })
}

// ---- other names ----

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount(count: *mut c_uint) -> Code {
    unsafe { nvmlDeviceGetCount_v2(count) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex(index: c_uint, to: *mut Device) -> Code {
    unsafe { nvmlDeviceGetHandleByIndex_v2(index, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId(
    name: *const c_char,
    to: *mut Device,
) -> Code {
    unsafe { nvmlDeviceGetHandleByPciBusId_v2(name, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetAttributes(device: Device, to: *mut c_void) -> Code {
    unsafe { queries::nvmlDeviceGetAttributes_v2(device, to) }
}
