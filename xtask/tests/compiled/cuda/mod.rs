//! CUDA: the golden files, and what they stand on.

pub mod board_support;
pub mod guest_support;

#[path = "../../goldens/cuda/board_manual.rs"]
pub mod board_manual;
#[path = "../../goldens/cuda/dispatch.rs"]
pub mod dispatch;
#[path = "../../goldens/cuda/functions.rs"]
pub mod functions;
#[path = "../../goldens/cuda/guest_manual.rs"]
pub mod guest_manual;
#[path = "../../goldens/cuda/stubs.rs"]
pub mod stubs;
#[path = "../../goldens/cuda/types.rs"]
pub mod types;
#[path = "../../goldens/cuda/wire.rs"]
pub mod wire;

pub mod guest {
    pub use super::guest_manual as manual;
    pub use super::types;
}

pub mod board {
    pub use super::board_manual as manual;
    pub use super::board_support as support;
    pub use super::types;
}
