/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rounds of writing, doubling and reading a vector, one after the other: so many as its
 * first argument says, each with the guest's CPU idle for so many milliseconds as its
 * second. A line a round, in colour, and some on standard error. */
#define _POSIX_C_SOURCE 199309L
#include "cl_test.h"

#include <time.h>

#define N 65536

static const char source[] =
	"__kernel void twice(__global int *a)"
	"{ size_t i = get_global_id(0);"
	"  for (int n = 0; n < 2000; n++) a[i] = a[i] * 3 + n; }";

static int values[N];

static void rests(long ms)
{
	struct timespec rest = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&rest, NULL);
}

static void round_of(struct gpu *gpu, cl_kernel twice, cl_mem buffer)
{
	size_t global = N;

	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_FALSE, 0,
				  sizeof(values), values, 0, NULL, NULL));
	NEED(clEnqueueNDRangeKernel(gpu->queue, twice, 1, NULL, &global, NULL,
				    0, NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(values),
				 values, 0, NULL, NULL));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	long rest = argc > 2 ? atol(argv[2]) : 0;
	struct gpu gpu = first_gpu();
	cl_program program = build(&gpu, source);
	cl_kernel twice = kernel_of(program, "twice");
	cl_mem buffer = buffer_of(&gpu, sizeof(values));

	NEED(clSetKernelArg(twice, 0, sizeof(buffer), &buffer));
	for (int i = 1; i <= rounds; i++) {
		round_of(&gpu, twice, buffer);
		printf("\033[32mround\033[0m %d of %d\n", i, rounds);
		fflush(stdout);
		if (i % 10 == 0)
			fprintf(stderr, "%d done\n", i);
		rests(rest);
	}
	return 0;
}
