//! The layout of images in a program's memory: the size of an element, and the
//! offsets of rows, slices and layers.

use gil_wire::length::Length;
use gil_wire::rows::Rows;

/// How many dimensions an image has, and whether it is an array of such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A row of elements.
    OneD,
    /// Rows, each a layer.
    OneDArray,
    /// Rows of elements.
    TwoD,
    /// Slices of rows, each a layer.
    TwoDArray,
    /// Slices of rows.
    ThreeD,
}

impl Form {
    /// Of OpenCL's `cl_mem_object_type`; none for other memory objects.
    pub const fn of(image_type: u32) -> Option<Self> {
        match image_type {
            0x10f1 => Some(Self::TwoD),
            0x10f2 => Some(Self::ThreeD),
            0x10f3 => Some(Self::TwoDArray),
            // A one-dimensional image, also one in a buffer.
            0x10f4 | 0x10f6 => Some(Self::OneD),
            0x10f5 => Some(Self::OneDArray),
            _ => None,
        }
    }

    /// Whether it has a slice pitch.
    pub const fn has_slices(self) -> bool {
        !matches!(self, Self::OneD | Self::TwoD)
    }
}

/// Bytes of an element of this channel order and data type (OpenCL's numbers);
/// none for what OpenCL does not define.
pub const fn element_bytes(order: u32, data_type: u32) -> Option<u64> {
    // Packed types hold all channels.
    match (order, data_type) {
        (_, 0x10d4 | 0x10d5) => return Some(2),
        (_, 0x10d6 | 0x10e0) => return Some(4),
        // Depth in 24 bits or a float, with the stencil behind the float.
        (0x10bd | 0x10be, 0x10df) => return Some(4),
        (0x10be, 0x10de) => return Some(8),
        _ => {}
    }
    let channels = match order {
        // R, A, INTENSITY, LUMINANCE, DEPTH
        0x10b0 | 0x10b1 | 0x10b8 | 0x10b9 | 0x10bd => 1,
        // RG, RA, Rx
        0x10b2 | 0x10b3 | 0x10ba => 2,
        // RGB, RGx, sRGB
        0x10b4 | 0x10bb | 0x10bf => 3,
        // RGBA, BGRA, ARGB, RGBx, sRGBx, sRGBA, sBGRA, ABGR
        0x10b5..=0x10b7 | 0x10bc | 0x10c0..=0x10c3 => 4,
        _ => return None,
    };
    match data_type {
        // 8, 16 and 32 bits a channel
        0x10d0 | 0x10d2 | 0x10d7 | 0x10da => Some(channels),
        0x10d1 | 0x10d3 | 0x10d8 | 0x10db | 0x10dd => Some(2 * channels),
        0x10d9 | 0x10dc | 0x10de => Some(4 * channels),
        _ => None,
    }
}

/// An image's memory in the program: elements, and pitches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its form.
    pub form: Form,
    /// Bytes of an element.
    pub element: u64,
    /// Elements, rows, and slices or layers. What the form has not is 1.
    pub size: [u64; 3],
    /// Bytes from a row's beginning to the next one's.
    pub row_pitch: u64,
    /// Bytes from a slice's or layer's beginning to the next one's.
    pub slice_pitch: u64,
}

impl Layout {
    /// Of an image of `[width, height, depth]` and `layers`, of which those
    /// count that its form has. Pitches of 0 mean that nothing lies between.
    /// None for sizes that overflow.
    pub fn new(
        form: Form,
        element: u64,
        [width, height, depth]: [u64; 3],
        layers: u64,
        (row_pitch, slice_pitch): (u64, u64),
    ) -> Option<Self> {
        let size = match form {
            Form::OneD => [width, 1, 1],
            Form::OneDArray => [width, 1, layers],
            Form::TwoD => [width, height, 1],
            Form::TwoDArray => [width, height, layers],
            Form::ThreeD => [width, height, depth],
        };
        let tight_row = width.checked_mul(element)?;
        let row_pitch = if row_pitch == 0 { tight_row } else { row_pitch };
        let tight_slice = row_pitch.checked_mul(size[1])?;
        let given = slice_pitch != 0 && form.has_slices();
        Some(Self {
            form,
            element,
            size,
            row_pitch,
            slice_pitch: if given { slice_pitch } else { tight_slice },
        })
    }

