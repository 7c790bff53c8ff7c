//! GLES: the golden files, and what they stand on.

pub mod board_support;
pub mod guest_support;

#[path = "../../goldens/gles/board_manual.rs"]
pub mod board_manual;
#[path = "../../goldens/gles/dispatch.rs"]
pub mod dispatch;
#[path = "../../goldens/gles/functions.rs"]
pub mod functions;
#[path = "../../goldens/gles/guest_manual.rs"]
pub mod guest_manual;
#[path = "../../goldens/gles/stubs.rs"]
pub mod stubs;
#[path = "../../goldens/gles/types.rs"]
pub mod types;
#[path = "../../goldens/gles/wire.rs"]
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
