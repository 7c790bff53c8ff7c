//! Calls of EGL and OpenGL ES that no library of gil's sends: their driver reads and writes
//! memory at addresses that the board has to have checked.

mod common;

use common::agent::{ANY_PORT, Agent, command};
use common::program::{input, out};
use common::{Client, Done};
use gil_wire::Op;
use gil_wire::call::{Handle, InData, OutData, OutRoom, Packed, Property, pack};
use gil_wire::generated::egl::{self, GilImageOfArgs, GilMakeImageArgs, GilPresentArgs};
use gil_wire::generated::gles::{self, GilClientArrayArgs, Pixels};
use gil_wire::message::{CallStatus, Reply, Request};
use serde::{Deserialize, Serialize};

const INVALID_ENUM: u32 = 0x500;
const INVALID_VALUE: u32 = 0x501;
const INVALID_OPERATION: u32 = 0x502;
const EGL_SUCCESS: i32 = 0x3000;
const EGL_BAD_PARAMETER: i32 = 0x300C;
const EGL_BAD_SURFACE: i32 = 0x300D;
const CLIENT_VERSION: u64 = 0x3098;
const TRIANGLES: u32 = 4;
const FLOAT: u32 = 0x1406;
const UNSIGNED_BYTE: u32 = 0x1401;
const UNSIGNED_INT: u32 = 0x1405;
const RGBA: u32 = 0x1908;
const RGBA8: u32 = 0x8058;
const TEXTURE_2D: u32 = 0x0DE1;
const ARRAY_BUFFER: u32 = 0x8892;
const ELEMENT_ARRAY_BUFFER: u32 = 0x8893;
const DRAW_INDIRECT_BUFFER: u32 = 0x8F3F;
const STATIC_DRAW: u32 = 0x88E4;
const VERTEX_ARRAY: u32 = 0x8074;
/// Red, green, blue and none, a byte each.
const XRGB: u32 = 0x3432_5258;
const SIDE: i32 = 16;

/// A program with a display, a configuration and a surface.
struct Gpu {
    _agent: Agent,
    client: Client,
    next: u64,
    config: Handle,
    surface: Handle,
    context: Handle,
}

/// The display's number.
const DISPLAY: Handle = Handle(1);

impl Gpu {
    /// With a context of this version that is current; none where there is no EGL.
    fn start(version: u64) -> Option<Self> {
        Self::with(version, &[])
    }

    fn with(version: u64, args: &[&str]) -> Option<Self> {
        let mut command = command(&[&ANY_PORT[..], args].concat());
        command.env("OCL_ICD_VENDORS", "/nonexistent/");
        let agent = match Agent::started(command) {
            Ok(agent) => agent,
            Err(reason) if reason.contains("install") => {
                gil_need::skip("EGL", reason);
                return None;
            }
            Err(reason) => panic!("{reason}"),
        };
        let mut gpu = Self {
            client: Client::open(&agent.address),
            _agent: agent,
            next: DISPLAY.0,
            config: Handle::NULL,
            surface: Handle::NULL,
            context: Handle::NULL,
        };
        gpu.egl::<egl::EglInitializeReply>(egl::EGL_INITIALIZE, DISPLAY);
        let pbuffers = vec![Property::Word(0x3033, 1), Property::Word(0x3021, 8)];
        let wanted = (DISPLAY, Some(pbuffers), true, 1, true);
        let found: egl::EglChooseConfigReply = gpu.egl(egl::EGL_CHOOSE_CONFIG, wanted);
        gpu.config = found.configs[0];
        gpu.surface = gpu.number();
        let side = |name| Property::Word(name, SIDE as u64);
        let size = Some(vec![side(0x3057), side(0x3056)]);
        let args = (DISPLAY, gpu.config, size, gpu.surface);
        let made: egl::EglCreatePbufferSurfaceReply =
            gpu.egl(egl::EGL_CREATE_PBUFFER_SURFACE, args);
        assert_eq!(made.result, EGL_SUCCESS);
        let new = gpu.number();
        let made = gpu.create(new, vec![Property::Word(CLIENT_VERSION, version)]);
        assert_eq!(made.status, CallStatus::Ran, "{}", made.reason());
        gpu.choose(new);
        Some(gpu)
    }

    fn number(&mut self) -> Handle {
        self.next += 1;
        Handle(self.next)
    }

