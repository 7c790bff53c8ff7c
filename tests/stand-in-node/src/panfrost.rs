//! panfrost's requests, checked as Linux 6.1 does
//! (`drivers/gpu/drm/panfrost/panfrost_drv.c`, `panfrost_gem.c`, `panfrost_job.c`;
//! `include/uapi/drm/panfrost_drm.h`).

use crate::buffer::PAGE;
use crate::file::{Job, New, OpenFile, answered, knows_no_sync, list};
use crate::midgard;
use crate::walk::Walk;
use crate::words::{long, put, put_long, word};
use gil_board::drivers::node::{Performed, Raw};
use nix::errno::Errno;

/// Addresses: panfrost's own begin at 32 MiB and end at 4 GiB.
pub const ADDRESSES: std::ops::Range<u64> = 0x5000_0000..0x1_0000_0000;

/// Buffers with code cross no multiple of it: a program counter has 24 bits.
const CODE: u64 = 16 << 20;
/// Heaps have multiples of it, and large buffers begin there.
const LARGE: u64 = 2 << 20;

/// What Mali-T628 MP6 of the Exynos 5422 answers, by parameter. The product, its revision
/// and its cores are this chip's; the features are those of all T62x, as gem5's model of
/// its registers has them (`ext/nomali`).
const PARAMETERS: [u64; 41] = [
    0x620, // product
    0x0010,
    0x3f, // shader cores
    0x1,
    0x11, // two groups of them
    0,
    0xf, // address spaces
    0x7, // job slots
    0x0711_0206,
    0,
    0x809,
    0x1,
    0x2830,
    0x0a04_0400,
    0x100, // threads
    0x100,
    0x100,
    0,
    0x00fe_001e, // textures
    0xffff,
    0x9f81_ffff,
    0,
    0x20e, // what each slot executes
    0x1fe,
    0x7e,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    2, // core groups
    0,
    0,
];

/// An ioctl.
///
/// # Errors
/// The driver's.
pub fn ioctl(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    match call.number() {
        0 => submit(file, call),
        1 => wait_bo(file, call),
        2 => create_bo(file, call),
        3 => mmap_bo(file, call),
        4 => get_param(call),
        5 => get_bo_offset(file, call),
        8 => madvise(file, call),
        _ => Err(Errno::EINVAL),
    }
}

fn get_param(call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let value = PARAMETERS.get(word(argument, 0) as usize);
    let value = value.filter(|_| word(argument, 4) == 0);
    put_long(argument, 8, *value.ok_or(Errno::EINVAL)?);
    Ok(answered())
}

fn create_bo(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let (size, flags, pad) = (word(argument, 0), word(argument, 4), word(argument, 12));
    let (is_executable, is_heap) = (flags & 1 == 0, flags & 2 != 0);
    if size == 0 || pad != 0 || flags & !3 != 0 || (is_heap && is_executable) {
        return Err(Errno::EINVAL);
    }
    let size = u64::from(size).next_multiple_of(if is_heap { LARGE } else { PAGE });
    let handle = file.create(New {
        size,
        is_heap,
        is_executable,
        align: match is_executable {
            true => size.next_power_of_two(),
            false if size >= LARGE => LARGE,
            false => PAGE,
        },
        within: if is_executable {
            CODE.max(size)
        } else {
            1 << 32
        },
    })?;
    put(argument, 8, handle);
    put_long(argument, 16, file.space.address(handle)?);
    Ok(answered())
}

fn mmap_bo(file: &OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    if word(argument, 4) != 0 {
        return Err(Errno::EINVAL);
    }
    let buffer = file.space.buffer(word(argument, 0))?;
    if buffer.is_heap {
        return Err(Errno::EINVAL);
    }
    put_long(argument, 8, buffer.place);
    Ok(answered())
}

fn get_bo_offset(file: &OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let address = file.space.address(word(argument, 0))?;
    put_long(argument, 8, address);
    Ok(answered())
}

fn madvise(file: &OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    file.space.buffer(word(argument, 0))?;
    put(argument, 8, 1);
    Ok(answered())
}

fn wait_bo(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    if word(argument, 4) != 0 {
        return Err(Errno::EINVAL);
    }
    file.wait(word(argument, 0), true, long(argument, 8))?;
    Ok(answered())
}

/// `struct drm_panfrost_submit`.
fn submit(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    let (chain, requirements) = (long(argument, 0), word(argument, 36));
    if chain == 0 || requirements & !1 != 0 {
        return Err(Errno::EINVAL);
    }
    if !knows_no_sync(word(argument, 20)) {
        return Err(Errno::ENODEV);
    }
    let mut syncs = list(call.memory().first(), word(argument, 16))?.into_iter();
    if !syncs.all(knows_no_sync) {
        return Err(Errno::ENOENT);
    }
    let handles = list(call.memory().get(1), word(argument, 32))?;
    let buffers = file.buffers(handles.into_iter().map(|handle| (handle, true)))?;
    let mut walk = Walk::new(&file.space);
    let found = midgard::chain(&mut walk, chain).map(|()| walk.found);
    let job = Job {
        processor: if requirements & 1 != 0 {
            "slot0"
        } else {
            "slot1"
        },
        submitted_ns: call.submitted_ns(),
        buffers,
        waits: true,
    };
    Ok(file.start(&job, found.map_err(|fault| (fault, Errno::EINVAL))))
}
