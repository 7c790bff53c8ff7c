/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches a kernel for the first time while another queue executes one that takes long. Prints
 * the nanoseconds that the call took, those until the kernel had ended, and those until the other
 * had. The first argument is part of the source, the second how many turns the other takes.
 */
#include "cl_test.h"

int main(int argc, char **argv)
{
	const size_t items = 64, group = 16;
	char source[400];
	struct gpu gpu;
	cl_command_queue other;
	cl_kernel kernel, longer;
	cl_program program;
	cl_mem buffer, second;
	cl_int turns, err;
	long long began, called, ended;

	if (argc < 3)
		return 2;
	turns = atoi(argv[2]);
	snprintf(source, sizeof(source),
		 "kernel void k(global int *a) { a[get_global_id(0)] = %s; }"
		 "kernel void l(global int *a, int n) { volatile int x = %s;"
		 " for (int i = 0; i < n; i++) x += i; a[get_global_id(0)] = x; }",
		 argv[1], argv[1]);
	gpu = first_gpu();
	other = clCreateCommandQueue(gpu.context, gpu.device, 0, &err);
	NEED(err);
	program = build(&gpu, source);
	kernel = kernel_of(program, "k");
	longer = kernel_of(program, "l");
	buffer = buffer_of(&gpu, items * sizeof(cl_int));
	second = buffer_of(&gpu, items * sizeof(cl_int));
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(longer, 0, sizeof(second), &second));
	/* So that what is looked at is the other kernel's first launch alone. */
	NEED(clSetKernelArg(longer, 1, sizeof(cl_int), &(cl_int){ 1 }));
	NEED(clEnqueueNDRangeKernel(other, longer, 1, NULL, &items, &group, 0, NULL, NULL));
	NEED(clFinish(other));
	NEED(clSetKernelArg(longer, 1, sizeof(cl_int), &turns));
	began = now();
	/* What starts at once has ended on the board when the call is answered: one more. */
	for (int n = 0; n < 2; n++)
		NEED(clEnqueueNDRangeKernel(other, longer, 1, NULL, &items, &group, 0, NULL, NULL));
	NEED(clFlush(other));
	NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
	called = now();
	NEED(clFinish(gpu.queue));
	ended = now();
	NEED(clFinish(other));
	printf("%lld\n%lld\n%lld\n", called - began, ended - began, now() - began);
	return 0;
}