    fn call(&mut self, op: Op, args: impl Serialize) -> Done {
        let args = postcard::to_stdvec(&args).unwrap();
        self.client.call(op, &args, &[], &[])
    }

    /// A call that the board runs.
    fn ran(&mut self, op: Op, args: impl Serialize) -> Done {
        let done = self.call(op, args);
        assert_eq!(done.status, CallStatus::Ran, "{op}: {}", done.reason());
        done
    }

    fn egl<R: for<'a> Deserialize<'a>>(&mut self, op: Op, args: impl Serialize) -> R {
        let done = self.ran(op, args);
        postcard::from_bytes(&done.result).unwrap()
    }

    /// A call in the context.
    fn gl(&mut self, op: Op, args: impl Serialize) -> Done {
        let current = self.context;
        self.ran(op, (current, args))
    }

    fn ask<R: for<'a> Deserialize<'a>>(&mut self, op: Op, args: impl Serialize) -> R {
        let done = self.gl(op, args);
        postcard::from_bytes(&done.result).unwrap()
    }

    fn error(&mut self) -> u32 {
        let reply: gles::GlGetErrorReply = self.ask(gles::GL_GET_ERROR, ());
        reply.value
    }

    fn create(&mut self, new: Handle, attributes: Vec<Property>) -> Done {
        let args = (DISPLAY, self.config, Handle::NULL, Some(attributes), new);
        self.call(egl::EGL_CREATE_CONTEXT, args)
    }

    fn choose(&mut self, context: Handle) {
        let args = (self.surface, self.surface, context);
        let reply: egl::EglMakeCurrentReply = self.egl(egl::EGL_MAKE_CURRENT, args);
        assert_eq!(reply.result, EGL_SUCCESS);
        self.context = context;
    }

    fn names(&mut self, op: Op) -> u32 {
        let reply: gles::GlGenTexturesReply = self.ask(op, (1, true));
        reply.textures[0]
    }

    fn shader(&mut self, program: u32, kind: u32, text: &str) {
        let made: gles::GlCreateShaderReply = self.ask(gles::GL_CREATE_SHADER, kind);
        let text = pack([Some(text.as_bytes())]);
        let text = Packed {
            count: 1,
            data: InData::Inline(&text),
        };
        self.gl(gles::GL_SHADER_SOURCE, (made.value, 1, text));
        self.gl(gles::GL_COMPILE_SHADER, made.value);
        self.gl(gles::GL_ATTACH_SHADER, (program, made.value));
    }

    /// A program that draws white where its only attribute, number 0, says.
    fn use_program(&mut self) {
        let made: gles::GlCreateProgramReply = self.ask(gles::GL_CREATE_PROGRAM, ());
        let vertex = "#version 300 es\nlayout(location = 0) in vec2 at;
            void main() { gl_Position = vec4(at, 0.0, 1.0); }";
        let fragment = "#version 300 es\nprecision mediump float; out vec4 color;
            void main() { color = vec4(1.0); }";
        self.shader(made.value, 0x8B31, vertex);
        self.shader(made.value, 0x8B30, fragment);
        self.gl(gles::GL_LINK_PROGRAM, made.value);
        self.gl(gles::GL_USE_PROGRAM, made.value);
        self.gl(gles::GL_ENABLE_VERTEX_ATTRIB_ARRAY, 0u32);
        assert_eq!(self.error(), 0);
    }

    /// Sends three corners of an array, so many bytes apart.
    fn send_array(&mut self, index: u32, stride: i32) {
        self.send_array_of(index, stride, false);
    }

    /// The same; as integers, which no driver takes in floating point.
    fn send_array_of(&mut self, index: u32, stride: i32, is_integer: bool) {
        let mut data = vec![0; 3 * usize::try_from(stride).unwrap()];
        for (corner, at) in CORNERS.iter().zip(data.chunks_mut(stride as usize)) {
            at[..8].copy_from_slice(corner);
        }
        self.gl(
            gles::GIL_CLIENT_ARRAY,
            // Without the context, which `gl` puts in front.
            WithoutContext(&GilClientArrayArgs {
                index,
                size: 2,
                r#type: FLOAT,
                is_integer,
                stride,
                data: InData::Inline(&data),
                ..Default::default()
            }),
        );
    }

