//! Queries whose answers are numbers made of their names and arguments.

use crate::{
    Answers, Code, Device, INVALID_ARGUMENT, Word, put, put_structure, put_text, put_versioned, run,
};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// One number, or several.
macro_rules! numbers {
    ($($name:ident($($arg:ident: $ty:ty),*) -> ($($to:ident: $to_ty:ty),+);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* $($to: *mut $to_ty),+) -> Code {
            run(|| {
                let answers = Answers::of(stringify!($name), &[$($arg.word()?),*]);
                let mut places = 0..;
                $(
                    let place = places.next().unwrap_or_default();
                    unsafe { put($to, answers.number(place) as $to_ty) }?;
                )+
                Ok(())
            })
        }
    )*};
}

/// A text.
macro_rules! texts {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* to: *mut c_char, len: c_uint) -> Code {
            run(|| {
                let answers = Answers::of(stringify!($name), &[$($arg.word()?),*]);
                let text = format!("{:016x}.{:08x}", answers.number(0), answers.number(1) as u32);
                unsafe { put_text(to, len, &text) }
            })
        }
    )*};
}

/// A structure of so many bytes.
macro_rules! structures {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $len:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* to: *mut c_void) -> Code {
            run(|| {
                let answers = Answers::of(stringify!($name), &[$($arg.word()?),*]);
                unsafe { put_structure(to, $len, answers) }
            })
        }
    )*};
}

/// A structure with its version in front.
macro_rules! versioned {
    ($($name:ident($($arg:ident: $ty:ty),*) -> [$($version:literal),+];)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty,)* to: *mut c_void) -> Code {
            run(|| {
                let words = [$($arg.word()?),*];
                unsafe { put_versioned(to, &[$($version),+], stringify!($name), &words) }
            })
        }
    )*};
}

