//! Arguments of kernels.

use super::context::context_of;
use super::details::{Accepted, Argument, Arguments, Details};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_guest::{Api, ByHand, CallResult};
use gil_wire::call::{Handle, InData};
use gil_wire::compact::Writer;
use gil_wire::envelope::{Class, Envelope};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::c_void;

/// An argument of a kernel as the program gave it. What it is, only the
/// kernel's signature tells: a pointer-sized value that names a live object is
/// taken for that object.
pub(super) struct KernelArgument {
    size: usize,
    value: *const c_void,
    object: Option<Object>,
}

impl KernelArgument {
    /// No device takes larger arguments by value.
    const SIZE_MAX: usize = 1 << 16;
    const OBJECTS: [Kind; 3] = [Kind::Mem, Kind::Sampler, Kind::CommandQueue];

    /// # Safety
    /// `value` is null or names `size` bytes.
    pub(super) unsafe fn new(size: usize, value: *const c_void) -> CallResult<Self> {
        if !value.is_null() && size > Self::SIZE_MAX {
            return Err(CL_INVALID_ARG_SIZE);
        }
        // SAFETY: the caller's.
        let object = unsafe { Self::word(size, value) }
            .and_then(|word| Object::find_any(&Self::OBJECTS, word as *const c_void));
        Ok(Self {
            size,
            value,
            object,
        })
    }

    /// The value, if it is as large as a pointer.
    ///
    /// # Safety
    /// `value` is null or names `size` bytes.
    unsafe fn word(size: usize, value: *const c_void) -> Option<usize> {
        let is_word = !value.is_null() && size == size_of::<usize>();
        // SAFETY: the caller's; it need not be aligned.
        is_word.then(|| unsafe { value.cast::<usize>().read_unaligned() })
    }

    fn kind(&self) -> Accepted {
        Accepted {
            size: self.size,
            object: self.object.as_ref().map(Object::kind),
            local: self.value.is_null(),
        }
    }

    /// Whether it names no object where the kernel was given one before.
    fn is_stale(&self, before: Option<Accepted>) -> bool {
        // SAFETY: as in `new`.
        let word = unsafe { Self::word(self.size, self.value) };
        let wanted = before.is_some_and(|before| before.object.is_some());
        wanted && self.object.is_none() && word.is_some_and(|word| word != 0)
    }

    /// The first time, the board judges it. What it accepted once cannot fail
    /// again, and is posted.
    pub(super) fn set(&self, entry: u64, kernel: &Object, index: cl_uint) -> CallResult<()> {
        let Details::Kernel(known) = kernel.details() else {
            return Err(CL_INVALID_KERNEL);
        };
        let before = known.accepted(index);
        if self.is_stale(before.map(|before| before.accepted)) {
            return Err(CL_INVALID_MEM_OBJECT);
        }
        if let Some(before) = before.filter(|before| before.accepted == self.kind()) {
            if before.object != Object::number_of(&self.object) {
                self.replace(known, kernel, index);
            }
            return self.post(entry, kernel, index);
        }
        let plain = Self {
            object: None,
            ..*self
        };
        // A value may happen to be a live object's address.
        let accepted = match (self.send(Class::Sync, entry, kernel, index), &self.object) {
            (Err(CL_INVALID_ARG_VALUE), Some(_)) => {
                plain.send(Class::Sync, entry, kernel, index)?;
                &plain
            }
            (answer, _) => {
                answer?;
                self
            }
        };
        accepted.note(known, index);
        known.launches().forget();
        Ok(())
    }

    fn note(&self, known: &Arguments, index: cl_uint) {
        let argument = Argument {
            accepted: self.kind(),
            object: Object::number_of(&self.object),
        };
        known.accept(index, argument);
    }

    /// Another object of the same kind. Whole buffers of the kernel's context
    /// are alike for launches, too; others may be misaligned, or of a size or
    /// format that the kernel cannot use.
    fn replace(&self, known: &Arguments, kernel: &Object, index: cl_uint) {
        self.note(known, index);
        let is_alike = self.object.as_ref().is_some_and(|object| {
            let whole = matches!(object.details(), Details::Memory(memory) if memory.is_whole());
            whole && context_of(object) == context_of(kernel)
        });
        if !is_alike {
            known.launches().forget();
        }
    }