    /// The error of a draw of so many vertices.
    fn draw(&mut self, first: i32, count: i32) -> u32 {
        self.gl(gles::GL_DRAW_ARRAYS, (TRIANGLES, first, count));
        self.error()
    }

    fn draw_indirect(&mut self) -> u32 {
        self.gl(gles::GL_DRAW_ARRAYS_INDIRECT, (TRIANGLES, 0u64));
        self.error()
    }

    fn buffer(&mut self, target: u32, bytes: &[u8]) -> u32 {
        let buffer = self.names(gles::GL_GEN_BUFFERS);
        self.gl(gles::GL_BIND_BUFFER, (target, buffer));
        let (len, data) = (bytes.len() as i64, InData::Inline(bytes));
        self.gl(gles::GL_BUFFER_DATA, (target, len, data, STATIC_DRAW));
        buffer
    }

    fn texture(&mut self) -> u32 {
        let texture = self.names(gles::GL_GEN_TEXTURES);
        self.gl(gles::GL_BIND_TEXTURE, (TEXTURE_2D, texture));
        texture
    }

    /// Four pixels in a row, from this place on; 0 where the driver writes nothing.
    fn read(&mut self, x: i32, y: i32) -> Vec<u8> {
        let size = (4, 1, RGBA, UNSIGNED_BYTE);
        let room = OutRoom::Inline(16);
        let done = self.gl(gles::GL_READ_PIXELS, ((x, y), size, 0u64, room));
        let reply: gles::GlReadPixelsReply<'_> = postcard::from_bytes(&done.result).unwrap();
        match reply.pixels {
            OutData::Inline(bytes) => bytes.to_vec(),
            // The part that is written; the guest asks for that then.
            OutData::None if (reply.wide, reply.high) == (0, 0) => vec![0; 16],
            other => panic!("{other:?}: {} x {}", reply.wide, reply.high),
        }
    }

    fn make_image(&mut self, side: u32) -> (i32, Handle) {
        let image = self.number();
        let args = GilMakeImageArgs {
            dpy: DISPLAY,
            image,
            width: side,
            height: side,
            format: XRGB,
        };
        let made: egl::GilMakeImageReply = self.egl(egl::GIL_MAKE_IMAGE, args);
        (made.result, image)
    }

    /// The image, of such a side, has 7 in all of the guest's buffer: one band of all rows.
    fn fill(&mut self, image: Handle, side: u32) {
        let bytes = vec![7; 4 * (side as usize).pow(2)];
        let args = postcard::to_stdvec(&(image, side)).unwrap();
        let region = [input(bytes.len())];
        let done = self
            .client
            .call(egl::GIL_FILL_IMAGE, &args, &region, &[&bytes]);
        assert_eq!(done.status, CallStatus::Ran, "{}", done.reason());
        let reply: egl::GilFillImageReply = postcard::from_bytes(&done.result).unwrap();
        assert_eq!(reply.result, EGL_SUCCESS);
    }
}

/// A triangle over all of the surface.
const CORNERS: [[u8; 8]; 3] = {
    const fn at(x: f32, y: f32) -> [u8; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (x.to_le_bytes(), y.to_le_bytes());
        [a, b, c, d, e, f, g, h]
    }
    [at(-1.0, -1.0), at(3.0, -1.0), at(-1.0, 3.0)]
};

/// An array's arguments behind its context.
struct WithoutContext<'a>(&'a GilClientArrayArgs<'a>);

impl Serialize for WithoutContext<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let it = self.0;
        let kind = (it.normalized, it.is_integer, it.stride);
        let what = (it.index, it.size, it.r#type, kind);
        (what, it.first, it.offset, &it.data).serialize(serializer)
    }
}

