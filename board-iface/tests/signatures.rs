//! What is read out of kernels' texts is what a compiler says they are:
//! compared with the argument information of this machine's OpenCL.

use gil_board::back_end::DriverOptions;
use gil_board::back_end::Pointer;
use gil_board::opencl::generated::functions::Functions;
use gil_board::opencl::generated::types::*;
use gil_board::opencl::{Driver, OpenClError};
use gil_kernel_signatures::{
    Access, Argument, Program, Qualifiers, Signatures, Space, Target, What,
};
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

const ACCESS_READ_ONLY: cl_uint = 0x11a0;
const ACCESS_WRITE_ONLY: cl_uint = 0x11a1;
const ACCESS_READ_WRITE: cl_uint = 0x11a2;
const ACCESS_NONE: cl_uint = 0x11a3;
const QUALIFIER_CONST: cl_ulong = 1;
const QUALIFIER_RESTRICT: cl_ulong = 2;
const QUALIFIER_VOLATILE: cl_ulong = 4;

/// What a driver says about an argument, or what was read about it.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    name: String,
    type_name: String,
    address: cl_uint,
    access: cl_uint,
    qualifiers: cl_ulong,
}

struct Compiler {
    driver: &'static Driver,
    device: cl_device_id,
    context: cl_context,
}

