//! The codes of `toy.h`.

use opencl3::error_codes::ClError;
use opencl3::error_codes::{
    CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES,
};

/// `TOY_SUCCESS`.
pub const SUCCESS: i32 = 0;
/// `TOY_INVALID_VALUE`.
pub const INVALID_VALUE: i32 = 1;
/// `TOY_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: i32 = 2;
/// `TOY_NO_CONTEXT`.
pub const NO_CONTEXT: i32 = 3;
/// `TOY_INVALID_HANDLE`.
pub const INVALID_HANDLE: i32 = 4;
/// `TOY_NO_DEVICE`.
pub const NO_DEVICE: i32 = 6;
/// `TOY_FAILED`.
pub const FAILED: i32 = 7;

/// What went wrong: one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

impl From<ClError> for Error {
    fn from(error: ClError) -> Self {
        Self(match error.0 {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_RESOURCES | CL_OUT_OF_HOST_MEMORY => {
                OUT_OF_MEMORY
            }
            _ => FAILED,
        })
    }
}

impl From<String> for Error {
    /// What a compiler said.
    fn from(_: String) -> Self {
        Self(FAILED)
    }
}

/// What a function returns.
pub fn code(result: Result<(), Error>) -> i32 {
    result.map_or_else(|Error(code)| code, |()| SUCCESS)
}
