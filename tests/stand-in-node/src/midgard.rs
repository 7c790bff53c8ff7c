//! Job chains of Mali-T628: what a job names is read, what needs no shader is executed,
//! and its header says how it ended.
//!
//! Formats: Mesa's `src/panfrost/lib/genxml/v4.xml` (T60x, T62x and T72x) and `decode.c`
//! there (what follows from what); tags of instruction bundles:
//! `src/panfrost/midgard/midgard.h`. Statuses: Linux's `panfrost_device.h`
//! (`enum drm_panfrost_exception_type`).

use crate::walk::{Fault, Kind, Walk};
use crate::words::{long, put, put_long, word};
use gil_board::drivers::jobs::now_ns;

/// Bytes of a job's header.
const HEADER: u64 = 32;
/// Most jobs of a chain: one that has more does not end.
const MOST: usize = 1 << 16;
/// Statuses: done; a configuration that is none; a read and a write that fail; a descriptor
/// that makes no sense.
const DONE: u32 = 0x01;
const CONFIG_FAULT: u32 = 0x40;
const READ_FAULT: u32 = 0x42;
const WRITE_FAULT: u32 = 0x43;
const DATA_INVALID: u32 = 0x58;

/// The sizes of what jobs name, in bytes.
const DRAW: usize = 64;
const RENDERER_STATE: u64 = 64;
const FRAMEBUFFER: u64 = 320;
const LOCAL_STORAGE: u64 = 32;
const ATTRIBUTE: u64 = 8;
const ATTRIBUTE_BUFFER: u64 = 16;
const TEXTURE: u64 = 32;
const SAMPLER: u64 = 32;
const VIEWPORT: u64 = 32;

/// Executes a chain of jobs.
///
/// # Errors
/// [`Fault`] of the job that fails; those behind it are not executed.
pub fn chain(walk: &mut Walk<'_>, first: u64) -> Result<(), Fault> {
    let mut at = first;
    for _ in 0..MOST {
        walk.descriptor = at;
        let header = walk.bytes(at, HEADER, "job header")?;
        let result = job(walk, at, &header);
        report(walk, at, header.clone(), result)?;
        result?;
        at = match word(&header, 16) & 1 {
            1 => long(&header, 24),
            _ => word(&header, 24).into(),
        };
        if at == 0 {
            return Ok(());
        }
    }
    Err(endless(at, "end of a chain"))
}

/// The GPU's status of a job that fails. One that does not end, which a GPU would execute
/// until its driver stops it, counts as a descriptor that makes no sense.
pub fn status(fault: &Fault) -> u32 {
    match fault.kind {
        Kind::Reads => READ_FAULT,
        Kind::Writes => WRITE_FAULT,
        Kind::NoType => CONFIG_FAULT,
        Kind::NoEnd => DATA_INVALID,
    }
}

fn endless(address: u64, what: &'static str) -> Fault {
    Fault {
        address,
        what,
        kind: Kind::NoEnd,
    }
}

fn typeless(address: u64) -> Fault {
    Fault {
        address,
        what: NO_TYPE,
        kind: Kind::NoType,
    }
}

/// The header says how its job ended.
fn report(
    walk: &mut Walk<'_>,
    at: u64,
    mut header: Vec<u8>,
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    let (status, address) = match result {
        Ok(()) => (DONE, 0),
        Err(fault) => (status(&fault), fault.address),
    };
    let kind = word(&header, 16) >> 1 & 0x7f;
    tracing::info!("job header at {at:#x}: type {kind}, status {status:#x}");
    put(&mut header, 0, status);
    put_long(&mut header, 8, address);
    walk.write(at, &header[..16], "job header")
}

/// What a job of no type lacks.
const NO_TYPE: &str = "job of that type";

fn job(walk: &mut Walk<'_>, at: u64, header: &[u8]) -> Result<(), Fault> {
    match word(header, 16) >> 1 & 0x7f {
        // Null, and one that flushes caches.
        1 | 3 => Ok(()),
        2 => write_value(walk, at + HEADER),
        // Compute, vertex.
        4 | 5 => {
            let job = walk.bytes(at, 64 + 120, "vertex job")?;
            draw(walk, &job, false)
        }
        7 => tiler(walk, at),
        9 => fragment(walk, at + HEADER),
        _ => Err(typeless(at)),
    }
}