#[test]
fn a_vertex_array_of_the_programs_own_has_no_array_without_a_buffer() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    gpu.use_program();
    gpu.send_array(0, 8);
    assert_eq!((gpu.draw(0, 3), gpu.read(0, 0)), (0, vec![0xff; 16]));
    let own = gpu.names(gles::GL_GEN_VERTEX_ARRAYS);
    gpu.gl(gles::GL_BIND_VERTEX_ARRAY, own);
    gpu.gl(gles::GL_ENABLE_VERTEX_ATTRIB_ARRAY, 0u32);
    // An address, as the driver has it without a buffer.
    let none = (0u32, 0u32, 0x1000i64, 8);
    gpu.gl(gles::GL_BIND_VERTEX_BUFFER, none);
    gpu.buffer(DRAW_INDIRECT_BUFFER, &[0; 16]);
    assert_eq!(gpu.error(), 0);
    assert_eq!(gpu.draw(0, 3), INVALID_OPERATION);
    assert_eq!(gpu.draw_indirect(), INVALID_OPERATION);
    let corners = CORNERS.concat();
    let buffer = gpu.buffer(ARRAY_BUFFER, &corners);
    let of_buffer = (0u32, 2, FLOAT, 0u8, 0, 0u64);
    gpu.gl(gles::GL_VERTEX_ATTRIB_POINTER, of_buffer);
    assert_eq!((gpu.draw(0, 3), gpu.draw_indirect()), (0, 0));
    gpu.gl(gles::GL_DELETE_BUFFERS, (1, Some(vec![buffer])));
    assert_eq!(gpu.draw(0, 3), INVALID_OPERATION);
    assert_eq!(gpu.draw_indirect(), INVALID_OPERATION);
    // That of the program's memory is as it was.
    gpu.gl(gles::GL_BIND_VERTEX_ARRAY, 0u32);
    assert_eq!((gpu.draw(0, 3), gpu.draw(0, 4)), (0, INVALID_OPERATION));
    assert_eq!(gpu.draw(-100_000_000, 3), INVALID_VALUE);
}

#[test]
fn an_array_that_the_driver_refuses_is_not_drawn() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    gpu.use_program();
    gpu.send_array(0, 8);
    assert_eq!(gpu.draw(0, 3), 0);
    // The driver still has the last address.
    gpu.send_array_of(0, 64, true);
    assert_eq!(gpu.error(), INVALID_ENUM);
    assert_eq!(gpu.draw(0, 3), INVALID_OPERATION);
    gpu.send_array(0, 16);
    assert_eq!((gpu.draw(0, 3), gpu.read(0, 0)), (0, vec![0xff; 16]));
    for index in [63, 64, u32::MAX] {
        gpu.send_array(index, 8);
        assert_eq!(gpu.error(), INVALID_VALUE, "{index}");
    }
    assert_eq!(gpu.draw(0, 3), 0);
}

#[test]
fn a_texture_unit_that_is_not_there_has_no_array() {
    let Some(mut gpu) = Gpu::start(1) else { return };
    gpu.gl(gles::GL_ENABLE_CLIENT_STATE, VERTEX_ARRAY);
    assert_eq!(gpu.draw(0, 3), INVALID_OPERATION);
    gpu.send_array(0, 8);
    gpu.send_array(4, 16);
    // The last number that there is, of unit 63.
    gpu.send_array(67, 24);
    assert_eq!(gpu.error(), INVALID_ENUM);
    // GL_TEXTURE_COORD_ARRAY_STRIDE, of the active unit, which is the first.
    let stride: gles::GlGetIntegervReply = gpu.ask(gles::GL_GET_INTEGERV, (0x808Au32, true));
    assert_eq!(stride.data[0], 16);
    gpu.send_array(5, 8);
    assert_eq!((gpu.error(), gpu.draw(0, 3)), (0, 0));
    assert_eq!(gpu.read(0, 0), [0xff; 16]);
}

#[test]
fn the_number_of_a_destroyed_context_is_another_context() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    let number = gpu.context;
    gpu.ran(egl::GIL_DESTROY_CONTEXT, number);
    let made = gpu.create(number, vec![Property::Word(CLIENT_VERSION, 1)]);
    assert_eq!(made.status, CallStatus::Ran, "{}", made.reason());
    // It was current, under this number.
    let done = gpu.call(gles::GL_GET_ERROR, number);
    assert!(
        done.reason().contains("is not current"),
        "{}",
        done.reason()
    );
    gpu.choose(number);
    gpu.gl(gles::GL_ENABLE_CLIENT_STATE, VERTEX_ARRAY);
    assert_eq!((gpu.error(), gpu.draw(0, 3)), (0, INVALID_OPERATION));
}

#[test]
fn a_contexts_version_is_what_its_driver_was_asked_for() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    let hidden = Property::Many(0x30FB, vec![0, CLIENT_VERSION, 3]);
    let new = gpu.number();
    let refused = gpu.create(new, vec![hidden]);
    assert!(
        refused.reason().contains("attrib_list"),
        "{}",
        refused.reason()
    );
    // One that would find no mistakes: the board does.
    let careless = vec![Property::Word(CLIENT_VERSION, 3), Property::Word(0x31B3, 1)];
    assert_eq!(gpu.create(new, careless).status, CallStatus::Ran);
    gpu.choose(new);
    gpu.gl(gles::GL_ENABLE, 0u32);
    assert_eq!(gpu.error(), INVALID_ENUM);
}

