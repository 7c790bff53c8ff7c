//! The types of a kernel's arguments: from the driver's argument information, else
//! from the program's text, checked with the driver's answers to NULL.

use super::driver::{Driver, fetch, fetch_handle, fetch_text};
use super::generated::types::*;
use super::probe::{Answer, Probe};
use super::session::Session;
use crate::back_end::Pointer;
use gil_kernel_signatures::{Argument, What};
use gil_wire::generated::opencl::Kind;
use std::ptr::null_mut;

/// Most arguments of a kernel whose types are kept.
const MAX_ARGS: cl_uint = 4096;

/// The type of a kernel's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// Bytes: how many, as far as that is known.
    Value(Option<u64>),
    /// An object.
    Object(Kind),
    /// `__local` memory.
    Local,
    /// Nobody says but the driver, by what it takes. The guest's library knows
    /// which values are live objects of its own; no others go where the driver
    /// expects an object.
    Unknown(Answer),
}

impl Session {
    /// The types of a kernel's arguments.
    pub(super) fn arg_types(&mut self, kernel: cl_kernel) -> Vec<ArgType> {
        let driver = self.driver;
        let count = number_of_args(driver, kernel).unwrap_or(0).min(MAX_ARGS);
        let told: Vec<_> = (0..count).map(|index| ask(driver, kernel, index)).collect();
        if told.iter().all(Option::is_some) {
            return told.into_iter().flatten().collect();
        }
        let origin = origin(driver, kernel);
        let origin = origin.as_ref();
        let read =
            origin.and_then(|(program, name)| self.read_args(*program, name, count as usize));
        let probe = origin.and_then(|(program, name)| Probe::new(driver, *program, name));
        let find = |(index, told): (usize, &Option<ArgType>)| {
            told.unwrap_or_else(|| {
                let read = read.as_ref().and_then(|args| arg_type(&args[index]));
                let asked = || probe.as_ref().map(|probe| probe.ask(index as cl_uint));
                settled(read, || asked().unwrap_or(Answer::Object))
            })
        };
        told.iter().enumerate().map(find).collect()
    }

    /// The arguments as the program's text has them, if it has as many.
    fn read_args(&mut self, program: Pointer, name: &str, count: usize) -> Option<Vec<Argument>> {
        let all = self.signatures_for(program);
        let found = all.iter().find_map(|signatures| signatures.get(name));
        found.filter(|args| args.len() == count).cloned()
    }
}

/// Objects are what the text says they are. Bytes are only what the driver
/// takes for bytes as well: a guest's text may say anything.
fn settled(read: Option<ArgType>, ask: impl Fn() -> Answer) -> ArgType {
    match read {
        Some(known @ (ArgType::Object(_) | ArgType::Local)) => known,
        read => match (read, ask()) {
            (Some(value), Answer::Value) => value,
            (_, answer) => ArgType::Unknown(answer),
        },
    }
}

fn arg_type(read: &Argument) -> Option<ArgType> {
    Some(match read.what {
        What::Value => ArgType::Value(read.size),
        What::Buffer | What::Image | What::Pipe => ArgType::Object(Kind::Mem),
        What::Local => ArgType::Local,
        What::Sampler => ArgType::Object(Kind::Sampler),
        What::Queue => ArgType::Object(Kind::CommandQueue),
        What::Unknown => return None,
    })
}

/// A kernel's program and function.
fn origin(driver: &Driver, kernel: cl_kernel) -> Option<(Pointer, String)> {
    let ask = |name| {
        let info = driver.functions.clGetKernelInfo?;
        // SAFETY: the kernel is alive, and `fetch` provides a buffer of the size it states.
        fetch(|size, value, len| unsafe { info(kernel, name, size, value, len) })
    };
    let program = fetch_handle(&ask(CL_KERNEL_PROGRAM)?)?;
    Some((program, fetch_text(ask(CL_KERNEL_FUNCTION_NAME)?)))
}

/// How many arguments a kernel has, if the driver says.
pub(super) fn number_of_args(driver: &Driver, kernel: cl_kernel) -> Option<cl_uint> {
    let function = driver.functions.clGetKernelInfo?;
    let mut count: cl_uint = 0;
    let room = (&raw mut count).cast();
    // SAFETY: the kernel is alive, the buffer has the stated size.
    let result = unsafe { function(kernel, CL_KERNEL_NUM_ARGS, 4, room, null_mut()) };
    (result == CL_SUCCESS).then_some(count)
}

/// What the driver's argument information says.
fn ask(driver: &Driver, kernel: cl_kernel, index: cl_uint) -> Option<ArgType> {
    let function = driver.arg_info()?;
    let value = |name: cl_uint, room: &mut [u8]| {
        let pointer = room.as_mut_ptr().cast();
        // SAFETY: the kernel is alive, the buffer has the stated size.
        let result = unsafe { function(kernel, index, name, room.len(), pointer, null_mut()) };
        result == CL_SUCCESS
    };
    let mut qualifier = [0; 4];
    let mut name = [0; 256];
    if !value(CL_KERNEL_ARG_ADDRESS_QUALIFIER, &mut qualifier) {
        return None;
    }
    Some(match cl_uint::from_ne_bytes(qualifier) {
        CL_KERNEL_ARG_ADDRESS_LOCAL => ArgType::Local,
        CL_KERNEL_ARG_ADDRESS_GLOBAL | CL_KERNEL_ARG_ADDRESS_CONSTANT => ArgType::Object(Kind::Mem),
        // A type whose name is longer than any of OpenCL's own is the
        // program's.
        _ if value(CL_KERNEL_ARG_TYPE_NAME, &mut name) => private_type(&name),
        _ => ArgType::Value(None),
    })
}

/// The type of a private argument, by its name up to the first NUL.
fn private_type(name: &[u8]) -> ArgType {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let is_image = name.starts_with(b"image") && name.ends_with(b"_t");
    match name {
        b"sampler_t" => ArgType::Object(Kind::Sampler),
        b"queue_t" => ArgType::Object(Kind::CommandQueue),
        _ if is_image => ArgType::Object(Kind::Mem),
        _ => ArgType::Value(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_known_by_their_type_names() {
        let sampler = ArgType::Object(Kind::Sampler);
        assert_eq!(private_type(b"sampler_t\0\0"), sampler);
        assert_eq!(private_type(b"image2d_t\0"), ArgType::Object(Kind::Mem));
        assert_eq!(private_type(b"image3d_array_t"), ArgType::Object(Kind::Mem));
        let value = ArgType::Value(None);
        assert_eq!(private_type(b"ulong\0"), value);
        assert_eq!(private_type(b"imageinfo\0"), value);
    }

    #[test]
    fn a_text_that_lies_makes_no_object_of_bytes() {
        let mem = ArgType::Object(Kind::Mem);
        let value = ArgType::Value(Some(8));
        let unknown = ArgType::Unknown;
        assert_eq!(settled(Some(mem), || panic!("not asked")), mem);
        assert_eq!(settled(Some(value), || Answer::Value), value);
        for answer in [Answer::Memory, Answer::Object] {
            assert_eq!(settled(Some(value), || answer), unknown(answer));
        }
        for answer in [Answer::Value, Answer::Memory, Answer::Object] {
            assert_eq!(settled(None, || answer), unknown(answer));
        }
    }
}
