/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Builds a program three times, the last time with other options, and prints the nanoseconds
 * of each build. The first argument is part of the source. Before each build is one that is
 * refused, for one device and none.
 */
#include "cl_test.h"

int main(int argc, char **argv)
{
	char source[200];
	const char *text = source;
	struct gpu gpu;
	cl_int error;

	if (argc < 2)
		return 2;
	snprintf(source, sizeof(source), "kernel void k(global int *a) { a[0] = %s; }", argv[1]);
	gpu = first_gpu();
	for (int n = 0; n < 3; n++) {
		cl_program program = clCreateProgramWithSource(gpu.context, 1, &text, NULL, &error);
		long long began, took;

		NEED(error);
		if (clBuildProgram(program, 1, NULL, "", NULL, NULL) != CL_INVALID_VALUE)
			return 1;
		began = now();
		NEED(clBuildProgram(program, 1, &gpu.device, n == 2 ? "-DOTHER" : "", NULL, NULL));
		took = now() - began;
		printf("%lld\n", took);
		NEED(clReleaseProgram(program));
	}
	return 0;
}
