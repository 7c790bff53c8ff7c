//! Green contexts: parts of a device's processors, with streams of their own in its primary context
//! (`CUDA Driver API`, green contexts).

use super::generated::manual::GreenContexts;
use super::generated::types::*;
use super::manual::call_if;
use super::operations::WHOLE;
use super::session::Session;
use super::support::Board;
use crate::back_end::{Call, Current, Objects, References, Refusal};
use gil_wire::call::Handle;
use gil_wire::generated::cuda::{self as wire, Kind};
use std::collections::{BTreeMap, HashSet};

/// Words of a resource (`CUdevResource` of `cuda.h`).
const WORDS: usize = size_of::<CUdevResource>() / 8;
/// Most resources, descriptions and green contexts of a session, of each.
const MAX: usize = 4096;
/// Most groups of a split.
const GROUPS_MAX: u32 = 1024;
/// An attribute of a device: its multiprocessors.
const MULTIPROCESSORS: CUdevice_attribute = 16;

/// A resource as it travels. The driver wrote it: what it has of its own there is not for others to
/// make up.
type Words = [u64; WORDS];

/// A green context.
#[derive(Debug)]
struct Green {
    real: CUgreenCtx,
    /// The primary context of its device.
    context: Handle,
    /// Of the device's processors.
    thousandths: u16,
}

/// What a session has of them.
#[derive(Debug, Default)]
pub struct Greens {
    /// The resources that the driver wrote.
    known: HashSet<Words>,
    /// The driver's descriptions and the multiprocessors of each, by the guest's numbers.
    descriptions: BTreeMap<u64, (CUdevResourceDesc, u32)>,
    contexts: BTreeMap<u64, Green>,
    /// The green contexts of streams.
    streams: BTreeMap<Handle, u64>,
}

impl Greens {
    /// How many thousandths of its device's processors a stream has.
    pub fn part(&self, stream: Handle) -> u16 {
        let green = self.streams.get(&stream);
        let green = green.and_then(|green| self.contexts.get(green));
        green.map_or(WHOLE, |green| green.thousandths)
    }

    /// A stream is destroyed.
    pub fn forget_stream(&mut self, stream: Handle) {
        self.streams.remove(&stream);
    }
}

fn empty() -> CUdevResource {
    CUdevResource {
        r#type: 0,
        _internal_padding: [0; 92],
        _oversize: [0; 48],
    }
}

