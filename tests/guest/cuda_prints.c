/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels that print: in order with each other and with the program, which flushes what it prints. */
#include "cuda_driver.h"

/* The null driver says what this would. */
static const char says_kernel[] =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);\n"
	".global .align 1 .b8 format[11] = {107, 101, 114, 110, 101, 108, 32, 37, 100, 10, 0};\n"
	".visible .entry says(.param .u32 number)\n{\n"
	"\t.local .align 8 .b8 values[8];\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<4>;\n"
	"\tld.param.u32 %r1, [number];\n\tst.local.u32 [values], %r1;\n"
	"\tmov.u64 %rd1, format;\n\tcvta.global.u64 %rd1, %rd1;\n"
	"\tmov.u64 %rd2, values;\n\tcvta.local.u64 %rd2, %rd2;\n"
	"\t{\n\t.param .b64 p0;\n\tst.param.b64 [p0], %rd1;\n\t.param .b64 p1;\n\tst.param.b64 [p1], %rd2;\n"
	"\t.param .b32 r;\n\tcall.uni (r), vprintf, (p0, p1);\n\tld.param.b32 %r2, [r];\n\t}\n"
	"\tret;\n}\n";

static CUfunction says;

static void say(unsigned int number, CUstream stream)
{
	void *values[] = { &number };

	if (cuLaunchKernel(says, 1, 1, 1, 1, 1, 1, 0, stream, values, NULL) != CUDA_SUCCESS)
		printf("a launch fails\n");
}

static void flushed(const char *text)
{
	fputs(text, stdout);
	fflush(stdout);
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUdeviceptr memory;
	int word;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v2(&context, 0, device) ||
	    cuModuleLoadData(&module, says_kernel) || cuModuleGetFunction(&says, module, "says") ||
	    cuStreamCreate(&stream, 1) || cuMemAlloc_v2(&memory, 4))
		return 1;
	say(1, stream);
	cuStreamSynchronize(stream);
	flushed("behind the first\n");
	say(2, stream);
	say(3, stream);
	cuCtxSynchronize();
	flushed("behind two more\n");
	say(4, NULL);
	cuMemcpyDtoH_v2(&word, memory, 4);
	flushed("behind a copy\n");
	say(5, stream);
	cuCtxDestroy_v2(context);
	flushed("behind the context's end\n");
	return 0;
}
