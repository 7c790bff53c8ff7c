//! Functions that the description of the API names in expressions.

use crate::generated::types::*;

/// The flags of a memory object as the board gets them. The program's own
/// memory is not the board's: what it holds is copied, and mapping brings it
/// up to date.
pub fn device_flags(flags: cl_mem_flags) -> cl_mem_flags {
    const HOST: cl_mem_flags = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    let conflict = flags & CL_MEM_USE_HOST_PTR != 0 && flags & HOST != CL_MEM_USE_HOST_PTR;
    if flags & CL_MEM_USE_HOST_PTR == 0 || conflict {
        return flags; // a conflict is the board's to refuse
    }
    flags & !CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR
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
