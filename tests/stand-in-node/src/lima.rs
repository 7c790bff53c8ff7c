//! lima's requests, checked as Linux 6.1 does (`drivers/gpu/drm/lima/lima_drv.c`,
//! `lima_gem.c`, `lima_gp.c`, `lima_pp.c`, `lima_ctx.c`; `include/uapi/drm/lima_drm.h`).

use crate::buffer::PAGE;
use crate::file::{Job, New, OpenFile, answered, knows_no_sync};
use crate::utgard::{self, GpFrame, PpFrame};
use crate::walk::Walk;
use crate::words::{long, put, put_long, word};
use gil_board::drivers::node::{Performed, Raw};
use nix::errno::Errno;

/// Addresses: lima's own begin at 0, and end where its reserved ones do.
pub const ADDRESSES: std::ops::Range<u64> = 0x3000_0000..0xfff0_0000;

/// What Mali-400 MP4 of the Exynos 4412 answers: the kind, pixel processors, and the
/// version registers of both kinds of processors (r1p1).
const PARAMETERS: [u64; 4] = [1, utgard::PIXEL_PROCESSORS, 0x0b07_0101, 0xcd07_0101];

/// The processors, by `pipe`.
const PROCESSORS: [&str; 2] = ["gp", "pp"];

/// An ioctl.
///
/// # Errors
/// The driver's.
pub fn ioctl(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    match call.number() {
        0 => get_param(call),
        1 => gem_create(file, call),
        2 => gem_info(file, call),
        3 => gem_submit(file, call),
        4 => gem_wait(file, call),
        5 => ctx_create(file, call),
        6 => ctx_free(file, call),
        _ => Err(Errno::EINVAL),
    }
}

/// A field that is 0 for now.
fn zero(number: u32) -> Result<(), Errno> {
    match number {
        0 => Ok(()),
        _ => Err(Errno::EINVAL),
    }
}

fn get_param(call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    zero(word(argument, 4))?;
    let value = PARAMETERS.get(word(argument, 0) as usize);
    put_long(argument, 8, *value.ok_or(Errno::EINVAL)?);
    Ok(answered())
}

fn gem_create(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let (size, flags) = (word(argument, 0), word(argument, 4));
    zero(word(argument, 12))?;
    if flags & !1 != 0 || size == 0 {
        return Err(Errno::EINVAL);
    }
    let handle = file.create(New {
        size: size.into(),
        is_heap: flags & 1 != 0,
        is_executable: true,
        align: PAGE,
        within: 1 << 32,
    })?;
    put(argument, 8, handle);
    Ok(answered())
}

fn gem_info(file: &OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let handle = word(argument, 0);
    let place = file.space.buffer(handle)?.place;
    put(argument, 4, file.space.address(handle)? as u32);
    put_long(argument, 8, place);
    Ok(answered())
}

fn gem_wait(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    let op = word(argument, 4);
    if op & !3 != 0 {
        return Err(Errno::EINVAL);
    }
    if op != 0 {
        file.wait(word(argument, 0), op & 2 != 0, long(argument, 8))?;
    }
    Ok(answered())
}

fn ctx_create(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    zero(word(argument, 4))?;
    let free = (0..).find(|number| !file.contexts.contains(number));
    let number = free.ok_or(Errno::ENOSPC)?;
    file.contexts.push(number);
    put(argument, 0, number);
    Ok(answered())
}

fn ctx_free(file: &mut OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    zero(word(call.argument(), 4))?;
    let number = word(call.argument(), 0);
    let found = file.contexts.iter().position(|it| *it == number);
    file.contexts.remove(found.ok_or(Errno::ENOENT)?);
    Ok(answered())
}

/// A job's registers.
enum Frame {
    Gp(GpFrame),
    Pp(PpFrame),
}

fn frame(pipe: u32, bytes: &[u8]) -> Result<Frame, Errno> {
    let frame = match pipe {
        0 => GpFrame::of(bytes).map(Frame::Gp),
        _ => PpFrame::of(bytes).map(Frame::Pp),
    };
    frame.ok_or(Errno::EINVAL)
}

/// `struct drm_lima_gem_submit`.
fn gem_submit(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    let at = |n: usize| word(argument, n);
    let (context, pipe, count, frame_size) = (at(0), at(4), at(8), at(12));
    let (flags, out_sync, in_syncs) = (at(32), at(36), [at(40), at(44)]);
    if pipe >= 2 || count == 0 || flags & !1 != 0 {
        return Err(Errno::EINVAL);
    }
    let size = [utgard::GP_FRAME, utgard::PP_FRAME][pipe as usize];
    if frame_size as usize != size {
        return Err(Errno::EINVAL);
    }
    let [bos, registers] = call.memory() else {
        return Err(Errno::EFAULT);
    };
    if bos.len() != count as usize * 8 || registers.len() != size {
        return Err(Errno::EFAULT);
    }
    let frame = frame(pipe, registers)?;
    if !file.contexts.contains(&context) || !knows_no_sync(out_sync) {
        return Err(Errno::ENOENT);
    }
    let bos = bos.chunks_exact(8);
    let buffers = file.buffers(bos.map(|bo| (word(bo, 0), word(bo, 4) & 2 != 0)))?;
    if !in_syncs.into_iter().all(knows_no_sync) {
        return Err(Errno::ENOENT);
    }
    let mut walk = Walk::new(&file.space);
    let found = match &frame {
        Frame::Gp(frame) => utgard::geometry(&mut walk, frame),
        Frame::Pp(frame) => utgard::pixels(&mut walk, frame),
    };
    // The scheduler gives up the job of a processor that stopped.
    let found = found.map(|()| walk.found);
    let found = found.map_err(|fault| (fault, Errno::ECANCELED));
    let job = Job {
        processor: PROCESSORS[pipe as usize],
        submitted_ns: call.submitted_ns(),
        buffers,
        waits: flags & 1 == 0,
    };
    Ok(file.start(&job, found))
}
