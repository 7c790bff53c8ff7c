//! Arrays, and arrays with mipmaps, whose levels are arrays that go with them.

use super::generated::types::*;
use super::manual::call_if;
use super::session::{Data, Session};
use crate::back_end::{self, Call, Current, Objects, Refusal};
use gil_cuda_common::array::{Layout, Wrong};
use gil_wire::call::Handle;
use gil_wire::generated::cuda::Kind;
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
