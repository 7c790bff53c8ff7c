//! EGL on the board.

use super::board_manual::Manual;
use super::wire;
pub use crate::board_double::*;

pub type Session = crate::board_double::Session<super::functions::Functions>;
pub type DispatchFn = fn(&mut Session, &mut Call, &[u8]) -> Result<Vec<u8>, Refusal>;

impl Manual for Board {
    fn egl_swap_buffers(
        _: &mut Session,
        _: &mut Call,
        _: wire::EglSwapBuffersArgs,
    ) -> Result<Vec<u8>, Refusal> {
        never()
    }
}
