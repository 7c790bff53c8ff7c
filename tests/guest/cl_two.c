/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two processes with one device: its engines serve one kernel at a time,
 * whosever it is, and who was ready first goes first. Every time is printed:
 * they must not depend on when the board answers. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAUNCHES 6
/* What the board says of every kernel. */
#define TAKES_NS 1000000

static const char source[] =
	"__kernel void add(__global uint *c, uint n) { c[0] += n; }";

struct times {
	cl_ulong start[LAUNCHES], end[LAUNCHES];
	cl_uint sum;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static cl_ulong profile(cl_event event, cl_profiling_info what)
{
	cl_ulong value = 0;

	NEED(clGetEventProfilingInfo(event, what, sizeof(value), &value, NULL));
	return value;
}

/* Gets ready, says so, and launches when the other is ready too. */
static struct times launch_all(int say, int hear)
{
	struct gpu gpu = first_gpu();
	cl_kernel kernel = kernel_of(build(&gpu, source), "add");
	cl_mem buffer = buffer_of(&gpu, 4);
	cl_event events[LAUNCHES];
	const cl_uint none = 0, one = 1;
	const size_t size = 1;
	struct times times;
	char word = 0;

	NEED(clEnqueueFillBuffer(gpu.queue, buffer, &none, 4, 0, 4, 0, NULL, NULL));
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	NEED(clSetKernelArg(kernel, 1, sizeof(one), &one));
	NEED(clFinish(gpu.queue));
	CHECK(write(say, &word, 1) == 1 && read(hear, &word, 1) == 1);
	for (int n = 0; n < LAUNCHES; n++)
		NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &size, NULL, 0,
					    NULL, &events[n]));
	NEED(clFlush(gpu.queue));
	/* What is waited for has its times from then on: both have launched. */
	CHECK(write(say, &word, 1) == 1 && read(hear, &word, 1) == 1);
	NEED(clFinish(gpu.queue));
	for (int n = 0; n < LAUNCHES; n++) {
		times.start[n] = profile(events[n], CL_PROFILING_COMMAND_START);
		times.end[n] = profile(events[n], CL_PROFILING_COMMAND_END);
		NEED(clReleaseEvent(events[n]));
	}
	NEED(clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, 0, 4, &times.sum, 0, NULL,
				 NULL));
	return times;
}

static void in_turns(const struct times *one, const struct times *other)
{
	for (int n = 0; n < LAUNCHES; n++) {
		printf("# %d: %llu to %llu, %llu to %llu\n", n,
		       (unsigned long long)one->start[n], (unsigned long long)one->end[n],
		       (unsigned long long)other->start[n],
		       (unsigned long long)other->end[n]);
		CHECK(one->end[n] - one->start[n] == TAKES_NS);
		CHECK(other->end[n] - other->start[n] == TAKES_NS);
		for (int m = 0; m < LAUNCHES; m++)
			CHECK(one->end[n] <= other->start[m] ||
			      other->end[m] <= one->start[n]);
	}
	/* In the middle, the one's and the other's follow each other. */
	CHECK(one->start[LAUNCHES - 1] > other->start[1] &&
	      other->start[LAUNCHES - 1] > one->start[1]);
	CHECK(one->sum == LAUNCHES && other->sum == LAUNCHES);
}

int main(void)
{
	int to_child[2], to_parent[2], status = -1;
	struct times own, others;
	uint64_t before_ns;
	pid_t child;

	if (pipe(to_child) || pipe(to_parent))
		return 1;
	child = fork();
	if (child == 0) {
		own = launch_all(to_parent[1], to_child[0]);
		_exit(write(to_parent[1], &own, sizeof(own)) != sizeof(own) || failures);
	}
	before_ns = now_ns();
	own = launch_all(to_child[1], to_parent[0]);
	CHECK(read(to_parent[0], &others, sizeof(others)) == sizeof(others));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(now_ns() - before_ns > 2 * LAUNCHES * TAKES_NS);
	in_turns(&own, &others);
	printf("%s two processes take turns\n", failures ? "not ok" : "ok");
	return failures != 0;
}
