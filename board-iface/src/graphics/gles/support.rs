//! What the generated dispatch finds beside what all back ends have.

pub use super::Gles as Session;

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;

/// Sizes that depend on the context's state, which the driver knows.
pub mod helpers {
    use super::Session;
    use crate::back_end::{Call, Refusal};
    use crate::graphics::gles::generated::types::*;
    use gil_gles_common::values;
    use gil_wire::generated::gles::Pixels;
    use gil_wire::length::Length;
    use std::ffi::c_void;

    fn name(name: u64) -> u32 {
        u32::try_from(name).unwrap_or(0)
    }

    /// Room for what `glGetIntegerv` and its like write: of a name that is not listed,
    /// for as much as any has.
    pub fn state_values(session: &Session, pname: u64) -> Length {
        let of_list = values::number_of_list(name(pname));
        let listed = of_list.map_or(0, |number| session.integer(number));
        let listed = usize::try_from(listed).unwrap_or(0);
        Length::of(listed.max(values::MOST) as u64)
    }

    /// The same for `glGetProgramiv`.
    pub fn program_values(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }

    /// How many values a texture's parameter has.
    pub fn texture_values(_: &Session, pname: u64) -> Length {
        Length::of(values::of_texture(name(pname)) as u64)
    }

    /// Room for what queries of such a parameter write.
    pub fn texture_room(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }

    /// How many values a parameter of OpenGL ES 1.1 has.
    pub fn parameter_values(_: &Session, pname: u64) -> Length {
        Length::of(values::of_parameter(name(pname)) as u64)
    }

    /// Room for what queries of such a parameter write.
    pub fn parameter_room(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }

    /// Room for what `glGetVertexAttribfv` and its like write.
    pub fn attribute_values(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }

    /// How many values a buffer is cleared to.
    pub fn clear_values(_: &Session, buffer: u64) -> Length {
        Length::of(values::of_clear(name(buffer)) as u64)
    }

    /// Room for what `glGetIntegeri_v` and its like write.
    pub fn indexed_values(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }

    /// Room for what `glGetActiveUniformBlockiv` writes.
    pub fn block_values(session: &Session, program: u64, block: u64, pname: u64) -> Length {
        let mut count = 0;
        if name(pname) == GL_UNIFORM_BLOCK_ACTIVE_UNIFORM_INDICES
            && let Some(get) =
                crate::back_end::Objects::functions(session).glGetActiveUniformBlockiv
        {
            // SAFETY: this name has one value.
            unsafe {
                get(
                    name(program),
                    name(block),
                    GL_UNIFORM_BLOCK_ACTIVE_UNIFORMS,
                    &mut count,
                );
            }
        }
        let count = usize::try_from(count).unwrap_or(0);
        Length::of(count.max(values::MOST) as u64)
    }

    /// A picture for the driver, whose rows lie one behind the other.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn picture(
        session: &mut Session,
        call: &mut Call,
        pixels: &Pixels<'_>,
        width: i32,
        height: i32,
        format: u32,
        ty: u32,
    ) -> Result<*const c_void, Refusal> {
        session.unpack(call, pixels, (width, height, 1), (format, ty))
    }

    /// The same with slices.
    ///
    /// # Errors
    /// [`Refusal`].
    #[allow(clippy::too_many_arguments, reason = "they are the call's")]
    pub fn volume(
        session: &mut Session,
        call: &mut Call,
        pixels: &Pixels<'_>,
        width: i32,
        height: i32,
        depth: i32,
        format: u32,
        ty: u32,
    ) -> Result<*const c_void, Refusal> {
        session.unpack(call, pixels, (width, height, depth), (format, ty))
    }

    /// A compressed picture for the driver.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn block(
        session: &mut Session,
        call: &mut Call,
        pixels: &Pixels<'_>,
        len: i32,
    ) -> Result<*const c_void, Refusal> {
        let len = usize::try_from(len).unwrap_or(0);
        session.unpack_bytes(call, pixels, len)
    }
}
