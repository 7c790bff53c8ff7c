//! The arrays of OpenGL ES 1.1. Both sides keep them by number, as they keep vertex
//! attributes of later versions.

use crate::arrays::Layout;

const BYTE: u32 = 0x1400;
const UNSIGNED_BYTE: u32 = 0x1401;
const SHORT: u32 = 0x1402;
const FLOAT: u32 = 0x1406;
const FIXED: u32 = 0x140C;

/// More texture units than any board has.
const UNITS: u32 = 64;

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// `glVertexPointer`'s.
    Vertex,
    /// `glNormalPointer`'s.
    Normal,
    /// `glColorPointer`'s.
    Color,
    /// `glPointSizePointerOES`'s.
    PointSize,
    /// `glTexCoordPointer`'s, of a texture unit.
    TexCoord(u32),
}

/// Those that a context has once; the number of each is its place.
const SINGLE: [Array; 4] = [Array::Vertex, Array::Normal, Array::Color, Array::PointSize];

impl Array {
    /// The array that `glEnableClientState` names, while `unit` is the client's active
    /// texture unit; none for another name.
    pub fn of_name(name: u32, unit: u32) -> Option<Self> {
        match name {
            0x8074 => Some(Self::Vertex),
            0x8075 => Some(Self::Normal),
            0x8076 => Some(Self::Color),
            0x8B9C => Some(Self::PointSize),
            0x8078 if unit < UNITS => Some(Self::TexCoord(unit)),
            _ => None,
        }
    }

    /// The name that `glEnableClientState` and `glIsEnabled` have for it.
    pub fn name(self) -> u32 {
        match self {
            Self::Vertex => 0x8074,
            Self::Normal => 0x8075,
            Self::Color => 0x8076,
            Self::PointSize => 0x8B9C,
            Self::TexCoord(_) => 0x8078,
        }
    }

    /// The array whose address `glGetPointerv` gives for this name.
    pub fn of_pointer(name: u32, unit: u32) -> Option<Self> {
        match name {
            0x808E => Some(Self::Vertex),
            0x808F => Some(Self::Normal),
            0x8090 => Some(Self::Color),
            0x898C => Some(Self::PointSize),
            0x8092 if unit < UNITS => Some(Self::TexCoord(unit)),
            _ => None,
        }
    }

    /// The name of the number of the buffer that has it, for `glGetIntegerv`.
    pub fn buffer_name(self) -> u32 {
        match self {
            Self::Vertex => 0x8896,
            Self::Normal => 0x8897,
            Self::Color => 0x8898,
            Self::PointSize => 0x8B9F,
            Self::TexCoord(_) => 0x889A,
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Vertex => 0,
            Self::Normal => 1,
            Self::Color => 2,
            Self::PointSize => 3,
            Self::TexCoord(unit) => 4 + unit,
        }
    }

    /// The array of this number; none of one that no board has.
    pub fn of_number(number: u32) -> Option<Self> {
        let single = usize::try_from(number).ok().and_then(|at| SINGLE.get(at));
        let unit = number.checked_sub(4).filter(|unit| *unit < UNITS);
        single.copied().or(unit.map(Self::TexCoord))
    }

    /// The arrays of a context with so many texture units.
    pub fn all(units: u32) -> impl Iterator<Item = Self> {
        let units = (0..units.min(UNITS)).map(Self::TexCoord);
        SINGLE.into_iter().chain(units)
    }

    /// Its texture unit, if it has one for each.
    pub fn unit(self) -> Option<u32> {
        match self {
            Self::TexCoord(unit) => Some(unit),
            _ => None,
        }
    }

    /// Where elements lie; none if the API refuses these values for this array. Table
    /// 2.4 of the OpenGL ES 1.1 specification, `GL_OES_point_size_array`,
    /// `GL_OES_byte_coordinates`.
    pub fn layout(self, size: i32, ty: u32, stride: i32) -> Option<Layout> {
        let (sizes, types): (_, &[u32]) = match self {
            Self::Vertex | Self::TexCoord(_) => (2..=4, &[BYTE, SHORT, FIXED, FLOAT]),
            Self::Normal => (3..=3, &[BYTE, SHORT, FIXED, FLOAT]),
            Self::Color => (4..=4, &[UNSIGNED_BYTE, FIXED, FLOAT]),
            Self::PointSize => (1..=1, &[FIXED, FLOAT]),
        };
        let is_taken = sizes.contains(&size) && types.contains(&ty);
        is_taken.then(|| Layout::new(size, ty, stride)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_arrays() {
        for (number, array) in (0..).zip(Array::all(8)) {
            assert_eq!(array.number(), number);
            assert_eq!(Array::of_number(number), Some(array));
            let unit = array.unit().unwrap_or(0);
            assert_eq!(Array::of_name(array.name(), unit), Some(array));
        }
        assert_eq!(Array::all(8).count(), 12);
        assert_eq!(Array::of_number(4 + UNITS), None);
        assert_eq!(Array::of_number(u32::MAX), None);
        assert_eq!(Array::of_name(0x8078, UNITS), None);
    }

    #[test]
    fn an_array_has_the_sizes_and_types_of_its_table() {
        let is_taken = |array: Array, size, ty| array.layout(size, ty, 0).is_some();
        assert!(is_taken(Array::Vertex, 2, SHORT));
        assert!(!is_taken(Array::Vertex, 1, FLOAT));
        assert!(!is_taken(Array::Vertex, 3, UNSIGNED_BYTE));
        assert!(is_taken(Array::Color, 4, UNSIGNED_BYTE));
        assert!(!is_taken(Array::Color, 3, FLOAT));
        assert!(is_taken(Array::PointSize, 1, FIXED));
        assert!(!is_taken(Array::TexCoord(1), 1, FLOAT));
        let layout = Array::Normal.layout(3, BYTE, 4).unwrap();
        assert_eq!(layout.bytes(2), Some(7));
    }
}