#[test]
fn absurd_places_are_errors_in_every_version() {
    const FAR: i32 = i32::MAX;
    let part = |x| {
        let pixels = Pixels::Data(InData::Inline(&[7; 16]));
        let size = (2, 2, RGBA, UNSIGNED_BYTE);
        (TEXTURE_2D, 0, x, 0, size, pixels)
    };
    let whole = |side: i32, bytes| {
        let pixels = Pixels::Data(InData::Inline(bytes));
        let format = (0, RGBA, UNSIGNED_BYTE);
        (TEXTURE_2D, 0, RGBA as i32, side, side, format, pixels)
    };
    for version in [1, 3] {
        let Some(mut gpu) = Gpu::start(version) else {
            return;
        };
        gpu.texture();
        gpu.gl(gles::GL_TEX_IMAGE2D, whole(2, &[7; 16]));
        assert_eq!(gpu.error(), 0);
        gpu.gl(gles::GL_TEX_SUB_IMAGE2D, part(FAR));
        assert_eq!(gpu.error(), INVALID_VALUE, "{version}");
        for side in [1 << 21, 1 << 25, 1 << 30] {
            let pixels = Pixels::Data(InData::Null);
            let format = (0, RGBA, UNSIGNED_BYTE);
            let huge = (TEXTURE_2D, 0, RGBA as i32, side, 1, format, pixels);
            gpu.call(gles::GL_TEX_IMAGE2D, (gpu.context, huge));
            assert_eq!(gpu.error(), INVALID_VALUE, "{version}: {side}");
        }
        let before = gpu.read(0, 0);
        for (x, y) in [(FAR, 0), (FAR - 2, 0), (0, FAR), (FAR - 1, FAR - 1)] {
            // The driver writes nothing: what is there is not a part of its memory.
            assert_eq!(gpu.read(x, y), [0; 16], "{version}: {x} {y}");
        }
        assert_eq!((gpu.error(), gpu.read(0, 0)), (0, before));
    }
}

#[test]
fn parts_of_images_are_copied_from_inside_of_them() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    let (from, to) = (gpu.texture(), gpu.texture());
    for texture in [from, to] {
        gpu.gl(gles::GL_BIND_TEXTURE, (TEXTURE_2D, texture));
        gpu.gl(gles::GL_TEX_STORAGE2D, (TEXTURE_2D, 1, RGBA8, 4, 4));
    }
    let mut copy = |from_x: i32, to_x: i32, width: i32| {
        let (from, to) = ((from, TEXTURE_2D, 0, from_x), (to, TEXTURE_2D, 0, to_x));
        gpu.gl(
            gles::GL_COPY_IMAGE_SUB_DATA,
            ((from, 0, 0), (to, 0, 0), (width, 4, 1)),
        );
        gpu.error()
    };
    assert_eq!(copy(0, 0, 4), 0);
    for (from, to, width) in [(i32::MAX, 0, 4), (0, i32::MAX - 2, 4), (4, 0, i32::MAX)] {
        assert_eq!(copy(from, to, width), INVALID_VALUE, "{from} {to} {width}");
    }
}

#[test]
fn an_image_is_of_an_object_that_the_api_names() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    let texture = gpu.texture();
    gpu.gl(gles::GL_TEX_STORAGE2D, (TEXTURE_2D, 1, RGBA8, 4, 4));
    let mut image = |target, name| {
        let args = GilImageOfArgs {
            context: gpu.context,
            image: gpu.number(),
            target,
            name,
            attributes: Vec::new(),
        };
        let made: egl::GilImageOfReply = gpu.egl(egl::GIL_IMAGE_OF, args);
        made.result
    };
    // EGL_GL_TEXTURE_2D
    assert_eq!(image(0x30B1, texture), EGL_SUCCESS);
    assert_ne!(image(0x30B1, 0x1000), EGL_SUCCESS);
    // Pixmaps, and buffers of Wayland, DRM, dma-buf, Android and others, at an address.
    for target in [0, 0x30B0, 0x30BA, 0x3140, 0x31A6, 0x31D5, 0x3270, u32::MAX] {
        assert_eq!(image(target, 0x1000), EGL_BAD_PARAMETER, "{target:#x}");
    }
}

