//! Calls that write a list: a number says how much room there is before, and how many there
//! are afterwards, also if that was too little.

use super::uses;
use crate::generated::manual::{Guest, Lists, Object, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use gil_wire::Op;
use gil_wire::envelope::Class;
use gil_wire::generated::nvml::{self as wire, Kind};
use serde::{Deserialize, Serialize};
use std::ffi::{c_int, c_uint};

/// A call that begins.
struct Begun {
    op: Op,
    entry: u64,
}

/// A program's list, and the place with its length.
struct List<T> {
    count: *mut c_uint,
    to: *mut T,
    room: c_uint,
}

impl<T> List<T> {
    /// # Errors
    /// `NVML_ERROR_UNINITIALIZED`; `NVML_ERROR_INVALID_ARGUMENT` without a place for the length.
    ///
    /// # Safety
    /// `count` is null or names a number, and `to` is null or has room for as many elements.
    unsafe fn of(count: *mut c_uint, to: *mut T) -> CallResult<Self> {
        uses::initialized()?;
        if count.is_null() {
            return Err(NVML_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller's.
        let room = if to.is_null() { 0 } else { unsafe { *count } };
        Ok(Self { count, to, room })
    }

    /// The same of a list that has a place, or no room.
    ///
    /// # Errors
    /// As [`of`](Self::of), also for room without a place.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    unsafe fn with_place(count: *mut c_uint, to: *mut T) -> CallResult<Self> {
        // SAFETY: the caller's.
        let list = unsafe { Self::of(count, to) }?;
        // SAFETY: the place of the length is not null.
        match to.is_null() && unsafe { *count } != 0 {
            true => Err(NVML_ERROR_INVALID_ARGUMENT),
            false => Ok(list),
        }
    }

    fn is_wanted(&self) -> bool {
        !self.to.is_null()
    }

    /// Writes how many there are, and of them those for which there is room.
    ///
    /// # Errors
    /// That of the call.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    unsafe fn write(
        &self,
        (result, count): (i32, u32),
        values: impl Iterator<Item = T>,
    ) -> CallResult<()> {
        if [NVML_SUCCESS, NVML_ERROR_INSUFFICIENT_SIZE].contains(&result) {
            // SAFETY: the caller's.
            unsafe { self.count.write(count) };
        }
        Guest::check(result)?;
        if self.is_wanted() {
            for (n, value) in values.take(self.room as usize).enumerate() {
                // SAFETY: the caller's; `n` is below the room.
                unsafe { self.to.add(n).write(value) };
            }
        }
        Ok(())
    }
}

/// Asks the board about a device.
fn ask<A: Serialize, R: for<'a> Deserialize<'a>>(
    begun: &Begun,
    device: nvmlDevice_t,
    args: impl FnOnce(&Object) -> A,
) -> CallResult<R> {
    let device = Object::find(Kind::Device, device)?;
    let request = Request::new(begun.op, Class::Query, begun.entry);
    request.forward(&args(&device), |reply| reply.decode())
}

impl Lists for Guest {
    unsafe fn nvmlDeviceGetSupportedMemoryClocks(
        entry: u64,
        device: nvmlDevice_t,
        count: *mut c_uint,
        clocksMHz: *mut c_uint,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_SUPPORTED_MEMORY_CLOCKS;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::with_place(count, clocksMHz) }?;
            let reply: wire::NvmlDeviceGetSupportedMemoryClocksReply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetSupportedMemoryClocksArgs {
                        device: device.number(),
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            let values = reply.values.iter().map(|value| *value as c_uint);
            // SAFETY: the caller's.
            unsafe { list.write((reply.result, reply.count), values) }
        })
    }

    unsafe fn nvmlDeviceGetSupportedGraphicsClocks(
        entry: u64,
        device: nvmlDevice_t,
        memoryClockMHz: c_uint,
        count: *mut c_uint,
        clocksMHz: *mut c_uint,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_SUPPORTED_GRAPHICS_CLOCKS;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::with_place(count, clocksMHz) }?;
            let reply: wire::NvmlDeviceGetSupportedGraphicsClocksReply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetSupportedGraphicsClocksArgs {
                        device: device.number(),
                        memoryClockMHz,
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            let values = reply.values.iter().map(|value| *value as c_uint);
            // SAFETY: the caller's.
            unsafe { list.write((reply.result, reply.count), values) }
        })
    }

    unsafe fn nvmlDeviceGetRetiredPages(
        entry: u64,
        device: nvmlDevice_t,
        cause: nvmlPageRetirementCause_t,
        pageCount: *mut c_uint,
        addresses: *mut u64,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_RETIRED_PAGES;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::with_place(pageCount, addresses) }?;
            let reply: wire::NvmlDeviceGetRetiredPagesReply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetRetiredPagesArgs {
                        device: device.number(),
                        cause,
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            // SAFETY: the caller's.
            unsafe { list.write((reply.result, reply.count), reply.values.into_iter()) }
        })
    }

    unsafe fn nvmlDeviceGetRetiredPages_v2(
        entry: u64,
        device: nvmlDevice_t,
        cause: nvmlPageRetirementCause_t,
        pageCount: *mut c_uint,
        addresses: *mut u64,
        timestamps: *mut u64,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_RETIRED_PAGES_V2;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::with_place(pageCount, addresses) }?;
            if list.is_wanted() && timestamps.is_null() {
                return Err(NVML_ERROR_INVALID_ARGUMENT);
            }
            let times = List {
                to: timestamps,
                ..list
            };
            let reply: wire::NvmlDeviceGetRetiredPagesV2Reply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetRetiredPagesV2Args {
                        device: device.number(),
                        cause,
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            let ended = (reply.result, reply.count);
            // SAFETY: the caller's: both have the same room.
            unsafe {
                list.write(ended, reply.values.into_iter())?;
                times.write(ended, reply.times.into_iter())
            }
        })
    }

    unsafe fn nvmlDeviceGetTopologyNearestGpus(
        entry: u64,
        device: nvmlDevice_t,
        level: nvmlGpuTopologyLevel_t,
        count: *mut c_uint,
        deviceArray: *mut nvmlDevice_t,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_TOPOLOGY_NEAREST_GPUS;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::of(count, deviceArray) }?;
            let reply: wire::NvmlDeviceGetTopologyNearestGpusReply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetTopologyNearestGpusArgs {
                        device: device.number(),
                        level,
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            let devices = reply.devices.into_iter();
            let devices = devices.map(|device| Object::found(Kind::Device, device));
            // SAFETY: the caller's.
            unsafe { list.write((reply.result, reply.count), devices) }
        })
    }

    unsafe fn nvmlDeviceGetSamples(
        entry: u64,
        device: nvmlDevice_t,
        kind: nvmlSamplingType_t,
        lastSeenTimeStamp: u64,
        sampleValType: *mut nvmlValueType_t,
        sampleCount: *mut c_uint,
        samples: *mut nvmlSample_t,
    ) -> nvmlReturn_t {
        let op = wire::NVML_DEVICE_GET_SAMPLES;
        Self::returned(|| {
            // SAFETY: the caller's.
            let list = unsafe { List::of(sampleCount, samples) }?;
            if sampleValType.is_null() {
                return Err(NVML_ERROR_INVALID_ARGUMENT);
            }
            let reply: wire::NvmlDeviceGetSamplesReply =
                ask(&Begun { op, entry }, device, |device| {
                    wire::NvmlDeviceGetSamplesArgs {
                        device: device.number(),
                        kind,
                        since: lastSeenTimeStamp,
                        room: list.room,
                        wanted: list.is_wanted(),
                    }
                })?;
            let of_value = |(time, value): (u64, u64)| nvmlSample_t {
                timeStamp: time,
                sampleValue: [value],
            };
            let samples = reply.times.into_iter().zip(reply.values).map(of_value);
            // SAFETY: the caller's.
            unsafe {
                list.write((reply.result, reply.count), samples)?;
                sampleValType.write(reply.valueType as c_int);
            }
            Ok(())
        })
    }
}
