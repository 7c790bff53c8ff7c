//! The calls that are written by hand: the start, which happened when the library was loaded,
//! and lists, whose length goes both ways.

use super::generated::manual::{Lists, Manual};
use super::generated::types::*;
use super::session::Session;
use super::support::Board;
use crate::back_end::{self, Call, Objects, Refusal};
use gil_wire::generated::nvml::{self as wire, Kind};
use std::ffi::c_uint;
use std::ptr::null_mut;

/// The flag that a machine without a device is no error.
const NO_GPUS: u32 = 1;

/// A list that the library filled, and what it returned.
struct Filled<T> {
    result: nvmlReturn_t,
    /// How many there are, or how much room is needed.
    count: u32,
    values: Vec<T>,
}

/// A list for which the program has so much room, or only asks how long it is.
struct Room {
    count: u32,
    is_wanted: bool,
}

impl Room {
    fn of(count: u32, is_wanted: bool) -> Self {
        let count = if is_wanted { count } else { 0 };
        Self { count, is_wanted }
    }

    /// Has a function fill it, which gets the place of the number and that of the values.
    fn fill<T: Clone>(
        &self,
        call: &mut Call,
        zero: T,
        ask: Option<impl FnOnce(&mut c_uint, *mut T) -> nvmlReturn_t>,
    ) -> Filled<T> {
        let room = back_end::room(self.count);
        let mut values = vec![zero; room];
        let mut count = room as c_uint;
        let to = if self.is_wanted {
            values.as_mut_ptr()
        } else {
            null_mut()
        };
        let result = match ask {
            Some(ask) => call.timed(|| ask(&mut count, to)),
            None => NVML_ERROR_FUNCTION_NOT_FOUND,
        };
        let is_filled = result == NVML_SUCCESS && self.is_wanted;
        values.truncate(if is_filled { count as usize } else { 0 });
        Filled {
            result,
            count,
            values,
        }
    }
}

impl Manual for Board {
    fn nvml_init_v2(
        session: &mut Session,
        _: &mut Call,
        args: wire::NvmlInitV2Args,
    ) -> Result<wire::NvmlInitV2Reply, Refusal> {
        let result = match session.driver().started {
            NVML_ERROR_GPU_NOT_FOUND if args.flags & NO_GPUS != 0 => NVML_SUCCESS,
            started => started,
        };
        Ok(wire::NvmlInitV2Reply { result })
    }
}

impl Lists for Board {
    fn nvml_device_get_supported_memory_clocks(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetSupportedMemoryClocksArgs,
    ) -> Result<wire::NvmlDeviceGetSupportedMemoryClocksReply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let ask = session.functions().nvmlDeviceGetSupportedMemoryClocks;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to| {
                // SAFETY: the device is there; there is space for as many numbers as `count` says.
                unsafe { ask(device, count, to) }
            }
        });
        let filled = Room::of(args.room, args.wanted).fill(call, 0, ask);
        Ok(wire::NvmlDeviceGetSupportedMemoryClocksReply {
            result: filled.result,
            count: filled.count,
            values: filled.values.into_iter().map(u64::from).collect(),
        })
    }

    fn nvml_device_get_supported_graphics_clocks(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetSupportedGraphicsClocksArgs,
    ) -> Result<wire::NvmlDeviceGetSupportedGraphicsClocksReply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let ask = session.functions().nvmlDeviceGetSupportedGraphicsClocks;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to| {
                // SAFETY: the device is there; there is space for as many numbers as `count` says.
                unsafe { ask(device, args.memoryClockMHz, count, to) }
            }
        });
        let filled = Room::of(args.room, args.wanted).fill(call, 0, ask);
        Ok(wire::NvmlDeviceGetSupportedGraphicsClocksReply {
            result: filled.result,
            count: filled.count,
            values: filled.values.into_iter().map(u64::from).collect(),
        })
    }

    fn nvml_device_get_retired_pages(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetRetiredPagesArgs,
    ) -> Result<wire::NvmlDeviceGetRetiredPagesReply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let ask = session.functions().nvmlDeviceGetRetiredPages;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to| {
                // SAFETY: the device is there; there is space for as many numbers as `count` says.
                unsafe { ask(device, args.cause, count, to) }
            }
        });
        let filled = Room::of(args.room, args.wanted).fill(call, 0, ask);
        Ok(wire::NvmlDeviceGetRetiredPagesReply {
            result: filled.result,
            count: filled.count,
            values: filled.values,
        })
    }

    fn nvml_device_get_retired_pages_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetRetiredPagesV2Args,
    ) -> Result<wire::NvmlDeviceGetRetiredPagesV2Reply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let room = Room::of(args.room, args.wanted);
        let mut times = vec![0; back_end::room(room.count)];
        let times_to = times.as_mut_ptr();
        let ask = session.functions().nvmlDeviceGetRetiredPages_v2;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to: *mut u64| {
                let times = if to.is_null() { to } else { times_to };
                // SAFETY: the device is there; in both there is space for as many numbers as
                // `count` says.
                unsafe { ask(device, args.cause, count, to, times) }
            }
        });
        let filled = room.fill(call, 0, ask);
        times.truncate(filled.values.len());
        Ok(wire::NvmlDeviceGetRetiredPagesV2Reply {
            result: filled.result,
            count: filled.count,
            values: filled.values,
            times,
        })
    }

    fn nvml_device_get_topology_nearest_gpus(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetTopologyNearestGpusArgs,
    ) -> Result<wire::NvmlDeviceGetTopologyNearestGpusReply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let ask = session.functions().nvmlDeviceGetTopologyNearestGpus;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to| {
                // SAFETY: the device is there; there is space for as many handles as `count` says.
                unsafe { ask(device, args.level, count, to) }
            }
        });
        let filled = Room::of(args.room, args.wanted).fill(call, null_mut(), ask);
        let devices = filled.values.into_iter();
        Ok(wire::NvmlDeviceGetTopologyNearestGpusReply {
            result: filled.result,
            count: filled.count,
            devices: devices
                .map(|device| session.found(Kind::Device, device))
                .collect(),
        })
    }

    fn nvml_device_get_samples(
        session: &mut Session,
        call: &mut Call,
        args: wire::NvmlDeviceGetSamplesArgs,
    ) -> Result<wire::NvmlDeviceGetSamplesReply, Refusal> {
        let device: nvmlDevice_t = session.get(Kind::Device, args.device)?;
        let zero = nvmlSample_t {
            timeStamp: 0,
            sampleValue: [0],
        };
        let mut value_type = 0;
        let type_to = &raw mut value_type;
        let ask = session.functions().nvmlDeviceGetSamples;
        let ask = ask.map(|ask| {
            move |count: &mut c_uint, to| {
                // SAFETY: the device is there; there is space for a number, and for as many
                // samples as `count` says.
                unsafe { ask(device, args.kind, args.since, type_to, count, to) }
            }
        });
        let filled = Room::of(args.room, args.wanted).fill(call, zero, ask);
        Ok(wire::NvmlDeviceGetSamplesReply {
            result: filled.result,
            valueType: value_type,
            count: filled.count,
            times: filled.values.iter().map(|it| it.timeStamp).collect(),
            values: filled.values.iter().map(|it| it.sampleValue[0]).collect(),
        })
    }
}
