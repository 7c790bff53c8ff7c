//! What a node of a graph does, and how it is put on a stream: as the program's own call would.

use super::{Graph, Node};
use crate::generated::manual::Object;
use crate::generated::types::*;
use crate::support::copy::{self, Of};
use crate::support::function::{self, Function};
use crate::support::launch::{self, Geometry};
use crate::support::rectangles::{self, Filled};
use crate::support::{Details, event};
use gil_cuda_common::attribute::Attribute;
use gil_guest::api::CallResult;
use gil_wire::Op;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// A launch with its own copy of the values.
#[derive(Debug)]
pub struct Kernel {
    /// The program's handle of the function, or of a library's kernel in its place.
    pub function: usize,
    /// Its object, as long as which no other has that handle.
    kept: Option<Object>,
    /// Blocks, threads, shared memory.
    pub geometry: Geometry,
    /// Of the launch.
    pub attributes: Vec<Attribute>,
    /// The values, one behind the other as the function's parameters stand.
    values: Box<[u8]>,
    /// Where each value is.
    pointers: Box<[*mut c_void]>,
}

// SAFETY: the pointers lead into the values, which nobody writes to once they are there.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Clone for Kernel {
    fn clone(&self) -> Self {
        let offset = |it: &*mut c_void| it.addr() - self.values.as_ptr().addr();
        let offsets: Vec<_> = self.pointers.iter().map(offset).collect();
        let (values, pointers) = placed(self.values.clone(), &offsets);
        Self {
            function: self.function,
            kept: self.kept.clone(),
            geometry: self.geometry,
            attributes: self.attributes.clone(),
            values,
            pointers,
        }
    }
}

/// Values, and pointers to those at these offsets.
fn placed(values: Box<[u8]>, offsets: &[usize]) -> (Box<[u8]>, Box<[*mut c_void]>) {
    let start = values.as_ptr().cast_mut().cast::<c_void>();
    let pointers = offsets
        .iter()
        .map(|offset| start.wrapping_byte_add(*offset));
    let pointers = pointers.collect();
    (values, pointers)
}

impl Kernel {
    /// A launch, whose values are copied.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`, and for the handle `CUDA_ERROR_INVALID_HANDLE`.
    ///
    /// # Safety
    /// As `cuLaunchKernel` of its values.
    pub unsafe fn new(
        function: CUfunction,
        geometry: Geometry,
        (params, extra): (*mut *mut c_void, *mut *mut c_void),
        attributes: Vec<Attribute>,
    ) -> CallResult<Self> {
        let object = Object::find(Kind::Function, function)?;
        let Details::Function(known) = object.details() else {
            return Err(CUDA_ERROR_INVALID_HANDLE);
        };
        if geometry.grid.contains(&0) || geometry.block.contains(&0) {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the caller's.
        let values = unsafe { known.params.taken(params, extra) }?;
        let (values, pointers) = placed(values.into(), &known.params.offsets());
        Ok(Self {
            function: function.expose_provenance(),
            kept: Object::find_any(&[Kind::Function, Kind::Kernel], function.cast()),
            geometry,
            attributes,
            values,
            pointers,
        })
    }

    /// Where the values are, as `cuLaunchKernel` takes them; null if there are none.
    pub fn pointers(&self) -> *mut *mut c_void {
        match self.pointers.is_empty() {
            true => null_mut(),
            false => self.pointers.as_ptr().cast_mut(),
        }
    }

    fn put(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        let function = std::ptr::with_exposed_provenance_mut(self.function);
        let values = (self.pointers(), null_mut());
        // SAFETY: there is a value for each parameter of the function that was known by this handle;
        // another one by the same handle is no program's that CUDA allows.
        unsafe {
            match &self.attributes[..] {
                [] => launch::launch(entry, function, &self.geometry, stream, values),
                attributes => {
                    let call = (entry, wire::CU_LAUNCH_KERNEL_EX);
                    launch::launch_with(call, function, &self.geometry, stream, values, attributes)
                }
            }
        }
    }
}

/// A node's work.
#[derive(Clone, Debug)]
pub enum Work {
    /// None.
    Empty,
    /// A launch.
    Kernel(Box<Kernel>),
    /// A copy of a box of bytes.
    Copy(Box<CUDA_MEMCPY3D>),
    /// Memory that is set.
    Set(Set),
    /// A function of the program's.
    Call(Call),
    /// Another graph, which is this node's own.
    Graph(Arc<Graph>),
    /// An event that is recorded.
    Record(Object),
    /// An event that is waited for.
    Wait(Object),
}

// SAFETY: addresses of the program's, which are used as its calls would use them.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

/// Memory that is set: `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Where.
    pub to: CUdeviceptr,
    /// Bytes from a row to the next.
    pub pitch: usize,
    /// To what.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub element: u32,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A function of the program's, and what it gets.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Which.
    pub function: unsafe extern "C" fn(*mut c_void),
    /// With what.
    pub data: *mut c_void,
}

