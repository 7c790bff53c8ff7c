//! Green contexts: parts of multiprocessors that nothing runs on. A resource has in what is the
//! driver's of it a mark, the first of its multiprocessors, and whether it came from a split.

use super::{Code, INVALID_CONTEXT, INVALID_VALUE, Object, put, run};
use crate::device::attribute;
use crate::state::Stream;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

const INVALID_RESOURCE_TYPE: Code = 914;
const INVALID_RESOURCE_CONFIGURATION: Code = 915;
/// `CU_DEV_RESOURCE_TYPE_SM`.
const PROCESSORS: c_int = 1;
const MARK: u32 = 0x6e75_6c6c;
/// The fewest of a part, and of what their number is a multiple.
const LEAST: u32 = 8;
/// The same where they need not be near each other.
const LEAST_APART: u32 = 2;

/// `CUdevResource`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    kind: c_int,
    mark: u32,
    first: u32,
    split: u32,
    own: [u32; 20],
    count: u32,
    least: u32,
    multiple: u32,
    rest: [u32; 9],
}

#[derive(Debug, Default)]
struct Green {
    descriptions: Vec<Resource>,
    contexts: BTreeMap<usize, Resource>,
    splits: u32,
    next: usize,
}

static GREEN: Mutex<Option<Green>> = Mutex::new(None);

fn green<R>(work: impl FnOnce(&mut Green) -> R) -> R {
    let mut green: MutexGuard<'_, _> = GREEN.lock().unwrap_or_else(PoisonError::into_inner);
    work(green.get_or_insert_default())
}

fn part(first: u32, count: u32, split: u32) -> Resource {
    Resource {
        kind: PROCESSORS,
        mark: MARK,
        first,
        split,
        own: [0; 20],
        count,
        least: LEAST,
        multiple: LEAST,
        rest: [0; 9],
    }
}

fn all() -> Resource {
    part(0, attribute(16).unwrap_or(1) as u32, 0)
}

unsafe fn give(resource: *mut Resource, kind: c_int, given: Resource) -> Result<(), Code> {
    match kind {
        PROCESSORS => unsafe { put(resource, given) },
        _ => Err(INVALID_RESOURCE_TYPE),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetDevResource(
    device: c_int,
    resource: *mut Resource,
    kind: c_int,
) -> Code {
    run(|_| {
        super::device(device)?;
        unsafe { give(resource, kind, all()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevResource(
    _context: Object,
    resource: *mut Resource,
    kind: c_int,
) -> Code {
    run(|_| unsafe { give(resource, kind, all()) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGreenCtxGetDevResource(
    context: usize,
    resource: *mut Resource,
    kind: c_int,
) -> Code {
    run(|_| {
        let its = green(|green| green.contexts.get(&context).copied());
        let its = its.ok_or(INVALID_CONTEXT)?;
        unsafe { give(resource, kind, part(its.first, its.count, 0)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevSmResourceSplitByCount(
    result: *mut Resource,
    groups: *mut c_uint,
    input: *const Resource,
    remaining: *mut Resource,
    flags: c_uint,
    least: c_uint,
) -> Code {
    run(|_| {
        let input = unsafe { *input };
        if input.mark != MARK {
            panic!("a resource that is not this driver's: {input:?}");
        }
        if flags > 3 || least > input.count {
            return Err(INVALID_VALUE);
        }
        if input.split != 0 {
            return Err(INVALID_RESOURCE_CONFIGURATION);
        }
        let unit = if flags & 1 != 0 { LEAST_APART } else { LEAST };
        let each = least.max(unit).next_multiple_of(unit);
        let most = input.count / each;
        if result.is_null() {
            return unsafe { put(groups, most) };
        }
        let count = most.min(unsafe { *groups });
        let split = green(|green| {
            green.splits += 1;
            green.splits
        });
        for n in 0..count {
            let group = part(input.first + n * each, each, split);
            unsafe { result.add(n as usize).write(group) };
        }
        let taken = count * each;
        let rest = part(input.first + taken, input.count - taken, split);
        if !remaining.is_null() {
            unsafe { remaining.write(rest) };
        }
        unsafe { put(groups, count) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevResourceGenerateDesc(
    place: *mut usize,
    resources: *mut Resource,
    count: c_uint,
) -> Code {
    run(|_| {
        let all: Vec<Resource> = (0..count as usize)
            .map(|at| unsafe { *resources.add(at) })
            .collect();
        let [first, rest @ ..] = &all[..] else {
            return Err(INVALID_VALUE);
        };
        if rest.iter().any(|it| it.split != first.split) {
            return Err(INVALID_RESOURCE_CONFIGURATION);
        }
        let count = all.iter().map(|it| it.count).sum();
        let number = green(|green| {
            green
                .descriptions
                .push(part(first.first, count, first.split));
            green.descriptions.len()
        });
        unsafe { put(place, number) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGreenCtxCreate(
    place: *mut usize,
    description: usize,
    number: c_int,
    flags: c_uint,
) -> Code {
    run(|_| {
        super::device(number)?;
        if flags != 1 {
            return Err(INVALID_VALUE);
        }
        let made = green(|green| {
            let its = description.checked_sub(1)?;
            let its = *green.descriptions.get(its)?;
            green.next += 1;
            green.contexts.insert(green.next, its);
            Some(green.next)
        });
        unsafe { put(place, made.ok_or(INVALID_VALUE)?) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGreenCtxDestroy(context: usize) -> Code {
    run(|_| {
        let gone = green(|green| green.contexts.remove(&context));
        gone.map(drop).ok_or(INVALID_CONTEXT)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGreenCtxStreamCreate(
    place: *mut Object,
    context: usize,
    flags: c_uint,
    priority: c_int,
) -> Code {
    run(|state| {
        let is_there = green(|green| green.contexts.contains_key(&context));
        if flags != 1 || !is_there {
            return Err(INVALID_VALUE);
        }
        let (context, _) = state.primary.ok_or(INVALID_CONTEXT)?;
        let stream = Stream {
            context,
            clock_ns: 0,
            priority: priority.clamp(-5, 0),
        };
        let stream = state.streams.add(stream);
        unsafe { put(place, stream) }
    })
}
