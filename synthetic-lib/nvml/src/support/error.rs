//! The sentences of errors: gil's own words. NVML promises none in particular.

use crate::generated::types::*;
use std::ffi::CStr;

/// What an error says.
pub fn sentence(result: nvmlReturn_t) -> &'static CStr {
    let known = SENTENCES.iter().find(|(code, _)| *code == result);
    known.map_or(c"an unknown error", |(_, sentence)| sentence)
}

const SENTENCES: &[(nvmlReturn_t, &CStr)] = &[
    (NVML_SUCCESS, c"success"),
    (NVML_ERROR_UNINITIALIZED, c"nvmlInit was not called"),
    (NVML_ERROR_INVALID_ARGUMENT, c"an argument is invalid"),
    (NVML_ERROR_NOT_SUPPORTED, c"the device does not support it"),
    (
        NVML_ERROR_NO_PERMISSION,
        c"the user has no permission for it",
    ),
    (NVML_ERROR_ALREADY_INITIALIZED, c"NVML is initialized"),
    (NVML_ERROR_NOT_FOUND, c"it was not found"),
    (NVML_ERROR_INSUFFICIENT_SIZE, c"there is too little room"),
    (
        NVML_ERROR_INSUFFICIENT_POWER,
        c"a power cable of a device is not attached",
    ),
    (
        NVML_ERROR_DRIVER_NOT_LOADED,
        c"NVIDIA's driver is not loaded",
    ),
    (NVML_ERROR_TIMEOUT, c"the time is over"),
    (
        NVML_ERROR_IRQ_ISSUE,
        c"the kernel has a problem with an interrupt of a device",
    ),
    (
        NVML_ERROR_LIBRARY_NOT_FOUND,
        c"the library is missing or does not load",
    ),
    (
        NVML_ERROR_FUNCTION_NOT_FOUND,
        c"the library does not have the function",
    ),
    (NVML_ERROR_CORRUPTED_INFOROM, c"the inforom is damaged"),
    (
        NVML_ERROR_GPU_IS_LOST,
        c"the device does not answer any more",
    ),
    (NVML_ERROR_RESET_REQUIRED, c"the device needs a reset"),
    (
        NVML_ERROR_OPERATING_SYSTEM,
        c"the operating system has taken the device away",
    ),
    (
        NVML_ERROR_LIB_RM_VERSION_MISMATCH,
        c"the library and the kernel's driver have different versions",
    ),
    (NVML_ERROR_IN_USE, c"the device is in use"),
    (NVML_ERROR_MEMORY, c"memory is exhausted"),
    (NVML_ERROR_NO_DATA, c"there is no data"),
    (
        NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,
        c"a virtual device cannot have ECC",
    ),
    (
        NVML_ERROR_INSUFFICIENT_RESOURCES,
        c"a resource other than memory is exhausted",
    ),
    (
        NVML_ERROR_FREQ_NOT_SUPPORTED,
        c"the frequency is not supported",
    ),
    (
        NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        c"the version of a structure is unknown",
    ),
    (
        NVML_ERROR_DEPRECATED,
        c"the function is not offered any more",
    ),
    (NVML_ERROR_NOT_READY, c"the system is not ready"),
    (NVML_ERROR_GPU_NOT_FOUND, c"no device was found"),
    (NVML_ERROR_INVALID_STATE, c"the state does not allow it"),
    (
        NVML_ERROR_RESET_TYPE_NOT_SUPPORTED,
        c"this kind of reset is not supported",
    ),
    (NVML_ERROR_UNKNOWN, c"an unknown error"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_error_has_a_sentence_of_its_own() {
        let all: BTreeSet<_> = SENTENCES.iter().map(|(_, sentence)| sentence).collect();
        assert_eq!(all.len(), SENTENCES.len());
        assert_eq!(sentence(NVML_ERROR_TIMEOUT), c"the time is over");
        assert_eq!(sentence(555), sentence(NVML_ERROR_UNKNOWN));
    }
}
