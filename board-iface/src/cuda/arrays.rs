//! Arrays, and arrays with mipmaps, whose levels are arrays that go with them.

use super::copies::{ask, at, on_memory};
use super::generated::manual::Arrays;
use super::generated::types::*;
use super::manual::call_if;
use super::rectangles::{self, Ask};
use super::session::{Data, Session};
use super::support::Board;
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_cuda_common::array::{Layout, Wrong};
use gil_wire::call::Handle;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ptr::null_mut;

/// An array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Its context.
    pub context: Handle,
    /// Bytes of a row, rows of a slice, slices.
    pub size: [u64; 3],
    /// What it is a level of, if it is one.
    level_of: Option<Handle>,
}

/// An array with mipmaps.
#[derive(Clone, Copy, Debug)]
pub struct Mipmapped {
    /// Its context.
    pub context: Handle,
    /// That of its first level.
    layout: Layout,
}

/// The code for a layout that is none.
fn refused(wrong: Wrong) -> CUresult {
    match wrong {
        Wrong::Value => CUDA_ERROR_INVALID_VALUE,
        Wrong::NotOffered => CUDA_ERROR_NOT_SUPPORTED,
    }
}

fn layout(words: &[u64]) -> Result<Layout, Refusal> {
    Layout::of(words).ok_or(Refusal::parameter("layout", words.len() as u64))
}

fn described(layout: &Layout) -> Result<CUDA_ARRAY3D_DESCRIPTOR, Refusal> {
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: back_end::size(layout.width, "width")?,
        Height: back_end::size(layout.height, "height")?,
        Depth: back_end::size(layout.depth, "depth")?,
        Format: layout.format,
        NumChannels: layout.channels,
        Flags: layout.flags,
    })
}

impl Session {
    /// Makes an array of a layout.
    pub(super) fn make_array(
        &mut self,
        call: &mut Call,
        (context, new): (Handle, Handle),
        words: &[u64],
    ) -> Result<CUresult, Refusal> {
        self.can_bind(new)?;
        self.make_current(context)?;
        let layout = layout(words)?;
        let size = match layout.size() {
            Ok(size) => size,
            Err(wrong) => return Ok(refused(wrong)),
        };
        let asked = described(&layout)?;
        let mut array: CUarray = null_mut();
        let make = self.functions().cuArray3DCreate_v2;
        // SAFETY: there is space for a handle.
        let result = call_if(call, make, |make| unsafe { make(&mut array, &asked) });
        if result == CUDA_SUCCESS {
            let data = Data::Array(Array {
                context,
                size,
                level_of: None,
            });
            self.bind_with(Kind::Array, new, array, data)?;
        }
        Ok(result)
    }

    /// Makes an array with so many levels, of which the first has a layout.
    pub(super) fn make_mipmapped(
        &mut self,
        call: &mut Call,
        (context, new): (Handle, Handle),
        words: &[u64],
        levels: u32,
    ) -> Result<CUresult, Refusal> {
        self.can_bind(new)?;
        self.make_current(context)?;
        let layout = layout(words)?;
        if let Err(wrong) = layout.size() {
            return Ok(refused(wrong));
        }
        let asked = described(&layout)?;
        let mut array: CUmipmappedArray = null_mut();
        let make = self.functions().cuMipmappedArrayCreate;
        // SAFETY: there is space for a handle.
        let result = call_if(call, make, |make| unsafe {
            make(&mut array, &asked, levels)
        });
        if result == CUDA_SUCCESS {
            let data = Data::Mipmapped(Mipmapped { context, layout });
            self.bind_with(Kind::MipmappedArray, new, array, data)?;
        }
        Ok(result)
    }

    /// A level of an array with mipmaps.
    pub(super) fn level(
        &mut self,
        call: &mut Call,
        (mipmapped, new): (Handle, Handle),
        level: u32,
    ) -> Result<CUresult, Refusal> {
        self.can_bind(new)?;
        let (real, Mipmapped { context, layout }) = self.mipmapped(mipmapped)?;
        self.make_current(context)?;
        let size = match layout.level(level).size() {
            Ok(size) => size,
            Err(wrong) => return Ok(refused(wrong)),
        };
        let mut array: CUarray = null_mut();
        let ask = self.functions().cuMipmappedArrayGetLevel;
        // SAFETY: there is space for a handle, and the array is alive.
        let result = call_if(call, ask, |ask| unsafe { ask(&mut array, real, level) });
        if result == CUDA_SUCCESS {
            let data = Data::Array(Array {
                context,
                size,
                level_of: Some(mipmapped),
            });
            self.bind_with(Kind::Array, new, array, data)?;
        }
        Ok(result)
    }

