/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches a kernel twice, and prints the nanoseconds until each launch was finished. The first
 * argument is part of the source.
 */
#include "cl_test.h"

int main(int argc, char **argv)
{
	const size_t items = 64, group = 16;
	char source[200];
	struct gpu gpu;
	cl_kernel kernel;
	cl_mem buffer;

	if (argc < 2)
		return 2;
	snprintf(source, sizeof(source), "kernel void k(global int *a) { a[get_global_id(0)] = %s; }",
		 argv[1]);
	gpu = first_gpu();
	kernel = kernel_of(build(&gpu, source), "k");
	buffer = buffer_of(&gpu, items * sizeof(cl_int));
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	for (int n = 0; n < 2; n++) {
		long long began = now();

		NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
		NEED(clFinish(gpu.queue));
		printf("%lld\n", now() - began);
	}
	return 0;
}
