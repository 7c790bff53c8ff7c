//! CUDA on the board.

pub use crate::board_double::Board;
use gil_board::back_end::{Call, Refusal};

pub type Session = crate::board_double::Session<super::wire::Kind, super::functions::Functions>;

impl super::board_manual::Manual for Board {
    fn cu_launch_kernel(
        session: &mut Session,
        call: &mut Call,
        args: super::wire::CuLaunchKernelArgs<'_>,
    ) -> Result<super::wire::CuLaunchKernelReply, Refusal> {
        super::dispatch::run::cu_launch_kernel(session, call, &args)
    }
}

/// What the module's metadata says.
pub mod helpers {
    use super::super::wire::ModuleImage;
    use super::{Call, Refusal, Session};
    use crate::board_double::Sizes;
    use crate::guest_double::never;
    use gil_wire::call::Handle;
    use std::ffi::c_void;

    pub fn kernel_params(_: &Session, _: Handle) -> Result<Sizes, Refusal> {
        never()
    }
    pub fn module_image(
        _: &mut Session,
        _: &mut Call,
        _: &ModuleImage<'_>,
    ) -> Result<*const c_void, Refusal> {
        never()
    }
}