    /// An array, and what is known of it.
    pub(super) fn array(&self, array: Handle) -> Result<(CUarray, Array), Refusal> {
        let real = self.get(Kind::Array, array)?;
        match self.data(array) {
            Some(Data::Array(known)) => Ok((real, *known)),
            _ => Err(Refusal::parameter("array", array.0)),
        }
    }

    /// An array with mipmaps, and what is known of it.
    pub(super) fn mipmapped(
        &self,
        array: Handle,
    ) -> Result<(CUmipmappedArray, Mipmapped), Refusal> {
        let real = self.get(Kind::MipmappedArray, array)?;
        match self.data(array) {
            Some(Data::Mipmapped(known)) => Ok((real, *known)),
            _ => Err(Refusal::parameter("mipmapped", array.0)),
        }
    }

    /// Destroys an array that is no other's level.
    pub(super) fn destroy_array(
        &mut self,
        call: &mut Call,
        array: Handle,
    ) -> Result<CUresult, Refusal> {
        let (real, known) = self.array(array)?;
        if known.level_of.is_some() {
            return Ok(CUDA_ERROR_INVALID_HANDLE);
        }
        self.make_current(known.context)?;
        self.drop_object(Kind::Array, array)?;
        let end = self.functions().cuArrayDestroy;
        // SAFETY: it is alive, and nothing names it any more.
        Ok(call_if(call, end, |end| unsafe { end(real) }))
    }

    /// Destroys an array with mipmaps, and with it its levels.
    pub(super) fn destroy_mipmapped(
        &mut self,
        call: &mut Call,
        array: Handle,
    ) -> Result<CUresult, Refusal> {
        let (real, known) = self.mipmapped(array)?;
        self.make_current(known.context)?;
        for number in self.objects_of(Kind::Array) {
            let is_its =
                matches!(self.data(number), Some(Data::Array(it)) if it.level_of == Some(array));
            if is_its {
                self.drop_object(Kind::Array, number)?;
            }
        }
        self.drop_object(Kind::MipmappedArray, array)?;
        let end = self.functions().cuMipmappedArrayDestroy;
        // SAFETY: it is alive, and nothing names it any more.
        Ok(call_if(call, end, |end| unsafe { end(real) }))
    }
}

impl Arrays for Board {
    fn cu_array_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArrayCreateV2Args,
    ) -> Result<wire::CuArrayCreateV2Reply, Refusal> {
        let result = session.make_array(call, (args.current, args.new), &args.layout)?;
        Ok(wire::CuArrayCreateV2Reply { result })
    }

    fn cu_array3d_create_v2(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArray3DCreateV2Args,
    ) -> Result<wire::CuArray3DCreateV2Reply, Refusal> {
        let result = session.make_array(call, (args.current, args.new), &args.layout)?;
        Ok(wire::CuArray3DCreateV2Reply { result })
    }

    fn cu_array_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuArrayDestroyArgs,
    ) -> Result<wire::CuArrayDestroyReply, Refusal> {
        let result = session.destroy_array(call, args.hArray)?;
        Ok(wire::CuArrayDestroyReply { result })
    }

    fn cu_mipmapped_array_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayCreateArgs,
    ) -> Result<wire::CuMipmappedArrayCreateReply, Refusal> {
        let of = (args.current, args.new);
        let result = session.make_mipmapped(call, of, &args.layout, args.levels)?;
        Ok(wire::CuMipmappedArrayCreateReply { result })
    }

    fn cu_mipmapped_array_get_level(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayGetLevelArgs,
    ) -> Result<wire::CuMipmappedArrayGetLevelReply, Refusal> {
        let result = session.level(call, (args.hMipmappedArray, args.new), args.level)?;
        Ok(wire::CuMipmappedArrayGetLevelReply { result })
    }

    fn cu_mipmapped_array_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuMipmappedArrayDestroyArgs,
    ) -> Result<wire::CuMipmappedArrayDestroyReply, Refusal> {
        let result = session.destroy_mipmapped(call, args.hMipmappedArray)?;
        Ok(wire::CuMipmappedArrayDestroyReply { result })
    }

    on_memory! {
        cu_memcpy_hto_a_v2, wire::CuMemcpyHtoAV2Args<'_>, CuMemcpyHtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_h_v2, wire::CuMemcpyAtoHV2Args<'_>, CuMemcpyAtoHV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_dto_a_v2, wire::CuMemcpyDtoAV2Args<'_>, CuMemcpyDtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_d_v2, wire::CuMemcpyAtoDV2Args<'_>, CuMemcpyAtoDV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_a_v2, wire::CuMemcpyAtoAV2Args<'_>, CuMemcpyAtoAV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_hto_a_async_v2, wire::CuMemcpyHtoAAsyncV2Args<'_>, CuMemcpyHtoAAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy_ato_h_async_v2, wire::CuMemcpyAtoHAsyncV2Args<'_>, CuMemcpyAtoHAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
    }
}
