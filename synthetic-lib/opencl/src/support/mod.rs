//! OpenCL's own part, below its generated stubs. [`gil_guest`] has the part that all
//! APIs share.
//!
//! | module | what |
//! |---|---|
//! | `api` | OpenCL's errors, kinds of objects and hooks |
//! | `helpers` | functions that the description names |
//! | `details` | the guest's own data about an object |
//! | [`manual`] | hand-written entry points |
//! | `local` | queries answered in the guest |
//! | `context` | objects of one context |
//! | `callbacks` | the program's callbacks |
//! | `notices` | the board's notices about contexts |
//! | `includes` | files that programs include |
//! | `clock` | the device's timer |
//! | `subgroups` | queries about sub-groups |
//! | `extensions` | the board's extensions that programs see |
//! | `kernel_arg`, `launch`, `task` | arguments and launches of kernels |
//! | `memory`, `map` | data about memory objects; mapped buffers and images |
//! | `image`, `elements`, `rect` | images, their elements, and rectangles of buffers |
//! | `enqueue` | what these share |
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
