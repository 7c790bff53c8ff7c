//! What jobs of Mali-400 name: command streams, shaders, and what these read.
//!
//! Formats: Mesa's `src/gallium/drivers/lima/lima_gpu.h` (registers, commands),
//! `lima_parser.c` (which command a pair of words is), `lima_draw.c` (render states,
//! attributes, uniforms), `lima_job.c` (streams of the pixel processors),
//! `lima_texture.h` (texture descriptors), `ir/pp/codegen.h` (an instruction's control
//! word); registers' order also in Linux's `drivers/gpu/drm/lima/lima_regs.h`.

use crate::walk::{Fault, Kind, Walk};
use crate::words::word;

/// Pixel processors of the Exynos 4412's.
pub const PIXEL_PROCESSORS: u64 = 4;
/// Bytes of the geometry processor's frame.
pub const GP_FRAME: usize = 6 * 4;
/// Bytes of the pixel processors' frame: registers, their number, three write-back units,
/// a stream and a stack for each.
pub const PP_FRAME: usize = (PP_REGISTERS + 1 + 3 * WB_REGISTERS + 4 + 4) * 4;
const PP_REGISTERS: usize = 23;
const WB_REGISTERS: usize = 12;
/// The register of a processor's stack.
const STACK: usize = 12;

/// Bytes of a render state.
const RENDER_STATE: u64 = 64;
/// Bytes of a block of a polygon list.
const BLOCK: u64 = 512;
/// Bytes of a texture descriptor, with one level.
const TEXTURE: u64 = 64;
/// Most commands of a stream: what has more does not end.
const MOST: u64 = 1 << 20;

/// The geometry processor's frame.
#[derive(Clone, Copy, Debug)]
pub struct GpFrame {
    vertex: (u64, u64),
    lists: (u64, u64),
    heap: (u64, u64),
}

impl GpFrame {
    /// As lima checks it; `None` if it is none.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let pair = |at| (u64::from(word(bytes, at)), u64::from(word(bytes, at + 4)));
        let frame = Self {
            vertex: pair(0),
            lists: pair(8),
            heap: pair(16),
        };
        let all = [frame.vertex, frame.lists, frame.heap];
        let is_ordered = all.iter().all(|(start, end)| start <= end);
        let is_empty = |(start, end)| start == end;
        let does_nothing = is_empty(frame.vertex) && is_empty(frame.lists);
        (is_ordered && !does_nothing).then_some(frame)
    }

    /// As the registers have it; what was not started has no commands.
    pub fn of_registers(
        vertex: Option<(u32, u32)>,
        lists: Option<(u32, u32)>,
        heap: (u32, u32),
    ) -> Self {
        let wide = |(start, end): (u32, u32)| (start.into(), end.into());
        Self {
            vertex: wide(vertex.unwrap_or_default()),
            lists: wide(lists.unwrap_or_default()),
            heap: wide(heap),
        }
    }
}

/// The pixel processors' frame.
#[derive(Clone, Debug)]
pub struct PpFrame {
    words: Vec<u32>,
    processors: usize,
}

impl PpFrame {
    /// As lima checks it; `None` if it is none.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let words: Vec<_> = (0..PP_FRAME / 4).map(|n| word(bytes, n * 4)).collect();
        let processors = words[PP_REGISTERS];
        let is_fit = (1..=PIXEL_PROCESSORS).contains(&u64::from(processors));
        is_fit.then_some(Self {
            words,
            processors: processors as usize,
        })
    }

    /// As one processor's registers have it; `None` if they are more or fewer.
    pub fn of_registers(frame: &[u32], write_back: &[u32]) -> Option<Self> {
        let mut words = vec![0; PP_FRAME / 4];
        let units = PP_REGISTERS + 1;
        let is_whole = frame.len() == PP_REGISTERS && write_back.len() == 3 * WB_REGISTERS;
        if !is_whole {
            return None;
        }
        words[..PP_REGISTERS].copy_from_slice(frame);
        words[PP_REGISTERS] = 1;
        words[units..units + write_back.len()].copy_from_slice(write_back);
        let streams = units + write_back.len();
        (words[streams], words[streams + 4]) = (frame[0], frame[STACK]);
        Some(Self {
            words,
            processors: 1,
        })
    }

    fn register(&self, n: usize) -> u64 {
        self.words[n].into()
    }

    fn write_back(&self, unit: usize, n: usize) -> u64 {
        self.register(PP_REGISTERS + 1 + unit * WB_REGISTERS + n)
    }

    fn stream(&self, processor: usize) -> u64 {
        self.register(PP_REGISTERS + 1 + 3 * WB_REGISTERS + processor)
    }

    fn stack(&self, processor: usize) -> u64 {
        self.register(PP_REGISTERS + 1 + 3 * WB_REGISTERS + 4 + processor)
    }
}

