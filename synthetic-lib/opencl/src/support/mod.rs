//! What only OpenCL means, under its generated stubs. What every API's library
//! needs is [`gil_guest`]'s.
//!
//! | module | what |
//! |---|---|
//! | `api` | OpenCL's errors, kinds of objects and hooks |
//! | `helpers` | functions that the description names |
//! | `details` | what the guest itself keeps of an object |
//! | [`manual`] | entry points written by hand |
//! | `local` | queries answered in the guest |
//! | `context` | objects of one context |
//! | `callbacks` | functions of the program's that are called later |
//! | `notices` | what the board says of contexts |
//! | `includes` | files that programs include |
//! | `clock` | the device's timer |
//! | `subgroups` | queries about sub-groups |
//! | `extensions` | which of the board's extensions are shown |
//! | `kernel_arg`, `launch`, `task` | arguments and launches of kernels |
//! | `memory`, `map` | what is kept of memory objects; mapped buffers and images |
//! | `image`, `elements`, `rect` | images, their elements, and rectangles of buffers |
//! | `enqueue` | what these have in common |
//! | `svm` | shared virtual memory |

mod api;
mod callbacks;
mod clock;
mod context;
mod details;
mod elements;
mod enqueue;
mod extensions;
mod helpers;
mod image;
mod includes;
mod kernel_arg;
mod launch;
mod local;
pub mod manual;
mod map;
mod memory;
mod notices;
mod rect;
mod subgroups;
mod svm;
mod task;

pub use details::Details;