impl Compiler {
    fn new() -> Option<Self> {
        let driver = match Driver::load(DriverOptions::default()) {
            Ok(driver) => driver,
            Err(error @ (OpenClError::NoLibrary(_) | OpenClError::NoDevice(_))) => {
                gil_need::skip("an OpenCL device", error);
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let (mut platform, mut device) = (null_mut(), null_mut());
        let mut result = CL_SUCCESS;
        let all = CL_DEVICE_TYPE_ALL;
        let f = &driver.functions;
        // SAFETY: every pointer names what the function writes or is null.
        let context = unsafe {
            assert_eq!(f.clGetPlatformIDs.unwrap()(1, &mut platform, null_mut()), 0);
            let devices = f.clGetDeviceIDs.unwrap();
            assert_eq!(devices(platform, all, 1, &mut device, null_mut()), 0);
            let create = f.clCreateContext.unwrap();
            create(null(), 1, &device, None, null_mut(), &mut result)
        };
        assert_eq!(result, CL_SUCCESS);
        Some(Self {
            driver,
            device,
            context,
        })
    }

    fn functions(&self) -> &'static Functions {
        &self.driver.functions
    }

    fn target(&self) -> Target {
        self.driver
            .target(Pointer::new(self.device.cast()).unwrap())
    }

    fn build(&self, source: &str, options: &str) -> cl_program {
        let (program, result) = self.try_build(source, options);
        assert_eq!(result, CL_SUCCESS, "{}", self.log(program));
        program
    }

    fn try_build(&self, source: &str, options: &str) -> (cl_program, cl_int) {
        let options = CString::new(format!("{options} -cl-kernel-arg-info")).unwrap();
        let (mut pointer, len) = (source.as_ptr().cast(), source.len());
        let mut result = CL_SUCCESS;
        let f = self.functions();
        // SAFETY: the source has `len` bytes, the options a NUL.
        unsafe {
            let create = f.clCreateProgramWithSource.unwrap();
            let program = create(self.context, 1, &mut pointer, &len, &mut result);
            assert_eq!(result, CL_SUCCESS);
            let build = f.clBuildProgram.unwrap();
            (
                program,
                build(program, 1, &self.device, options.as_ptr(), None, null_mut()),
            )
        }
    }

    fn log(&self, program: cl_program) -> String {
        let info = self.functions().clGetProgramBuildInfo.unwrap();
        let name = CL_PROGRAM_BUILD_LOG;
        text(|size, room, len| {
            // SAFETY: the buffer has the stated size.
            unsafe { info(program, self.device, name, size, room, len) }
        })
    }

    fn kernels(&self, program: cl_program) -> Vec<cl_kernel> {
        let mut count = 0;
        let all = self.functions().clCreateKernelsInProgram.unwrap();
        // SAFETY: the list has as many entries as there are kernels.
        unsafe {
            assert_eq!(all(program, 0, null_mut(), &mut count), CL_SUCCESS);
            let mut kernels = vec![null_mut(); count as usize];
            assert_eq!(all(program, count, kernels.as_mut_ptr(), null_mut()), 0);
            kernels
        }
    }

    fn kernel_name(&self, kernel: cl_kernel) -> String {
        let info = self.functions().clGetKernelInfo.unwrap();
        text(|size, room, len| {
            let name = CL_KERNEL_FUNCTION_NAME;
            // SAFETY: the buffer has the stated size.
            unsafe { info(kernel, name, size, room, len) }
        })
    }

    /// `None` behind the last argument.
    fn told(&self, kernel: cl_kernel, index: cl_uint) -> Option<Told> {
        let info = self.functions().clGetKernelArgInfo.unwrap();
        let ask = |name, size, room, len| {
            // SAFETY: the buffer has the stated size.
            unsafe { info(kernel, index, name, size, room, len) }
        };
        let (mut address, mut access, mut qualifiers) = (0u32, 0u32, 0u64);
        let room = (&raw mut address).cast();
        let asked = ask(CL_KERNEL_ARG_ADDRESS_QUALIFIER, 4, room, null_mut());
        if asked != CL_SUCCESS {
            return None;
        }
        let room = (&raw mut access).cast();
        assert_eq!(ask(CL_KERNEL_ARG_ACCESS_QUALIFIER, 4, room, null_mut()), 0);
        let room = (&raw mut qualifiers).cast();
        assert_eq!(ask(CL_KERNEL_ARG_TYPE_QUALIFIER, 8, room, null_mut()), 0);
        Some(Told {
            name: text(|size, room, len| ask(CL_KERNEL_ARG_NAME, size, room, len)),
            type_name: text(|size, room, len| ask(CL_KERNEL_ARG_TYPE_NAME, size, room, len)),
            address,
            access,
            qualifiers,
        })
    }

    fn compare(&self, source: &str, options: &str) -> usize {
        let target = self.target();
        let text = Program {
            source,
            options,
            headers: &[],
            target: &target,
        };
        let read: Signatures = text.signatures().unwrap();
        self.compare_sizes(source, options, &read);
        let kernels = self.kernels(self.build(source, options));
        for kernel in &kernels {
            let name = self.kernel_name(*kernel);
            let args = read
                .get(&name)
                .unwrap_or_else(|| panic!("{name} is not read"));
            for (index, arg) in (0..).zip(args) {
                let told = self.told(*kernel, index);
                assert_eq!(Some(of(arg)), told, "{name}");
            }
            assert_eq!(self.told(*kernel, args.len() as cl_uint), None, "{name}");
        }
        assert_eq!(kernels.len(), read.len(), "{:?}", read.keys());
        kernels.len()
    }

    /// Has the compiler compute the sizes that were read.
    fn compare_sizes(&self, source: &str, options: &str, read: &Signatures) {
        let values = read
            .values()
            .flatten()
            .filter(|arg| arg.what == What::Value);
        let sizes: Vec<_> = values
            .map(|arg| {
                let size = arg.size.unwrap_or_else(|| panic!("no size: {arg:?}"));
                format!(
                    "typedef char size_is[sizeof({}) == {size} ? 1 : -1];",
                    arg.type_name
                )
            })
            .collect();
        let checked = format!("{source}\n{}\n", sizes.join("\n"));
        self.build(&checked, options);
    }
}

fn text(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> String {
    let mut bytes = vec![0u8; 1 << 16];
    let mut len = 0;
    assert_eq!(ask(bytes.len(), bytes.as_mut_ptr().cast(), &mut len), 0);
    bytes.truncate(len - 1);
    String::from_utf8(bytes).unwrap()
}

/// What was read, as a driver says it.
fn of(arg: &Argument) -> Told {
    let Qualifiers {
        is_const,
        is_restrict,
        is_volatile,
    } = arg.qualifiers;
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    Told {
        name: arg.name.clone(),
        type_name: arg.type_name.clone(),
        address: match arg.space {
            Space::Global => CL_KERNEL_ARG_ADDRESS_GLOBAL,
            Space::Constant => CL_KERNEL_ARG_ADDRESS_CONSTANT,
            Space::Local => CL_KERNEL_ARG_ADDRESS_LOCAL,
            Space::Private => CL_KERNEL_ARG_ADDRESS_PRIVATE,
        },
        access: match arg.access {
            Access::ReadOnly => ACCESS_READ_ONLY,
            Access::WriteOnly => ACCESS_WRITE_ONLY,
            Access::ReadWrite => ACCESS_READ_WRITE,
            Access::None => ACCESS_NONE,
        },
        qualifiers: flag(is_const, QUALIFIER_CONST)
            | flag(is_restrict, QUALIFIER_RESTRICT)
            | flag(is_volatile, QUALIFIER_VOLATILE),
    }
}

#[test]
fn signatures_are_what_the_compiler_says() {
    let Some(compiler) = Compiler::new() else {
        return;
    };
    let plain = include_str!("kernels/plain.cl");
    assert_eq!(compiler.compare(plain, ""), 12);
    assert_eq!(compiler.compare(include_str!("kernels/types.cl"), ""), 3);
    let macros = include_str!("kernels/macros.cl");
    let wide = "-D REAL=double -DWIDTH=8 -DSUFFIX=_d";
    assert_eq!(compiler.compare(macros, wide), 8);
    let small = "-DREAL=float -D SMALL -DSUFFIX= -cl-fast-relaxed-math -cl-std=CL2.0";
    assert_eq!(compiler.compare(macros, small), 8);
    let own = include_str!("../../examples/matmul/matmul.c");
    let quoted: String = own
        .lines()
        .filter_map(|line| {
            line.trim_matches(['\t', ' ', ';'])
                .strip_prefix('"')?
                .strip_suffix("\\n\"")
        })
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(compiler.compare(&quoted, ""), 1);
}
