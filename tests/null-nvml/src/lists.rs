//! Lists, whose length goes both ways.

use crate::{Answers, Code, DEVICES, Device, INSUFFICIENT_SIZE, INVALID_ARGUMENT, Word, put, run};
use std::ffi::{c_int, c_uint};

/// Writes how many there are, and if there is room, all of them.
unsafe fn put_list<T>(
    count: *mut c_uint,
    to: *mut T,
    values: impl ExactSizeIterator<Item = T>,
) -> Result<(), Code> {
    if count.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let (room, len) = (unsafe { count.read() }, values.len() as c_uint);
    if to.is_null() && room > 0 {
        return Err(INVALID_ARGUMENT);
    }
    unsafe { put(count, len) }?;
    if room < len || to.is_null() {
        return Err(INSUFFICIENT_SIZE);
    }
    for (place, value) in values.enumerate() {
        unsafe { to.add(place).write(value) };
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedMemoryClocks(
    device: Device,
    count: *mut c_uint,
    to: *mut c_uint,
) -> Code {
    run(|| {
        let device = device.word()?;
        let answers = Answers::of("nvmlDeviceGetSupportedMemoryClocks", &[device]);
        let values = (0..4 + device as u32).map(|place| answers.number(place.into()) as c_uint);
        unsafe { put_list(count, to, values) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedGraphicsClocks(
    device: Device,
    memory: c_uint,
    count: *mut c_uint,
    to: *mut c_uint,
) -> Code {
    run(|| {
        let words = [device.word()?, memory.into()];
        let answers = Answers::of("nvmlDeviceGetSupportedGraphicsClocks", &words);
        let values = (0..6 + words[0] as u32).map(|place| answers.number(place.into()) as c_uint);
        unsafe { put_list(count, to, values) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRetiredPages(
    device: Device,
    cause: c_int,
    count: *mut c_uint,
    to: *mut u64,
) -> Code {
    run(|| {
        let words = [device.word()?, cause.word()?];
        let answers = Answers::of("nvmlDeviceGetRetiredPages", &words);
        let values = (0..2 + words[0] as u32).map(|place| answers.number(place.into()));
        unsafe { put_list(count, to, values) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRetiredPages_v2(
    device: Device,
    cause: c_int,
    count: *mut c_uint,
    to: *mut u64,
    times: *mut u64,
) -> Code {
    run(|| {
        let words = [device.word()?, cause.word()?];
        let answers = Answers::of("nvmlDeviceGetRetiredPages_v2", &words);
        let values = (0..2 + words[0] as u32).map(|place| answers.number(place.into()));
        unsafe { put_list(count, to, values) }?;
        if times.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        for place in 0..2 + words[0] as usize {
            unsafe { times.add(place).write(answers.number(place as u64 + 100)) };
        }
        Ok(())
    })
}

/// Near a device is the other one, at a level above the closest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTopologyNearestGpus(
    device: Device,
    level: c_int,
    count: *mut c_uint,
    to: *mut Device,
) -> Code {
    run(|| {
        let device = device.word()? as usize;
        let near = &DEVICES[device ^ 1..=device ^ 1];
        let near = if level > 0 { near } else { &[] };
        let handles = near.iter().map(|device| std::ptr::from_ref(device).cast());
        unsafe { put_list(count, to, handles) }
    })
}

/// What a device measured at a time.
#[repr(C)]
pub struct Sample {
    time: u64,
    value: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSamples(
    device: Device,
    kind: c_int,
    since: u64,
    value_type: *mut c_int,
    count: *mut c_uint,
    to: *mut Sample,
) -> Code {
    run(|| {
        let words = [device.word()?, kind.word()?, since];
        let answers = Answers::of("nvmlDeviceGetSamples", &words);
        unsafe { put(value_type, 1 + words[0] as c_int) }?;
        let sample = |place: u32| Sample {
            time: since + u64::from(place),
            value: answers.number(place.into()),
        };
        unsafe { put_list(count, to, (0..5).map(sample)) }
    })
}
