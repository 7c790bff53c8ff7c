//! A board that goes away in the middle of a program.

mod common;

use common::*;
use gil_guest::double::Played;
use gil_guest::uapi;
use gil_opencl::generated::stubs::*;
use gil_opencl::generated::types::*;
use std::ptr::null_mut;

#[test]
fn every_call_says_that_the_device_is_gone() {
    let board = board(|_| Played::status(uapi::STATUS_LOST));
    let w = world(0);
    // SAFETY: handles are checked.
    unsafe {
        assert_eq!(clFinish(w.queue), CL_DEVICE_NOT_AVAILABLE);
        assert_eq!(clFinish(w.queue), CL_DEVICE_NOT_AVAILABLE);
        let mut code = 1;
        let made = clCreateBuffer(w.context, 0, 64, null_mut(), &mut code);
        assert!(made.is_null() && code == CL_DEVICE_NOT_AVAILABLE);
        let platforms = clGetPlatformIDs(0, null_mut(), &mut 0);
        assert_eq!(platforms, -1001, "CL_PLATFORM_NOT_FOUND_KHR");
        assert_eq!(clReleaseMemObject(w.buffer), CL_DEVICE_NOT_AVAILABLE);
        assert_eq!(clReleaseMemObject(w.buffer), CL_INVALID_MEM_OBJECT);
    }
    assert_eq!(board.seen().len(), 1, "the driver is not asked again");
}
