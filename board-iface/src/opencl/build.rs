//! Building programs with argument information, which the session needs to
//! distinguish kernel arguments, without letting the guest see it.

use super::driver::fetch;
use super::generated::types::*;
use super::refusal::OpenClRefusal;
use super::session::Session;
use crate::back_end::info::info_shown;
use crate::back_end::{Call, InfoReply, Objects, Pointer, Refusal, info};
use gil_opencl_common::build_options;
use gil_wire::call::{Handle, InData};
use gil_wire::generated::opencl::{self as wire, Kind};
use std::ffi::{CStr, CString, c_void};

impl Session {
    /// The options to build or compile a program with: the guest's own and
    /// `-cl-kernel-arg-info`, where the driver bears it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn build_options(
        &mut self,
        call: &mut Call,
        program: Handle,
        options: &InData<'_>,
    ) -> Result<Option<CString>, Refusal> {
        let given = call.string(options)?.unwrap_or_default();
        let object = self.table.get(program, Kind::Program)?;
        let kept = self.program_mut(program);
        let kept = kept.ok_or(Refusal::parameter("program", program.0))?;
        (kept.options, kept.hides_arg_info) = (None, false);
        let mut options = kept.files.options(&given)?;
        let bears_it = !std::mem::take(&mut kept.without_arg_info);
        let option = self.driver.arg_info_option().filter(|_| bears_it);
        let with_info = option.and_then(|option| with_arg_info(&options, option));
        // A binary has kept its own, or has none.
        let with_info = with_info.filter(|_| self.has_text(object));
        let hides = with_info.is_some();
        options = with_info.unwrap_or(options);
        if let Some(kept) = self.program_mut(program) {
            kept.hides_arg_info = hides;
            kept.options = (options != given).then_some(given);
        }
        Ok(Some(options))
    }

    /// Runs what builds or compiles a program, and runs it again if it fails for
    /// what the program was to keep for the session.
    ///
    /// # Errors
    /// As `run`, and [`OpenClRefusal::Option`].
    pub(super) fn building(
        &mut self,
        call: &mut Call,
        (program, options): (Handle, &InData<'_>),
        run: impl Fn(&mut Self, &mut Call) -> Result<cl_int, Refusal>,
    ) -> Result<cl_int, Refusal> {
        allowed(call, options)?;
        let result = run(self, call)?;
        if !self.builds_again(program, result) {
            return Ok(result);
        }
        call.restart_time();
        run(self, call)
    }

    /// Whether a build failed that was to keep argument information for the
    /// session only, and may not fail without: the next one of the program does
    /// without. Drivers of OpenCL 1.1 do not know the option, and NVIDIA's
    /// (580.159) fails with it where a kernel has no arguments. Other failures
    /// are the program's own: some drivers (PoCL 3.1) lose the log of the first
    /// build when there is a second.
    fn builds_again(&mut self, program: Handle, result: cl_int) -> bool {
        let Ok(object) = self.table.get(program, Kind::Program) else {
            return false;
        };
        let may_be_its_fault = match result {
            CL_INVALID_BUILD_OPTIONS | CL_INVALID_COMPILER_OPTIONS => true,
            CL_BUILD_PROGRAM_FAILURE | CL_COMPILE_PROGRAM_FAILURE => {
                let kernels = self.signatures_for(object);
                let mut kernels = kernels.iter().flat_map(|text| text.values());
                kernels.any(Vec::is_empty)
            }
            _ => false,
        };
        let Some(kept) = self.program_mut(program) else {
            return false;
        };
        let again = may_be_its_fault && kept.hides_arg_info;
        if again {
            (kept.hides_arg_info, kept.without_arg_info) = (false, true);
            kept.files.again();
        }
        again
    }

    fn has_text(&self, program: Pointer) -> bool {
        let texts = self.texts(program);
        texts.iter().any(|text| !text.is_empty())
    }
}

/// Whether what a call gives a compiler for options may reach it.
///
/// # Errors
/// [`OpenClRefusal::Option`] names the one that may not.
pub(super) fn allowed(call: &Call, options: &InData<'_>) -> Result<(), Refusal> {
    let text = String::from_utf8_lossy(call.bytes(options)?.unwrap_or_default());
    let refused = build_options::refused(&text);
    refused.map_or(Ok(()), |word| Err(OpenClRefusal::Option(word).into()))
}

