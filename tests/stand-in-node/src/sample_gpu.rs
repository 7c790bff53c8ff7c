//! The sample of a vendor's driver, `/dev/sample_gpu0` (`tests/guest/sample_gpu.h`): a job adds a
//! number to each word of its buffers.

use crate::buffer::{Buffer, PAGE};
use crate::file::{Job, New, OpenFile, answered, list};
use crate::words::{long, put, put_long, word};
use gil_board::drivers::node::{Performed, Raw};
use nix::errno::Errno;

/// Jobs have no addresses.
pub const ADDRESSES: std::ops::Range<u64> = 0x1000_0000..0x1_0000_0000;

/// An ioctl.
///
/// # Errors
/// The driver's.
pub fn ioctl(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    match call.number() {
        0 => info(call),
        1 => alloc(file, call),
        2 => map(file, call),
        3 => submit(file, call),
        4 => wait(file, call),
        5 => free(file, call),
        _ => Err(Errno::ENOTTY),
    }
}

fn info(call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    put(argument, 0, 1);
    put(argument, 4, 1);
    Ok(answered())
}

fn alloc(file: &mut OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let size = long(argument, 0);
    if size == 0 || word(argument, 8) != 0 {
        return Err(Errno::EINVAL);
    }
    let handle = file.create(New {
        size,
        is_heap: false,
        is_executable: false,
        align: PAGE,
        within: 1 << 32,
    })?;
    put(argument, 12, handle);
    Ok(answered())
}

fn map(file: &OpenFile, call: &mut Raw<'_>) -> Result<Performed, Errno> {
    let (argument, _) = call.parts_mut();
    let place = file.space.buffer(word(argument, 0))?.place;
    put_long(argument, 8, place);
    Ok(answered())
}

fn submit(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    let handles = list(call.memory().first(), word(argument, 8))?;
    let buffers = file.buffers(handles.into_iter().map(|handle| (handle, true)))?;
    if buffers.is_empty() {
        return Err(Errno::EINVAL);
    }
    for (buffer, _) in &buffers {
        add(buffer, word(argument, 12));
    }
    let found = Ok(buffers.len() as u64);
    let job = Job {
        processor: "unit",
        submitted_ns: call.submitted_ns(),
        buffers,
        waits: true,
    };
    Ok(file.start(&job, found))
}

/// Adds a number to each word.
fn add(buffer: &Buffer, number: u32) {
    let mut bytes = vec![0; buffer.len as usize];
    buffer.read(0, &mut bytes);
    for at in (0..bytes.len()).step_by(4) {
        let sum = word(&bytes, at).wrapping_add(number);
        put(&mut bytes, at, sum);
    }
    buffer.write(0, &bytes);
}

fn wait(file: &OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    let argument = call.argument();
    file.wait(word(argument, 0), true, long(argument, 8))?;
    Ok(answered())
}

fn free(file: &mut OpenFile, call: &Raw<'_>) -> Result<Performed, Errno> {
    file.space.remove(word(call.argument(), 0))?;
    Ok(answered())
}
