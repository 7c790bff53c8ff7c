//! A machine without `/dev/gil`.

use gil_opencl::generated::stubs::*;
use std::ptr::null_mut;

#[test]
fn there_is_no_platform() {
    if std::path::Path::new(gil_guest::uapi::DEVICE_PATH).exists() {
        return gil_need::skip("a machine that is no guest of gil", "it has the device");
    }
    // SAFETY: space for one number.
    let result = unsafe { clGetPlatformIDs(0, null_mut(), &mut 0) };
    assert_eq!(result, -1001, "CL_PLATFORM_NOT_FOUND_KHR");
}
