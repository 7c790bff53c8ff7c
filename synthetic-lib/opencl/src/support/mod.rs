//! What the generated stubs stand on.
//!
//! | module | what |
//! |---|---|
//! | [`border`] | results and errors as OpenCL has them; nothing unwinds into C |
//! | [`request`] | one call being built: memory, events, queue |
//! | [`objects`] | handles: validity, references, what the board gave |
//! | [`callbacks`] | functions of the program's that are called later |
//! | [`details`] | what the guest itself keeps of an object |
//! | `includes` | files that programs include |
//! | `notices` | what the board says of contexts |
//! | [`data`] | arrays, lists and strings in; values out |
//! | [`info`] | size-and-data queries |
//! | [`clock`] | the device's timer |
//! | [`subgroups`] | queries about sub-groups |
//! | [`extensions`] | which of the board's extensions are shown |
//! | [`local`] | queries answered in the guest |
//! | [`launch`] | launching kernels |
//! | `posting` | which enqueues need no answer |
//! | [`manual`] | entry points written by hand |
//! | [`memory`] | what is kept of memory objects; where mapped ones lie |
//! | [`map`] | mapped buffers and images |
//! | [`image`], [`elements`], [`rect`] | images, their elements, and rectangles of buffers |
//! | [`enqueue`] | what these have in common |
//! | `svm`, `pages` | shared virtual memory, the guest's memory behind it |

pub mod border;

pub mod callbacks;
pub mod clock;
pub mod data;
pub mod details;
pub mod elements;
pub mod enqueue;
pub mod extensions;
pub mod helpers;
pub mod image;
mod includes;
pub mod info;
mod kernel_arg;
pub mod launch;
pub mod local;
pub mod manual;
pub mod map;
pub mod memory;
mod notices;
pub mod objects;
mod pages;
mod posting;
pub mod rect;
pub mod request;
pub mod subgroups;
mod svm;
mod task;
mod width;

pub use border::{CallResult, check, decode, returned, written};
pub use callbacks::notify;
pub use data::{Word, array, pack_blobs, pack_strings, properties, sizes, write, write_data};
pub use details::Details;
pub use info::{Room, answer, answer_info};
pub use manual::Guest;
pub use objects::{
    Object, create, find, find_list, find_optional, found, give_event, new_event, new_number,
    number, release, retain, wait_list, write_handles,
};
pub use request::Request;
