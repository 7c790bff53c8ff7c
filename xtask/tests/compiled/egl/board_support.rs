//! EGL on the board.

pub use crate::board_double::Board;
use gil_board::back_end::{Call, Refusal};

pub type Session = crate::board_double::Session<super::wire::Kind, super::functions::Functions>;

impl super::board_manual::Manual for Board {
    fn egl_swap_buffers(
        _: &mut Session,
        _: &mut Call,
        _: super::wire::EglSwapBuffersArgs,
    ) -> Result<Vec<u8>, Refusal> {
        crate::guest_double::never()
    }
}
