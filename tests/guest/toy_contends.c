/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Commands of two APIs on one device: prints how long each takes alone, and both
 * at once, in microseconds of the guest's clock. */
#include "cl_test.h"

#include <time.h>
#include <toy.h>

#define COUNT 1024

static struct gpu gpu;
static cl_kernel kernel;
static toyBuffer buffer;

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void theirs(void)
{
	size_t items = COUNT;

	NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &items, NULL, 0,
				    NULL, NULL));
	NEED(clFlush(gpu.queue));
}

static void ours(void)
{
	NEED(toyScale(buffer, 2));
}

static void both(void)
{
	theirs();
	ours();
}

static void measure(const char *name, void (*enqueue)(void))
{
	long began = now_us();

	enqueue();
	NEED(toyFinish());
	NEED(clFinish(gpu.queue));
	printf("%s %ld\n", name, now_us() - began);
}

int main(void)
{
	toyContext context;
	cl_mem memory;

	gpu = first_gpu();
	memory = buffer_of(&gpu, COUNT * sizeof(cl_uint));
	kernel = kernel_of(build(&gpu, "kernel void add(global uint *v) {"
				       " v[get_global_id(0)]++; }"),
			   "add");
	NEED(clSetKernelArg(kernel, 0, sizeof(memory), &memory));
	NEED(toyContextCreate(&context, 0));
	NEED(toyContextSetCurrent(context));
	NEED(toyBufferCreate(&buffer, COUNT * sizeof(cl_uint)));
	both();
	NEED(toyFinish());
	NEED(clFinish(gpu.queue));
	measure("theirs", theirs);
	measure("ours", ours);
	measure("both", both);
	return 0;
}
