//! Arrays, with their bytes row behind row; textures and surfaces, which nothing samples: the
//! driver's number of one has a sum over what it was made with in its upper half.

use super::{Code, INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, Object, put, run};
use crate::state::State;
use std::ffi::{c_int, c_uint};

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    width: usize,
    height: usize,
    depth: usize,
    format: c_int,
    channels: c_uint,
    flags: c_uint,
}

const LAYERED: c_uint = 1;
const SURFACES: c_uint = 2;
const CUBES: c_uint = 4;
/// Most elements of a side, as a device says it of boxes.
const SIDE_MAX: usize = 16384;

#[derive(Debug)]
pub struct Array {
    pub context: usize,
    /// Bytes of a row, rows, slices.
    pub size: [usize; 3],
    pub bytes: Vec<u8>,
    has_surfaces: bool,
    is_level: bool,
}

#[derive(Debug)]
pub struct Mipmapped {
    pub context: usize,
    levels: Vec<usize>,
}

impl Asked {
    fn element(&self) -> Result<usize, Code> {
        let each = match self.format {
            0x01 | 0x08 => 1,
            0x02 | 0x09 | 0x10 => 2,
            0x03 | 0x0a | 0x20 => 4,
            // UNORM_INT8X4.
            0xc2 if self.channels == 4 => 1,
            _ => return Err(INVALID_VALUE),
        };
        match self.channels {
            1 | 2 | 4 => Ok(each * self.channels as usize),
            _ => Err(INVALID_VALUE),
        }
    }

    fn size(&self) -> Result<[usize; 3], Code> {
        let sides = [self.width, self.height, self.depth];
        if self.width == 0 || sides.iter().any(|side| *side > SIDE_MAX) {
            return Err(INVALID_VALUE);
        }
        if self.flags & CUBES != 0 && (self.width != self.height || !self.depth.is_multiple_of(6)) {
            return Err(INVALID_VALUE);
        }
        Ok([
            self.width * self.element()?,
            self.height.max(1),
            self.depth.max(1),
        ])
    }

    fn level(&self, level: u32) -> Self {
        let half = |side: usize| if side == 0 { 0 } else { (side >> level).max(1) };
        Self {
            width: half(self.width),
            height: half(self.height),
            depth: match self.flags & (LAYERED | CUBES) {
                0 => half(self.depth),
                _ => self.depth,
            },
            ..*self
        }
    }

    fn make(&self, state: &mut State, is_level: bool) -> Result<Object, Code> {
        let context = state.current_handle()?;
        let size = self.size()?;
        let len = size.iter().product::<usize>();
        if len as u64 > super::MEMORY - state.used() {
            return Err(OUT_OF_MEMORY);
        }
        Ok(state.arrays.add(Array {
            context,
            size,
            bytes: vec![0; len],
            has_surfaces: self.flags & SURFACES != 0,
            is_level,
        }))
    }
}

