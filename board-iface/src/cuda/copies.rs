//! Copies, and memory that is set.

use super::generated::Functions;
use super::generated::manual::Copies;
use super::generated::types::*;
use super::operations::Needs;
use super::pinned::Staged;
use super::rectangles::{self, Ask, Filled};
use super::session::{At, Session, Way};
use super::support::Board;
use crate::back_end::{self, Call, Refusal};
use gil_wire::call::{Handle, InData, NewEvent, OutRoom};
use gil_wire::generated::cuda as wire;

impl Session {
    /// Puts a copy or another operation on memory on its stream, if that is the session's.
    pub(super) fn on_memory(
        &mut self,
        call: &mut Call,
        at: At,
        ranges: &[(u64, u64)],
        work: &dyn Fn(&Functions, CUstream) -> CUresult,
    ) -> Result<CUresult, Refusal> {
        if !ranges
            .iter()
            .all(|(from, len)| self.ranges.has(*from, *len))
        {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        self.put(call, at, Some(work))
    }

    fn up(
        &mut self,
        call: &mut Call,
        at: At,
        to: u64,
        (data, bytes, is_pinned): (&InData<'_>, u64, bool),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let is_ours = self.ranges.has(to, bytes);
        let region = match *data {
            InData::Region(region) => Some(region),
            _ => None,
        };
        let way = self.way(call, at.context, region, is_pinned && is_ours)?;
        let mut from = call.keep_input(data, len)?;
        if from.is_null() && len > 0 {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        if way == Way::ByBlock
            && let Some(block) = self.pinned(at.context, len)?
        {
            // SAFETY: the input has as many bytes.
            unsafe { block.fill(from, len) };
            from = block.address();
            self.staged = Some(Staged::up(block));
        }
        if way != Way::Plain {
            self.copy_needs = Needs::Up;
        }
        let put = self.on_memory(call, at, &[(to, bytes)], &|functions, stream| {
            let copy = functions.cuMemcpyHtoDAsync_v2;
            // SAFETY: both have as many bytes, until the operation ends.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        });
        self.unstage(at.context);
        put
    }

    fn down(
        &mut self,
        call: &mut Call,
        at: At,
        from: u64,
        (data, bytes, is_pinned): (OutRoom, u64, bool),
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let region = match data {
            OutRoom::Region(region) => Some(region),
            _ => None,
        };
        let is_ours = self.ranges.has(from, bytes);
        let way = self.way(call, at.context, region, is_pinned && is_ours)?;
        let mut room = call.output(data, len)?;
        let mut to = room.as_mut_ptr();
        if to.is_null() && len > 0 {
            return Ok(self.refuse(call, CUDA_ERROR_INVALID_VALUE));
        }
        if way == Way::ByBlock
            && let Some(block) = self.pinned(at.context, len)?
        {
            let place = std::mem::replace(&mut to, block.address());
            self.staged = Some(Staged::down(block, place, len));
        }
        if way != Way::Plain {
            self.copy_needs = Needs::Down;
        }
        let put = self.on_memory(call, at, &[(from, bytes)], &|functions, stream| {
            let copy = functions.cuMemcpyDtoHAsync_v2;
            // SAFETY: both have as many bytes, until the operation ends.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        });
        self.unstage(at.context);
        put
    }

    fn across(
        &mut self,
        call: &mut Call,
        at: At,
        (to, from): (u64, u64),
        bytes: u64,
    ) -> Result<CUresult, Refusal> {
        let len = back_end::size(bytes, "bytes")?;
        let ranges = [(to, bytes), (from, bytes)];
        self.on_memory(call, at, &ranges, &|functions, stream| {
            let copy = functions.cuMemcpyDtoDAsync_v2;
            // SAFETY: both are the session's memory, of as many bytes.
            copy.map_or(CUDA_ERROR_NOT_SUPPORTED, |copy| unsafe {
                copy(to, from, len, stream)
            })
        })
    }

    fn set(
        &mut self,
        call: &mut Call,
        at: At,
        (to, value, count): (u64, u32, u64),
        element: u64,
    ) -> Result<CUresult, Refusal> {
        let bytes = count.checked_mul(element).ok_or(Refusal::wide("count"))?;
        let len = back_end::size(count, "count")?;
        self.on_memory(call, at, &[(to, bytes)], &|functions, stream| {
            let Functions {
                cuMemsetD8Async,
                cuMemsetD16Async,
                cuMemsetD32Async,
                ..
            } = *functions;
            // SAFETY: it is the session's memory, of as many elements.
            let result = unsafe {
                match element {
                    1 => cuMemsetD8Async.map(|set| set(to, value as u8, len, stream)),
                    2 => cuMemsetD16Async.map(|set| set(to, value as u16, len, stream)),
                    _ => cuMemsetD32Async.map(|set| set(to, value, len, stream)),
                }
            };
            result.unwrap_or(CUDA_ERROR_NOT_SUPPORTED)
        })
    }
}

pub(super) fn at(context: Handle, stream: Handle, event: NewEvent) -> At {
    At {
        context,
        stream,
        event,
    }
}

/// A call that is a copy or sets memory: its arguments' names are the same for all of a kind.
macro_rules! on_memory {
    ($($name:ident, $args:ty, $reply:ident, |$session:ident, $call:ident, $at:ident, $a:ident| $body:expr;)*) => {
        $(fn $name(
            $session: &mut Session,
            $call: &mut Call,
            $a: $args,
        ) -> Result<wire::$reply, Refusal> {
            let $at = at($a.current, $a.hStream, $a.event);
            let result = $body?;
            Ok(wire::$reply { result })
        })*
    };
}

/// What the arguments of a rectangle's copy ask for: they have the same names in all.
macro_rules! ask {
    ($args:ident) => {
        Ask {
            to: &$args.to,
            from: &$args.from,
            size: &$args.size,
            data: &$args.data,
            room: $args.room,
        }
    };
}

/// Likewise of a rectangle that is set.
macro_rules! filled {
    ($args:ident) => {
        Filled {
            to: $args.to,
            pitch: $args.pitch,
            value: $args.value,
            width: $args.width,
            height: $args.height,
        }
    };
}

pub(super) use {ask, on_memory};

impl Copies for Board {
    on_memory! {
        cu_memcpy_hto_d_v2, wire::CuMemcpyHtoDV2Args<'_>, CuMemcpyHtoDV2Reply, |session, call, at, a|
            session.up(call, at, a.to, (&a.data, a.bytes, a.is_pinned));
        cu_memcpy_hto_d_async_v2, wire::CuMemcpyHtoDAsyncV2Args<'_>, CuMemcpyHtoDAsyncV2Reply, |session, call, at, a|
            session.up(call, at, a.to, (&a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_h_v2, wire::CuMemcpyDtoHV2Args, CuMemcpyDtoHV2Reply, |session, call, at, a|
            session.down(call, at, a.from, (a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_h_async_v2, wire::CuMemcpyDtoHAsyncV2Args, CuMemcpyDtoHAsyncV2Reply, |session, call, at, a|
            session.down(call, at, a.from, (a.data, a.bytes, a.is_pinned));
        cu_memcpy_dto_d_v2, wire::CuMemcpyDtoDV2Args, CuMemcpyDtoDV2Reply, |session, call, at, a|
            session.across(call, at, (a.to, a.from), a.bytes);
        cu_memcpy_dto_d_async_v2, wire::CuMemcpyDtoDAsyncV2Args, CuMemcpyDtoDAsyncV2Reply, |session, call, at, a|
            session.across(call, at, (a.to, a.from), a.bytes);
        cu_memset_d8_v2, wire::CuMemsetD8V2Args, CuMemsetD8V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 1);
        cu_memset_d16_v2, wire::CuMemsetD16V2Args, CuMemsetD16V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 2);
        cu_memset_d32_v2, wire::CuMemsetD32V2Args, CuMemsetD32V2Reply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 4);
        cu_memset_d8async, wire::CuMemsetD8AsyncArgs, CuMemsetD8AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 1);
        cu_memset_d16async, wire::CuMemsetD16AsyncArgs, CuMemsetD16AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 2);
        cu_memset_d32async, wire::CuMemsetD32AsyncArgs, CuMemsetD32AsyncReply, |session, call, at, a|
            session.set(call, at, (a.to, a.value, a.count), 4);
        cu_memcpy2d_v2, wire::CuMemcpy2DV2Args<'_>, CuMemcpy2DV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy2d_unaligned_v2, wire::CuMemcpy2DUnalignedV2Args<'_>, CuMemcpy2DUnalignedV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy2d_async_v2, wire::CuMemcpy2DAsyncV2Args<'_>, CuMemcpy2DAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy3d_v2, wire::CuMemcpy3DV2Args<'_>, CuMemcpy3DV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memcpy3d_async_v2, wire::CuMemcpy3DAsyncV2Args<'_>, CuMemcpy3DAsyncV2Reply, |session, call, at, a|
            rectangles::copy(session, call, at, ask!(a));
        cu_memset_d2d8_v2, wire::CuMemsetD2D8V2Args, CuMemsetD2D8V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 1);
        cu_memset_d2d8async, wire::CuMemsetD2D8AsyncArgs, CuMemsetD2D8AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 1);
        cu_memset_d2d16_v2, wire::CuMemsetD2D16V2Args, CuMemsetD2D16V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 2);
        cu_memset_d2d16async, wire::CuMemsetD2D16AsyncArgs, CuMemsetD2D16AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 2);
        cu_memset_d2d32_v2, wire::CuMemsetD2D32V2Args, CuMemsetD2D32V2Reply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 4);
        cu_memset_d2d32async, wire::CuMemsetD2D32AsyncArgs, CuMemsetD2D32AsyncReply, |session, call, at, a|
            rectangles::set(session, call, at, filled!(a), 4);
    }
}
