//! Launches, and the attributes that launches and streams have. All attributes are numbers
//! whose meaning the driver checks: none is an address or a handle.

use super::copies::at;
use super::generated::Functions;
use super::generated::manual::Launches;
use super::generated::types::*;
use super::manual::call_if;
use super::operations::{Needs, WHOLE};
use super::session::{At, Session};
use super::support::Board;
use crate::back_end::{Call, Current, Objects, Refusal};
use gil_cuda_common::attribute::{self, Attribute, Of, VALUE_LEN};
use gil_cuda_common::names;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::cuda::{self as wire, Kind};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Most bytes of a kernel's parameters.
const PARAMS_LEN_MAX: usize = 1 << 16;
/// Most functions of a module that are named at a time.
const NAMES_MAX: u32 = 1 << 14;

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
}

impl Geometry {
    /// Blocks, threads of each, bytes of shared memory of each.
    pub(super) fn of(grid: [u32; 3], block: [u32; 3], shared: u32) -> Self {
        Self {
            grid,
            block,
            shared,
        }
    }

    /// The driver's structure.
    fn config(&self, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
        let ([x, y, z], [u, v, w]) = (self.grid, self.block);
        CUlaunchConfig {
            gridDimX: x,
            gridDimY: y,
            gridDimZ: z,
            blockDimX: u,
            blockDimY: v,
            blockDimZ: w,
            sharedMemBytes: self.shared,
            hStream: stream,
            attrs: match attributes.is_empty() {
                true => null_mut(),
                false => attributes.as_mut_ptr(),
            },
            numAttrs: attributes.len() as u32,
        }
    }
}

fn value(attribute: &Attribute) -> CUlaunchAttributeValue {
    CUlaunchAttributeValue {
        pad: attribute.value().map(|byte| byte as c_char),
    }
}

/// The driver's structures of a launch's attributes.
///
/// # Errors
/// [`Refusal::Parameter`] if the words are no attributes: the guest's library sends none such.
fn attributes(words: &[u64]) -> Result<Vec<CUlaunchAttribute>, Refusal> {
    let all = attribute::from_words(words, Of::Launch);
    let all = all.ok_or_else(|| Refusal::parameter("attributes", words.len() as u64))?;
    let each = all.iter().map(|attribute| CUlaunchAttribute {
        id: attribute.id(),
        pad: [0; 4],
        value: value(attribute),
    });
    Ok(each.collect())
}

/// What asks for the clusters of a launch.
type Clusters = unsafe extern "C" fn(*mut c_int, CUfunction, *const CUlaunchConfig) -> CUresult;