impl Array {
    /// A row's part, behind so many bytes, rows and slices.
    pub fn row(&mut self, [x, y, z]: [usize; 3], width: usize) -> Result<&mut [u8], Code> {
        let [bytes, rows, slices] = self.size;
        if x + width > bytes || y >= rows || z >= slices {
            return Err(INVALID_VALUE);
        }
        let from = (z * rows + y) * bytes + x;
        Ok(&mut self.bytes[from..from + width])
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArray3DCreate_v2(place: *mut Object, asked: *const Asked) -> Code {
    run(|state| {
        let asked = unsafe { asked.as_ref() }.ok_or(INVALID_VALUE)?;
        let made = asked.make(state, false)?;
        unsafe { put(place, made) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArrayDestroy(array: Object) -> Code {
    run(|state| {
        state.current()?;
        let known = state.arrays.get(array).ok_or(INVALID_HANDLE)?;
        if known.is_level {
            return Err(INVALID_HANDLE);
        }
        state.arrays.remove(array).map(drop).ok_or(INVALID_HANDLE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMipmappedArrayCreate(
    place: *mut Object,
    asked: *const Asked,
    levels: c_uint,
) -> Code {
    run(|state| {
        let asked = unsafe { asked.as_ref() }.ok_or(INVALID_VALUE)?;
        if levels == 0 || levels > 15 {
            return Err(INVALID_VALUE);
        }
        let context = state.current_handle()?;
        let mut made = Vec::new();
        for level in 0..levels {
            made.push(asked.level(level).make(state, true)?.expose_provenance());
        }
        let array = state.mipmapped.add(Mipmapped {
            context,
            levels: made,
        });
        unsafe { put(place, array) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMipmappedArrayGetLevel(
    place: *mut Object,
    array: Object,
    level: c_uint,
) -> Code {
    run(|state| {
        let known = state.mipmapped.get(array).ok_or(INVALID_HANDLE)?;
        let level = known.levels.get(level as usize).ok_or(INVALID_VALUE)?;
        let level = std::ptr::with_exposed_provenance_mut(*level);
        unsafe { put(place, level) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMipmappedArrayDestroy(array: Object) -> Code {
    run(|state| {
        state.current()?;
        let known = state.mipmapped.remove(array).ok_or(INVALID_HANDLE)?;
        for level in known.levels {
            let level = std::ptr::with_exposed_provenance_mut(level);
            state.arrays.remove(level).ok_or(INVALID_HANDLE)?;
        }
        Ok(())
    })
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    kind: c_int,
    res: [u64; 16],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    modes: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    anisotropy: c_uint,
    levels: c_int,
    levels_at: [f32; 3],
    border: [f32; 4],
    reserved: [c_int; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    format: c_int,
    size: [usize; 3],
    ranges: [c_uint; 4],
    reserved: [c_uint; 16],
}

/// A texture or a surface.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub context: usize,
    is_surface: bool,
}

/// FNV-1a of numbers, each of 8 bytes, folded to 32 bits.
fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
    let sum = bytes.fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (sum ^ sum >> 32) & u64::from(u32::MAX)
}

impl Shown {
    /// Its numbers; of arrays that they are there alone.
    fn numbers(&self, state: &mut State) -> Result<Vec<u64>, Code> {
        if self.flags != 0 {
            return Err(INVALID_VALUE);
        }
        let kind = u64::from(self.kind.cast_unsigned());
        let object = std::ptr::with_exposed_provenance_mut(self.res[0] as usize);
        let len = match self.kind {
            0 => state.arrays.get(object).map(|_| 0).ok_or(INVALID_HANDLE)?,
            1 => state
                .mipmapped
                .get(object)
                .map(|_| 0)
                .ok_or(INVALID_HANDLE)?,
            2 => {
                state.bytes(self.res[0], self.res[2] as usize)?;
                3
            }
            3 => {
                let [_, _, _, height, pitch, ..] = self.res;
                state.bytes(self.res[0], (height.saturating_sub(1) * pitch) as usize)?;
                5
            }
            _ => return Err(INVALID_VALUE),
        };
        let numbers = self.res[..len].iter().copied();
        Ok([kind].into_iter().chain(numbers).collect())
    }
}

impl Sampled {
    fn numbers(&self) -> Result<Vec<u64>, Code> {
        let is_mode = |mode: &c_int| (0..=3).contains(mode);
        let is_filter = |filter: c_int| (0..=1).contains(&filter);
        let fits =
            self.modes.iter().all(is_mode) && is_filter(self.filter) && is_filter(self.levels);
        if !fits || self.reserved != [0; 12] || self.anisotropy > 16 {
            return Err(INVALID_VALUE);
        }
        let [x, y, z] = self.modes;
        let signed = [x, y, z, self.filter].map(c_int::cast_unsigned);
        let rest = [self.flags, self.anisotropy, self.levels.cast_unsigned()];
        let floats = self.levels_at.into_iter().chain(self.border);
        let all = signed.into_iter().chain(rest);
        Ok(all.chain(floats.map(f32::to_bits)).map(u64::from).collect())
    }
}

impl Seen {
    fn numbers(&self) -> Result<Vec<u64>, Code> {
        if self.reserved != [0; 16] || !(0..=0x22).contains(&self.format) {
            return Err(INVALID_VALUE);
        }
        let format = u64::from(self.format.cast_unsigned());
        let size = self.size.map(|side| side as u64);
        let ranges = self.ranges.map(u64::from);
        Ok([format].into_iter().chain(size).chain(ranges).collect())
    }
}

fn add(state: &mut State, is_surface: bool, numbers: Vec<u64>) -> Result<u64, Code> {
    let context = state.current_handle()?;
    let number = sum(numbers) << 32 | (state.views.len() as u64 + 1);
    let view = View {
        context,
        is_surface,
    };
    state.views.insert(number, view);
    Ok(number)
}

fn remove(object: u64, is_surface: bool) -> Code {
    run(|state| {
        state.current()?;
        let known = state.views.get(&object).ok_or(INVALID_VALUE)?;
        if known.is_surface != is_surface {
            return Err(INVALID_VALUE);
        }
        state.views.remove(&object);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexObjectCreate(
    place: *mut u64,
    shown: *const Shown,
    sampled: *const Sampled,
    seen: *const Seen,
) -> Code {
    run(|state| {
        let shown = unsafe { shown.as_ref() }.ok_or(INVALID_VALUE)?;
        let sampled = unsafe { sampled.as_ref() }.ok_or(INVALID_VALUE)?;
        let mut numbers = shown.numbers(state)?;
        numbers.extend(sampled.numbers()?);
        if let Some(seen) = unsafe { seen.as_ref() } {
            numbers.extend(seen.numbers()?);
        }
        let made = add(state, false, numbers)?;
        unsafe { put(place, made) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexObjectDestroy(object: u64) -> Code {
    remove(object, false)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuSurfObjectCreate(place: *mut u64, shown: *const Shown) -> Code {
    run(|state| {
        let shown = unsafe { shown.as_ref() }.ok_or(INVALID_VALUE)?;
        let numbers = shown.numbers(state)?;
        let object = std::ptr::with_exposed_provenance_mut(shown.res[0] as usize);
        let array = state.arrays.get(object).filter(|it| it.has_surfaces);
        array.ok_or(INVALID_VALUE)?;
        let made = add(state, true, numbers)?;
        unsafe { put(place, made) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuSurfObjectDestroy(object: u64) -> Code {
    remove(object, true)
}

/// As many elements as a device of today has room for in 2^31 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetTexture1DLinearMaxWidth(
    place: *mut usize,
    format: c_int,
    channels: c_uint,
    number: c_int,
) -> Code {
    run(|_| {
        super::device(number)?;
        let asked = Asked {
            width: 1,
            height: 0,
            depth: 0,
            format,
            channels,
            flags: 0,
        };
        unsafe { put(place, (1 << 31) / asked.element()?) }
    })
}
