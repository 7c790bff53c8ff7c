//! Why calls are not executed, and OpenCL's error for each reason.

use super::generated::types::*;
use crate::back_end::Refusal;
use crate::region::NoRoom;
use gil_wire::Op;
use gil_wire::generated::opencl as wire;

/// What only OpenCL's calls are refused for.
#[derive(Debug, thiserror::Error)]
pub enum OpenClRefusal {
    /// A driver that does not say when it destroys a memory object.
    #[error(
        "the driver does not say when it destroys a memory object (error {0}), so its bytes cannot be counted"
    )]
    Uncounted(cl_int),
    /// A driver without user events.
    #[error(
        "the driver makes no user event (error {0}), which its wait list needs for one that failed"
    )]
    StandIn(cl_int),
    /// A path that no library of this build sends.
    #[error(
        "a file's path is not absolute, leads out of its folder or too deep, or there are too many"
    )]
    Path,
    /// A build option that may name a file of the board's.
    #[error(
        "the build option {0:?} is not passed on: it may name a file, which is one of the board's to its compiler"
    )]
    Option(String),
    /// Files that could not be written.
    #[error("the files that a program includes cannot be written on the board: {0}")]
    Files(#[from] std::io::Error),
}

impl From<OpenClRefusal> for Refusal {
    fn from(refusal: OpenClRefusal) -> Self {
        Self::Api(Box::new(refusal))
    }
}

/// OpenCL's error where a value that a guest with wider pointers may well give
/// does not fit this board's types, or an object its session's memory: what a
/// driver says of sizes that its device cannot have. `None` for what is no
/// program's fault.
pub fn code(refusal: &Refusal, op: Op) -> Option<cl_int> {
    let name = match refusal {
        Refusal::Width { name, .. } | Refusal::Wide(name) => name,
        Refusal::Objects(NoRoom { asked, limit, .. }) if asked > limit && makes_buffer(op) => {
            return Some(CL_INVALID_BUFFER_SIZE);
        }
        Refusal::Objects(_) => return Some(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        Refusal::Api(refusal) => return own_code(refusal.downcast_ref()?, op),
        _ => return None,
    };
    Some(match *name {
        "global_work_size" => CL_INVALID_GLOBAL_WORK_SIZE,
        "global_work_offset" => CL_INVALID_GLOBAL_OFFSET,
        "local_work_size" => CL_INVALID_WORK_GROUP_SIZE,
        "arg_size" => CL_INVALID_ARG_SIZE,
        "size" if makes_buffer(op) => CL_INVALID_BUFFER_SIZE,
        name if name.starts_with("image_") => CL_INVALID_IMAGE_SIZE,
        _ => CL_INVALID_VALUE,
    })
}

fn own_code(refusal: &OpenClRefusal, op: Op) -> Option<cl_int> {
    match refusal {
        OpenClRefusal::Option(_) => Some(invalid_options(op)),
        OpenClRefusal::Uncounted(_) => Some(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        _ => None,
    }
}

fn invalid_options(op: Op) -> cl_int {
    match op {
        wire::CL_COMPILE_PROGRAM => CL_INVALID_COMPILER_OPTIONS,
        wire::CL_LINK_PROGRAM => CL_INVALID_LINKER_OPTIONS,
        _ => CL_INVALID_BUILD_OPTIONS,
    }
}

fn makes_buffer(op: Op) -> bool {
    matches!(
        op,
        wire::CL_CREATE_BUFFER | wire::CL_CREATE_BUFFER_WITH_PROPERTIES
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_the_apis_error() {
        let code = |op, name| {
            let value = 1 << 32;
            super::code(&Refusal::Width { name, value }, op)
        };
        let buffer = code(wire::CL_CREATE_BUFFER, "size");
        assert_eq!(buffer, Some(CL_INVALID_BUFFER_SIZE));
        let read = code(wire::CL_ENQUEUE_READ_BUFFER, "size");
        assert_eq!(read, Some(CL_INVALID_VALUE));
        let launch = Refusal::wide("global_work_size");
        let launch = super::code(&launch, wire::CL_ENQUEUE_ND_RANGE_KERNEL);
        assert_eq!(launch, Some(CL_INVALID_GLOBAL_WORK_SIZE));
        assert_eq!(super::code(&Refusal::Nul(3), wire::CL_CREATE_BUFFER), None);
        let option = Refusal::from(OpenClRefusal::Option("-I".into()));
        let build = super::code(&option, wire::CL_BUILD_PROGRAM);
        assert_eq!(build, Some(CL_INVALID_BUILD_OPTIONS));
    }
}
