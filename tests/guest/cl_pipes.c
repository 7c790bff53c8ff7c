/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pipes, or what a device without them answers. */
#include "cl_same.h"

int main(void)
{
	const cl_pipe_properties odd[] = { 0x7777, 1, 0 };
	struct gpu gpu = first_gpu(0);
	cl_mem pipe, buffer;
	cl_uint word = 0;
	cl_int error = 0;

	INFO(clGetDeviceInfo, gpu.device, CL_DEVICE_PIPE_SUPPORT);
	INFO(clGetDeviceInfo, gpu.device, CL_DEVICE_MAX_PIPE_ARGS);
	INFO(clGetDeviceInfo, gpu.device, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS);
	INFO(clGetDeviceInfo, gpu.device, CL_DEVICE_PIPE_MAX_PACKET_SIZE);
	pipe = MADE(clCreatePipe(gpu.context, 0, 16, 32, NULL, &error));
	if (pipe) {
		INFO(clGetPipeInfo, pipe, CL_PIPE_PACKET_SIZE);
		INFO(clGetPipeInfo, pipe, CL_PIPE_MAX_PACKETS);
		INFO(clGetPipeInfo, pipe, 0xdead);
		INFO(clGetMemObjectInfo, pipe, CL_MEM_TYPE);
		INFO(clGetMemObjectInfo, pipe, CL_MEM_FLAGS);
		SAY(clReleaseMemObject(pipe));
	}
	MADE(clCreatePipe(NULL, 0, 16, 32, NULL, &error));
	MADE(clCreatePipe(gpu.context, 0, 0, 32, NULL, &error));
	MADE(clCreatePipe(gpu.context, CL_MEM_READ_ONLY, 16, 32, NULL, &error));
	MADE(clCreatePipe(gpu.context, 0, 16, 32, odd, &error));
	buffer = clCreateBuffer(gpu.context, 0, 64, NULL, &error);
	SAY(clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, sizeof(word), &word, NULL));
	SAY(clGetPipeInfo(NULL, CL_PIPE_PACKET_SIZE, sizeof(word), &word, NULL));
	SAY(clReleaseMemObject(buffer));
	close_gpu(&gpu);
	return 0;
}