/// The time, or 0.
fn write_value(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let payload = walk.bytes(at, 12, "write-value job")?;
    let value = match word(&payload, 8) {
        1 | 2 => now_ns(),
        3 => 0,
        _ => return Err(typeless(at)),
    };
    walk.write(long(&payload, 0), &value.to_le_bytes(), "value's place")
}

fn tiler(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let job = walk.bytes(at, 192, "tiler job")?;
    let (kind, count, indices) = (word(&job, 40) >> 8 & 7, word(&job, 52), long(&job, 56));
    let size = match kind {
        1 => 1,
        2 => 2,
        3 => 4,
        _ => 0,
    };
    if size != 0 {
        walk.has(indices, (u64::from(count) + 1) * size, "index")?;
    }
    // Sizes of points are an array, or one number.
    if word(&job, 40) >> 11 & 3 != 0 {
        walk.has(long(&job, 184), 2, "point size")?;
    }
    draw(walk, &job, true)
}

/// What is drawn, from the descriptor in a job.
fn draw(walk: &mut Walk<'_>, job: &[u8], is_tiler: bool) -> Result<(), Fault> {
    let pointer = |word: usize| long(job, DRAW + word * 4);
    let counts = state(walk, pointer(14))?;
    let optional = [
        (pointer(4), 16, "position"),
        (pointer(24), VIEWPORT, "viewport"),
    ];
    for (at, len, what) in optional {
        if at != 0 {
            walk.has(at, len, what)?;
        }
    }
    if word(job, DRAW) >> 3 & 3 != 0 {
        walk.has(pointer(26), 8, "occlusion counter")?;
    }
    attributes(
        walk,
        (pointer(18), counts.attributes),
        pointer(16),
        "attribute",
    )?;
    attributes(walk, (pointer(22), counts.varyings), pointer(20), "varying")?;
    uniforms(
        walk,
        (pointer(6), counts.uniform_buffers),
        (pointer(12), counts.uniforms),
    )?;
    textures(walk, pointer(8), counts.textures)?;
    if counts.samplers != 0 {
        walk.has(pointer(10), counts.samplers * SAMPLER, "sampler")?;
    }
    match is_tiler {
        true => framebuffer(walk, pointer(28)).map(drop),
        false => local_storage(walk, pointer(28)),
    }
}

/// How much of what a draw has.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    attributes: u64,
    varyings: u64,
    textures: u64,
    samplers: u64,
    uniform_buffers: u64,
    uniforms: u64,
}

/// A renderer state, and its shaders.
fn state(walk: &mut Walk<'_>, at: u64) -> Result<Counts, Fault> {
    let state = walk.bytes(at, RENDERER_STATE, "renderer state")?;
    let half = |at: usize| u64::from(word(&state, at) & 0xffff);
    shader(walk, long(&state, 0))?;
    // The blend shader's address is the equation's place where there is none.
    if word(&state, 32) >> 22 & 1 != 0 {
        shader(walk, long(&state, 56))?;
    }
    let properties = word(&state, 16);
    Ok(Counts {
        samplers: half(8),
        textures: half(10),
        attributes: half(12),
        varyings: half(14),
        uniform_buffers: (properties & 0xff).into(),
        uniforms: (properties >> 21 & 0x1f).into(),
    })
}

/// Bundles of instructions, each of which says what the next is; 0 stands for none.
fn shader(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let mut at = at & !0xf;
    if at == 0 {
        return Ok(());
    }
    for _ in 0..MOST {
        let tag = walk.words(at, 1, "shader")?[0];
        let len = 16
            * match tag & 0xf {
                kind @ 8..=15 => u64::from(kind & 3) + 1,
                _ => 1,
            };
        walk.has_code(at, len, "shader")?;
        // The last one says that there is no next.
        if tag >> 4 & 0xf <= 1 {
            return Ok(());
        }
        at += len;
    }
    Err(endless(at, "end of a shader"))
}

