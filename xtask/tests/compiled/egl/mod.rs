//! EGL: the golden files, and what they stand on.

pub mod board_support;
pub mod guest_support;

#[path = "../../goldens/egl/board_manual.rs"]
pub mod board_manual;
#[path = "../../goldens/egl/dispatch.rs"]
pub mod dispatch;
#[path = "../../goldens/egl/functions.rs"]
pub mod functions;
#[path = "../../goldens/egl/guest_manual.rs"]
pub mod guest_manual;
#[path = "../../goldens/egl/stubs.rs"]
pub mod stubs;
#[path = "../../goldens/egl/types.rs"]
pub mod types;
#[path = "../../goldens/egl/wire.rs"]
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
