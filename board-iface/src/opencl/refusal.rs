//! Why a call is not run.

use super::generated::types::*;
use crate::memory::OutOfMemory;
use crate::region::NoRoom;
use crate::table::TableError;
use gil_wire::Op;
use gil_wire::call::PackError;
use gil_wire::generated::opencl as wire;

/// A request that is not run: it does not decode, or asks for what no guest
/// library of this build asks for. What an OpenCL program can do wrong is not
/// among these: that is the API's error code in an answer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No such entry point.
    #[error("{0} is no OpenCL call of this board: use the same gil release on both sides")]
    UnknownOp(Op),
    /// The arguments do not decode.
    #[error("its arguments do not decode: {0}")]
    Decode(postcard::Error),
    /// Bytes follow the arguments.
    #[error("{0} bytes follow its arguments")]
    Trailing(usize),
    /// The answer does not encode.
    #[error("its answer does not encode: {0}")]
    Encode(postcard::Error),
    /// A number that stands for nothing, or for something else.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A region that the call does not have.
    #[error("it names region {index} and has {count}")]
    Region {
        /// Which.
        index: u32,
        /// How many there are.
        count: usize,
    },
    /// A region that goes the other way, or is named twice.
    #[error("its region {0} does not go the way its argument needs, or is in use")]
    Direction(u32),
    /// Fewer bytes than the call reads or writes.
    #[error("an argument has {have} bytes and the call needs {needed}")]
    Short {
        /// What came.
        have: usize,
        /// What the API would access.
        needed: usize,
    },
    /// A NUL inside a string.
    #[error("a string has a NUL at offset {0}")]
    Nul(usize),
    /// More inline output than any library of this build asks for.
    #[error("it wants {0} bytes inside the answer, more than the bound")]
    InlineRoom(u32),
    /// A size computed from arguments overflows.
    #[error("the size of its argument {0} overflows")]
    Overflow(&'static str),
    /// A value that is no value of the argument.
    #[error("{value:#x} is no value of its argument {name}")]
    Parameter {
        /// The argument.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// A value wider than this machine's `size_t`.
    #[error("{value:#x}, its argument {name}, does not fit this board's size_t")]
    Width {
        /// The argument.
        name: &'static str,
        /// The value.
        value: u64,
    },
    /// The same, of one of several values.
    #[error("a value of its argument {0} does not fit this board's size_t")]
    Wide(&'static str),
    /// A query whose value is absurdly large.
    #[error("the driver's value has {0} bytes, more than the bound")]
    InfoSize(usize),
    /// A packed array that is none.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// No memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// An object beyond the session's share of memory.
    #[error(transparent)]
    Objects(#[from] NoRoom),
    /// A driver that does not say when it destroys a memory object.
    #[error(
        "the driver does not say when it destroys a memory object (error {0}), so its bytes cannot be counted"
    )]
    Uncounted(cl_int),
    /// A driver that enqueues without an event.
    #[error("the driver enqueued it and gave no event: nothing tells when it ends")]
    NoEvent,
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

impl Refusal {
    /// A size expression that overflows.
    pub fn missing_size(name: &'static str) -> Self {
        Self::Overflow(name)
    }

    /// Values of which one does not fit.
    pub fn wide(name: &'static str) -> Self {
        Self::Wide(name)
    }

    /// OpenCL's error where a value that a guest with wider pointers may well
    /// give does not fit this board's types, or an object its session's memory:
    /// what a driver says of sizes that its device cannot have. `None` for what
    /// is no program's fault.
    pub fn code(&self, op: Op) -> Option<cl_int> {
        let name = match self {
            Self::Width { name, .. } | Self::Wide(name) => name,
            Self::Objects(NoRoom { asked, limit, .. }) if asked > limit && makes_buffer(op) => {
                return Some(CL_INVALID_BUFFER_SIZE);
            }
            Self::Option(_) => return Some(invalid_options(op)),
            Self::Objects(_) | Self::Uncounted(_) => return Some(CL_MEM_OBJECT_ALLOCATION_FAILURE),
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

    /// A value that an argument cannot have.
    pub fn parameter(name: &'static str, value: u64) -> Self {
        Self::Parameter { name, value }
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
            Refusal::Width {
                name,
                value: 1 << 32,
            }
            .code(op)
        };
        let buffer = code(wire::CL_CREATE_BUFFER, "size");
        assert_eq!(buffer, Some(CL_INVALID_BUFFER_SIZE));
        let read = code(wire::CL_ENQUEUE_READ_BUFFER, "size");
        assert_eq!(read, Some(CL_INVALID_VALUE));
        let launch = Refusal::wide("global_work_size");
        let launch = launch.code(wire::CL_ENQUEUE_ND_RANGE_KERNEL);
        assert_eq!(launch, Some(CL_INVALID_GLOBAL_WORK_SIZE));
        assert_eq!(Refusal::Nul(3).code(wire::CL_CREATE_BUFFER), None);
    }
}