/// Attributes or varyings, and the buffers that they are in.
fn attributes(
    walk: &mut Walk<'_>,
    (at, count): (u64, u64),
    buffers: u64,
    what: &'static str,
) -> Result<(), Fault> {
    if count == 0 {
        return Ok(());
    }
    let all = walk.words(at, count * ATTRIBUTE / 4, what)?;
    let highest = all.chunks_exact(2).map(|it| it[0] & 0x1ff).max();
    let count = u64::from(highest.unwrap_or(0)) + 1;
    let all = walk.bytes(buffers, count * ATTRIBUTE_BUFFER, what)?;
    for buffer in all.chunks_exact(ATTRIBUTE_BUFFER as usize) {
        let size = word(buffer, 12).into();
        // Others are numbers of vertices and the like, or belong to the one before.
        if (1..=12).contains(&(word(buffer, 0) & 0x3f)) && size != 0 {
            walk.has(long(buffer, 0) & 0x00ff_ffff_ffff_ffc0, size, what)?;
        }
    }
    Ok(())
}

fn uniforms(
    walk: &mut Walk<'_>,
    (buffers, buffer_count): (u64, u64),
    (pushed, count): (u64, u64),
) -> Result<(), Fault> {
    if count != 0 {
        walk.has(pushed, count * 16, "uniforms")?;
    }
    let all = walk.bytes(buffers, buffer_count * 8, "uniform buffers");
    if buffer_count == 0 {
        return Ok(());
    }
    for buffer in all?.chunks_exact(8) {
        let buffer = long(buffer, 0);
        let (at, entries) = (buffer >> 12 << 4, (buffer & 0xfff) + 1);
        // Mesa leaves the entry of a buffer as it finds it whose numbers are all pushed:
        // only a shader that reads it would find that nothing is there.
        let _ = walk.has(at, entries * 16, "uniform buffer");
    }
    Ok(())
}

fn textures(walk: &mut Walk<'_>, at: u64, count: u64) -> Result<(), Fault> {
    for n in 0..count {
        let pointer = walk.bytes(at + n * 8, 8, "list of textures")?;
        texture(walk, long(&pointer, 0))?;
    }
    Ok(())
}

/// A descriptor, and behind it a pointer to each surface, perhaps with strides.
fn texture(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let descriptor = walk.bytes(at, TEXTURE, "texture")?;
    let (layout, levels) = (word(&descriptor, 8), word(&descriptor, 12) >> 24);
    let (layers, dimension) = (word(&descriptor, 4), layout >> 22 & 3);
    let samples = match dimension {
        3 => 1,
        _ => u64::from(layers & 0xffff) + 1,
    };
    let faces = if dimension == 0 { 6 } else { 1 };
    let surfaces = (u64::from(levels) + 1) * faces * samples * (u64::from(layers >> 16) + 1);
    let step = if layout >> 29 & 1 != 0 { 16 } else { 8 };
    let pointers = walk.bytes(at + TEXTURE, surfaces * step, "texture's surfaces")?;
    for pointer in pointers.chunks_exact(step as usize) {
        walk.has(long(pointer, 0) & !0x3f, 1, "texture's surface")?;
    }
    Ok(())
}

fn local_storage(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let storage = walk.bytes(at & !0x3f, LOCAL_STORAGE, "local storage")?;
    let stack = long(&storage, 8);
    if word(&storage, 0) & 0x1f != 0 && stack != 0 {
        walk.has(stack, 16, "stack")?;
    }
    Ok(())
}

/// A frame buffer's descriptor, and what the tiler has in it.
fn framebuffer(walk: &mut Walk<'_>, at: u64) -> Result<Vec<u8>, Fault> {
    local_storage(walk, at)?;
    let descriptor = walk.bytes(at & !0x3f, FRAMEBUFFER, "frame buffer's descriptor")?;
    let tiler = |word: usize| long(&descriptor, 192 + word * 4);
    let (list, body, heap, heap_end) = (tiler(2), tiler(4), tiler(6), tiler(8));
    walk.has(list, 8, "polygon list")?;
    walk.has(body, 8, "polygon list's body")?;
    if heap < heap_end {
        walk.has_heap(heap, heap_end - heap, "tiler's heap")?;
    }
    Ok(descriptor)
}

