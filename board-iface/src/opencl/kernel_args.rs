//! Setting kernel arguments.
//!
//! A program passes an object by the address of its handle, which looks like
//! any other value of a pointer's size. Only the kernel's signature says which
//! arguments are objects ([`super::arg_types`]). The guest's invalid values never reach
//! the driver as pointers.

use super::arg_types::{ArgType, number_of_args};
use super::generated::types::*;
use super::objects::Reference;
use super::probe::Answer;
use super::session::Session;
use crate::back_end::hold::Hold;
use crate::back_end::{Call, Objects, Pointer, Refusal};
use foldhash::{HashMap, HashMapExt};
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::{ClSetKernelArgArgs, KernelArgument, Kind};
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// A kernel's arguments; of a copy of the kernel, a clone of them.
#[derive(Clone, Debug)]
pub struct KernelArgs {
    /// The types, as far as anybody says.
    types: Vec<ArgType>,
    /// The objects that are set. A driver need not keep them, and a program
    /// may release one and still run the kernel: here each has a reference.
    held: HashMap<cl_uint, Reference>,
    /// Shared virtual memory that is set, and what the kernel reaches besides.
    shared: HashMap<cl_uint, Hold>,
    indirect: Vec<Hold>,
}

impl KernelArgs {
    fn hold(&mut self, index: cl_uint, object: Option<Reference>) {
        self.shared.remove(&index);
        match object {
            Some(object) => self.held.insert(index, object),
            None => self.held.remove(&index),
        };
    }

    /// Keeps its shared memory until the call's operation ends.
    pub fn hold_shared(&self, call: &mut Call) {
        let all = self.shared.values().chain(&self.indirect);
        all.for_each(|hold| call.hold(hold.clone()));
    }

    /// The objects that are set.
    pub fn held(&self) -> impl Iterator<Item = (Kind, Pointer)> + '_ {
        self.held.values().map(|held| (held.kind, held.object))
    }
}

/// The value that is passed to the driver.
#[derive(Clone, Copy)]
enum Value {
    Null,
    Bytes(*const c_void),
    Object(Kind, *mut c_void),
}

/// Sets an argument.
///
/// # Errors
/// [`Refusal`] if the request is none. What is wrong with the value is the
/// API's error code.
pub fn set(
    session: &mut Session,
    call: &mut Call,
    args: &ClSetKernelArgArgs<'_>,
) -> Result<cl_int, Refusal> {
    let kernel: cl_kernel = session.get(Kind::Kernel, args.kernel)?;
    let Some(function) = session.functions().clSetKernelArg else {
        return Ok(CL_INVALID_OPERATION);
    };
    let Some(arg) = arg_type(session, args.kernel, args.arg_index)? else {
        return Ok(CL_INVALID_ARG_INDEX);
    };
    let mut size = crate::back_end::size(args.arg_size, "arg_size")?;
    let is_handle = args.arg_size == u64::from(session.guest.pointer_bits / 8);
    if matches!(arg, ArgType::Object(_)) && !is_handle {
        return Ok(CL_INVALID_ARG_SIZE);
    }
    let value = match value(session, call, args, arg)? {
        Ok(value) => value,
        Err(code) => return Ok(code),
    };
    let object = match value {
        Value::Object(_, object) => object,
        _ => null_mut(),
    };
    let pointer = match value {
        Value::Null => null(),
        Value::Bytes(pointer) => pointer,
        Value::Object(..) => std::ptr::from_ref(&object).cast(),
    };
    if matches!(arg, ArgType::Object(_)) || matches!(value, Value::Object(..)) {
        if !is_handle {
            return Ok(CL_INVALID_ARG_SIZE);
        }
        size = size_of::<*mut c_void>();
    }
    let index = args.arg_index;
    // SAFETY: the kernel is alive; `pointer` is null or has `size` bytes, which
    // are an object's handle only where the object is alive.
    let result = call.timed(|| unsafe { function(kernel, index, size, pointer) });
    if result == CL_SUCCESS {
        let driver = session.driver;
        let held = match value {
            Value::Object(kind, object) => {
                Pointer::new(object).map(|object| Reference::new(driver, kind, object))
            }
            _ => None,
        };
        kernel_args(session, args.kernel)?.hold(index, held);
    }
    Ok(result)
}

/// An argument is shared memory, or NULL, and no object any more.
///
/// # Errors
/// [`Refusal`].
pub fn share(
    session: &mut Session,
    kernel: Handle,
    index: cl_uint,
    shared: Option<Hold>,
) -> Result<(), Refusal> {
    let args = kernel_args(session, kernel)?;
    args.hold(index, None);
    args.shared.extend(shared.map(|hold| (index, hold)));
    Ok(())
}

/// The kernel reaches this shared memory by pointers in memory.
///
/// # Errors
/// [`Refusal`].
pub fn share_indirectly(
    session: &mut Session,
    kernel: Handle,
    shared: Vec<Hold>,
) -> Result<(), Refusal> {
    kernel_args(session, kernel)?.indirect = shared;
    Ok(())
}