#[test]
fn an_images_texture_goes_with_it() {
    const IMAGES: usize = 24;
    let Some(mut gpu) = Gpu::with(3, &["--max-memory", "192"]) else {
        return;
    };
    for round in 0..IMAGES {
        let (result, image) = gpu.make_image(2048);
        assert_eq!(result, EGL_SUCCESS, "{round}");
        gpu.fill(image, 2048);
        gpu.ran(egl::GIL_DESTROY_IMAGE, image);
    }
    // So do those of which no image came.
    for _ in 0..IMAGES {
        assert_ne!(gpu.make_image(1 << 15).0, EGL_SUCCESS);
    }
    assert_eq!(gpu.make_image(2048).0, EGL_SUCCESS);
    assert_eq!(gpu.error(), 0);
}

#[test]
fn what_a_program_has_of_an_image_stays() {
    const FRAMEBUFFER: u32 = 0x8D40;
    let Some(mut gpu) = Gpu::start(3) else { return };
    let (result, image) = gpu.make_image(4);
    assert_eq!(result, EGL_SUCCESS);
    gpu.fill(image, 4);
    let texture = gpu.texture();
    let bound = (TEXTURE_2D, image);
    gpu.gl(gles::GL_EGL_IMAGE_TARGET_TEXTURE2DOES, bound);
    gpu.ran(egl::GIL_DESTROY_IMAGE, image);
    let framebuffer = gpu.names(gles::GL_GEN_FRAMEBUFFERS);
    gpu.gl(gles::GL_BIND_FRAMEBUFFER, (FRAMEBUFFER, framebuffer));
    let attached = (FRAMEBUFFER, 0x8CE0u32, TEXTURE_2D, texture, 0);
    gpu.gl(gles::GL_FRAMEBUFFER_TEXTURE2D, attached);
    assert_eq!(gpu.read(0, 0), [7, 7, 7, 255].repeat(4));
    assert_eq!(gpu.error(), 0);
}

/// Requests that no library of gil's sends of an image are refused, and the image is as good
/// afterwards.
#[test]
fn an_image_survives_requests_that_do_not_fit_it() {
    const ROWS: [u32; 6] = [0, 1, 2, 3, 5, u32::MAX];
    let Some(mut gpu) = Gpu::start(3) else { return };
    let (result, image) = gpu.make_image(4);
    assert_eq!(result, EGL_SUCCESS);
    let bytes = [9; 4 * 4 * 4 + 1];
    let others = [Handle::NULL, gpu.surface, gpu.context, DISPLAY];
    for (rows, len) in ROWS
        .into_iter()
        .flat_map(|rows| [0, 1, 63, 65].map(|len| (rows, len)))
    {
        let args = postcard::to_stdvec(&(image, rows)).unwrap();
        let (op, bytes) = (egl::GIL_FILL_IMAGE, &bytes[..len]);
        gpu.client.call(op, &args, &[], &[]);
        gpu.client.call(op, &args, &[out(len)], &[]);
        gpu.client.call(op, &args, &[input(len)], &[bytes]);
        for seen in [0, 1, u32::MAX] {
            let args = postcard::to_stdvec(&(image, rows, seen)).unwrap();
            let op = egl::GIL_DRAIN_IMAGE;
            gpu.client.call(op, &args, &[], &[]);
            gpu.client.call(op, &args, &[out(len.min(63))], &[]);
            gpu.client.call(op, &args, &[input(len)], &[bytes]);
        }
    }
    for other in others {
        let filled = gpu.call(egl::GIL_FILL_IMAGE, (other, 4u32));
        let drained = gpu.call(egl::GIL_DRAIN_IMAGE, (other, 4u32, 0u32));
        for done in [filled, drained] {
            assert_eq!(done.status, CallStatus::Refused, "{other:?}");
        }
    }
    gpu.fill(image, 4);
    let args = postcard::to_stdvec(&(image, 4u32, 0u32)).unwrap();
    let room = [out(64)];
    let done = gpu.client.call(egl::GIL_DRAIN_IMAGE, &args, &room, &[]);
    assert_eq!(done.status, CallStatus::Ran, "{}", done.reason());
    assert_eq!(done.out[0], [7, 7, 7, 255].repeat(16));
}