/// One end of a copy: the program's memory, or the device's.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// The program's.
    Host(*const c_void),
    /// The device's.
    Device(CUdeviceptr),
}

impl End {
    fn side(self) -> (CUmemorytype, *const c_void, CUdeviceptr) {
        match self {
            Self::Host(address) => (CU_MEMORYTYPE_HOST, address, 0),
            Self::Device(address) => (CU_MEMORYTYPE_DEVICE, std::ptr::null(), address),
        }
    }
}

/// A copy of bytes as one of a box.
pub fn line(to: End, from: End, bytes: usize) -> CUDA_MEMCPY3D {
    let (source, target) = (from.side(), to.side());
    CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: source.0,
        srcHost: source.1,
        srcDevice: source.2,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: bytes,
        srcHeight: 1,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: target.0,
        dstHost: target.1.cast_mut(),
        dstDevice: target.2,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: bytes,
        dstHeight: 1,
        WidthInBytes: bytes,
        Height: 1,
        Depth: 1,
    }
}

/// Whether a copy is one of bytes behind each other.
fn is_line(copy: &CUDA_MEMCPY3D) -> bool {
    copy.Height == 1
        && copy.Depth == 1
        && [copy.srcXInBytes, copy.srcY, copy.srcZ] == [0; 3]
        && [copy.dstXInBytes, copy.dstY, copy.dstZ] == [0; 3]
}

/// Puts such a copy on a stream; `None` if both ends are the program's, or what they are is not said.
fn put_line(entry: u64, stream: CUstream, copy: &CUDA_MEMCPY3D) -> Option<CallResult<()>> {
    let stream = Some(stream);
    let of = |op| Of { entry, op, stream };
    let bytes = copy.WidthInBytes;
    let (to, from) = (copy.dstDevice, copy.srcDevice);
    // SAFETY: the program's promise for its node.
    unsafe {
        Some(match (copy.dstMemoryType, copy.srcMemoryType) {
            (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE) => {
                copy::across(of(wire::CU_MEMCPY_DTO_D_ASYNC_V2), to, from, bytes)
            }
            (CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST) => {
                copy::up(of(wire::CU_MEMCPY_HTO_D_ASYNC_V2), to, copy.srcHost, bytes)
            }
            (CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE) => copy::down(
                of(wire::CU_MEMCPY_DTO_H_ASYNC_V2),
                copy.dstHost,
                from,
                bytes,
            ),
            _ => return None,
        })
    }
}

/// A copy of a rectangle as one of a box.
pub fn flat(copy: &CUDA_MEMCPY2D) -> CUDA_MEMCPY3D {
    CUDA_MEMCPY3D {
        srcXInBytes: copy.srcXInBytes,
        srcY: copy.srcY,
        srcMemoryType: copy.srcMemoryType,
        srcHost: copy.srcHost,
        srcDevice: copy.srcDevice,
        srcArray: copy.srcArray,
        srcPitch: copy.srcPitch,
        dstXInBytes: copy.dstXInBytes,
        dstY: copy.dstY,
        dstMemoryType: copy.dstMemoryType,
        dstHost: copy.dstHost,
        dstDevice: copy.dstDevice,
        dstArray: copy.dstArray,
        dstPitch: copy.dstPitch,
        WidthInBytes: copy.WidthInBytes,
        Height: copy.Height,
        srcHeight: copy.srcY + copy.Height,
        dstHeight: copy.dstY + copy.Height,
        ..line(End::Device(0), End::Device(0), 0)
    }
}

