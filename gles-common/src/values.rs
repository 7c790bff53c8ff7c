//! How many values queries have, by name. Section 20 of the specification (state
//! tables); a name that is not here has one.

/// More than any query writes whose number the name alone gives.
pub const MOST: usize = 16;

/// `glGetIntegerv` and its like. Of the lists of formats only the driver knows it.
pub fn of_state(name: u32) -> usize {
    match name {
        // PRIMITIVE_BOUNDING_BOX
        0x92BE => 8,
        // VIEWPORT, SCISSOR_BOX, COLOR_CLEAR_VALUE, COLOR_WRITEMASK, BLEND_COLOR
        0x0BA2 | 0x0C10 | 0x0C22 | 0x0C23 | 0x8005 => 4,
        // DEPTH_RANGE, ALIASED_POINT_SIZE_RANGE, ALIASED_LINE_WIDTH_RANGE,
        // MAX_VIEWPORT_DIMS, MULTISAMPLE_LINE_WIDTH_RANGE, VIEWPORT_BOUNDS_RANGE
        0x0B70 | 0x846D | 0x846E | 0x0D3A | 0x9381 | 0x825D => 2,
        _ => 1,
    }
}

/// The name that says how many formats a list has: `NUM_COMPRESSED_TEXTURE_FORMATS`,
/// `NUM_SHADER_BINARY_FORMATS`, `NUM_PROGRAM_BINARY_FORMATS`.
pub fn number_of_list(name: u32) -> Option<u32> {
    match name {
        0x86A3 => Some(0x86A2),
        0x8DF8 => Some(0x8DF9),
        0x87FF => Some(0x87FE),
        _ => None,
    }
}

/// Parameters of textures and samplers: `TEXTURE_BORDER_COLOR` has four.
pub fn of_texture(name: u32) -> usize {
    if name == 0x1004 { 4 } else { 1 }
}

/// Vertex attributes: `CURRENT_VERTEX_ATTRIB` has four.
pub fn of_attribute(name: u32) -> usize {
    if name == 0x8626 { 4 } else { 1 }
}

/// `glClearBufferiv` and its like: `COLOR` has four.
pub fn of_clear(buffer: u32) -> usize {
    if buffer == 0x1800 { 4 } else { 1 }
}

/// Programs: `COMPUTE_WORK_GROUP_SIZE` has three.
pub fn of_program(name: u32) -> usize {
    if name == 0x8267 { 3 } else { 1 }
}