numbers! {
    nvmlSystemGetCudaDriverVersion() -> (cuda_driver_version: c_int);
    nvmlSystemGetCudaDriverVersion_v2() -> (cuda_driver_version: c_int);
    nvmlSystemGetNvlinkBwMode() -> (nvlink_bw_mode: c_uint);
    nvmlSystemGetConfComputeGpusReadyState() -> (is_accepting_work: c_uint);
    nvmlUnitGetCount() -> (unit_count: c_uint);
    nvmlGetExcludedDeviceCount() -> (device_count: c_uint);
    nvmlDeviceGetBrand(device: Device) -> (kind: c_int);
    nvmlDeviceGetModuleId(device: Device) -> (module_id: c_uint);
    nvmlDeviceGetMinorNumber(device: Device) -> (minor_number: c_uint);
    nvmlDeviceGetBoardId(device: Device) -> (board_id: c_uint);
    nvmlDeviceGetMultiGpuBoard(device: Device) -> (multi_gpu_bool: c_uint);
    nvmlDeviceGetInforomConfigurationChecksum(device: Device) -> (checksum: c_uint);
    nvmlDeviceGetGspFirmwareMode(device: Device) -> (is_enabled: c_uint, default_mode: c_uint);
    nvmlDeviceGetArchitecture(device: Device) -> (arch: c_uint);
    nvmlDeviceGetCudaComputeCapability(device: Device) -> (major: c_int, minor: c_int);
    nvmlDeviceGetNumGpuCores(device: Device) -> (num_cores: c_uint);
    nvmlDeviceGetDisplayMode(device: Device) -> (display: c_int);
    nvmlDeviceGetDisplayActive(device: Device) -> (is_active: c_int);
    nvmlDeviceGetDriverModel_v2(device: Device) -> (current: c_int, pending: c_int);
    nvmlDeviceGetVirtualizationMode(device: Device) -> (p_virtual_mode: c_int);
    nvmlDeviceGetHostVgpuMode(device: Device) -> (p_host_vgpu_mode: c_int);
    nvmlDeviceGetMaxPcieLinkGeneration(device: Device) -> (max_link_gen: c_uint);
    nvmlDeviceGetGpuMaxPcieLinkGeneration(device: Device) -> (max_link_gen_device: c_uint);
    nvmlDeviceGetMaxPcieLinkWidth(device: Device) -> (max_link_width: c_uint);
    nvmlDeviceGetCurrPcieLinkGeneration(device: Device) -> (curr_link_gen: c_uint);
    nvmlDeviceGetCurrPcieLinkWidth(device: Device) -> (curr_link_width: c_uint);
    nvmlDeviceGetPcieLinkMaxSpeed(device: Device) -> (max_speed: c_uint);
    nvmlDeviceGetPcieSpeed(device: Device) -> (pcie_speed: c_uint);
    nvmlDeviceGetPcieThroughput(device: Device, counter: c_int) -> (value: c_uint);
    nvmlDeviceGetPcieReplayCounter(device: Device) -> (value: c_uint);
    nvmlDeviceGetBusType(device: Device) -> (kind: c_uint);
    nvmlDeviceGetIrqNum(device: Device) -> (irq_num: c_uint);
    nvmlDeviceGetTopologyCommonAncestor(device1: Device, device2: Device) -> (path_info: c_int);
    nvmlDeviceGetP2PStatus(device1: Device, device2: Device, p2p_index: c_int) -> (p2p_status: c_int);
    nvmlDeviceOnSameBoard(device1: Device, device2: Device) -> (on_same_board: c_int);
    nvmlDeviceGetNvLinkState(device: Device, link: c_uint) -> (is_active: c_int);
    nvmlDeviceGetNvLinkVersion(device: Device, link: c_uint) -> (version: c_uint);
    nvmlDeviceGetNvLinkCapability(device: Device, link: c_uint, capability: c_int) -> (cap_result: c_uint);
    nvmlDeviceGetNvLinkRemoteDeviceType(device: Device, link: c_uint) -> (p_nv_link_device_type: c_int);
    nvmlDeviceGetNvLinkErrorCounter(device: Device, link: c_uint, counter: c_int) -> (counter_value: u64);
    nvmlDeviceGetNvLinkUtilizationCounter(device: Device, link: c_uint, counter: c_uint) -> (rxcounter: u64, txcounter: u64);
    nvmlDeviceGetMemoryBusWidth(device: Device) -> (bus_width: c_uint);
    nvmlDeviceGetEccMode(device: Device) -> (current: c_int, pending: c_int);
    nvmlDeviceGetDefaultEccMode(device: Device) -> (default_mode: c_int);
    nvmlDeviceGetTotalEccErrors(device: Device, error_type: c_int, counter_type: c_int) -> (ecc_counts: u64);
    nvmlDeviceGetMemoryErrorCounter(device: Device, error_type: c_int, counter_type: c_int, location_type: c_int) -> (count: u64);
    nvmlDeviceGetRetiredPagesPendingStatus(device: Device) -> (is_pending: c_int);
    nvmlDeviceGetRemappedRows(device: Device) -> (corr_rows: c_uint, unc_rows: c_uint, is_pending: c_uint, failure_occurred: c_uint);
    nvmlDeviceGetEncoderUtilization(device: Device) -> (utilization: c_uint, sampling_period_us: c_uint);
    nvmlDeviceGetDecoderUtilization(device: Device) -> (utilization: c_uint, sampling_period_us: c_uint);
    nvmlDeviceGetJpgUtilization(device: Device) -> (utilization: c_uint, sampling_period_us: c_uint);
    nvmlDeviceGetOfaUtilization(device: Device) -> (utilization: c_uint, sampling_period_us: c_uint);
    nvmlDeviceGetEncoderCapacity(device: Device, encoder_query_type: c_int) -> (encoder_capacity: c_uint);
    nvmlDeviceGetEncoderStats(device: Device) -> (session_count: c_uint, average_fps: c_uint, average_latency: c_uint);
    nvmlDeviceGetPowerUsage(device: Device) -> (power: c_uint);
    nvmlDeviceGetTotalEnergyConsumption(device: Device) -> (energy: u64);
    nvmlDeviceGetPowerManagementMode(device: Device) -> (mode: c_int);
    nvmlDeviceGetPowerManagementLimit(device: Device) -> (limit: c_uint);
    nvmlDeviceGetPowerManagementLimitConstraints(device: Device) -> (min_limit: c_uint, max_limit: c_uint);
    nvmlDeviceGetPowerManagementDefaultLimit(device: Device) -> (default_limit: c_uint);
    nvmlDeviceGetEnforcedPowerLimit(device: Device) -> (limit: c_uint);
    nvmlDeviceGetPowerSource(device: Device) -> (power_source: c_uint);
    nvmlDeviceGetPowerState(device: Device) -> (p_state: c_int);
    nvmlDeviceGetTemperature(device: Device, sensor_type: c_int) -> (temp: c_uint);
    nvmlDeviceGetTemperatureThreshold(device: Device, threshold_type: c_int) -> (temp: c_uint);
    nvmlDeviceGetNumFans(device: Device) -> (num_fans: c_uint);
    nvmlDeviceGetFanSpeed(device: Device) -> (speed: c_uint);
    nvmlDeviceGetFanSpeed_v2(device: Device, fan: c_uint) -> (speed: c_uint);
    nvmlDeviceGetTargetFanSpeed(device: Device, fan: c_uint) -> (target_speed: c_uint);
    nvmlDeviceGetMinMaxFanSpeed(device: Device) -> (min_speed: c_uint, max_speed: c_uint);
    nvmlDeviceGetFanControlPolicy_v2(device: Device, fan: c_uint) -> (policy: c_uint);
    nvmlDeviceGetClockInfo(device: Device, kind: c_int) -> (clock: c_uint);
    nvmlDeviceGetMaxClockInfo(device: Device, kind: c_int) -> (clock: c_uint);
    nvmlDeviceGetClock(device: Device, clock_type: c_int, clock_id: c_int) -> (clock_mhz: c_uint);
    nvmlDeviceGetMaxCustomerBoostClock(device: Device, clock_type: c_int) -> (clock_mhz: c_uint);
    nvmlDeviceGetApplicationsClock(device: Device, clock_type: c_int) -> (clock_mhz: c_uint);
    nvmlDeviceGetDefaultApplicationsClock(device: Device, clock_type: c_int) -> (clock_mhz: c_uint);
    nvmlDeviceGetAutoBoostedClocksEnabled(device: Device) -> (is_enabled: c_int, default_is_enabled: c_int);
    nvmlDeviceGetAdaptiveClockInfoStatus(device: Device) -> (adaptive_clock_status: c_uint);
    nvmlDeviceGetPerformanceState(device: Device) -> (p_state: c_int);
    nvmlDeviceGetMinMaxClockOfPState(device: Device, kind: c_int, pstate: c_int) -> (min_clock_mhz: c_uint, max_clock_mhz: c_uint);
    nvmlDeviceGetGpcClkVfOffset(device: Device) -> (offset: c_int);
    nvmlDeviceGetGpcClkMinMaxVfOffset(device: Device) -> (min_offset: c_int, max_offset: c_int);
    nvmlDeviceGetMemClkVfOffset(device: Device) -> (offset: c_int);
    nvmlDeviceGetMemClkMinMaxVfOffset(device: Device) -> (min_offset: c_int, max_offset: c_int);
    nvmlDeviceGetCurrentClocksEventReasons(device: Device) -> (clocks_event_reasons: u64);
    nvmlDeviceGetSupportedClocksEventReasons(device: Device) -> (supported_clocks_event_reasons: u64);
    nvmlDeviceGetCurrentClocksThrottleReasons(device: Device) -> (clocks_throttle_reasons: u64);
    nvmlDeviceGetSupportedClocksThrottleReasons(device: Device) -> (supported_clocks_throttle_reasons: u64);
    nvmlDeviceGetPersistenceMode(device: Device) -> (mode: c_int);
    nvmlDeviceGetComputeMode(device: Device) -> (mode: c_int);
    nvmlDeviceGetGpuOperationMode(device: Device) -> (current: c_int, pending: c_int);
    nvmlDeviceGetAPIRestriction(device: Device, api_type: c_int) -> (is_restricted: c_int);
    nvmlDeviceGetAccountingMode(device: Device) -> (mode: c_int);
    nvmlDeviceGetAccountingBufferSize(device: Device) -> (buffer_size: c_uint);
    nvmlDeviceGetMigMode(device: Device) -> (current_mode: c_uint, pending_mode: c_uint);
    nvmlDeviceGetMaxMigDeviceCount(device: Device) -> (count: c_uint);
    nvmlDeviceIsMigDeviceHandle(device: Device) -> (is_mig_device: c_uint);
    nvmlDeviceGetGpuInstanceId(device: Device) -> (id: c_uint);
    nvmlDeviceGetComputeInstanceId(device: Device) -> (id: c_uint);
    nvmlDeviceGetGpuInstanceRemainingCapacity(device: Device, profile_id: c_uint) -> (count: c_uint);
}

