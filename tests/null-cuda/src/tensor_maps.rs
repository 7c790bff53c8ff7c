//! Tensor maps: the first word is the address, the others what else a map was made of. Checked
//! as CUDA's documentation says of the driver.

use super::{Code, INVALID_VALUE, put, run};
use std::ffi::{c_int, c_uint, c_void};

/// `CUtensorMap`.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
pub struct Map([u64; 16]);

/// Bytes of an element, by `CUtensorMapDataType`; of 16 packed ones for the last three.
const ELEMENTS: [u64; 16] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 8, 16, 16];

/// The lists of a tensor.
struct Lists {
    dims: *const u64,
    strides: *const u64,
    elements: *const c_uint,
}

/// Numbers in their bounds.
unsafe fn bounded<T: Copy + Into<u64>>(
    list: *const T,
    count: usize,
    is_good: impl Fn(u64) -> bool,
) -> Result<Vec<u64>, Code> {
    let numbers: Vec<u64> = (0..count)
        .map(|at| unsafe { *list.add(at) }.into())
        .collect();
    match numbers.iter().all(|number| is_good(*number)) {
        true => Ok(numbers),
        false => Err(INVALID_VALUE),
    }
}

/// `modes`: interleaving, swizzle, promotion, fill, and their bounds.
unsafe fn encode(
    map: *mut Map,
    kind: u64,
    (data_type, rank, address): (c_int, c_uint, *mut c_void),
    lists: &Lists,
    modes: &[(c_int, c_int)],
    more: &[u64],
) -> Result<(), Code> {
    let element = usize::try_from(data_type)
        .ok()
        .and_then(|it| ELEMENTS.get(it));
    element.ok_or(INVALID_VALUE)?;
    let is_good = |(mode, most): &(c_int, c_int)| (0..=*most).contains(mode);
    let alignment = if modes[0].0 == 2 { 32 } else { 16 };
    let fits = (1..=5).contains(&rank) && (modes[0].0 == 0 || rank >= 3);
    if !map.addr().is_multiple_of(64) || !address.addr().is_multiple_of(alignment) {
        return Err(INVALID_VALUE);
    }
    if !fits || !modes.iter().all(is_good) {
        return Err(INVALID_VALUE);
    }
    let count = rank as usize;
    let of_dims = |it| (1..=1 << 32).contains(&it);
    let of_strides = |it: u64| it.is_multiple_of(alignment as u64) && it < 1 << 40;
    let of_elements = |it| (1..=8).contains(&it);
    let mut words = unsafe { bounded(lists.dims, count, of_dims) }?;
    words.extend(unsafe { bounded(lists.strides, count - 1, of_strides) }?);
    words.extend(unsafe { bounded(lists.elements, count, of_elements) }?);
    words.extend(modes.iter().map(|(mode, _)| *mode as u64));
    words.extend(more);
    let mut opaque = [0; 16];
    opaque[0] = address.addr() as u64;
    opaque[1] = kind << 16 | u64::from(rank) << 8 | data_type as u64;
    // A word may be in any place of a map, and each changes it.
    for (at, word) in words.into_iter().enumerate() {
        let to = &mut opaque[2 + at % 14];
        *to = to.rotate_left(17) ^ word;
    }
    unsafe { put(map, Map(opaque)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut Map,
    data_type: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    boxes: *const c_uint,
    elements: *const c_uint,
    interleave: c_int,
    swizzle: c_int,
    promotion: c_int,
    fill: c_int,
) -> Code {
    run(|_| unsafe {
        let lists = Lists {
            dims,
            strides,
            elements,
        };
        let modes = [(interleave, 2), (swizzle, 6), (promotion, 3), (fill, 1)];
        let boxes = bounded(boxes, rank.min(5) as usize, |it| (1..=256).contains(&it))?;
        encode(map, 1, (data_type, rank, address), &lists, &modes, &boxes)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeIm2col(
    map: *mut Map,
    data_type: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    lower: *const c_int,
    upper: *const c_int,
    channels: c_uint,
    pixels: c_uint,
    elements: *const c_uint,
    interleave: c_int,
    swizzle: c_int,
    promotion: c_int,
    fill: c_int,
) -> Code {
    run(|_| unsafe {
        let lists = Lists {
            dims,
            strides,
            elements,
        };
        let modes = [(interleave, 2), (swizzle, 6), (promotion, 3), (fill, 1)];
        if !(3..=5).contains(&rank) || channels > 256 || pixels > 1024 {
            return Err(INVALID_VALUE);
        }
        let corner = |at: *const c_int, n: usize| *at.add(n) as u64;
        let mut more = vec![channels.into(), pixels.into()];
        for n in 0..rank as usize - 2 {
            more.extend([corner(lower, n), corner(upper, n)]);
        }
        encode(map, 2, (data_type, rank, address), &lists, &modes, &more)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapEncodeIm2colWide(
    map: *mut Map,
    data_type: c_int,
    rank: c_uint,
    address: *mut c_void,
    dims: *const u64,
    strides: *const u64,
    lower: c_int,
    upper: c_int,
    channels: c_uint,
    pixels: c_uint,
    elements: *const c_uint,
    interleave: c_int,
    mode: c_int,
    swizzle: c_int,
    promotion: c_int,
    fill: c_int,
) -> Code {
    run(|_| unsafe {
        let lists = Lists {
            dims,
            strides,
            elements,
        };
        let modes = [
            (interleave, 2),
            (swizzle, 6),
            (promotion, 3),
            (fill, 1),
            (mode, 1),
        ];
        if !(3..=5).contains(&rank) || channels > 256 || pixels > 1024 {
            return Err(INVALID_VALUE);
        }
        let more = [lower as u64, upper as u64, channels.into(), pixels.into()];
        encode(map, 3, (data_type, rank, address), &lists, &modes, &more)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTensorMapReplaceAddress(map: *mut Map, address: *mut c_void) -> Code {
    run(|_| {
        if !map.addr().is_multiple_of(64) || !address.addr().is_multiple_of(16) {
            return Err(INVALID_VALUE);
        }
        unsafe { (*map).0[0] = address.addr() as u64 };
        Ok(())
    })
}