/// `None` if they have it already.
fn with_arg_info(given: &CStr, option: &str) -> Option<CString> {
    let given = given.to_bytes();
    let mut words = given.split(u8::is_ascii_whitespace);
    if words.any(|word| word == option.as_bytes()) {
        return None;
    }
    let mut all = given.to_vec();
    if !all.is_empty() {
        all.push(b' ');
    }
    all.extend_from_slice(option.as_bytes());
    Some(CString::new(all).expect("both parts are without NUL"))
}

/// `clGetProgramBuildInfo`; the options are the guest's own.
///
/// # Errors
/// [`Refusal`].
pub fn get_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetProgramBuildInfoArgs,
) -> Result<InfoReply, Refusal> {
    let Some(function) = session.functions().clGetProgramBuildInfo else {
        return Ok(InfoReply::failed(CL_INVALID_OPERATION));
    };
    let program: cl_program = session.get(Kind::Program, args.program)?;
    let device: cl_device_id = session.get(Kind::Device, args.device)?;
    let name = args.param_name;
    let kind = wire::cl_get_program_build_info(name);
    let kind = kind.ok_or(Refusal::parameter("param_name", name.into()))?;
    let ask = |size: usize, value: *mut c_void, size_ret: *mut usize| {
        // SAFETY: the objects are alive, and `info` provides a buffer of the size it states.
        unsafe { function(program, device, name, size, value, size_ret) }
    };
    let kept = session.program(args.program);
    let shown = match name {
        CL_PROGRAM_BUILD_OPTIONS => {
            let own = kept.and_then(|kept| kept.options.clone());
            own.map(CString::into_bytes_with_nul)
        }
        CL_PROGRAM_BUILD_LOG => fetch(ask).and_then(|log| {
            let shown = kept?.files.shown(&log);
            (shown != log).then_some(shown)
        }),
        _ => None,
    };
    match shown {
        Some(text) => info_shown(session, call, &text, args.param_value, ask),
        None => info(session, call, kind, args.param_value, ask),
    }
}

/// `clGetKernelArgInfo`: what the guest's own options did not ask for is not
/// available.
///
/// # Errors
/// [`Refusal`].
pub fn get_arg_info(
    session: &mut Session,
    call: &mut Call,
    args: &wire::ClGetKernelArgInfoArgs,
) -> Result<InfoReply, Refusal> {
    let Some(function) = session.functions().clGetKernelArgInfo else {
        return Ok(InfoReply::failed(CL_INVALID_OPERATION));
    };
    let kernel: cl_kernel = session.get(Kind::Kernel, args.kernel)?;
    let name = args.param_name;
    let kind = wire::cl_get_kernel_arg_info(name);
    let kind = kind.ok_or(Refusal::parameter("param_name", name.into()))?;
    let pointer = session.table.get(args.kernel, Kind::Kernel)?;
    let program = session.program_of(pointer);
    let program = program.and_then(|program| session.program_at(program));
    let hidden = program.is_some_and(|program| program.hides_arg_info);
    let ask = |size: usize, value: *mut c_void, size_ret: *mut usize| {
        // SAFETY: the kernel is alive, and `info` provides a buffer of the size it states.
        let result = unsafe { function(kernel, args.arg_indx, name, size, value, size_ret) };
        match (result, hidden) {
            (CL_SUCCESS, true) => CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
            _ => result,
        }
    };
    info(session, call, kind, args.param_value, ask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_information_is_asked_for_once() {
        let option = "-cl-kernel-arg-info";
        let with = |text: &CStr| with_arg_info(text, option).map(|t| t.into_string().unwrap());
        assert_eq!(with(c"").unwrap(), "-cl-kernel-arg-info");
        assert_eq!(with(c"-O2 -DX=1").unwrap(), "-O2 -DX=1 -cl-kernel-arg-info");
        assert_eq!(with(c"-cl-kernel-arg-info -O2"), None);
        assert!(with(c"-DX=-cl-kernel-arg-info").is_some());
    }
}
