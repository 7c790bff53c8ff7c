//! Finds the kernels that may print.

use super::driver::{fetch, fetch_handle};
use super::generated::types::*;
use super::session::Session;
use crate::back_end::{Call, Events, Objects, Pointer, Refusal};
use crate::printed;
use gil_wire::call::{Handle, NewEvent};
use gil_wire::generated::opencl::Kind;

const WORD: &[u8] = b"printf";

impl Session {
    /// Runs what launches a kernel: with what the kernel reaches kept until the
    /// launch ends, and alone on the board if it may print.
    ///
    /// # Errors
    /// As `run`, and [`Refusal::Table`] if there is no such kernel.
    pub(super) fn launching<R>(
        &mut self,
        call: &mut Call,
        (kernel, event): (Handle, NewEvent),
        run: impl FnOnce(&mut Self, &mut Call) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        self.table.get(kernel, Kind::Kernel)?;
        let args = self.kernel(kernel).and_then(|kernel| kernel.args.as_ref());
        if let Some(args) = args {
            args.hold_shared(call);
        }
        let turn = match self.may_print(kernel) {
            true => printed::turn(),
            false => None,
        };
        let result = run(self, call)?;
        if let Some(turn) = turn {
            let number = event.number.0;
            let wait = |operation: &_| self.driver.wait_for(operation);
            self.printing.collect(&self.operations, number, &turn, wait);
        }
        Ok(result)
    }

    /// Runs what may unblock kernels that may print: alone on the board, too.
    ///
    /// # Errors
    /// As `run`.
    pub(super) fn unblocking<R>(
        &mut self,
        call: &mut Call,
        run: impl FnOnce(&mut Self, &mut Call) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let turn = match self.printing.has_blocked() {
            true => printed::turn(),
            false => None,
        };
        let result = run(self, call)?;
        if let Some(turn) = turn {
            let wait = |operation: &_| self.driver.wait_for(operation);
            self.printing.collect_blocked(&self.operations, &turn, wait);
        }
        Ok(result)
    }

    fn may_print(&mut self, kernel: Handle) -> bool {
        if let Some(known) = self.kernel(kernel).and_then(|kernel| kernel.prints) {
            return known;
        }
        let object = self.table.get(kernel, Kind::Kernel);
        let prints = object.map_or(true, |object| self.looks_as_if_it_prints(object));
        if let Some(kernel) = self.kernel_mut(kernel) {
            kernel.prints = Some(prints);
        }
        prints
    }

    /// Whether the kernel's program names the function that prints, or cannot
    /// be looked at.
    fn looks_as_if_it_prints(&self, kernel: Pointer) -> bool {
        let Some(program) = self.program_of(kernel) else {
            return true;
        };
        let texts = self.texts(program);
        // More may come out of files, or of words pasted together.
        let words = [WORD, b"#include", b"##"];
        let may = |word: &&[u8]| texts.iter().any(|text| text.mentions(word));
        if words.iter().any(may) {
            return true;
        }
        let is_binary = texts.iter().any(|text| text.is_empty());
        is_binary && self.binary_mentions(program, WORD)
    }

    /// The program that a kernel is of.
    pub(super) fn program_of(&self, kernel: Pointer) -> Option<Pointer> {
        let info = self.functions().clGetKernelInfo?;
        let (kernel, name) = (kernel.as_ptr(), CL_KERNEL_PROGRAM);
        // SAFETY: the kernel is alive, and `fetch` provides a buffer of the size it states.
        let ask = |size, value, len| unsafe { info(kernel.cast(), name, size, value, len) };
        fetch(ask).and_then(|bytes| fetch_handle(&bytes))
    }

    /// Whether any of a program's binaries has the word; also if there is none
    /// to look at.
    fn binary_mentions(&self, program: Pointer, word: &[u8]) -> bool {
        let Some(info) = self.functions().clGetProgramInfo else {
            return true;
        };
        let object: cl_program = program.as_ptr().cast();
        let name = CL_PROGRAM_BINARY_SIZES;
        // SAFETY: the program is alive, and `fetch` provides a buffer of the size it states.
        let ask = |size, value, len| unsafe { info(object, name, size, value, len) };
        let Some(sizes) = fetch(ask) else { return true };
        let size = |bytes: &[u8]| usize::from_ne_bytes(bytes.try_into().expect("a size"));
        let sizes = sizes.chunks_exact(size_of::<usize>()).map(size);
        let mut binaries: Vec<Vec<u8>> = sizes.map(|len| vec![0; len]).collect();
        let mut places: Vec<*mut u8> = binaries.iter_mut().map(|b| b.as_mut_ptr()).collect();
        let (len, list) = (size_of_val(places.as_slice()), places.as_mut_ptr().cast());
        // SAFETY: the program is alive; each place has the size that it has.
        let result = unsafe { info(object, CL_PROGRAM_BINARIES, len, list, std::ptr::null_mut()) };
        let has = |binary: &Vec<u8>| binary.is_empty() || mentions(binary, word);
        result != CL_SUCCESS || binaries.iter().any(has)
    }
}

/// Whether a word stands anywhere in these bytes.
pub fn mentions(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}