/// What a stream's commands said so far.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    attributes: u64,
    varyings: u64,
    attribute_count: u64,
    varying_count: u64,
    indices: u64,
    index_size: u64,
}

/// A job of the geometry processor's.
///
/// # Errors
/// [`Fault`].
pub fn geometry(walk: &mut Walk<'_>, frame: &GpFrame) -> Result<(), Fault> {
    if frame.heap.0 < frame.heap.1 {
        walk.has(frame.heap.0, frame.heap.1 - frame.heap.0, "heap")?;
    }
    stream(
        walk,
        frame.vertex,
        "vertex shader's command",
        vertex_command,
    )?;
    stream(walk, frame.lists, "polygon list's command", list_command)
}

/// Where a stream goes on.
type Command = fn(&mut Walk<'_>, &mut Said, u64, u32) -> Result<Option<u64>, Fault>;

/// Each command from the first to the end.
fn stream(
    walk: &mut Walk<'_>,
    (start, end): (u64, u64),
    what: &'static str,
    command: Command,
) -> Result<(), Fault> {
    let mut said = Said::default();
    let mut at = start;
    for _ in 0..MOST {
        if at == end {
            return Ok(());
        }
        let words = walk.words(at, 2, what)?;
        at = match command(walk, &mut said, words[0].into(), words[1])? {
            Some(next) => next,
            None => at + 8,
        };
    }
    Err(Fault {
        address: at,
        what: "end of a stream",
        kind: Kind::NoEnd,
    })
}

/// A command of the vertex shader's.
fn vertex_command(
    walk: &mut Walk<'_>,
    said: &mut Said,
    low: u64,
    high: u32,
) -> Result<Option<u64>, Fault> {
    let len = u64::from(high & 0x0fff_ffff) >> 12;
    match (high >> 28, high & 0xff) {
        (0x1, 0x42) => {
            said.varying_count = (low >> 8 & 0xff) + 1;
            said.attribute_count = (low >> 24) + 1;
        }
        (0x2, 0x00) => said.attributes = low,
        (0x2, 0x08) => said.varyings = low,
        (0x3, _) => walk.has(low, len, "vertex shader's uniforms")?,
        (0x4, _) => walk.has_code(low, len, "vertex shader")?,
        (0x0, _) if low != 0 || high != 0 => draw(walk, said)?,
        (0xf, _) => return Ok(Some(low)),
        _ => {}
    }
    Ok(None)
}

/// The vertices that are drawn have their attributes and varyings.
fn draw(walk: &mut Walk<'_>, said: &Said) -> Result<(), Fault> {
    let lists = [
        (said.attributes, said.attribute_count, "attribute"),
        (said.varyings, said.varying_count, "varying"),
    ];
    for (at, count, what) in lists {
        if at == 0 {
            continue;
        }
        for entry in walk.words(at, count * 2, what)?.chunks_exact(2) {
            // A shader without attributes has one that is empty.
            if entry[0] != 0 {
                walk.has(entry[0].into(), 4, what)?;
            }
        }
    }
    Ok(())
}

/// A command of the polygon list builder's.
fn list_command(
    walk: &mut Walk<'_>,
    said: &mut Said,
    low: u64,
    high: u32,
) -> Result<Option<u64>, Fault> {
    match (high >> 28, high & 0x0fff_ffff) {
        (0x1, 0x100) => walk.has(low, 16, "position")?,
        (0x1, 0x101) => said.indices = low,
        (0x1, 0x102) => walk.has(low, 4, "point size")?,
        (0x1, 0x10b) => said.index_size = index_size(low),
        (0x2, rest) if rest >> 24 == 8 => blocks(walk, low, u64::from(rest & 0x00ff_ffff) + 1)?,
        (0x8, position) => {
            render_state(walk, low)?;
            walk.has(u64::from(position) << 4, 16, "position")?;
        }
        (0x0, rest) if rest & 0x0020_0000 != 0 => {
            let count = low >> 24 | u64::from(rest & 0xffff) << 8;
            walk.has(said.indices, count * said.index_size, "index")?;
        }
        (0xf, _) => return Ok(Some(low)),
        _ => {}
    }
    Ok(None)
}

/// Bit 9 is always set; the size is beside it.
fn index_size(setup: u64) -> u64 {
    match setup >> 9 & 7 {
        3 => 2,
        5 => 4,
        _ => 1,
    }
}

/// Where the polygon lists go.
fn blocks(walk: &mut Walk<'_>, at: u64, count: u64) -> Result<(), Fault> {
    for block in walk.words(at, count, "list of polygon lists")? {
        walk.has(block.into(), BLOCK, "polygon list")?;
    }
    Ok(())
}

/// A render state, and what it names.
fn render_state(walk: &mut Walk<'_>, at: u64) -> Result<(), Fault> {
    let words = walk.words(at, RENDER_STATE / 4, "render state")?;
    let at = |n: usize, mask: u32| u64::from(words[n] & !mask);
    fragment_shader(walk, at(9, 0x1f))?;
    let aux = words[13];
    if aux & 0x80 != 0 {
        let uniforms = walk.words(at(11, 0xf), 1, "list of uniforms")?;
        walk.has(uniforms[0].into(), 4, "uniforms")?;
    }
    if aux & 0x20 != 0 {
        textures(walk, at(12, 0), (aux >> 14 & 0xf).into())?;
    }
    if words[15] != 0 {
        walk.has(at(15, 0xf), 8, "varyings")?;
    }
    Ok(())
}

/// Instructions, each of which says how long it and the next are.
fn fragment_shader(walk: &mut Walk<'_>, mut at: u64) -> Result<(), Fault> {
    for _ in 0..MOST {
        let control = walk.words(at, 1, "fragment shader")?[0];
        let (len, next) = (u64::from(control & 0x1f), control >> 19 & 0x3f);
        walk.has_code(at, len * 4, "fragment shader")?;
        if next == 0 || len == 0 {
            return Ok(());
        }
        at += len * 4;
    }
    Ok(())
}

/// Descriptors, of which each names its largest level.
fn textures(walk: &mut Walk<'_>, at: u64, count: u64) -> Result<(), Fault> {
    for descriptor in walk.words(at, count, "list of textures")? {
        let words = walk.words(descriptor.into(), TEXTURE / 4, "texture")?;
        // 26 bits from bit 222 on.
        let level = u64::from(words[6]) >> 30 | (u64::from(words[7]) & 0x00ff_ffff) << 2;
        walk.has(level << 6, 64, "texture's level")?;
    }
    Ok(())
}

/// A job of the pixel processors'.
///
/// # Errors
/// [`Fault`].
pub fn pixels(walk: &mut Walk<'_>, frame: &PpFrame) -> Result<(), Fault> {
    render_state(walk, frame.register(1))?;
    let stack = frame.register(13) >> 16;
    for processor in 0..frame.processors {
        tiles(walk, frame.stream(processor))?;
        if stack != 0 {
            walk.has(frame.stack(processor), stack * 0x400, "stack")?;
        }
    }
    (0..3).try_for_each(|unit| write_back(walk, frame, unit))
}

/// A processor's tiles, and their polygon lists.
fn tiles(walk: &mut Walk<'_>, mut at: u64) -> Result<(), Fault> {
    for _ in 0..MOST {
        let words = walk.words(at, 2, "pixel processor's command")?;
        match (words[0] >> 29, words[1]) {
            (_, 0xbc00_0000) => return Ok(()),
            (7, 0xb000_0000) => {
                let list = u64::from(words[0] & 0x1fff_fffc) << 3;
                walk.has(list, BLOCK, "polygon list")?;
            }
            _ => {}
        }
        at += 8;
    }
    Err(Fault {
        address: at,
        what: "end of a stream",
        kind: Kind::NoEnd,
    })
}

/// Where a write-back unit puts the pixels: the first and the last line, or row of tiles.
fn write_back(walk: &mut Walk<'_>, frame: &PpFrame, unit: usize) -> Result<(), Fault> {
    let register = |n| frame.write_back(unit, n);
    if register(0) == 0 {
        return Ok(());
    }
    let lines = frame.register(11) + 1;
    let len = match register(4) {
        0 => (register(5) * 8).saturating_mul(lines),
        // 16 pixels by 16, of at least two bytes each.
        _ => (register(5) * 512).saturating_mul(lines.div_ceil(16)),
    };
    walk.has(register(1), len, "frame buffer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, PAGE};
    use crate::space::Space;
    use crate::words::put;
    use std::sync::Arc;

    fn space() -> (Space, u64) {
        let mut space = Space::new(0, 0x3000_0000..0x4000_0000);
        let buffer = Arc::new(Buffer::new(PAGE, false, true, 0));
        let handle = space.add(buffer, PAGE, 1 << 32).unwrap();
        let at = space.address(handle).unwrap();
        (space, at)
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words
            .iter()
            .flat_map(|it| (*it as u32).to_le_bytes())
            .collect()
    }

    #[test]
    fn frames_are_checked_as_lima_does() {
        let gp = |words: [u64; 6]| GpFrame::of(&bytes(&words)).is_some();
        assert!(gp([8, 16, 0, 0, 0, 0]));
        assert!(!gp([8, 8, 16, 16, 0, 99]), "nothing to do");
        for wrong in [[9, 8, 0, 8, 0, 0], [0, 8, 9, 8, 0, 0], [0, 8, 0, 8, 9, 8]] {
            assert!(!gp(wrong), "{wrong:?}");
        }
        let pp = |processors| {
            let mut frame = vec![0; PP_FRAME];
            put(&mut frame, PP_REGISTERS * 4, processors);
            PpFrame::of(&frame).is_some()
        };
        assert_eq!([0, 1, 4, 5].map(pp), [false, true, true, false]);
        assert_eq!(PP_FRAME, 272);
    }

    #[test]
    fn a_stream_is_read_to_its_end_and_what_it_names_is_there() {
        let (space, at) = space();
        let mut walk = Walk::new(&space);
        let commands = [at + 256, 0x4001_0000, at + 512, 0x3002_0000, 1 << 24, 0];
        walk.write(at, &bytes(&commands), "stream").unwrap();
        let frame = |end| GpFrame::of(&bytes(&[at, at + end, 0, 0, 0, 0])).unwrap();
        geometry(&mut walk, &frame(24)).unwrap();
        let fault = geometry(&mut walk, &frame(PAGE + 8)).unwrap_err();
        assert_eq!(fault.address, at + PAGE);
        walk.write(at, &bytes(&[0x77, 0x4001_0000]), "stream")
            .unwrap();
        let fault = geometry(&mut walk, &frame(8)).unwrap_err();
        assert_eq!((fault.address, fault.what), (0x77, "vertex shader"));
    }

    #[test]
    fn a_stream_that_leads_to_itself_ends() {
        let (space, at) = space();
        let mut walk = Walk::new(&space);
        walk.write(at, &bytes(&[at, 0xf000_0000]), "stream")
            .unwrap();
        let frame = GpFrame::of(&bytes(&[at, at + 8, 0, 0, 0, 0])).unwrap();
        assert_eq!(
            geometry(&mut walk, &frame).unwrap_err().what,
            "end of a stream"
        );
    }
}