impl Session {
    /// The function of a launch in a context, and where its values are.
    fn values(
        &self,
        call: &mut Call,
        context: Handle,
        (function, params): (Handle, &InData<'_>),
    ) -> Result<(CUfunction, Vec<*mut c_void>), Refusal> {
        let (function, known) = self.function(function)?;
        if known.context != context {
            return Err(Refusal::parameter("context", context.0));
        }
        let ends = known.params.iter().map(|it| it.offset + it.size);
        let len = ends.max().unwrap_or(0);
        if len > PARAMS_LEN_MAX {
            return Err(Refusal::parameter("params", len as u64));
        }
        let place = call.input(params, len)?.cast_mut().cast::<u8>();
        if place.is_null() && len > 0 {
            return Err(Refusal::parameter("params", 0));
        }
        let values = known.params.iter();
        let values = values.map(|it| place.wrapping_add(it.offset).cast());
        Ok((function, values.collect()))
    }

    /// Launches a function with its values.
    pub(super) fn launch(
        &mut self,
        call: &mut Call,
        at: At,
        launch: (Handle, &InData<'_>),
        geometry: &Geometry,
    ) -> Result<CUresult, Refusal> {
        let needs = self.needs(launch.0, at, geometry)?;
        let (function, values) = self.values(call, at.context, launch)?;
        let ([x, y, z], [u, v, w]) = (geometry.grid, geometry.block);
        let shared = geometry.shared;
        let launch = |functions: &Functions, stream| {
            let values = values.as_ptr().cast_mut();
            let launch = functions.cuLaunchKernel;
            // SAFETY: the function is alive, and there is a value for each parameter.
            launch.map_or(CUDA_ERROR_NOT_SUPPORTED, |launch| unsafe {
                launch(
                    function,
                    x,
                    y,
                    z,
                    u,
                    v,
                    w,
                    shared,
                    stream,
                    values,
                    null_mut(),
                )
            })
        };
        self.put_beside(call, at, Some(&launch), needs)
    }

    /// How much of the device a launch needs.
    fn needs(&self, function: Handle, at: At, geometry: &Geometry) -> Result<Needs, Refusal> {
        let (_, known) = self.function(function)?;
        let Geometry {
            grid,
            block,
            shared,
        } = *geometry;
        let thousandths = known.room.thousandths(grid, block, shared);
        let part = self.greens.part(at.stream);
        Ok(Needs::Processors(thousandths.unwrap_or(WHOLE).min(part)))
    }

    /// The same with attributes.
    pub(super) fn launch_with(
        &mut self,
        call: &mut Call,
        at: At,
        launch: (Handle, &InData<'_>),
        geometry: &Geometry,
        words: &[u64],
    ) -> Result<CUresult, Refusal> {
        let attributes = attributes(words)?;
        let needs = self.needs(launch.0, at, geometry)?;
        let (function, values) = self.values(call, at.context, launch)?;
        let launch = |functions: &Functions, stream| {
            let mut attributes = attributes.clone();
            let config = geometry.config(stream, &mut attributes);
            let values = values.as_ptr().cast_mut();
            let launch = functions.cuLaunchKernelEx;
            // SAFETY: the function is alive, there is a value for each parameter, and the
            // list has as many attributes.
            launch.map_or(CUDA_ERROR_NOT_SUPPORTED, |launch| unsafe {
                launch(&config, function, values, null_mut())
            })
        };
        self.put_beside(call, at, Some(&launch), needs)
    }

    /// What the driver says of a launch's clusters.
    pub(super) fn clusters(
        &mut self,
        call: &mut Call,
        ask: Option<Clusters>,
        (context, stream, function): (Handle, Handle, Handle),
        geometry: &Geometry,
        words: &[u64],
    ) -> Result<(CUresult, i32), Refusal> {
        let mut attributes = attributes(words)?;
        let (function, known) = self.function(function)?;
        if known.context != context {
            return Err(Refusal::parameter("context", context.0));
        }
        let stream = self.stream(context, stream)?;
        self.make_current(context)?;
        let config = geometry.config(stream, &mut attributes);
        let mut value = 0;
        // SAFETY: all are alive; there is space for a number, and the list has as many
        // attributes.
        let result = call_if(call, ask, |ask| unsafe {
            ask(&mut value, function, &config)
        });
        Ok((result, value))
    }

    /// The names of at most so many of a module's functions, in words.
    pub(super) fn function_names(
        &mut self,
        call: &mut Call,
        module: Handle,
        most: u32,
    ) -> Result<(CUresult, Vec<u64>), Refusal> {
        let context = self.owner(Kind::Module, module)?;
        self.make_current(context)?;
        let module: CUmodule = self.get(Kind::Module, module)?;
        let mut count = 0;
        let ask = self.functions().cuModuleGetFunctionCount;
        // SAFETY: the module is alive; there is space for a number.
        let result = call_if(call, ask, |ask| unsafe { ask(&mut count, module) });
        if result != CUDA_SUCCESS {
            return Ok((result, Vec::new()));
        }
        let count = count.min(most).min(NAMES_MAX);
        let mut functions: Vec<CUfunction> = vec![null_mut(); count as usize];
        let ask = self.functions().cuModuleEnumerateFunctions;
        let result = call_if(call, ask, |ask| {
            // SAFETY: the module is alive; there is space for so many handles.
            unsafe { ask(functions.as_mut_ptr(), count, module) }
        });
        let mut words = Vec::new();
        for function in functions.into_iter().filter(|it| !it.is_null()) {
            let mut name = std::ptr::null();
            // SAFETY: the function is the module's; there is space for an address.
            let result = unsafe { (self.driver().own.cuFuncGetName)(&mut name, function) };
            if result != CUDA_SUCCESS || name.is_null() {
                return Ok((result, Vec::new()));
            }
            // SAFETY: a text, which is there as long as the module.
            let name = unsafe { CStr::from_ptr(name) };
            words.extend(names::words(name.to_bytes()));
        }
        Ok((result, words))
    }

    /// An attribute of a stream, in words.
    pub(super) fn stream_attribute(
        &mut self,
        call: &mut Call,
        (context, stream): (Handle, Handle),
        id: i32,
    ) -> Result<(CUresult, Vec<u64>), Refusal> {
        if attribute::len(id, Of::Stream).is_err() {
            return Err(Refusal::parameter("attr", id.cast_unsigned().into()));
        }
        let stream = self.stream(context, stream)?;
        self.make_current(context)?;
        let mut value = CUlaunchAttributeValue {
            pad: [0; VALUE_LEN],
        };
        let get = self.functions().cuStreamGetAttribute;
        // SAFETY: the stream is alive; there is space for a value.
        let result = call_if(call, get, |get| unsafe { get(stream, id, &mut value) });
        let bytes = value.pad.map(|byte| byte as u8);
        let words = match Attribute::read(id, &bytes, Of::Stream) {
            Ok(Some(attribute)) if result == CUDA_SUCCESS => attribute.words().to_vec(),
            _ => Vec::new(),
        };
        Ok((result, words))
    }

    /// Changes an attribute of a stream.
    pub(super) fn set_stream_attribute(
        &mut self,
        call: &mut Call,
        (context, stream): (Handle, Handle),
        words: &[u64],
    ) -> Result<CUresult, Refusal> {
        let known = attribute::from_words(words, Of::Stream);
        let Some([attribute]) = known.as_deref() else {
            return Err(Refusal::parameter("attribute", words.len() as u64));
        };
        let stream = self.stream(context, stream)?;
        self.make_current(context)?;
        let set = self.functions().cuStreamSetAttribute;
        let value = value(attribute);
        // SAFETY: the stream is alive.
        Ok(call_if(call, set, |set| unsafe {
            set(stream, attribute.id(), &value)
        }))
    }

    /// A stream gets another's attributes.
    pub(super) fn copy_attributes(
        &mut self,
        call: &mut Call,
        context: Handle,
        to: Handle,
        from: Handle,
    ) -> Result<CUresult, Refusal> {
        let (to, from) = (self.stream(context, to)?, self.stream(context, from)?);
        self.make_current(context)?;
        let copy = self.functions().cuStreamCopyAttributes;
        // SAFETY: both are alive.
        Ok(call_if(call, copy, |copy| unsafe { copy(to, from) }))
    }
}

impl Launches for Board {
    fn cu_launch_kernel_ex(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLaunchKernelExArgs<'_>,
    ) -> Result<wire::CuLaunchKernelExReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let launch = (args.f, &args.params);
        let result = session.launch_with(call, at, launch, &geometry, &args.attributes)?;
        Ok(wire::CuLaunchKernelExReply { result })
    }

    fn cu_launch_cooperative_kernel(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuLaunchCooperativeKernelArgs<'_>,
    ) -> Result<wire::CuLaunchCooperativeKernelReply, Refusal> {
        let at = at(args.current, args.hStream, args.event);
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let launch = (args.f, &args.params);
        let result = session.launch_with(call, at, launch, &geometry, &args.attributes)?;
        Ok(wire::CuLaunchCooperativeKernelReply { result })
    }

    fn cu_module_enumerate_functions(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuModuleEnumerateFunctionsArgs,
    ) -> Result<wire::CuModuleEnumerateFunctionsReply, Refusal> {
        let (result, names) = session.function_names(call, args.hmod, args.most)?;
        Ok(wire::CuModuleEnumerateFunctionsReply { result, names })
    }

    fn cu_occupancy_max_potential_cluster_size(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuOccupancyMaxPotentialClusterSizeArgs,
    ) -> Result<wire::CuOccupancyMaxPotentialClusterSizeReply, Refusal> {
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let ask = session.functions().cuOccupancyMaxPotentialClusterSize;
        let of = (args.current, args.hStream, args.f);
        let (result, value) = session.clusters(call, ask, of, &geometry, &args.attributes)?;
        Ok(wire::CuOccupancyMaxPotentialClusterSizeReply { result, value })
    }

    fn cu_occupancy_max_active_clusters(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuOccupancyMaxActiveClustersArgs,
    ) -> Result<wire::CuOccupancyMaxActiveClustersReply, Refusal> {
        let geometry = Geometry::of(
            [args.grid_x, args.grid_y, args.grid_z],
            [args.block_x, args.block_y, args.block_z],
            args.shared,
        );
        let ask = session.functions().cuOccupancyMaxActiveClusters;
        let of = (args.current, args.hStream, args.f);
        let (result, value) = session.clusters(call, ask, of, &geometry, &args.attributes)?;
        Ok(wire::CuOccupancyMaxActiveClustersReply { result, value })
    }

    fn cu_stream_copy_attributes(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamCopyAttributesArgs,
    ) -> Result<wire::CuStreamCopyAttributesReply, Refusal> {
        let result = session.copy_attributes(call, args.current, args.dst, args.src)?;
        Ok(wire::CuStreamCopyAttributesReply { result })
    }

    fn cu_stream_get_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamGetAttributeArgs,
    ) -> Result<wire::CuStreamGetAttributeReply, Refusal> {
        let of = (args.current, args.hStream);
        let (result, attribute) = session.stream_attribute(call, of, args.attr)?;
        Ok(wire::CuStreamGetAttributeReply { result, attribute })
    }

    fn cu_stream_set_attribute(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuStreamSetAttributeArgs,
    ) -> Result<wire::CuStreamSetAttributeReply, Refusal> {
        let of = (args.current, args.hStream);
        let result = session.set_stream_attribute(call, of, &args.attribute)?;
        Ok(wire::CuStreamSetAttributeReply { result })
    }
}
