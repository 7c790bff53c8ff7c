//! What the generated dispatch finds beside what all back ends have.

pub use super::Gles as Session;

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;

/// Sizes that depend on the context's state, which the driver knows.
pub mod helpers {
    use super::Session;
    use gil_gles_common::values;
    use gil_wire::length::Length;

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

    /// Room for what `glGetVertexAttribfv` and its like write.
    pub fn attribute_values(_: &Session, _: u64) -> Length {
        Length::of(values::MOST as u64)
    }
}
