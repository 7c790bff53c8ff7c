//! What fuzzing runs. Every function takes any bytes and returns: what it
//! calls must neither panic, nor hang, nor grow without bound. `fuzz/` makes a
//! target of each for `cargo fuzz`; this crate's test runs the corpus once.
//!
//! | module | whose bytes |
//! |---|---|
//! | [`wire`] | messages, envelopes, recordings, texts |
//! | [`host`] | the guest's mailboxes, the board's answers, checkpoints |
//! | [`board`] | a host's requests, calls' arguments, kernels' sources |
//! | [`calls`] | logs of calls |
//! | [`cuda`] | calls of CUDA, and images of its modules |
//! | [`detect`] | kernels and ELF files |
//! | [`drivers`] | calls of kernel drivers |
//! | [`registers`] | a GPU's driver in the guest |

pub mod board;
pub mod calls;
pub mod cuda;
pub mod detect;
pub mod double;
pub mod drivers;
pub mod file;
#[path = "../../../gpu-registers/tests/support/mod.rs"]
pub mod gpu;
pub mod host;
mod input;
pub mod registers;
#[allow(missing_docs, unused_imports)]
#[path = "../../../host-iface/tests/support/mod.rs"]
pub mod support;
pub mod wire;

pub use input::Input;

/// What a target does with bytes.
pub type Body = fn(&[u8]);

/// Every target, by its name in `fuzz/targets` and `fuzz/corpus`.
pub const TARGETS: [(&str, Body); 26] = [
    ("arguments", wire::arguments),
    ("btf", detect::btf),
    ("calls", calls::log),
    ("checkpoint", host::checkpoint),
    ("cuda", cuda::dispatch),
    ("cuda_images", cuda::images),
    ("dispatch", board::dispatch),
    ("doorbell", host::doorbell),
    ("driver_decode", drivers::decode),
    ("driver_ioctls", drivers::ioctls),
    ("elf", detect::elf),
    ("envelopes", wire::envelopes),
    ("frames", wire::frames),
    ("graphics", board::graphics),
    ("hello", wire::hello),
    ("kernel_image", detect::kernel_image),
    ("opencl_c", board::opencl_c),
    ("options", wire::options),
    ("registers", registers::stores),
    ("replies", host::replies),
    ("rows", wire::rows),
    ("server", board::server),
    ("spirv", board::spirv),
    ("tables", wire::tables),
    ("texts", wire::texts),
    ("trace", board::trace),
];
