/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sets up, asks gem5 for a checkpoint, and only then does its work: the region
 * of interest. Anywhere else it goes on without one. */
#include <setjmp.h>
#include <signal.h>

#include "../guest/cl_test.h"

#define N 4096

static const char source[] =
	"__kernel void advance(__global const int *in, __global int *out,"
	"                   int factor, __local int *own)"
	"{ size_t i = get_global_id(0), l = get_local_id(0);"
	"  own[l] = in[i]; out[i] = own[l] * factor + BIAS; }";

static sigjmp_buf no_gem5;

static void refused(int signal)
{
	(void)signal;
	siglongjmp(no_gem5, 1);
}

/* m5_checkpoint(0, 0): now, and once. */
static void checkpoint(void)
{
	signal(SIGILL, refused);
	if (sigsetjmp(no_gem5, 1) == 0) {
		register unsigned long delay __asm__("x0") = 0;
		register unsigned long period __asm__("x1") = 0;

		__asm__ volatile(".inst 0xff430110" : "+r"(delay), "+r"(period)::"memory");
	}
	signal(SIGILL, SIG_DFL);
}

int main(void)
{
	static int data[N], result[N];
	struct gpu gpu = first_gpu();
	cl_int error, factor = 3;
	cl_program program = clCreateProgramWithSource(
		gpu.context, 1, (const char *[]){ source }, NULL, &error);
	size_t global = N, local = 64;
	cl_event written;
	cl_kernel step;
	cl_mem in, out;
	int wrong = 0;

	NEED(error);
	NEED(clBuildProgram(program, 1, &gpu.device, "-DBIAS=5", NULL, NULL));
	step = kernel_of(program, "advance");
	NEED(clReleaseProgram(program));
	for (int i = 0; i < N; i++)
		data[i] = i * 7;
	in = buffer_of(&gpu, sizeof(data));
	out = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof(data), data, &error);
	NEED(error);
	NEED(clEnqueueWriteBuffer(gpu.queue, in, CL_FALSE, 0, sizeof(data), data, 0, NULL,
				  &written));
	NEED(clSetKernelArg(step, 0, sizeof(in), &in));
	NEED(clSetKernelArg(step, 1, sizeof(out), &out));
	NEED(clSetKernelArg(step, 2, sizeof(factor), &factor));
	NEED(clSetKernelArg(step, 3, local * sizeof(int), NULL));
	NEED(clFlush(gpu.queue));
	puts("region: set up");
	fflush(stdout);
	checkpoint();
	for (int i = 0; i < N; i++)
		data[i] = -1;
	NEED(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof(result), result, 0, NULL,
				 NULL));
	for (int i = 0; i < N; i++)
		wrong += result[i] != i * 7;
	NEED(clEnqueueNDRangeKernel(gpu.queue, step, 1, NULL, &global, &local, 1, &written,
				    NULL));
	NEED(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof(result), result, 0, NULL,
				 NULL));
	for (int i = 0; i < N; i++)
		wrong += result[i] != i * 21 + 5;
	printf("region: %d of %d wrong\n", wrong, N);
	return wrong != 0;
}
