/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Little-known and deprecated calls, and what this kind of device lacks. */
#include "cl_same.h"
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>

static void addresses(struct gpu *gpu)
{
	SAY(clGetExtensionFunctionAddress("clNoSuchFunction") == NULL);
	SAY(clGetExtensionFunctionAddressForPlatform(gpu->platform,
						     "clNoSuchFunction") == NULL);
	SAY(clGetExtensionFunctionAddressForPlatform(NULL, "clX") == NULL);
}

int main(void)
{
	struct gpu gpu = first_gpu(0);
	const char *source = "__kernel void k(__global int *x) { *x = 1; }";
	cl_int error = 0;
	cl_program program;
	cl_kernel kernel;
	cl_ulong device = 1, host = 1;
	size_t size = 0, one = 1;

	addresses(&gpu);
	program = built(&gpu, source, "");
	kernel = MADE(clCreateKernel(program, "k", &error));
	SAY(clGetKernelSubGroupInfo(kernel, gpu.device,
				    CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
				    sizeof(one), &one, sizeof(size), &size, NULL));
	SAY(clSetProgramSpecializationConstant(program, 0, 4, &error));
	SAY(clGetDeviceAndHostTimer(gpu.device, &device, &host));
	SAY(clGetHostTimer(gpu.device, &host));
	NEED(clReleaseKernel(kernel));
	NEED(clReleaseProgram(program));
	close_gpu(&gpu);
	return 0;
}