    /// Posts what was accepted before. Programs set arguments before every
    /// launch, and the guest counts the instructions: small ones are written by
    /// hand.
    fn post(&self, entry: u64, kernel: &Object, index: cl_uint) -> CallResult<()> {
        let object = self.object.as_ref().map(Object::number);
        let Some(value) = self.small(object) else {
            return self.send(Class::Post, entry, kernel, index);
        };
        let call = Envelope::new(wire::CL_SET_KERNEL_ARG, Class::Post, entry);
        let (kernel, size) = (kernel.number(), self.size);
        let args = ByHand(|to: &mut Writer<'_>| value.write(to, kernel, index, size));
        gil_guest::client()
            .and_then(|client| client.post_here(&call, &args))
            .map_err(|error| Guest::failed(call.op, &error))
    }

    #[inline]
    fn small(&self, object: Option<Handle>) -> Option<Small<'_>> {
        match object {
            Some(number) => Some(Small::Object(number)),
            None if self.value.is_null() => Some(Small::Local),
            // SAFETY: as in `new`.
            None if self.size <= Small::VALUE_MAX => Some(Small::Value(unsafe {
                std::slice::from_raw_parts(self.value.cast(), self.size)
            })),
            None => None,
        }
    }

    fn send(&self, class: Class, entry: u64, kernel: &Object, index: cl_uint) -> CallResult<()> {
        let mut request = Request::new(wire::CL_SET_KERNEL_ARG, class, entry);
        let arg_value = match (&self.object, self.value.is_null()) {
            (Some(object), _) => wire::KernelArgument::Handle(object.number()),
            (None, true) => wire::KernelArgument::Local,
            // SAFETY: as in `new`.
            (None, false) => wire::KernelArgument::Bytes(unsafe { self.bytes(&mut request) }),
        };
        let args = wire::ClSetKernelArgArgs {
            kernel: kernel.number(),
            arg_index: index,
            arg_size: self.size as u64,
            arg_value,
        };
        if class == Class::Post {
            return request.post(&args);
        }
        request.forward(&args, |reply| {
            let reply: wire::ClSetKernelArgReply = reply.decode()?;
            Guest::check(reply.result)
        })
    }

    /// # Safety
    /// As in `new`.
    unsafe fn bytes<'a>(&self, request: &mut Request) -> InData<'a> {
        // SAFETY: the caller's.
        unsafe { request.input(self.value, self.size) }
    }
}

/// A kernel's argument of a few bytes.
#[derive(Clone, Copy)]
enum Small<'a> {
    Value(&'a [u8]),
    Object(Handle),
    Local,
}

impl Small<'_> {
    /// Most bytes of a value.
    const VALUE_MAX: usize = 32;

    /// Writes [`wire::ClSetKernelArgArgs`].
    #[inline(always)]
    fn write(self, to: &mut Writer<'_>, kernel: Handle, index: cl_uint, size: usize) {
        to.handle(kernel);
        to.number(index.into());
        to.number(size as u64);
        match self {
            Self::Value(bytes) => {
                // Of `KernelArgument`, and of `InData`.
                to.byte(0);
                to.byte(1);
                to.bytes(bytes);
            }
            Self::Object(number) => {
                to.byte(1);
                to.handle(number);
            }
            Self::Local => to.byte(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn as_postcard(kernel: Handle, index: u32, size: usize, value: Small<'_>) -> Vec<u8> {
        let arg_value = match value {
            Small::Value(bytes) => wire::KernelArgument::Bytes(InData::Inline(bytes)),
            Small::Object(number) => wire::KernelArgument::Handle(number),
            Small::Local => wire::KernelArgument::Local,
        };
        let args = wire::ClSetKernelArgArgs {
            kernel,
            arg_index: index,
            arg_size: size as u64,
            arg_value,
        };
        postcard::to_stdvec(&args).unwrap()
    }

    proptest! {
        #[test]
        fn small_arguments_are_written_as_postcard_does(
            kernel: u64,
            index: u32,
            size: usize,
            number: u64,
            bytes in prop::collection::vec(any::<u8>(), 0..=Small::VALUE_MAX),
        ) {
            let kernel = Handle(kernel);
            for value in [Small::Value(&bytes), Small::Object(Handle(number)), Small::Local] {
                let mut bytes = [0; 100];
                let mut writer = Writer::new(&mut bytes, 0);
                value.write(&mut writer, kernel, index, size);
                let len = writer.end().unwrap();
                prop_assert_eq!(&bytes[..len], as_postcard(kernel, index, size, value));
            }
        }
    }
}