fn words(resource: &CUdevResource) -> Words {
    let mut bytes = [0; WORDS * 8];
    let (kind, rest) = bytes.split_at_mut(4);
    kind.copy_from_slice(&resource.r#type.to_ne_bytes());
    let (own, numbers) = rest.split_at_mut(resource._internal_padding.len());
    own.copy_from_slice(&resource._internal_padding);
    numbers.copy_from_slice(&resource._oversize);
    let (chunks, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_ne_bytes(chunks[at]))
}

fn resource(words: &Words) -> CUdevResource {
    let mut resource = empty();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let (kind, rest) = bytes.split_at(4);
    let (own, numbers) = rest.split_at(resource._internal_padding.len());
    resource.r#type = i32::from_ne_bytes(kind.try_into().unwrap_or_default());
    resource._internal_padding.copy_from_slice(own);
    resource._oversize.copy_from_slice(numbers);
    resource
}

/// Multiprocessors of a resource: the first number of `CUdevSmResource`.
fn multiprocessors(resource: &CUdevResource) -> u32 {
    let first = resource._oversize.first_chunk().copied();
    first.map_or(0, u32::from_ne_bytes)
}

impl Session {
    /// Notes a resource that the driver wrote; `None` if there are too many.
    fn knows(&mut self, resource: &CUdevResource) -> Option<Words> {
        let words = words(resource);
        let known = &mut self.greens.known;
        (known.contains(&words) || known.len() < MAX).then(|| {
            known.insert(words);
            words
        })
    }

    /// Resources that the driver wrote; `None` if one is another.
    fn resources(&self, all: &[u64]) -> Option<Vec<CUdevResource>> {
        let (all, rest) = all.as_chunks::<WORDS>();
        let is_good = rest.is_empty() && all.iter().all(|it| self.greens.known.contains(it));
        is_good.then(|| all.iter().map(resource).collect())
    }

    /// A resource, by a function that writes it.
    fn asked_resource(
        &mut self,
        call: &mut Call,
        ask: Option<impl FnOnce(*mut CUdevResource) -> CUresult>,
    ) -> (CUresult, Vec<u64>) {
        let mut resource = empty();
        let result = call_if(call, ask, |ask| ask(&mut resource));
        if result != CUDA_SUCCESS {
            return (result, Vec::new());
        }
        match self.knows(&resource) {
            Some(words) => (result, words.to_vec()),
            None => (CUDA_ERROR_OUT_OF_MEMORY, Vec::new()),
        }
    }

    fn green(&self, number: u64) -> Result<&Green, Refusal> {
        let green = self.greens.contexts.get(&number);
        green.ok_or(Refusal::parameter("green", number))
    }

    /// Destroys a green context. Its streams go, too: the driver keeps those that are not destroyed
    /// before.
    fn destroy_green(&mut self, call: &mut Call, number: u64) -> CUresult {
        let its = |(stream, green): (&Handle, &u64)| (*green == number).then_some(*stream);
        let streams: Vec<Handle> = self.greens.streams.iter().filter_map(its).collect();
        for stream in streams {
            self.greens.streams.remove(&stream);
            self.operations.forget_queue(stream);
            if let Ok(real) = self.drop_object(Kind::Stream, stream) {
                let driver = self.driver();
                call.timed(|| driver.release(Kind::Stream, real));
            }
        }
        let Some(green) = self.greens.contexts.remove(&number) else {
            return CUDA_ERROR_INVALID_CONTEXT;
        };
        let destroy = self.functions().cuGreenCtxDestroy;
        // SAFETY: the session made it, and nothing names it any more.
        call_if(call, destroy, |destroy| unsafe { destroy(green.real) })
    }

    /// Destroys what is in a context that goes.
    pub(super) fn destroy_greens(&mut self, call: &mut Call, context: Handle) {
        let its = |(number, green): (&u64, &Green)| (green.context == context).then_some(*number);
        let numbers: Vec<u64> = self.greens.contexts.iter().filter_map(its).collect();
        for number in numbers {
            self.destroy_green(call, number);
        }
    }

    /// Thousandths of a device that so many of its multiprocessors are.
    fn thousandths(&self, device: i32, multiprocessors: u32) -> u16 {
        let mut all = 0;
        let ask = self.driver().own.cuDeviceGetAttribute;
        // SAFETY: there is space for a number.
        let result = unsafe { ask(&mut all, MULTIPROCESSORS, device) };
        match u64::try_from(all) {
            Ok(all @ 1..) if result == CUDA_SUCCESS => {
                let part = (u64::from(multiprocessors) * u64::from(WHOLE)).div_ceil(all);
                part.clamp(1, WHOLE.into()) as u16
            }
            _ => WHOLE,
        }
    }
}

impl GreenContexts for Board {
    fn cu_device_get_dev_resource(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDeviceGetDevResourceArgs,
    ) -> Result<wire::CuDeviceGetDevResourceReply, Refusal> {
        let ask = session.functions().cuDeviceGetDevResource;
        // SAFETY: there is space for a resource.
        let ask = ask.map(|ask| move |place| unsafe { ask(args.device, place, args.kind) });
        let (result, resource) = session.asked_resource(call, ask);
        Ok(wire::CuDeviceGetDevResourceReply { result, resource })
    }

    fn cu_ctx_get_dev_resource(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuCtxGetDevResourceArgs,
    ) -> Result<wire::CuCtxGetDevResourceReply, Refusal> {
        let context: CUcontext = session.get(Kind::Context, args.current)?;
        let ask = session.functions().cuCtxGetDevResource;
        // SAFETY: there is space for a resource; the context is alive.
        let ask = ask.map(|ask| move |place| unsafe { ask(context, place, args.kind) });
        let (result, resource) = session.asked_resource(call, ask);
        Ok(wire::CuCtxGetDevResourceReply { result, resource })
    }

    fn cu_green_ctx_get_dev_resource(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuGreenCtxGetDevResourceArgs,
    ) -> Result<wire::CuGreenCtxGetDevResourceReply, Refusal> {
        let green = session.green(args.green)?.real;
        let ask = session.functions().cuGreenCtxGetDevResource;
        // SAFETY: there is space for a resource; the green context is alive.
        let ask = ask.map(|ask| move |place| unsafe { ask(green, place, args.kind) });
        let (result, resource) = session.asked_resource(call, ask);
        Ok(wire::CuGreenCtxGetDevResourceReply { result, resource })
    }

    fn cu_dev_sm_resource_split_by_count(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDevSmResourceSplitByCountArgs,
    ) -> Result<wire::CuDevSmResourceSplitByCountReply, Refusal> {
        let mut reply = wire::CuDevSmResourceSplitByCountReply {
            result: CUDA_ERROR_INVALID_VALUE,
            count: 0,
            groups: Vec::new(),
            remaining: Vec::new(),
        };
        let input = session.resources(&args.input).unwrap_or_default();
        let [input] = input[..] else {
            return Ok(reply);
        };
        let most = if args.asks {
            0
        } else {
            args.most.min(GROUPS_MAX)
        };
        let mut groups = vec![empty(); most as usize];
        let (mut count, mut remaining) = (most, empty());
        let to = match args.asks {
            true => std::ptr::null_mut(),
            false => groups.as_mut_ptr(),
        };
        let split = session.functions().cuDevSmResourceSplitByCount;
        // SAFETY: there is space for as many groups as `count` says, and for one that remains.
        reply.result = call_if(call, split, |split| unsafe {
            split(
                to,
                &mut count,
                &input,
                &mut remaining,
                args.flags,
                args.least,
            )
        });
        if reply.result != CUDA_SUCCESS {
            return Ok(reply);
        }
        reply.count = count;
        if args.asks {
            return Ok(reply);
        }
        groups.truncate(count as usize);
        groups.push(remaining);
        let all: Option<Vec<Words>> = groups.iter().map(|it| session.knows(it)).collect();
        let Some(mut all) = all else {
            reply.result = CUDA_ERROR_OUT_OF_MEMORY;
            return Ok(reply);
        };
        reply.remaining = all.pop().map(Vec::from).unwrap_or_default();
        reply.groups = all.concat();
        Ok(reply)
    }

    fn cu_dev_resource_generate_desc(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuDevResourceGenerateDescArgs,
    ) -> Result<wire::CuDevResourceGenerateDescReply, Refusal> {
        if session.greens.descriptions.contains_key(&args.new) {
            return Err(Refusal::parameter("new", args.new));
        }
        let result = match session.resources(&args.resources) {
            None => CUDA_ERROR_INVALID_VALUE,
            _ if session.greens.descriptions.len() >= MAX => CUDA_ERROR_OUT_OF_MEMORY,
            Some(mut all) => {
                let count = all.len() as u32;
                let mut description = 0;
                let make = session.functions().cuDevResourceGenerateDesc;
                // SAFETY: there are as many resources, and space for a description.
                let result = call_if(call, make, |make| unsafe {
                    make(&mut description, all.as_mut_ptr(), count)
                });
                if result == CUDA_SUCCESS {
                    let its = all.iter().map(multiprocessors);
                    let its = its.fold(0, u32::saturating_add);
                    let descriptions = &mut session.greens.descriptions;
                    descriptions.insert(args.new, (description, its));
                }
                result
            }
        };
        Ok(wire::CuDevResourceGenerateDescReply { result })
    }

    fn cu_green_ctx_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuGreenCtxCreateArgs,
    ) -> Result<wire::CuGreenCtxCreateReply, Refusal> {
        if session.greens.contexts.contains_key(&args.new) {
            return Err(Refusal::parameter("new", args.new));
        }
        session.make_current(args.current)?;
        let description = session.greens.descriptions.get(&args.desc).copied();
        let (result, thousandths) = match description {
            None => (CUDA_ERROR_INVALID_VALUE, 0),
            _ if session.greens.contexts.len() >= MAX => (CUDA_ERROR_OUT_OF_MEMORY, 0),
            Some((description, its)) => {
                let mut real = 0;
                let make = session.functions().cuGreenCtxCreate;
                // SAFETY: there is space for a handle; the description is the driver's.
                let result = call_if(call, make, |make| unsafe {
                    make(&mut real, description, args.device, args.flags)
                });
                let thousandths = session.thousandths(args.device, its);
                if result == CUDA_SUCCESS {
                    let green = Green {
                        real,
                        context: args.current,
                        thousandths,
                    };
                    session.greens.contexts.insert(args.new, green);
                }
                (result, thousandths.into())
            }
        };
        Ok(wire::CuGreenCtxCreateReply {
            result,
            thousandths,
        })
    }

    fn cu_green_ctx_destroy(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuGreenCtxDestroyArgs,
    ) -> Result<wire::CuGreenCtxDestroyReply, Refusal> {
        let result = session.destroy_green(call, args.green);
        Ok(wire::CuGreenCtxDestroyReply { result })
    }

    fn cu_green_ctx_stream_create(
        session: &mut Session,
        call: &mut Call,
        args: wire::CuGreenCtxStreamCreateArgs,
    ) -> Result<wire::CuGreenCtxStreamCreateReply, Refusal> {
        let green = session.green(args.green)?;
        let real = green.real;
        if green.context != args.current {
            return Err(Refusal::parameter("current", args.current.0));
        }
        let of = (args.current, args.new);
        let make = session.functions().cuGreenCtxStreamCreate;
        let (flags, priority) = (args.flags, args.priority);
        // SAFETY: there is space for a handle; the green context is alive.
        let make = make.map(|make| move |place| unsafe { make(place, real, flags, priority) });
        let (result, priority) = session.make_stream(call, of, make, args.priority)?;
        if result == CUDA_SUCCESS {
            session.greens.streams.insert(args.new, args.green);
        }
        Ok(wire::CuGreenCtxStreamCreateReply { result, priority })
    }
}