    /// All its bytes, whole pitches, as `clCreateImage` reads them.
    pub fn bytes(&self) -> Length {
        Length::of(self.slice_pitch) * Length::of(self.size[2])
    }

    /// An origin or region with the slices in the third place, where programs
    /// have the layers of an array of rows in the second.
    const fn ordered(&self, [x, y, z]: [u64; 3]) -> [u64; 3] {
        match self.form {
            Form::OneDArray => [x, if z == 0 { 0 } else { 1 }, y],
            _ => [x, y, z],
        }
    }

    /// Where the element at `origin` lies.
    pub fn offset(&self, origin: [u64; 3]) -> Length {
        let [x, y, z] = self.ordered(origin);
        Length::of(x) * Length::of(self.element)
            + Length::of(y) * Length::of(self.row_pitch)
            + Length::of(z) * Length::of(self.slice_pitch)
    }

    /// The rows of a region, with this layout's pitches.
    pub fn rows(&self, region: [u64; 3]) -> Rows {
        let [width, height, slices] = self.ordered(region);
        Rows {
            row: width.saturating_mul(self.element),
            rows: height,
            row_pitch: self.row_pitch,
            slices,
            slice_pitch: self.slice_pitch,
        }
    }

    /// Whether the region is in the image, and not empty.
    pub fn contains(&self, origin: [u64; 3], region: [u64; 3]) -> bool {
        if self.form == Form::OneDArray && region[2] > 1 {
            return false;
        }
        let (origin, region) = (self.ordered(origin), self.ordered(region));
        let one = |(at, (len, size)): (u64, (u64, u64))| {
            len > 0 && at.checked_add(len).is_some_and(|end| end <= size)
        };
        let lens = region.into_iter().zip(self.size);
        origin.into_iter().zip(lens).all(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(form: Form, pitches: (u64, u64)) -> Layout {
        Layout::new(form, 4, [10, 5, 3], 7, pitches).unwrap()
    }

    #[test]
    fn an_image_is_as_large_as_its_pitches_say() {
        let bytes = |form, pitches| layout(form, pitches).bytes().number();
        assert_eq!(bytes(Form::OneD, (0, 0)), Some(40));
        assert_eq!(bytes(Form::OneDArray, (0, 0)), Some(40 * 7));
        assert_eq!(bytes(Form::OneDArray, (64, 0)), Some(64 * 7));
        assert_eq!(bytes(Form::OneDArray, (64, 128)), Some(128 * 7));
        assert_eq!(bytes(Form::TwoD, (0, 0)), Some(200));
        assert_eq!(bytes(Form::TwoD, (64, 999)), Some(320));
        assert_eq!(bytes(Form::TwoDArray, (64, 400)), Some(2800));
        assert_eq!(bytes(Form::ThreeD, (0, 0)), Some(600));
        assert_eq!(
            Layout::new(Form::TwoD, 4, [u64::MAX, 1, 1], 0, (0, 0)),
            None
        );
    }

    #[test]
    fn the_layers_of_rows_are_counted_in_the_second_place() {
        let array = layout(Form::OneDArray, (64, 128));
        assert_eq!(array.offset([2, 3, 0]).number(), Some(8 + 3 * 128));
        let rows = array.rows([4, 2, 1]);
        assert_eq!((rows.row, rows.rows, rows.slices), (16, 1, 2));
        assert_eq!(rows.span().number(), Some(128 + 16));
        assert!(array.contains([0, 6, 0], [10, 1, 1]));
        assert!(!array.contains([0, 7, 0], [10, 1, 1]));
        assert!(!array.contains([0, 0, 1], [10, 1, 1]));
        assert!(!array.contains([0, 0, 0], [10, 1, 2]), "it has no depth");
        let image = layout(Form::ThreeD, (64, 400));
        assert_eq!(image.offset([1, 2, 1]).number(), Some(4 + 128 + 400));
        assert!(!image.contains([0; 3], [10, 5, 0]));
    }

    #[test]
    fn forms_have_opencls_numbers() {
        let forms = (0x10f0..=0x10f7).map(Form::of).collect::<Vec<_>>();
        let wanted = [
            None,
            Some(Form::TwoD),
            Some(Form::ThreeD),
            Some(Form::TwoDArray),
            Some(Form::OneD),
            Some(Form::OneDArray),
            Some(Form::OneD),
            None,
        ];
        assert_eq!(forms, wanted);
        let slices = forms.iter().flatten().map(|form| form.has_slices());
        let wanted = [false, true, true, false, true, false];
        assert_eq!(slices.collect::<Vec<_>>(), wanted);
    }

    /// Every channel order and type of OpenCL's table, and none beside.
    #[test]
    fn elements_have_their_channels_and_their_bytes() {
        // From CL_R (0x10b0) and CL_SNORM_INT8 (0x10d0) on; 0: no such number.
        const CHANNELS: [u64; 20] = [1, 1, 2, 2, 3, 4, 4, 4, 1, 1, 2, 3, 4, 1, 0, 3, 4, 4, 4, 4];
        const BYTES: [u64; 16] = [1, 2, 1, 2, 0, 0, 0, 1, 2, 4, 1, 2, 4, 2, 4, 0];
        for order in 0x10af..0x10c5u32 {
            for data_type in 0x10cf..0x10e2u32 {
                let at = |table: &[u64], n: u32, first| {
                    let place = n.checked_sub(first).map(|n| n as usize);
                    place.and_then(|n| table.get(n).copied()).filter(|n| *n > 0)
                };
                let whole = match (order, data_type) {
                    (_, 0x10d4 | 0x10d5) => Some(2),
                    (_, 0x10d6 | 0x10e0) | (0x10bd | 0x10be, 0x10df) => Some(4),
                    (0x10be, 0x10de) => Some(8),
                    _ => None,
                };
                let channels = at(&CHANNELS, order, 0x10b0);
                let each = at(&BYTES, data_type, 0x10d0);
                let wanted = whole.or_else(|| Some(channels? * each?));
                assert_eq!(
                    element_bytes(order, data_type),
                    wanted,
                    "{order:#x} {data_type:#x}"
                );
            }
        }
    }

    #[test]
    fn elements_are_as_large_as_their_channels() {
        assert_eq!(element_bytes(0x10b5, 0x10d2), Some(4), "RGBA of bytes");
        assert_eq!(element_bytes(0x10b5, 0x10de), Some(16), "RGBA of floats");
        assert_eq!(element_bytes(0x10b4, 0x10d4), Some(2), "RGB in 565 bits");
        assert_eq!(element_bytes(0x10bd, 0x10d3), Some(2), "depth in 16 bits");
        assert_eq!(element_bytes(0x10be, 0x10de), Some(8), "and with a stencil");
        assert_eq!(element_bytes(0x10b5, 0), None);
        assert_eq!(element_bytes(0, 0x10d2), None);
    }

    proptest! {
        #[test]
        fn a_region_inside_ends_inside(
            (form, element, size, layers) in (0usize..5, 1u64..17, any::<[u8; 3]>(), any::<u8>()),
            (row_more, slice_more) in (0u64..9, 0u64..9),
            (origin, region) in any::<([u8; 3], [u8; 3])>(),
        ) {
            let forms = [Form::OneD, Form::OneDArray, Form::TwoD, Form::TwoDArray, Form::ThreeD];
            let [size, origin, region] = [size, origin, region].map(|all| all.map(u64::from));
            let row = size[0] * element + row_more;
            let slice = row * size[1].max(1) + slice_more;
            let layout = Layout::new(forms[form], element, size, layers.into(), (row, slice));
            let layout = layout.unwrap();
            // Element by element, in the order in which programs count.
            let [x, y, z] = layout.size;
            let counts = if forms[form] == Form::OneDArray { [x, z, 1] } else { [x, y, z] };
            let within = |n: usize| region[n] > 0 && origin[n] + region[n] <= counts[n];
            prop_assert_eq!(layout.contains(origin, region), (0..3).all(within));
            if layout.contains(origin, region) {
                let end = layout.offset(origin) + layout.rows(region).span();
                prop_assert!(end.number() <= layout.bytes().number());
            }
        }

        #[test]
        fn any_sizes_are_counted_or_are_none(
            size: [u64; 3], layers: u64, pitches: (u64, u64), origin: [u64; 3], region: [u64; 3],
        ) {
            let layout = Layout::new(Form::TwoDArray, 16, size, layers, pitches);
            if let Some(layout) = layout {
                let _ = (layout.bytes(), layout.offset(origin), layout.contains(origin, region));
                let _ = layout.rows(region).merged().span();
            }
        }
    }
}