impl Set {
    /// Whether CUDA takes it.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub fn checked(self) -> CallResult<Self> {
        let is_aligned = self.to.is_multiple_of(self.element.max(1).into());
        let row = self.width.checked_mul(self.element as usize);
        let is_fit = row.is_some_and(|row| self.height <= 1 || row <= self.pitch);
        match matches!(self.element, 1 | 2 | 4) && is_aligned && is_fit {
            true => Ok(self),
            false => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// What a call sets, by its operation: elements of a row, rows, and bytes from row to row.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`.
    pub fn of(op: Op, to: CUdeviceptr, value: u32, sizes: [usize; 3]) -> CallResult<Self> {
        let element = match op {
            wire::CU_MEMSET_D8ASYNC | wire::CU_MEMSET_D2D8ASYNC => 1,
            wire::CU_MEMSET_D16ASYNC | wire::CU_MEMSET_D2D16ASYNC => 2,
            _ => 4,
        };
        let [width, height, pitch] = sizes;
        let set = Self {
            to,
            pitch,
            value,
            element,
            width,
            height,
        };
        set.checked()
    }

    fn put(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        let (op, rows) = match self.element {
            1 => (wire::CU_MEMSET_D8ASYNC, wire::CU_MEMSET_D2D8ASYNC),
            2 => (wire::CU_MEMSET_D16ASYNC, wire::CU_MEMSET_D2D16ASYNC),
            _ => (wire::CU_MEMSET_D32ASYNC, wire::CU_MEMSET_D2D32ASYNC),
        };
        let stream = Some(stream);
        let of = |op| Of { entry, op, stream };
        match self.height {
            ..=1 => copy::set(of(op), self.to, self.value, self.width * self.height),
            _ => {
                let filled = Filled {
                    to: self.to,
                    pitch: self.pitch,
                    value: self.value,
                    width: self.width,
                    height: self.height,
                };
                rectangles::set(of(rows), filled)
            }
        }
    }
}

impl Work {
    /// What kind of node has it.
    pub fn kind(&self) -> CUgraphNodeType {
        match self {
            Self::Empty => CU_GRAPH_NODE_TYPE_EMPTY,
            Self::Kernel(_) => CU_GRAPH_NODE_TYPE_KERNEL,
            Self::Copy(_) => CU_GRAPH_NODE_TYPE_MEMCPY,
            Self::Set(_) => CU_GRAPH_NODE_TYPE_MEMSET,
            Self::Call(_) => CU_GRAPH_NODE_TYPE_HOST,
            Self::Graph(_) => CU_GRAPH_NODE_TYPE_GRAPH,
            Self::Record(_) => CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            Self::Wait(_) => CU_GRAPH_NODE_TYPE_WAIT_EVENT,
        }
    }

    /// In a word, for pictures.
    pub fn name(&self) -> String {
        match self {
            Self::Empty => "EMPTY".into(),
            Self::Kernel(kernel) => {
                let function = std::ptr::with_exposed_provenance_mut::<CUfunc_st>(kernel.function);
                let object = Object::find(Kind::Function, function).ok();
                let name = object.and_then(|object| match object.details() {
                    Details::Function(function) => Some(function.name.to_string_lossy().into()),
                    _ => None,
                });
                name.unwrap_or_else(|| "KERNEL".into())
            }
            Self::Copy(_) => "MEMCPY".into(),
            Self::Set(_) => "MEMSET".into(),
            Self::Call(_) => "HOST".into(),
            Self::Graph(_) => "GRAPH".into(),
            Self::Record(_) => "EVENT_RECORD".into(),
            Self::Wait(_) => "EVENT_WAIT".into(),
        }
    }

    /// Puts it on a stream. A graph within is none: its nodes are put there instead.
    ///
    /// # Errors
    /// The API's code.
    pub fn put(&self, entry: u64, stream: CUstream) -> CallResult<()> {
        match self {
            Self::Empty | Self::Graph(_) => Ok(()),
            Self::Kernel(kernel) => kernel.put(entry, stream),
            Self::Copy(asked) => {
                if is_line(asked)
                    && let Some(done) = put_line(entry, stream, asked)
                {
                    return done;
                }
                let of = Of {
                    entry,
                    op: wire::CU_MEMCPY3D_ASYNC_V2,
                    stream: Some(stream),
                };
                // SAFETY: the program's promise for its node.
                unsafe { rectangles::copy_box(of, &raw const **asked) }
            }
            Self::Set(set) => set.put(entry, stream),
            Self::Call(call) => {
                let function = Function::Host(call.function, call.data);
                function::put(entry, wire::CU_LAUNCH_HOST_FUNC, stream, function)
            }
            Self::Record(event) => event::record(entry, event.address().cast(), stream),
            Self::Wait(event) => event::stream_waits(entry, stream, event.address().cast(), 0),
        }
    }

    /// Whether another may take its place where a graph is changed.
    ///
    /// # Errors
    /// What of it is different.
    pub fn gives_way_to(&self, new: &Self) -> Result<(), CUgraphExecUpdateResult> {
        match (self, new) {
            (Self::Copy(old), Self::Copy(new)) => {
                let kinds = |it: &CUDA_MEMCPY3D| (it.srcMemoryType, it.dstMemoryType);
                match kinds(old) == kinds(new) {
                    true => Ok(()),
                    false => Err(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED),
                }
            }
            _ if self.kind() == new.kind() => Ok(()),
            _ => Err(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED),
        }
    }
}

/// An event of the program's.
///
/// # Errors
/// `CUDA_ERROR_INVALID_HANDLE`.
pub fn checked_event(event: CUevent) -> CallResult<Object> {
    Object::find(Kind::Event, event)
}

/// A node's kernel.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for another kind of node.
pub fn of_kernel<R>(node: &Node, read: impl FnOnce(&Kernel) -> CallResult<R>) -> CallResult<R> {
    match &node.work {
        Work::Kernel(kernel) => read(kernel),
        _ => Err(CUDA_ERROR_INVALID_VALUE),
    }
}
