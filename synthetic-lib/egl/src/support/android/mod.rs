//! What Android hands to a driver: windows and buffers as structures of C, and what its
//! gralloc, which allocates the buffers, says of them.
//!
//! | module | what |
//! |---|---|
//! | [`abi`] | the structures, and the checks before anything of them is believed |
//! | [`buffer`] | a buffer's memory, and how its picture lies |
//! | [`described`] | what a gralloc says of buffers |
//! | [`refusal`] | why a window or a buffer is not used |

pub mod abi;
pub mod buffer;
pub mod described;
pub mod refusal;
