/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs and kernels: from source, from binaries, compiled and linked, asked
 * about, and refused. */
#include "cl_same.h"

static const char SCALE[] =
	"#ifndef BY\n#define BY 2\n#endif\n"
	"__kernel __attribute__((reqd_work_group_size(4, 1, 1)))\n"
	"void scale(__global int *out, const __global int *in, int by)\n"
	"{ size_t i = get_global_id(0); out[i] = in[i] * by * BY; }\n"
	"__kernel void fill(__global uint *out, uint4 v, __local uint *t)\n"
	"{ size_t i = get_global_id(0); t[get_local_id(0)] = v.y;"
	"  out[i] = t[get_local_id(0)] + v.w; }\n";

static int ints[16], results[16];

static void asked(cl_program program, struct gpu *gpu)
{
	cl_int error = 0;

	INFO(clGetProgramInfo, program, CL_PROGRAM_REFERENCE_COUNT);
	INFO(clGetProgramInfo, program, CL_PROGRAM_NUM_DEVICES);
	HANDLES(clGetProgramInfo, program, CL_PROGRAM_CONTEXT, gpu->context);
	HANDLES(clGetProgramInfo, program, CL_PROGRAM_DEVICES, gpu->device);
	SIZES(clGetProgramInfo, program, CL_PROGRAM_NUM_KERNELS);
	INFO(clGetProgramInfo, program, CL_PROGRAM_KERNEL_NAMES);
	INFO(clGetProgramInfo, program, CL_PROGRAM_IL);
	INFO(clGetProgramInfo, program, 0xdead);
#define BUILD_INFO(p, name, size, value, ret)                                  \
	clGetProgramBuildInfo(p, gpu->device, name, size, value, ret)
	INFO(BUILD_INFO, program, CL_PROGRAM_BUILD_STATUS);
	INFO(BUILD_INFO, program, CL_PROGRAM_BUILD_OPTIONS);
	INFO(BUILD_INFO, program, CL_PROGRAM_BINARY_TYPE);
	SAY(clGetProgramBuildInfo(program, NULL, CL_PROGRAM_BUILD_STATUS, 0, NULL,
				  NULL));
	MADE(clCreateKernel(program, "none", &error));
	MADE(clCreateKernel(program, NULL, &error));
	SAY(clRetainProgram(program));
	SAY(clReleaseProgram(program));
}

static void run(cl_program program, struct gpu *gpu)
{
	size_t global = 16, local = 4, size = 0;
	cl_int error = 0, by = 3;
	cl_mem in = clCreateBuffer(gpu->context, CL_MEM_COPY_HOST_PTR,
				   sizeof(ints), ints, &error);
	cl_mem out = clCreateBuffer(gpu->context, 0, sizeof(ints), NULL, &error);
	cl_kernel scale = MADE(clCreateKernel(program, "scale", &error));

	/* Available only where the program's own options asked for it. */
	SAY(clGetKernelArgInfo(scale, 0, CL_KERNEL_ARG_NAME, 0, NULL, &size));
	SAY(clSetKernelArg(scale, 0, sizeof(out), &out));
	SAY(clSetKernelArg(scale, 1, sizeof(in), &in));
	SAY(clEnqueueNDRangeKernel(gpu->queue, scale, 1, NULL, &global, &local, 0,
				   NULL, NULL));
	SAY(clSetKernelArg(scale, 2, sizeof(by), &by));
	SAY(clSetKernelArg(scale, 3, sizeof(by), &by));
	SAY(clSetKernelArg(scale, 2, 1, &by));
	SAY(clEnqueueNDRangeKernel(gpu->queue, scale, 1, NULL, &global, &local, 0,
				   NULL, NULL));
	SAY(clEnqueueReadBuffer(gpu->queue, out, CL_TRUE, 0, sizeof(results),
				results, 0, NULL, NULL));
	printf("scaled: %d %d %d\n", results[0], results[1], results[15]);
	SAY(clReleaseKernel(scale));
	NEED(clReleaseMemObject(in));
	NEED(clReleaseMemObject(out));
}