/// What to give the driver, or the API's error code.
fn value(
    session: &Session,
    call: &mut Call,
    args: &ClSetKernelArgArgs<'_>,
    arg: ArgType,
) -> Result<Result<Value, cl_int>, Refusal> {
    Ok(match (&args.arg_value, arg) {
        (KernelArgument::Local, _) => Ok(Value::Null),
        (KernelArgument::Handle(handle), ArgType::Object(kind)) => object(session, *handle, kind),
        (KernelArgument::Handle(handle), ArgType::Unknown(answer)) => {
            match session.table.kind(*handle) {
                Some(kind) if may_be(kind, answer) => object(session, *handle, kind),
                _ => Err(CL_INVALID_ARG_VALUE),
            }
        }
        (KernelArgument::Handle(_), _) => Err(CL_INVALID_ARG_VALUE),
        (KernelArgument::Bytes(data), ArgType::Object(kind)) => null_object(call, data, kind)?,
        (KernelArgument::Bytes(_), ArgType::Local) => Err(CL_INVALID_ARG_VALUE),
        (KernelArgument::Bytes(data), ArgType::Unknown(Answer::Memory | Answer::Object)) => {
            null_object(call, data, Kind::Mem)?
        }
        // A driver may take for granted that it gets all of a value.
        (KernelArgument::Bytes(_), ArgType::Value(Some(size))) if is_short(args, size) => {
            Err(CL_INVALID_ARG_SIZE)
        }
        (KernelArgument::Bytes(data), _) => {
            let size = crate::back_end::size(args.arg_size, "arg_size")?;
            let pointer = call.input(data, size)?;
            Ok(match pointer.is_null() {
                true => Value::Null,
                false => Value::Bytes(pointer),
            })
        }
    })
}

/// Whether the bytes are fewer than the value has. Some drivers take three
/// elements for a vector of three, which has the room of four.
fn is_short(args: &ClSetKernelArgArgs<'_>, size: u64) -> bool {
    let is_three = size <= 32 && args.arg_size.saturating_mul(4) == size * 3;
    args.arg_size < size && !is_three
}

/// Whether an object of this kind goes where the driver answered so.
fn may_be(kind: Kind, answer: Answer) -> bool {
    let is_argument = matches!(kind, Kind::Mem | Kind::Sampler | Kind::CommandQueue);
    is_argument && (answer != Answer::Memory || kind == Kind::Mem)
}

fn object(session: &Session, handle: Handle, kind: Kind) -> Result<Value, cl_int> {
    let object = session.get(kind, handle);
    let object = object.map(|object| Value::Object(kind, object));
    object.map_err(|_| kind.invalid())
}

/// Bytes where an object belongs: zeroes are NULL, which OpenCL allows;
/// anything else is no live object of the guest.
fn null_object(
    call: &Call,
    data: &InData<'_>,
    kind: Kind,
) -> Result<Result<Value, cl_int>, Refusal> {
    let bytes = call.bytes(data)?.unwrap_or_default();
    Ok(match bytes.iter().all(|byte| *byte == 0) {
        true => Ok(Value::Object(kind, null_mut())),
        false => Err(kind.invalid()),
    })
}

/// A kernel's arguments, whose types are asked for at their first sight.
fn kernel_args(session: &mut Session, kernel: Handle) -> Result<&mut KernelArgs, Refusal> {
    let known = session.kernel(kernel).is_some_and(|of| of.args.is_some());
    if !known {
        session.kernel_made(kernel, Handle::NULL)?;
    }
    let args = session.kernel_mut(kernel).and_then(|of| of.args.as_mut());
    args.ok_or(Refusal::parameter("kernel", kernel.0))
}

/// What an argument is; none if the kernel has no such argument.
fn arg_type(
    session: &mut Session,
    kernel: Handle,
    index: cl_uint,
) -> Result<Option<ArgType>, Refusal> {
    let args = kernel_args(session, kernel)?;
    if let Some(known) = args.types.get(index as usize) {
        return Ok(Some(*known));
    }
    let kernel = session.get(Kind::Kernel, kernel)?;
    let is_there = number_of_args(session.driver, kernel).is_none_or(|count| index < count);
    Ok(is_there.then_some(ArgType::Unknown(Answer::Object)))
}

impl Session {
    /// A kernel was made, perhaps as a copy of another, whose arguments it has.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is none.
    pub(super) fn kernel_made(&mut self, kernel: Handle, from: Handle) -> Result<(), Refusal> {
        let copied = self.kernel(from).and_then(|from| from.args.clone());
        let args = match copied {
            Some(args) => args,
            None => KernelArgs {
                types: self.arg_types(self.get(Kind::Kernel, kernel)?),
                held: HashMap::new(),
                shared: HashMap::new(),
                indirect: Vec::new(),
            },
        };
        if let Some(kernel) = self.kernel_mut(kernel) {
            kernel.args = Some(args);
        }
        Ok(())
    }
}
