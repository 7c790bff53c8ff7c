/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches a kernel twice, and prints the nanoseconds until each launch was finished. The first
 * argument is part of the source.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void need(cl_int error, int line)
{
	if (error) {
		fprintf(stderr, "cl_first_launch.c:%d: OpenCL's error %d\n", line, error);
		exit(1);
	}
}
#define NEED(call) need(call, __LINE__)

int main(int argc, char **argv)
{
	const size_t items = 64, group = 16;
	char source[200];
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffer;
	cl_int error;

	if (argc < 2)
		return 2;
	snprintf(source, sizeof(source), "kernel void k(global int *a) { a[get_global_id(0)] = %s; }",
		 argv[1]);
	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	NEED(error);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	NEED(error);
	NEED(clBuildProgram(program, 1, &device, "", NULL, NULL));
	kernel = clCreateKernel(program, "k", &error);
	NEED(error);
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, items * sizeof(cl_int), NULL, &error);
	NEED(error);
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	for (int n = 0; n < 2; n++) {
		long long began = now();

		NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
		NEED(clFinish(queue));
		printf("%lld\n", now() - began);
	}
	return 0;
}