texts! {
    nvmlSystemGetDriverVersion();
    nvmlSystemGetNVMLVersion();
    nvmlDeviceGetBoardPartNumber(device: Device);
    nvmlDeviceGetVbiosVersion(device: Device);
    nvmlDeviceGetInforomVersion(device: Device, object: c_int);
    nvmlDeviceGetInforomImageVersion(device: Device);
}

structures! {
    nvmlSystemGetConfComputeCapabilities() -> 8;
    nvmlSystemGetConfComputeState() -> 12;
    nvmlGetExcludedDeviceInfoByIndex(index: c_uint) -> 148;
    nvmlDeviceGetAttributes_v2(device: Device) -> 40;
    nvmlDeviceGetConfComputeMemSizeInfo(device: Device) -> 16;
    nvmlDeviceGetConfComputeProtectedMemoryUsage(device: Device) -> 24;
    nvmlDeviceGetBAR1MemoryInfo(device: Device) -> 24;
    nvmlDeviceGetBridgeChipInfo(device: Device) -> 1028;
    nvmlDeviceGetC2cModeInfoV(device: Device) -> 4;
    nvmlDeviceGetNvLinkRemotePciInfo_v2(device: Device, link: c_uint) -> 68;
    nvmlDeviceGetNvLinkUtilizationControl(device: Device, link: c_uint, counter: c_uint) -> 8;
    nvmlDeviceGetGpuFabricInfo(device: Device) -> 28;
    nvmlDeviceGetMemoryInfo(device: Device) -> 24;
    nvmlDeviceGetDetailedEccErrors(device: Device, error_type: c_int, counter_type: c_int) -> 32;
    nvmlDeviceGetRowRemapperHistogram(device: Device) -> 20;
    nvmlDeviceGetUtilizationRates(device: Device) -> 8;
    nvmlDeviceGetFBCStats(device: Device) -> 12;
    nvmlDeviceGetViolationStatus(device: Device, perf_policy_type: c_int) -> 16;
    nvmlDeviceGetPowerMizerMode_v1(device: Device) -> 12;
    nvmlDeviceGetThermalSettings(device: Device, sensor_index: c_uint) -> 64;
    nvmlDeviceGetDynamicPstatesInfo(device: Device) -> 132;
    nvmlDeviceGetClkMonStatus(device: Device) -> 264;
    nvmlDeviceGetGpuInstanceProfileInfo(device: Device, profile: c_uint) -> 48;
}

