//! How many values queries have, by name. Section 20 of the specification (state
//! tables), and section 6 of that of OpenGL ES 1.1; a name that is not here has one.

/// More than any query writes whose number the name alone gives.
pub const MOST: usize = 16;

/// `glGetIntegerv` and its like. Of the lists of formats only the driver knows it.
pub fn of_state(name: u32) -> usize {
    match name {
        // MODELVIEW_MATRIX, PROJECTION_MATRIX, TEXTURE_MATRIX, and those of
        // GL_OES_matrix_get
        0x0BA6..=0x0BA8 | 0x898D..=0x898F => 16,
        // PRIMITIVE_BOUNDING_BOX
        0x92BE => 8,
        // VIEWPORT, SCISSOR_BOX, COLOR_CLEAR_VALUE, COLOR_WRITEMASK, BLEND_COLOR
        0x0BA2 | 0x0C10 | 0x0C22 | 0x0C23 | 0x8005 => 4,
        // CURRENT_COLOR, CURRENT_TEXTURE_COORDS, FOG_COLOR, LIGHT_MODEL_AMBIENT
        0x0B00 | 0x0B03 | 0x0B66 | 0x0B53 => 4,
        // CURRENT_NORMAL, POINT_DISTANCE_ATTENUATION
        0x0B02 | 0x8129 => 3,
        // SMOOTH_POINT_SIZE_RANGE, SMOOTH_LINE_WIDTH_RANGE
        0x0B12 | 0x0B22 => 2,
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

/// Parameters of textures and samplers: `TEXTURE_BORDER_COLOR`, `TEXTURE_CROP_RECT_OES` and
/// `TEXTURE_SWIZZLE_RGBA` have four. Drivers know the last one by OpenGL.
pub fn of_texture(name: u32) -> usize {
    if matches!(name, 0x1004 | 0x8B9D | 0x8E46) {
        4
    } else {
        1
    }
}

/// Parameters of OpenGL ES 1.1: of lights, materials, fog, points and texture
/// environments.
pub fn of_parameter(name: u32) -> usize {
    match name {
        // AMBIENT, DIFFUSE, SPECULAR, POSITION, EMISSION, AMBIENT_AND_DIFFUSE,
        // LIGHT_MODEL_AMBIENT, FOG_COLOR, TEXTURE_ENV_COLOR
        0x1200..=0x1203 | 0x1600 | 0x1602 | 0x0B53 | 0x0B66 | 0x2201 => 4,
        // SPOT_DIRECTION, POINT_DISTANCE_ATTENUATION
        0x1204 | 0x8129 => 3,
        _ => 1,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_several_values_have_as_many_and_no_name_has_more_than_most() {
        // TEXTURE_BORDER_COLOR, TEXTURE_CROP_RECT_OES, TEXTURE_SWIZZLE_RGBA, TEXTURE_SWIZZLE_R
        let textures = [0x1004, 0x8B9D, 0x8E46, 0x8E42].map(of_texture);
        assert_eq!(textures, [4, 4, 4, 1]);
        for name in 0..=0xFFFF {
            let of = [of_state, of_texture, of_parameter, of_attribute, of_program];
            assert!(
                of.iter().all(|of| (1..=MOST).contains(&of(name))),
                "{name:#x}"
            );
        }
    }
}