/// Pixels are written where the frame buffer's descriptor says.
fn fragment(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let payload = walk.bytes(at, 16, "fragment job")?;
    let descriptor = framebuffer(walk, long(&payload, 8))?;
    let parameter = |n: usize| word(&descriptor, 32 + n * 4);
    let lines = u64::from(parameter(3) >> 16) + 1;
    // Which of them is written, how its blocks lie, and where it is described.
    let buffers = [
        (
            parameter(0) >> 31,
            parameter(0) >> 26 & 3,
            12,
            "color buffer",
        ),
        (
            parameter(1) >> 23 & 1,
            parameter(1) >> 16 & 3,
            16,
            "depth buffer",
        ),
        (
            parameter(1) >> 31,
            parameter(1) >> 24 & 3,
            20,
            "stencil buffer",
        ),
    ];
    for (is_written, blocks, at, what) in buffers {
        let base = long(&descriptor, 32 + at * 4);
        if is_written == 0 || base == 0 {
            continue;
        }
        // Linear ones have a line in a row, others 16.
        let rows = if blocks == 2 {
            lines
        } else {
            lines.div_ceil(16)
        };
        walk.has(base, u64::from(parameter(at + 2)) * rows, what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, PAGE};
    use crate::space::Space;
    use std::sync::Arc;

    fn space() -> (Space, u64) {
        let mut space = Space::new(0, 0x5000_0000..0x6000_0000);
        let buffer = Arc::new(Buffer::new(PAGE, false, true, 0));
        let handle = space.add(buffer, PAGE, 1 << 32).unwrap();
        let at = space.address(handle).unwrap();
        (space, at)
    }

    fn header(kind: u32, next: u64) -> Vec<u8> {
        let mut header = vec![0; 64];
        put(&mut header, 16, kind << 1 | 1);
        put_long(&mut header, 24, next);
        header
    }

    #[test]
    fn jobs_that_need_no_shader_are_executed() {
        let (space, at) = space();
        let mut walk = Walk::new(&space);
        walk.write(at, &header(1, at + 64), "null").unwrap();
        let mut value = header(2, 0);
        put_long(&mut value, 32, at + 256);
        put(&mut value, 40, 2);
        walk.write(at + 64, &value, "value").unwrap();
        chain(&mut walk, at).unwrap();
        let written = walk.bytes(at + 256, 8, "value").unwrap();
        assert!((1..=now_ns()).contains(&long(&written, 0)));
        for job in [at, at + 64] {
            assert_eq!(walk.words(job, 1, "status").unwrap(), [DONE]);
        }
    }

    #[test]
    fn a_job_that_fails_says_where_and_those_behind_it_are_not_executed() {
        let (space, at) = space();
        let mut walk = Walk::new(&space);
        let mut value = header(2, at + 64);
        put_long(&mut value, 32, 0x1234);
        put(&mut value, 40, 3);
        walk.write(at, &value, "value").unwrap();
        walk.write(at + 64, &header(1, 0), "null").unwrap();
        let fault = chain(&mut walk, at).unwrap_err();
        assert_eq!((fault.address, fault.kind), (0x1234, Kind::Writes));
        let words = walk.words(at, 4, "status").unwrap();
        assert_eq!((words[0], words[2]), (WRITE_FAULT, 0x1234));
        assert_eq!(walk.words(at + 64, 1, "status").unwrap(), [0]);
        assert_eq!(chain(&mut walk, 0x9000).unwrap_err().address, 0x9000);
    }

    #[test]
    fn a_chain_that_leads_to_itself_ends_and_no_type_is_a_fault() {
        let (space, at) = space();
        let mut walk = Walk::new(&space);
        walk.write(at, &header(1, at), "null").unwrap();
        assert_eq!(chain(&mut walk, at).unwrap_err().what, "end of a chain");
        walk.write(at, &header(77, 0), "none").unwrap();
        assert_eq!(chain(&mut walk, at).unwrap_err().what, NO_TYPE);
        assert_eq!(walk.words(at, 1, "status").unwrap(), [CONFIG_FAULT]);
    }
}
