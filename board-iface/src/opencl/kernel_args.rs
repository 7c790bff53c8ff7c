//! Kernel arguments: which are objects is the kernel's own knowledge.
//!
//! A program passes an object by the address of its handle, which looks like
//! any other value of a pointer's size. The kernel's argument information says
//! which is which; programs are built with it, whatever the guest's options
//! are. The guest's wrong values never reach the driver as pointers.

use super::call::Call;
use super::driver::Driver;
use super::generated::types::*;
use super::refusal::Refusal;
use super::session::Session;
use crate::table::Pointer;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::{ClSetKernelArgArgs, KernelArgument, Kind};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{NonNull, null, null_mut};

/// Most arguments of a kernel whose types are kept.
const MAX_ARGS: cl_uint = 4096;

/// What a kernel's argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// Bytes.
    Value,
    /// An object: a memory object or a sampler.
    Object(Kind),
    /// `__local` memory.
    Local,
    /// The driver does not say.
    Unknown,
}

/// A kernel's arguments.
#[derive(Debug)]
pub struct KernelArgs {
    /// The types, as the driver says.
    types: Vec<ArgType>,
    /// The objects that are set. A driver need not keep them, and a program
    /// may release one and still run the kernel: here each has a reference.
    held: HashMap<cl_uint, (Kind, Pointer)>,
}

impl KernelArgs {
    fn of(driver: &Driver, kernel: cl_kernel) -> Self {
        let count = number_of_args(driver, kernel).min(MAX_ARGS);
        Self {
            types: (0..count).map(|index| ask(driver, kernel, index)).collect(),
            held: HashMap::new(),
        }
    }

    fn hold(&mut self, driver: &Driver, index: cl_uint, object: Option<(Kind, Pointer)>) {
        if let Some((kind, pointer)) = object {
            driver.retain(kind, pointer);
        }
        let before = match object {
            Some(object) => self.held.insert(index, object),
            None => self.held.remove(&index),
        };
        if let Some((kind, pointer)) = before {
            driver.release(kind, pointer);
        }
    }

    /// Gives up the objects: the kernel is gone.
    pub fn release(self, driver: &Driver) {
        for (kind, pointer) in self.held.into_values() {
            driver.release(kind, pointer);
        }
    }
}

/// What the driver is given.
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
    let arg = arg_type(session, kernel, args.arg_index)?;
    let mut size = super::support::size(args.arg_size, "arg_size")?;
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
        if args.arg_size != u64::from(session.guest.pointer_bits / 8) {
            return Ok(CL_INVALID_ARG_SIZE);
        }
        size = size_of::<*mut c_void>();
    }
    let index = args.arg_index;
    // SAFETY: the kernel is alive; `pointer` is null or has `size` bytes, which
    // are an object's handle only where the object is alive.
    let result = call.timed(|| unsafe { function(kernel, index, size, pointer) });
    if result == CL_SUCCESS {
        let held = match value {
            Value::Object(kind, object) => NonNull::new(object).map(|object| (kind, object)),
            _ => None,
        };
        let driver = session.driver;
        kernel_args(session, kernel)?.hold(driver, index, held);
    }
    Ok(result)
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
        (KernelArgument::Handle(handle), ArgType::Unknown) => match session.table.kind(*handle) {
            Some(kind @ (Kind::Mem | Kind::Sampler)) => object(session, *handle, kind),
            _ => Err(CL_INVALID_ARG_VALUE),
        },
        (KernelArgument::Handle(_), _) => Err(CL_INVALID_ARG_VALUE),
        (KernelArgument::Bytes(data), ArgType::Object(kind)) => null_object(call, data, kind)?,
        (KernelArgument::Bytes(data), _) => {
            let size = super::support::size(args.arg_size, "arg_size")?;
            let pointer = call.input(data, size)?;
            Ok(match pointer.is_null() {
                true => Value::Null,
                false => Value::Bytes(pointer),
            })
        }
    })
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

fn kernel_args(session: &mut Session, kernel: cl_kernel) -> Result<&mut KernelArgs, Refusal> {
    let driver = session.driver;
    let pointer: Option<Pointer> = NonNull::new(kernel.cast());
    let pointer = pointer.ok_or(Refusal::parameter("kernel", 0))?;
    let args = session.kernels.entry(pointer);
    Ok(args.or_insert_with(|| KernelArgs::of(driver, kernel)))
}

fn arg_type(session: &mut Session, kernel: cl_kernel, index: cl_uint) -> Result<ArgType, Refusal> {
    let args = kernel_args(session, kernel)?;
    let known = args.types.get(index as usize);
    Ok(known.copied().unwrap_or(ArgType::Unknown))
}

fn number_of_args(driver: &Driver, kernel: cl_kernel) -> cl_uint {
    let mut count: cl_uint = 0;
    if let Some(function) = driver.functions.clGetKernelInfo {
        let room = (&raw mut count).cast();
        // SAFETY: the kernel is alive, the room as large as said.
        unsafe { function(kernel, CL_KERNEL_NUM_ARGS, 4, room, null_mut()) };
    }
    count
}

fn ask(driver: &Driver, kernel: cl_kernel, index: cl_uint) -> ArgType {
    let Some(function) = driver.functions.clGetKernelArgInfo else {
        return ArgType::Unknown;
    };
    let value = |name: cl_uint, room: &mut [u8]| {
        let pointer = room.as_mut_ptr().cast();
        // SAFETY: the kernel is alive, the room as large as said.
        let result = unsafe { function(kernel, index, name, room.len(), pointer, null_mut()) };
        result == CL_SUCCESS
    };
    let mut qualifier = [0; 4];
    let mut name = [0; 256];
    if !value(CL_KERNEL_ARG_ADDRESS_QUALIFIER, &mut qualifier) {
        return ArgType::Unknown;
    }
    match cl_uint::from_ne_bytes(qualifier) {
        CL_KERNEL_ARG_ADDRESS_LOCAL => ArgType::Local,
        CL_KERNEL_ARG_ADDRESS_GLOBAL | CL_KERNEL_ARG_ADDRESS_CONSTANT => ArgType::Object(Kind::Mem),
        _ if value(CL_KERNEL_ARG_TYPE_NAME, &mut name) => private_type(&name),
        _ => ArgType::Value,
    }
}

/// The type of a private argument, by its name up to the first NUL. A type
/// whose name is longer than any of OpenCL's own is the program's.
fn private_type(name: &[u8]) -> ArgType {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_image = name.starts_with(b"image") && name.ends_with(b"_t");
    match name {
        b"sampler_t" => ArgType::Object(Kind::Sampler),
        _ if is_image => ArgType::Object(Kind::Mem),
        _ => ArgType::Value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_known_by_their_type_names() {
        assert_eq!(
            private_type(b"sampler_t\0\0"),
            ArgType::Object(Kind::Sampler)
        );
        assert_eq!(private_type(b"image2d_t\0"), ArgType::Object(Kind::Mem));
        assert_eq!(private_type(b"image3d_array_t"), ArgType::Object(Kind::Mem));
        assert_eq!(private_type(b"ulong\0"), ArgType::Value);
        assert_eq!(private_type(b"imageinfo\0"), ArgType::Value);
    }
}
