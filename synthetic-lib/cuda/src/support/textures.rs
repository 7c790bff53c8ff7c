//! Textures and surfaces. Kernels get the driver's own numbers of them, as they get addresses; what
//! they were made with is kept here.

use super::context::{self, Context};
use super::{arrays, memory, streams};
use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult, Reply};
use gil_wire::call::Handle;
use gil_wire::envelope::Class;
use gil_wire::generated::cuda as wire;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// `CUDA_ARRAY3D_SURFACE_LDST`: surfaces show the array.
const SURFACES: u32 = 0x02;

/// What a texture or a surface was made with.
#[derive(Clone, Debug)]
struct Made {
    context: Arc<Context>,
    resource: CUDA_RESOURCE_DESC,
    /// Of a texture.
    texture: Option<CUDA_TEXTURE_DESC>,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
}

type All = BTreeMap<u64, Made>;

static TEXTURES: Mutex<All> = Mutex::new(BTreeMap::new());
static SURFACES_MADE: Mutex<All> = Mutex::new(BTreeMap::new());

fn of(all: &'static Mutex<All>) -> MutexGuard<'static, All> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every reply without more is its result.
fn done(reply: Reply<'_, Guest>) -> CallResult<()> {
    let reply: wire::CuTexObjectDestroyReply = reply.decode()?;
    Guest::check(reply.result)
}

/// A handle that is in a description as a number.
fn handle<T>(word: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(word as usize)
}

/// The two numbers of 32 bits in a word, the first in memory first.
fn halves(word: u64) -> [u64; 2] {
    [word & u64::from(u32::MAX), word >> 32]
}

/// What is shown, as the board has it.
fn words(asked: &CUDA_RESOURCE_DESC, context: &Arc<Context>) -> CallResult<Vec<u64>> {
    if asked.flags != 0 {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let own = |owner: &Arc<Context>, number: Handle| match Arc::ptr_eq(owner, context) {
        true => Ok(number.0),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    };
    let kind = u64::from(asked.resType.cast_unsigned());
    let [first, elements, more @ ..] = asked.res;
    let [format, channels] = halves(elements);
    let devices = |address: u64| match memory::is_devices(address) {
        true => Ok(address),
        false => Err(CUDA_ERROR_INVALID_VALUE),
    };
    Ok(match asked.resType {
        CU_RESOURCE_TYPE_ARRAY => {
            let (number, array) = arrays::find(handle(first))?;
            vec![kind, own(&array.context, number)?]
        }
        CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
            let (number, array) = arrays::find_mipmapped(handle(first))?;
            vec![kind, own(&array.context, number)?]
        }
        CU_RESOURCE_TYPE_LINEAR => vec![kind, devices(first)?, format, channels, more[0]],
        CU_RESOURCE_TYPE_PITCH2D => {
            let [width, height, pitch, ..] = more;
            vec![
                kind,
                devices(first)?,
                format,
                channels,
                width,
                height,
                pitch,
            ]
        }
        _ => return Err(CUDA_ERROR_INVALID_VALUE),
    })
}

/// How it is sampled, as the board has it.
fn sampling(asked: &CUDA_TEXTURE_DESC) -> Vec<u64> {
    let [x, y, z] = asked.addressMode;
    let modes = [x, y, z, asked.filterMode].map(i32::cast_unsigned);
    let rest = [
        asked.flags,
        asked.maxAnisotropy,
        asked.mipmapFilterMode.cast_unsigned(),
        asked.mipmapLevelBias.to_bits(),
        asked.minMipmapLevelClamp.to_bits(),
        asked.maxMipmapLevelClamp.to_bits(),
    ];
    let border = asked.borderColor.map(f32::to_bits);
    let all = modes.into_iter().chain(rest).chain(border);
    all.map(u64::from).collect()
}

/// How it is seen, as the board has it.
fn seen(asked: &CUDA_RESOURCE_VIEW_DESC) -> Vec<u64> {
    vec![
        u64::from(asked.format.cast_unsigned()),
        asked.width as u64,
        asked.height as u64,
        asked.depth as u64,
        asked.firstMipmapLevel.into(),
        asked.lastMipmapLevel.into(),
        asked.firstLayer.into(),
        asked.lastLayer.into(),
    ]
}

/// Makes a texture.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// Each place is null or has a description.
pub unsafe fn make_texture(
    entry: u64,
    resource: *const CUDA_RESOURCE_DESC,
    texture: *const CUDA_TEXTURE_DESC,
    view: *const CUDA_RESOURCE_VIEW_DESC,
) -> CallResult<CUtexObject> {
    // SAFETY: the caller's.
    let (resource, texture, view) = unsafe { (resource.as_ref(), texture.as_ref(), view.as_ref()) };
    context::with(|context| {
        context.healthy()?;
        let resource = resource.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let texture = texture.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        let args = wire::CuTexObjectCreateArgs {
            current: context.number,
            resource: words(resource, context)?,
            texture: sampling(texture),
            view: view.map(seen).unwrap_or_default(),
        };
        let request = Request::new(wire::CU_TEX_OBJECT_CREATE, Class::Sync, entry);
        let object = request.forward(&args, |reply| {
            let reply: wire::CuTexObjectCreateReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.object)
        });
        let object = object.or_else(|code| context.failed(code))?;
        let made = Made {
            context: context.clone(),
            resource: *resource,
            texture: Some(*texture),
            view: view.copied(),
        };
        of(What::Texture.all()).insert(object, made);
        Ok(object)
    })
}

