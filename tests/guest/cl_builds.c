/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Builds a program three times, the last time with other options, and prints the nanoseconds
 * of each build. The first argument is part of the source. Before each build is one that is
 * refused, for one device and none.
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
		fprintf(stderr, "cl_builds.c:%d: OpenCL's error %d\n", line, error);
		exit(1);
	}
}
#define NEED(call) need(call, __LINE__)

int main(int argc, char **argv)
{
	char source[200];
	const char *text = source;
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_int error;

	if (argc < 2)
		return 2;
	snprintf(source, sizeof(source), "kernel void k(global int *a) { a[0] = %s; }", argv[1]);
	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	for (int n = 0; n < 3; n++) {
		cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
		long long began, took;

		NEED(error);
		if (clBuildProgram(program, 1, NULL, "", NULL, NULL) != CL_INVALID_VALUE)
			return 1;
		began = now();
		NEED(clBuildProgram(program, 1, &device, n == 2 ? "-DOTHER" : "", NULL, NULL));
		took = now() - began;
		printf("%lld\n", took);
		NEED(clReleaseProgram(program));
	}
	return 0;
}
