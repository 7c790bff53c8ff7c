//! Functions that the description of the API names in expressions.

use super::border::CallResult;
use super::memory::memory;
use super::objects::Object;
use crate::generated::types::*;
use std::ffi::c_void;

pub use super::includes::build_options;
pub use super::posting::{bars, fills, marks, of_one_context, writes};

/// The flags of a memory object as the board gets them. The program's own
/// memory is not the board's: what it holds is copied, and mapping brings it
/// up to date, which reads what the program itself may not read.
pub fn device_flags(flags: cl_mem_flags) -> cl_mem_flags {
    const HOST: cl_mem_flags = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    const HIDDEN: cl_mem_flags = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
    // A conflict is the board's to refuse.
    let conflict = flags & CL_MEM_USE_HOST_PTR != 0 && flags & HOST != CL_MEM_USE_HOST_PTR;
    let copied = match flags & CL_MEM_USE_HOST_PTR == 0 || conflict {
        true => flags,
        false => flags & !CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR,
    };
    match flags & HIDDEN {
        0 => copied & !CL_MEM_HOST_WRITE_ONLY,
        _ => copied,
    }
}

/// Whether the host may read the memory object.
///
/// # Errors
/// `CL_INVALID_OPERATION` if not.
pub fn host_reads(object: &Object) -> CallResult<()> {
    memory(object)?.check_read()
}

/// Whether a part of the memory object may have these flags.
///
/// # Errors
/// `CL_INVALID_VALUE` if not.
pub fn part_flags(object: &Object, flags: cl_mem_flags) -> CallResult<()> {
    memory(object)?.check_part(flags)
}

/// A buffer that is the program's shared virtual memory is so on the board too.
pub fn svm_buffer(
    entry: u64,
    context: &Object,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: *mut c_void,
) -> Option<CallResult<cl_mem>> {
    super::svm::create_buffer(entry, context, flags, size, host_ptr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_memory_is_copied() {
        let use_it = CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR;
        assert_eq!(
            device_flags(use_it),
            CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR
        );
        assert_eq!(device_flags(CL_MEM_READ_WRITE), CL_MEM_READ_WRITE);
        let conflict = use_it | CL_MEM_ALLOC_HOST_PTR;
        assert_eq!(device_flags(conflict), conflict);
    }
}
