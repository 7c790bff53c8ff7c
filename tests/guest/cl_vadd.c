/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Adds two vectors on the first device, checks every element, and checks that
 * the device's own times are in order. */
#include "cl_test.h"

#define N 100000

static const char source[] =
	"__kernel void add(__global const int *a, __global const int *b,"
	"                  __global int *c)"
	"{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";

static int a[N], b[N], c[N];

static void adds(struct gpu *gpu)
{
	cl_program program = build(gpu, source);
	cl_kernel add = kernel_of(program, "add");
	cl_mem in_a = buffer_of(gpu, sizeof(a)), in_b = buffer_of(gpu, sizeof(b));
	cl_mem out = buffer_of(gpu, sizeof(c));
	size_t global = N;
	int wrong = 0;

	for (int i = 0; i < N; i++) {
		a[i] = i * 7;
		b[i] = 1000 - i;
	}
	NEED(clEnqueueWriteBuffer(gpu->queue, in_a, CL_FALSE, 0, sizeof(a), a,
				  0, NULL, NULL));
	NEED(clEnqueueWriteBuffer(gpu->queue, in_b, CL_TRUE, 0, sizeof(b), b,
				  0, NULL, NULL));
	NEED(clSetKernelArg(add, 0, sizeof(in_a), &in_a));
	NEED(clSetKernelArg(add, 1, sizeof(in_b), &in_b));
	NEED(clSetKernelArg(add, 2, sizeof(out), &out));
	NEED(clEnqueueNDRangeKernel(gpu->queue, add, 1, NULL, &global, NULL, 0,
				    NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu->queue, out, CL_TRUE, 0, sizeof(c), c, 0,
				 NULL, NULL));
	for (int i = 0; i < N; i++)
		wrong += c[i] != i * 6 + 1000;
	CHECK(wrong == 0);
	EXPECT(clReleaseMemObject(out), CL_SUCCESS);
	EXPECT(clReleaseMemObject(in_b), CL_SUCCESS);
	EXPECT(clReleaseMemObject(in_a), CL_SUCCESS);
	EXPECT(clReleaseKernel(add), CL_SUCCESS);
	EXPECT(clReleaseProgram(program), CL_SUCCESS);
}

static cl_ulong profile(cl_event event, cl_profiling_info name)
{
	cl_ulong ns = 0;

	NEED(clGetEventProfilingInfo(event, name, sizeof(ns), &ns, NULL));
	return ns;
}

static void times(struct gpu *gpu)
{
	cl_mem buffer = buffer_of(gpu, sizeof(a));
	cl_ulong queued, submitted, start, end;
	cl_event event;

	NEED(clEnqueueWriteBuffer(gpu->queue, buffer, CL_FALSE, 0, sizeof(a), a,
				  0, NULL, &event));
	NEED(clWaitForEvents(1, &event));
	queued = profile(event, CL_PROFILING_COMMAND_QUEUED);
	submitted = profile(event, CL_PROFILING_COMMAND_SUBMIT);
	start = profile(event, CL_PROFILING_COMMAND_START);
	end = profile(event, CL_PROFILING_COMMAND_END);
	CHECK(queued <= submitted && submitted <= start && start <= end);
	CHECK(end > 0);
	EXPECT(clReleaseEvent(event), CL_SUCCESS);
	EXPECT(clReleaseMemObject(buffer), CL_SUCCESS);
}

int main(void)
{
	struct gpu gpu = first_gpu();

	run_test("vadd adds", adds, &gpu);
	run_test("vadd times", times, &gpu);
	return failures != 0;
}