versioned! {
    nvmlSystemGetConfComputeSettings() -> [0x01000014];
    nvmlDeviceGetCapabilities(device: Device) -> [0x01000008];
    nvmlDeviceGetPdi(device: Device) -> [0x01000010];
    nvmlDeviceGetAddressingMode(device: Device) -> [0x01000008];
    nvmlDeviceGetRepairStatus(device: Device) -> [0x0100000c];
    nvmlDeviceGetPciInfoExt(device: Device) -> [0x01000040];
    nvmlDeviceGetNvlinkSupportedBwModes(device: Device) -> [0x0100001c];
    nvmlDeviceGetNvlinkBwMode(device: Device) -> [0x0100000c];
    nvmlDeviceGetNvLinkInfo(device: Device) -> [0x01000008, 0x0200064c];
    nvmlDeviceGetGpuFabricInfoV(device: Device) -> [0x02000024, 0x03000028];
    nvmlDeviceGetMemoryInfo_v2(device: Device) -> [0x02000028];
    nvmlDeviceGetSramEccErrorStatus(device: Device) -> [0x01000068];
    nvmlDeviceGetTemperatureV(device: Device) -> [0x0100000c];
    nvmlDeviceGetMarginTemperature(device: Device) -> [0x01000008];
    nvmlDeviceGetFanSpeedRPM(device: Device) -> [0x0100000c];
    nvmlDeviceGetCoolerInfo(device: Device) -> [0x01000010];
    nvmlDeviceGetClockOffsets(device: Device) -> [0x01000018];
    nvmlDeviceGetPerformanceModes(device: Device) -> [0x01000804];
    nvmlDeviceGetCurrentClockFreqs(device: Device) -> [0x01000804];
    nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(device: Device) -> [0x01000064];
    nvmlDeviceGetGpuInstanceProfileInfoV(device: Device, profile: c_uint) -> [0x02000098, 0x03000098];
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverBranch(to: *mut c_void, len: c_uint) -> Code {
    let words = [u64::from(len)];
    run(|| unsafe { put_versioned(to, &[0x0100_0054], "nvmlSystemGetDriverBranch", &words) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDramEncryptionMode(
    device: Device,
    current: *mut c_void,
    pending: *mut c_void,
) -> Code {
    const VERSIONS: &[u32] = &[0x0100_0008];
    run(|| unsafe {
        let word = device.word()?;
        put_versioned(current, VERSIONS, "current", &[word])?;
        put_versioned(pending, VERSIONS, "pending", &[word])
    })
}

/// The state is that of the structure's bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceQueryDrainState(pci: *const c_void, to: *mut c_int) -> Code {
    run(|| {
        if pci.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let words = unsafe { pci.cast::<[u8; 68]>().read() }.map(u64::from);
        let answers = Answers::of("nvmlDeviceQueryDrainState", &words);
        unsafe { put(to, answers.number(0) as c_int) }
    })
}

/// A value that is asked for by a number.
#[repr(C)]
pub struct Field {
    id: c_uint,
    scope: c_uint,
    time: i64,
    latency: i64,
    value_type: c_int,
    result: Code,
    value: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: Device,
    count: c_int,
    fields: *mut Field,
) -> Code {
    run(|| {
        let device = device.word()?;
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        if fields.is_null() || count == 0 {
            return Err(INVALID_ARGUMENT);
        }
        for field in unsafe { std::slice::from_raw_parts_mut(fields, count) } {
            let words = [device, field.id.into(), field.scope.into()];
            let answers = Answers::of("nvmlDeviceGetFieldValues", &words);
            field.time = answers.number(0).cast_signed();
            field.latency = answers.number(1).cast_signed();
            field.value_type = 3;
            field.result = 0;
            field.value = answers.number(2);
        }
        Ok(())
    })
}

/// The room is in bytes; what is left of it says that there are no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSupportedPerformanceStates(
    device: Device,
    to: *mut c_int,
    len: c_uint,
) -> Code {
    const NO_MORE: c_int = 32;
    run(|| {
        let device = device.word()?;
        if to.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        for place in 0..len as usize / 4 {
            let state = match place {
                0..3 => device as c_int * 4 + place as c_int,
                _ => NO_MORE,
            };
            unsafe { to.add(place).write(state) };
        }
        Ok(())
    })
}