#[test]
fn the_sessions_own_context_is_no_programs() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    // The context is current with a surface that has no number any more.
    gpu.ran(egl::GIL_DESTROY_SURFACE, gpu.surface);
    assert_eq!(gpu.make_image(4).0, EGL_SUCCESS);
    let done = gpu.call(gles::GL_GET_ERROR, gpu.context);
    assert!(
        done.reason().contains("no object has the number"),
        "{done:?}"
    );
}

#[test]
fn a_picture_is_no_larger_than_its_surface() {
    let Some(mut gpu) = Gpu::with(3, &["--max-memory", "256"]) else {
        return;
    };
    let side = SIDE as u32;
    for (width, height) in [(1 << 15, 1 << 15), (side + 1, side), (side, side + 1)] {
        let args = GilPresentArgs {
            surface: gpu.surface,
            format: XRGB,
            width,
            height,
            rows: 1,
            seen: 0,
            shown: 0,
        };
        let reply: egl::GilPresentReply = gpu.egl(egl::GIL_PRESENT, args);
        assert_eq!(reply.result, EGL_BAD_SURFACE, "{width} x {height}");
    }
}

#[test]
fn indices_are_read_inside_of_their_buffer() {
    let Some(mut gpu) = Gpu::with(3, &["--max-memory", "256"]) else {
        return;
    };
    gpu.use_program();
    gpu.send_array(0, 8);
    let indices: Vec<u8> = [0u32, 1, 2]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect();
    gpu.buffer(ELEMENT_ARRAY_BUFFER, &indices);
    let mut range = |count: i32, offset: u64| {
        let asked = (count, UNSIGNED_INT, offset);
        let reply: gles::GilIndexRangeReply = gpu.ask(gles::GIL_INDEX_RANGE, asked);
        (reply.least, reply.most, gpu.error())
    };
    assert_eq!(range(3, 0), (0, 2, 0));
    assert_eq!(range(2, 4), (1, 2, 0));
    for (count, offset) in [(i32::MAX, 0), (4, 0), (3, 4), (1, 1 << 62)] {
        assert_eq!(range(count, offset), (0, u32::MAX, 0), "{count} {offset}");
    }
    let draw = (TRIANGLES, i32::MAX, UNSIGNED_INT, 0u64, InData::Null);
    gpu.gl(gles::GL_DRAW_ELEMENTS, draw);
    assert_eq!(gpu.error(), INVALID_OPERATION);
}

#[test]
fn names_have_as_many_values_as_the_driver_writes() {
    let Some(mut gpu) = Gpu::start(3) else { return };
    // GL_COMPRESSED_TEXTURE_FORMATS, a list; GL_PACK_REVERSE_ROW_ORDER_ANGLE
    for name in [0x86A3u32, 0x93A4, 0, u32::MAX] {
        gpu.gl(gles::GL_PIXEL_STOREI, (name, 1));
        assert_eq!(gpu.error(), INVALID_ENUM, "{name:#x}");
    }
    gpu.texture();
    // GL_TEXTURE_SWIZZLE_RGBA: GL_ALPHA, GL_RED, GL_GREEN, GL_BLUE
    let swizzle = vec![0x1906, 0x1903, 0x1904, 0x1905];
    let name = (TEXTURE_2D, 0x8E46u32);
    gpu.gl(gles::GL_TEX_PARAMETERIV, (name, Some(swizzle.clone())));
    let is_known = gpu.error() == 0;
    let got: gles::GlGetTexParameterivReply = gpu.ask(gles::GL_GET_TEX_PARAMETERIV, (name, true));
    let wanted = if is_known { swizzle } else { Vec::new() };
    assert_eq!(got.params, wanted);
}

#[test]
fn a_session_that_draws_says_why_it_is_in_no_checkpoint() {
    let Some(mut gpu) = Gpu::start(2) else { return };
    gpu.client.send(&Request::Survey, &[]);
    let survey = gpu
        .client
        .receive(|reply: Reply<'_>, _: &[u8]| match reply {
            Reply::Survey(survey) => survey,
            other => panic!("{other:?}"),
        });
    let obstacles = survey.unwrap().obstacles;
    assert!(
        obstacles[0].contains("before its first call of EGL"),
        "{obstacles:?}"
    );
}