/// Makes a surface, of an array that was made for that.
///
/// # Errors
/// The API's code.
///
/// # Safety
/// `resource` is null or has a description.
pub unsafe fn make_surface(
    entry: u64,
    resource: *const CUDA_RESOURCE_DESC,
) -> CallResult<CUsurfObject> {
    // SAFETY: the caller's.
    let resource = unsafe { resource.as_ref() };
    context::with(|context| {
        context.healthy()?;
        let resource = resource.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if resource.resType != CU_RESOURCE_TYPE_ARRAY {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let (_, array) = arrays::find(handle(resource.res[0]))?;
        if array.layout.flags & SURFACES == 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let args = wire::CuSurfObjectCreateArgs {
            current: context.number,
            resource: words(resource, context)?,
        };
        let request = Request::new(wire::CU_SURF_OBJECT_CREATE, Class::Sync, entry);
        let object = request.forward(&args, |reply| {
            let reply: wire::CuSurfObjectCreateReply = reply.decode()?;
            Guest::check(reply.result)?;
            Ok(reply.object)
        });
        let object = object.or_else(|code| context.failed(code))?;
        let made = Made {
            context: context.clone(),
            resource: *resource,
            texture: None,
            view: None,
        };
        of(What::Surface.all()).insert(object, made);
        Ok(object)
    })
}

/// A context is gone, and what it had.
pub fn forget(context: &Arc<Context>) {
    for what in [What::Texture, What::Surface] {
        of(what.all()).retain(|_, made| !Arc::ptr_eq(&made.context, context));
    }
}

/// Which of the two a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Textures.
    Texture,
    /// Surfaces.
    Surface,
}

impl What {
    fn all(self) -> &'static Mutex<All> {
        match self {
            Self::Texture => &TEXTURES,
            Self::Surface => &SURFACES_MADE,
        }
    }
}

fn find(what: What, object: u64) -> CallResult<Made> {
    context::initialized()?;
    let all = of(what.all());
    let made = all.get(&object).filter(|made| !made.context.is_destroyed());
    made.cloned().ok_or(CUDA_ERROR_INVALID_VALUE)
}

/// Destroys one, once all that may use it has ended.
///
/// # Errors
/// The API's code.
pub fn destroy(entry: u64, what: What, object: u64) -> CallResult<()> {
    let made = find(what, object)?;
    made.context.healthy()?;
    let op = match what {
        What::Texture => wire::CU_TEX_OBJECT_DESTROY,
        What::Surface => wire::CU_SURF_OBJECT_DESTROY,
    };
    streams::finish_all(entry, op, &made.context)?;
    // Both calls have the same arguments.
    let args = wire::CuTexObjectDestroyArgs { object };
    let ended = Request::new(op, Class::Sync, entry).forward(&args, done);
    ended.or_else(|code| made.context.failed(code))?;
    of(what.all()).remove(&object);
    Ok(())
}

/// What it shows.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`.
pub fn resource(what: What, object: u64) -> CallResult<CUDA_RESOURCE_DESC> {
    find(what, object).map(|made| made.resource)
}

/// How a texture is sampled.
///
/// # Errors
/// As [`resource`].
pub fn texture(object: u64) -> CallResult<CUDA_TEXTURE_DESC> {
    let made = find(What::Texture, object)?;
    made.texture.ok_or(CUDA_ERROR_INVALID_VALUE)
}

/// How a texture sees what it shows, if the program said that.
///
/// # Errors
/// As [`resource`].
pub fn view(object: u64) -> CallResult<CUDA_RESOURCE_VIEW_DESC> {
    find(What::Texture, object)?
        .view
        .ok_or(CUDA_ERROR_INVALID_VALUE)
}