static void kernels(cl_program program, struct gpu *gpu)
{
	cl_kernel both[2] = {NULL, NULL}, scale, clone;
	cl_uint count = 0;
	cl_int error = 0;

	SAY(clCreateKernelsInProgram(program, 0, NULL, &count));
	printf("%u kernels\n", count);
	SAY(clCreateKernelsInProgram(program, 2, both, NULL));
	SAY(clCreateKernelsInProgram(program, 1, both, NULL));
	scale = MADE(clCreateKernel(program, "scale", &error));
	INFO(clGetKernelInfo, scale, CL_KERNEL_FUNCTION_NAME);
	INFO(clGetKernelInfo, scale, CL_KERNEL_NUM_ARGS);
	INFO(clGetKernelInfo, scale, CL_KERNEL_REFERENCE_COUNT);
	HANDLES(clGetKernelInfo, scale, CL_KERNEL_PROGRAM, program);
	HANDLES(clGetKernelInfo, scale, CL_KERNEL_CONTEXT, gpu->context);
#define GROUP_INFO(k, name, size, value, ret)                                  \
	clGetKernelWorkGroupInfo(k, gpu->device, name, size, value, ret)
	SIZES(GROUP_INFO, scale, CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
	SIZES(GROUP_INFO, scale, CL_KERNEL_WORK_GROUP_SIZE);
	SIZES(GROUP_INFO, scale, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
	INFO(GROUP_INFO, scale, CL_KERNEL_LOCAL_MEM_SIZE);
#define ARG_ONE(k, name, size, value, ret)                                     \
	clGetKernelArgInfo(k, 1, name, size, value, ret)
	INFO(ARG_ONE, scale, CL_KERNEL_ARG_NAME);
	INFO(ARG_ONE, scale, CL_KERNEL_ARG_TYPE_NAME);
	INFO(ARG_ONE, scale, CL_KERNEL_ARG_ADDRESS_QUALIFIER);
	INFO(ARG_ONE, scale, CL_KERNEL_ARG_ACCESS_QUALIFIER);
	INFO(ARG_ONE, scale, CL_KERNEL_ARG_TYPE_QUALIFIER);
	SAY(clGetKernelArgInfo(scale, 9, CL_KERNEL_ARG_NAME, 0, NULL, NULL));
	clone = MADE(clCloneKernel(scale, &error));
	if (clone)
		SAY(clReleaseKernel(clone));
	SAY(clRetainKernel(scale));
	SAY(clReleaseKernel(scale));
	SAY(clReleaseKernel(scale));
	NEED(clReleaseKernel(both[0]));
	NEED(clReleaseKernel(both[1]));
}

static void binaries(cl_program program, struct gpu *gpu)
{
	size_t size = 0;
	unsigned char *binary;
	const unsigned char *const_binary;
	cl_int error = 0, status = 0;
	cl_program again;

	SAY(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size),
			     &size, NULL));
	printf("a binary: %s\n", size ? "yes" : "no");
	binary = malloc(size);
	SAY(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary,
			     NULL));
	const_binary = binary;
	again = MADE(clCreateProgramWithBinary(gpu->context, 1, &gpu->device, &size,
					       &const_binary, &status, &error));
	printf("status %d\n", status);
	SAY(clBuildProgram(again, 0, NULL, "", NULL, NULL));
	run(again, gpu);
	SAY(clReleaseProgram(again));
	const_binary = (const unsigned char *)"no binary";
	size = 9;
	MADE(clCreateProgramWithBinary(gpu->context, 1, &gpu->device, &size,
				       &const_binary, &status, &error));
	size = 0;
	MADE(clCreateProgramWithBinary(gpu->context, 1, &gpu->device, &size,
				       &const_binary, &status, &error));
	free(binary);
}

static void linked(struct gpu *gpu)
{
	const char *header = "int twice(int x);\n";
	const char *name = "twice.h";
	const char *twice = "int twice(int x) { return 2 * x; }\n";
	const char *caller = "#include \"twice.h\"\n"
			     "__kernel void scale(__global int *out,"
			     " const __global int *in, int by)"
			     "{ size_t i = get_global_id(0);"
			     " out[i] = twice(in[i]) + by; }\n";
	cl_program parts[2], head, whole;
	cl_int error = 0;

	head = MADE(clCreateProgramWithSource(gpu->context, 1, &header, NULL,
					      &error));
	parts[0] = MADE(clCreateProgramWithSource(gpu->context, 1, &twice, NULL,
						  &error));
	parts[1] = MADE(clCreateProgramWithSource(gpu->context, 1, &caller, NULL,
						  &error));
	SAY(clCompileProgram(parts[0], 0, NULL, "", 0, NULL, NULL, NULL, NULL));
	SAY(clCompileProgram(parts[1], 1, &gpu->device, "", 1, &head, &name, NULL,
			     NULL));
	whole = MADE(clLinkProgram(gpu->context, 0, NULL, "", 2, parts, NULL, NULL,
				   &error));
	if (whole) {
		INFO(BUILD_INFO, whole, CL_PROGRAM_BINARY_TYPE);
		run(whole, gpu);
		SAY(clReleaseProgram(whole));
	}
	INFO(BUILD_INFO, parts[1], CL_PROGRAM_BINARY_TYPE);
	for (int n = 0; n < 2; n++)
		NEED(clReleaseProgram(parts[n]));
	NEED(clReleaseProgram(head));
}

static void refused(struct gpu *gpu)
{
	const char *bad = "__kernel void broken(__global int *x) { y; }\n";
	const char *none = NULL;
	cl_int error = 0;
	size_t size = 0;
	cl_program program = MADE(clCreateProgramWithSource(gpu->context, 1, &bad,
							    NULL, &error));

	SAY(clBuildProgram(program, 1, &gpu->device, NULL, NULL, NULL));
	INFO(BUILD_INFO, program, CL_PROGRAM_BUILD_STATUS);
	SAY(clGetProgramBuildInfo(program, gpu->device, CL_PROGRAM_BUILD_LOG, 0,
				  NULL, &size));
	printf("a log: %s\n", size > 1 ? "yes" : "no");
	MADE(clCreateKernel(program, "broken", &error));
	SAY(clReleaseProgram(program));
	MADE(clCreateProgramWithSource(gpu->context, 0, NULL, NULL, &error));
	MADE(clCreateProgramWithSource(gpu->context, 1, &none, NULL, &error));
	MADE(clCreateProgramWithIL(gpu->context, "\3\2#\7", 4, &error));
	MADE(clCreateProgramWithBuiltInKernels(gpu->context, 1, &gpu->device,
					       "gil.none", &error));
	SAY(clBuildProgram(NULL, 0, NULL, NULL, NULL, NULL));
	SAY(clReleaseProgram(NULL));
	SAY(clRetainProgram(NULL));
	SAY(clReleaseKernel(NULL));
	SAY(clRetainKernel(NULL));
}

int main(void)
{
	struct gpu gpu = first_gpu(0);
	cl_program program = built(&gpu, SCALE, "-DBY=5 -cl-kernel-arg-info");

	for (int n = 0; n < 16; n++)
		ints[n] = n + 1;
	asked(program, &gpu);
	run(program, &gpu);
	kernels(program, &gpu);
	binaries(program, &gpu);
	NEED(clReleaseProgram(program));
	linked(&gpu);
	refused(&gpu);
	close_gpu(&gpu);
	return 0;
}
